#!/usr/bin/env bash
# Judges a bundled example with the program of each package, as far as one can without being root of another machine: the archive and the .deb are unpacked, the
# wheel is installed into an environment of its own.
#
#   packages_test.sh FOLDER      of packages; KERNELBENCH_PYTHON: a Python with PyTorch
set -euo pipefail

folder=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data

fail() {
  echo "packages_test: $1" >&2
  exit 1
}

mkdir "$work/archive" "$work/deb"
tar xzf "$folder"/kernelbench-*.tar.gz -C "$work/archive" --strip-components=1
dpkg-deb -x "$folder"/kernelbench_*.deb "$work/deb"
python3 -m venv "$work/wheel"
"$work/wheel/bin/pip" install --quiet --no-index "$folder"/kernelbench_cpp-*.whl

for tree in "$work/archive" "$work/deb/usr" "$work/wheel"; do
  [[ -x $tree/libexec/kernelbench/bwrap ]] || fail "${tree#"$work/"} carries no bwrap"
  said=$("$tree/bin/kernelbench" eval 1/36 "$tree/share/kernelbench/examples/1_36_rmsnorm/fused.cpp" --device cpu --size small --protocol quick --quiet --no-service --json) ||
    fail "${tree#"$work/"}: $said"
  grep -q '"verdict":"correct"' <<<"$said" || fail "${tree#"$work/"}: $said"
done
if "$work/wheel/bin/python" -c 'import kernelbench' 2>/dev/null; then fail "the wheel brings a module named kernelbench"; fi
echo "an archive, a .deb and a wheel judged 1/36: correct each time"
