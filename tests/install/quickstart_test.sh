#!/usr/bin/env bash
# ./quickstart on a full disk says what it needs before it installs or builds anything.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "quickstart_test: $1" >&2
  exit 1
}

mkdir -p "$work/checkout" "$work/bin"
cp -r "$root/quickstart" "$root/scripts" "$work/checkout"
printf '#!/bin/sh\necho Filesystem\necho "/dev/full 1000 990 ${FREE} 99%% /"\n' >"$work/bin/df"
chmod +x "$work/bin/df"

# The build and the results are missing in a bare checkout, whatever the machine has.
status=0
said=$(FREE=40 PATH=$work/bin:$PATH "$work/checkout/quickstart" --jobs 2 2>&1) || status=$?
((status == 3)) || fail "exit status $status: $said"
grep -Eq '^This takes about [0-9]+ min with 2 jobs .* GB of disk: .*build' <<<"$said" || fail "it does not say what it takes: $said"
grep -Eq 'needs about [0-9]+ MB, but only 40 MB are free' <<<"$said" || fail "it does not say what is missing: $said"
if grep -q "Setting up" <<<"$said" || [[ -e $work/checkout/build || -e $work/checkout/.venv ]]; then fail "it began all the same: $said"; fi
echo "nothing was begun on a full disk"
