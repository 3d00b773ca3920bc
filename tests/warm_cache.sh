#!/usr/bin/env bash
# Builds the extensions of the zoo and of quickstart's examples, where several cores would wait for one compiler, and the
# precompiled header of PyTorch: warm_cache.sh BINARY, with KERNELBENCH_CACHE set.
set -euo pipefail
binary=$1
if [[ ${CTEST_RESOURCE_GROUP_0_CORES:-} =~ ^id:([0-9]+) ]]; then taskset --cpu-list --pid "${BASH_REMATCH[1]}" $$ >/dev/null; fi

judge() {
  "$binary" eval "$@" --size small --protocol quick --static off --measure false --profile-ms 0 \
    --no-store --quiet >/dev/null || (($? == 1)) # 1: some verdict is not correct
}
judge 1/36 examples/1_36_rmsnorm/fused_inline.py
judge 1/19 tests/hostile/module/{01_side_queue,09_clock_detour,13_zeroed_output,15_spinners,48_library_through_inline}.py
