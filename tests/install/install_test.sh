#!/usr/bin/env bash
# Installs a build, moves the tree, and looks at it from there: it lists its problems, and every library that it should
# carry is found inside it.
#
#   install_test.sh BUILD_DIRECTORY
set -euo pipefail

build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/moved/tree

fail() {
  echo "install_test: $1" >&2
  exit 1
}

cmake --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || { cat "$work/log"; fail "cmake --install failed"; }
mkdir "$work/moved"
mv "$work/first" "$tree"

for file in bin/kernelbench libexec/kernelbench/{kb-runner,kb-nvrtc,kb-keeper} include/kernelbench/kernel.h \
  share/kernelbench/{python/kernelbench_torch/device_host.py,protocols/strict.toml,prompts/default.toml,prompts/turns.toml,examples/expected.json,models/prices.toml,web/{index.html,app.js,style.css}}; do
  [[ -e $tree/$file ]] || fail "$file is not installed"
done
if find "$tree" -name __pycache__ | grep -q .; then fail "bytecode of Python was installed"; fi

printf '[models.nobody]\nprovider = "vllm"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\nattempts = 1\n' >"$work/models.toml"

# From an empty environment and another directory, so that nothing of the source tree helps.
cd /
problems=$(env -i PATH=/usr/bin:/bin "$tree/bin/kernelbench" problems list)
grep -q '^1/19 ' <<<"$problems" || fail "problems list does not know 1/19: $problems"
env -i PATH=/usr/bin:/bin "$tree/bin/kernelbench" protocols strict >/dev/null || fail "protocols strict failed"
prompt=$(env -i PATH=/usr/bin:/bin "$tree/bin/kernelbench" prompt 1/19)
grep -q '^## Example 1' <<<"$prompt" || fail "prompt shows no example"

# A model is called over the carried libcurl: nobody listens on port 1, and saying so takes all that a call takes.
call=$(env -i PATH=/usr/bin:/bin HOME=/ LD_DEBUG=libs "$tree/bin/kernelbench" models --models-file "$work/models.toml" --try nobody 2>&1 || true)
grep -q "gave up after 1 attempt: " <<<"$call" || fail "models --try did not call: $(tail -n 1 <<<"$call")"
if grep -E "calling init: .*/(libcurl|libnghttp2|libssl)" <<<"$call" | grep -vF "$tree/"; then
  fail "libcurl, or what it needs, is not the carried one"
fi

if find "$tree" -name 'lib*.so*' | grep -E '/lib(c|m|dl|rt|resolv|pthread|nss_[a-z]*)\.so'; then
  fail "a library of glibc is carried, which fits no other glibc"
fi

# Where each library comes from: the tree, but for those of glibc and the compiler (cmake/install.cmake says why).
objects=("$tree"/bin/kernelbench "$tree"/libexec/kernelbench/{kb-runner,kb-nvrtc,kb-keeper,libkernelbench_device.so,libkernelbench_runner.so,libkernelbench_memory.so})
objects+=("$tree/libexec/kernelbench/bwrap")
env -i "$tree/libexec/kernelbench/bwrap" --version >/dev/null || fail "the carried bwrap does not start"
for object in "${objects[@]}"; do
  env -i ldd "$object" | while read -r name arrow path _; do
    case $name in
      linux-vdso.so.* | /lib*/ld-linux* | libc.so.6 | libm.so.6 | libstdc++.so.6 | libgcc_s.so.1) ;;
      *) [[ $arrow == "=>" && $path == "$tree"/* ]] || fail "${object##*/} takes $name from ${path:-nowhere}" ;;
    esac
  done
done
echo "${#objects[@]} programs and libraries find what they need in the moved tree"
