#!/usr/bin/env bash
# Runs a script with the project's Python: KERNELBENCH_PYTHON, .venv, or python3. Exits with 77, which CTest counts as
# skipped, if that one has no torch.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${KERNELBENCH_PYTHON:-}
if [[ -z $python && -x $root/.venv/bin/python ]]; then python=$root/.venv/bin/python; fi
python=${python:-python3}
if ! "$python" -c 'from importlib import metadata; metadata.version("torch")' 2>/dev/null; then
  echo "skipped: $python has no torch; run scripts/setup.sh or set KERNELBENCH_PYTHON"
  exit 77
fi
# CTest may give a test a core of its own.
if [[ ${CTEST_RESOURCE_GROUP_0_CORES:-} =~ ^id:([0-9]+) ]]; then exec taskset --cpu-list "${BASH_REMATCH[1]}" "$python" "$@"; fi
exec "$python" "$@"
