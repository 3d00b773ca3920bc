#!/usr/bin/env bash
# What shells complete and what man shows: completion_test.sh BINARY. zsh, fish and groff are tried where they are installed.
set -euo pipefail
binary=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$binary" "$folder/kernelbench"
export PATH=$folder:$PATH KERNELBENCH_STORE=$folder/none.sqlite

fail() {
  echo "completion_test: $1" >&2
  exit 1
}

# shellcheck disable=SC1090
source <(kernelbench completion bash)
# expect WORDS... => REPLY: what bash completes after these words, of which the last is being typed.
expect() {
  local wanted=${*: -1}
  COMP_WORDS=("${@:1:$#-1}") COMPREPLY=()
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _kernelbench
  [[ ${COMPREPLY[*]} == "$wanted" ]] || fail "after ${COMP_WORDS[*]} bash completes ${COMPREPLY[*]}, not $wanted"
}
expect kernelbench ev "eval"
expect kernelbench eval 1/36 --si "--size"
expect kernelbench eval 1/36 --size s "standard small"
expect kernelbench eval 1/36 --protocol qu "quick"
expect kernelbench eval 2/10 "2/10 2/100"
expect kernelbench store "" "check gc"
expect kernelbench store check --st "--store"
expect kernelbench list --verdict in "incorrect"
expect kernelbench list --run "" ""  # there is no store
[[ $(kernelbench completion problems | wc -l) -ge 325 ]] || fail "problems are missing"

kernelbench completion zsh >"$folder/_kernelbench"
kernelbench completion fish >"$folder/kernelbench.fish"
kernelbench completion man >"$folder/kernelbench.1"
if command -v zsh >/dev/null; then
  zsh -n "$folder/_kernelbench" || fail "zsh cannot read its completions"
  said=$(zsh -fc "compdef() { :; }; source $folder/_kernelbench; _kernelbench_words /eval --size s")
  [[ $said == "auto standard small odd" ]] || fail "zsh offers $said after --size"
fi
if command -v fish >/dev/null; then
  said=$(fish -c "source $folder/kernelbench.fish; complete -C 'kernelbench eval --siz'" | cut -f 1)
  [[ $said == --size ]] || fail "fish completes $said"
fi
if command -v groff >/dev/null; then
  said=$(groff -man -ww -z "$folder/kernelbench.1" 2>&1)
  [[ -z $said ]] || fail "groff: $said"
fi
grep -q '^\.SS eval$' "$folder/kernelbench.1" || fail "the man page lacks eval"
echo "completions of bash, zsh and fish, and the man page: as expected"
