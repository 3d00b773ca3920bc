#!/usr/bin/env bash
# Builds the container image, judges bundled examples in it without root, and serves from it.
#
#   container_test.sh PACKAGES [option of packaging/container/build...]
#
# As root it runs podman as the user KERNELBENCH_TEST_USER, kbtest without it, who must have subordinate ids (/etc/subuid).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
packages=$(realpath "$1")
shift
work=$(mktemp -d)
chmod 755 "$work"
name=kernelbench-test-$$

fail() {
  echo "container_test: $1" >&2
  exit 1
}
user() {
  if ((EUID != 0)); then
    "$@"
  else
    local who=${KERNELBENCH_TEST_USER:-kbtest}
    (cd / && exec setpriv --reuid "$who" --regid "$who" --init-groups env HOME="$(getent passwd "$who" | cut -d : -f 6)" XDG_RUNTIME_DIR="$work/run" "$@")
  fi
}
podman() { user podman --runtime runc --cgroup-manager cgroupfs "$@"; }
end() {
  podman rm -f -t 0 "$name" >/dev/null 2>&1 || true
  podman rmi -f "localhost/$name" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap end EXIT
if ((EUID == 0)); then
  id "${KERNELBENCH_TEST_USER:-kbtest}" >/dev/null || fail "there is no user kbtest: useradd -m kbtest, or set KERNELBENCH_TEST_USER"
  install -d -o "${KERNELBENCH_TEST_USER:-kbtest}" "$work/run"
fi

if "$root/packaging/container/build" 2>/dev/null; then fail "an image was built of nothing"; fi
export CONTAINERS_STORAGE_CONF=$work/storage.conf
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/root"\nrunroot = "%s/state"\n' "$work" "$work" >"$work/storage.conf"
"$root/packaging/container/build" --packages "$packages" --tag "localhost/$name" --output "$work/image.tar" "$@"
unset CONTAINERS_STORAGE_CONF
rm -rf "$work/root" 2>/dev/null || true
chmod 644 "$work/image.tar"
podman load -q -i "$work/image.tar" >/dev/null

options=(--security-opt unmask=ALL --security-opt seccomp=unconfined --ulimit nofile=4096:4096 --ulimit nproc=4096:4096)
inside() { podman run --rm --network none "${options[@]}" "localhost/$name" "$@"; }
inside doctor >"$work/doctor" || fail "$(cat "$work/doctor")"
[[ $(grep -c '38 of 38 forbidden things failed' "$work/doctor") -ge 2 ]] || fail "$(grep forbidden "$work/doctor")"
examples=/usr/share/kernelbench/examples
while read -r problem size candidate verdict; do
  said=$(inside eval "$problem" "$examples/$candidate" --size "$size" --protocol quick --quiet --json) || true
  grep -q "\"verdict\":\"$verdict\"" <<<"$said" || fail "$candidate is not $verdict: ${said:0:300}"
done <<'LIST'
1/36 small 1_36_rmsnorm/fused.cpp correct
1/36 small 1_36_rmsnorm/fused_inline.py correct
1/89 odd 1_89_cumsum/lost_carry.cpp incorrect
1/19 small 1_19_relu/syntax_error.cpp build_failed
LIST

podman run -d --name "$name" --network host "${options[@]}" "localhost/$name" serve --listen 127.0.0.1:0 --no-auth >/dev/null
for _ in $(seq 60); do
  address=$(podman logs "$name" 2>&1 | grep -oE '127\.0\.0\.1:[0-9]+' | head -n 1 || true)
  if [[ -n $address ]]; then break; fi
  sleep 0.5
done
said=$(curl -sS "http://$address/v1/evaluations?wait=100" -H 'content-type: application/json' -d '{"problem": "1/19", "size": "small",
  "protocol": "quick", "source": "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"}')
grep -q '"verdict":"correct"' <<<"$said" || fail "the service in the container: ${said:0:300}"
echo "the image was built, judged four examples without root, and served"
