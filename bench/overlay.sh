#!/bin/sh
# Runs a command as root in a copy of this machine's files that ends with it: for what may damage a machine, such as the
# hostile zoo without the barrier mount-namespace.
#
#     bench/overlay.sh bench/zoo_barriers.py --barriers mount-namespace
#
# What it writes lies in at most 6 GB of memory. Processes, network and devices are this machine's own.
set -eu
if [ "${1:-}" != --inside ]; then
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
here=$(pwd) stage=$(mktemp -d)
mount -t tmpfs -o size=6g tmpfs "$stage"
mkdir "$stage/upper" "$stage/work" "$stage/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" "$stage/root"
for path in dev proc sys; do mount --rbind "/$path" "$stage/root/$path"; done
mount -t tmpfs -o size=1g tmpfs "$stage/root/dev/shm"
mkdir -p "$stage/root/.old"
cd "$stage/root"
pivot_root . .old
umount -l /.old
cd "$here"
exec "$@"
