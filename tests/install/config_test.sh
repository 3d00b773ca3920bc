#!/usr/bin/env bash
# Where defaults and keys come from: config_test.sh BINARY.
set -euo pipefail
binary=$(realpath "$1")
folder=$(realpath "$(mktemp -d)")
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/project/below" "$folder/config/kernelbench"
cd "$folder/project/below"
unset KERNELBENCH_STORE OPENAI_API_KEY
export HOME=$folder XDG_CONFIG_HOME=$folder/config XDG_DATA_HOME=$folder/data

fail() {
  echo "config_test: $1" >&2
  exit 1
}
# value KEY: what holds, and from where.
value() { "$binary" config --json | python3 -c 'import json, sys; print(*[v["value"] + " from " + v["from"] for v in json.load(sys.stdin)["values"] if v["key"] == sys.argv[1]])' "$1"; }
expect() { [[ $(value "$1") == "$2" ]] || fail "$1 is $(value "$1"), not $2"; }
refuse() {
  local said status=0
  said=$("$binary" list 2>&1) || status=$?
  [[ $status == 2 && $said == *"$1"* ]] || fail "exit status $status: $said; not: $1"
}

expect size "auto from the default"
expect store "$folder/data/kernelbench/evaluations.sqlite from the default"
echo 'size = "odd"
protocol = "quick"' >../../config/kernelbench/config.toml
expect size "odd from $folder/config/kernelbench/config.toml"
echo 'size = "small"
store = "results.sqlite"' >../kernelbench.toml
expect size "small from $folder/project/kernelbench.toml"
expect protocol "quick from $folder/config/kernelbench/config.toml"
expect store "$folder/project/results.sqlite from $folder/project/kernelbench.toml"
KERNELBENCH_STORE=/elsewhere.sqlite expect store "/elsewhere.sqlite from KERNELBENCH_STORE"
"$binary" eval --help | grep -q 'SIZES.*' || fail "no help"
"$binary" eval --help | tr -d '\n' | grep -q '\[small\]' || fail "the help of eval does not show the size that holds"

mkdir ../.git && mv ../kernelbench.toml ../..
expect size "odd from $folder/config/kernelbench/config.toml" # a file above the repository is not its own
rm -r ../.git ../../kernelbench.toml

printf 'sise = "small"\n' >../kernelbench.toml
refuse 'kernelbench.toml:1: there is no key sise (did you mean "size"?); the keys are store, device, model, size, protocol'
printf '\nsize = 3\n' >../kernelbench.toml
refuse 'kernelbench.toml:2: size takes a text in quotes'
printf 'device = "gpu"\n' >../kernelbench.toml
refuse 'kernelbench.toml:1: there is no device gpu'
printf 'protocol = "qick"\n' >../kernelbench.toml
refuse 'did you mean "quick"'
printf 'size = odd\n' >../kernelbench.toml
refuse 'a value is a text in quotes'
printf 'size = \n' >../kernelbench.toml
refuse 'kernelbench.toml:1: '
rm ../kernelbench.toml

key() { "$binary" config --json | python3 -c 'import json, sys; print(*[k["from"] for k in json.load(sys.stdin)["keys"] if k["name"] == "OPENAI_API_KEY"])'; }
[[ $(key) == None ]] || fail "a key is found where there is none"
echo 'export OPENAI_API_KEY="sk-0123456789abcdef"' >"$folder/config/kernelbench/.env"
[[ $(key) == "$folder/config/kernelbench/.env" ]] || fail "the key is from $(key)"
echo 'OPENAI_API_KEY=sk-other-0123456789' >.env
[[ $(key) == "$PWD/.env" ]] || fail "the key is from $(key)"
[[ $(OPENAI_API_KEY=sk-mine-0123456789 key) == "the environment" ]] || fail "the environment does not win"
chmod 644 .env && "$binary" config | grep -q 'chmod 600' || fail "that others can read it is not said"
if "$binary" config | grep -q sk-; then fail "a key is shown"; fi
echo "defaults and keys come from where they should"
