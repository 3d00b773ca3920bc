#!/usr/bin/env bash
# Holds the sources against two rules: who may include whom (the trusted side never sees the runner, and the other way
# round; Boost stays in one place), and the format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Directory of src/, and those it must not include.
RULES='
base    wire cuda device judge jobs runner store score report pages interop agents server cli
wire    cuda device judge jobs runner store score report pages interop agents server cli
cuda    wire device judge jobs runner store score report pages interop agents server cli
device  judge jobs runner store score report pages interop agents server cli
judge   jobs runner store score report pages interop agents server cli
runner  jobs judge device store score report pages interop agents server cli
interop jobs runner report pages agents server cli
store   jobs interop generate runner pages agents server cli
jobs    runner pages agents audit server cli
pages   jobs interop runner agents audit server cli
server  runner agents audit cli
generate jobs interop runner pages agents audit server cli
audit   jobs interop runner pages agents server cli
model   wire cuda device judge jobs runner store score report pages interop generate agents server cli
agents  runner interop audit cli
'

status=0
while read -r part forbidden; do
  pattern="^[[:space:]]*#[[:space:]]*include[[:space:]]*[\"<](\.\./)*(${forbidden// /|})/"
  if grep -rnE "$pattern" "src/$part"; then
    echo "src/$part must not include from: $forbidden" >&2
    status=1
  fi
done < <(awk NF <<<"$RULES")
# Boost takes long to compile and is an affair of the HTTP layer.
if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]boost/' src | grep -vE '^src/server/http_([a-z]+\.cc|stream\.h):'; then
  echo "only src/server/http_*.cc and http_stream.h may include Boost" >&2
  status=1
fi
if ((status == 0)); then printf '  %-16s %s\n' includes "none crosses a border"; fi

# Versions of clang-format disagree; this one's word counts.
version=14
sources=$(find src include bench tests examples -name '*.cc' -o -name '*.h' -o -name '*.cu')
if ! clang-format --version 2>/dev/null | grep -q "version $version\."; then
  printf '  %-16s %s\n' format "not checked: there is no clang-format $version"
elif ! xargs clang-format --dry-run -Werror <<<"$sources"; then
  echo "the format differs; run: clang-format -i on the files named above" >&2
  status=1
else
  printf '  %-16s %s\n' format "as clang-format $version has it"
fi
exit "$status"
