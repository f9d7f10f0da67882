#!/bin/bash
# The system service as a server's owner meets it: installed, socket-activated, asked by users who are not
# root. Needs root, a running systemd, and a machine that may be changed: it installs into /usr, makes two
# users, and leaves everything behind. Run it by `script/test system` in a container or a virtual machine.
# Statement, action, expectation; the first failure ends it.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || { echo "system_test: must run as root" >&2; exit 1; }
[ -d /run/systemd/system ] || { echo "system_test: needs a booted systemd" >&2; exit 1; }

passed=0
ok() {
  passed=$((passed + 1))
  echo "ok   $*"
}
fail() {
  echo "FAIL $*" >&2
  systemctl --no-pager status libreyolo-kernels.service libreyolo-kernels.socket >&2 || true
  journalctl --no-pager -u libreyolo-kernels.service -n 50 >&2 || true
  echo "$passed passed, 1 failed"
  exit 1
}
# expect CODE TEXT COMMAND...: the exit code is CODE and the output (both streams) holds TEXT.
expect() {
  local code=$1 text=$2 output status=0
  shift 2
  output=$("$@" 2>&1) || status=$?
  [ "$status" = "$code" ] || fail "exit code $status instead of $code: $* -> $output"
  [[ $output == *"$text"* ]] || fail "no '$text' in the output of: $* -> $output"
  ok "$* -> $code"
}
as() { runuser -u "$1" -- "${@:2}"; }

work=$(mktemp -d)
hub_pid=''
trap '[ -z "$hub_pid" ] || kill "$hub_pid"; rm -rf "$work"' EXIT

echo "== install"
cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr >/dev/null
cmake --build --preset release -- --quiet
cmake --install build/release >/dev/null
ldconfig
systemd-sysusers
systemd-tmpfiles --create
systemctl daemon-reload
expect 0 "" systemd-analyze verify /usr/lib/systemd/system/libreyolo-kernels.service
id ada >/dev/null 2>&1 || useradd --create-home ada
id grace >/dev/null 2>&1 || useradd --create-home --groups libreyolo-kernels grace

echo "== a Hub, and a pin of the machine's owner"
NVCC=$(script/nvcc) python3 tests/fakes/make_kernel_repo.py --root "$work/hub" --work build/demo >/dev/null
mkfifo "$work/ready"
python3 tests/fakes/fake_hub.py --root "$work/hub" >"$work/ready" 2>/dev/null &
hub_pid=$!
read -r ready <"$work/ready"
url=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["url"])' "$ready")
mkdir -p /etc/libreyolo-kernels/pins.d
echo "endpoint = \"$url\"" >/etc/libreyolo-kernels/daemon.toml
HF_ENDPOINT=$url XDG_CACHE_HOME=$work/cache libreyolo-kernels pin ms_deform_attn --repo kernels-community/deformable-detr \
  --revision v1 --abi ms_deform_im2col --output /etc/libreyolo-kernels/pins.d/ms_deform_attn.toml >/dev/null 2>&1

echo "== the socket starts the service, and anybody may ask"
systemctl enable --now libreyolo-kernels.socket >/dev/null 2>&1
systemctl is-active --quiet libreyolo-kernels.service && fail "the service runs before anybody asked"
expect 0 '"mode": "system"' as ada libreyolo-kernels status --json
systemctl is-active --quiet libreyolo-kernels.service || fail "the service does not run"
[ "$(ps -o user:32= -C libreyolo-kernelsd | tr -d ' ')" = libreyolo-kernels ] || fail "the service runs as another user"
ok "it runs as its own user"
expect 0 "ms_deform_attn" as ada libreyolo-kernels fetch ms_deform_attn
expect 0 "sm_90" as ada libreyolo-kernels resolve ms_deform_attn --arch 9.0
expect 0 "kernels-community/deformable-detr" as ada libreyolo-kernels list

echo "== who may do what"
for command in "verify" "remove ms_deform_attn" "prune" "rebuild-index"; do
  # shellcheck disable=SC2086 # words of a command
  expect 8 "" as ada libreyolo-kernels $command
done
expect 0 "" as grace libreyolo-kernels verify
expect 0 "" as grace libreyolo-kernels prune
expect 0 "" libreyolo-kernels verify
expect 2 "Permission denied" as ada ls /var/cache/libreyolo-kernels/blobs

echo "== a user's environment does not reach the service"
expect 0 "$url" as ada env HF_ENDPOINT=http://192.0.2.1 HF_TOKEN=hf_secret libreyolo-kernels status
expect 3 "no pin names it" as ada libreyolo-kernels fetch something_else

echo "== it comes back"
systemctl kill --signal=KILL libreyolo-kernels.service
expect 0 "sm_75" as ada libreyolo-kernels resolve ms_deform_attn --arch 7.5
systemctl stop libreyolo-kernels.service
expect 0 "sm_80" as ada libreyolo-kernels resolve ms_deform_attn --arch 8.0

echo "== a reload takes new pins, and refuses a bad configuration"
echo 'endpiont = "x"' >/etc/libreyolo-kernels/daemon.toml
systemctl reload libreyolo-kernels.service
expect 0 "sm_80" as ada libreyolo-kernels resolve ms_deform_attn --arch 8.0
journalctl -u libreyolo-kernels.service -n 20 --no-pager | grep -q endpoint || fail "the journal does not name the right key"
ok "the journal names the key that was meant"
echo "endpoint = \"$url\"" >/etc/libreyolo-kernels/daemon.toml
systemctl reload libreyolo-kernels.service

echo "== a damaged file is found, quarantined and fetched again"
blob=$(find /var/cache/libreyolo-kernels/blobs -type f -size +16k | head -n 1)
printf 'x' | dd of="$blob" bs=1 seek=5000 conv=notrunc status=none
systemctl restart libreyolo-kernels.service
expect 4 "damaged" libreyolo-kernels verify
expect 0 "" as ada libreyolo-kernels fetch ms_deform_attn
expect 0 "" libreyolo-kernels verify

echo "== offline, cached things work"
kill "$hub_pid"
hub_pid=''
expect 0 "sm_90" as ada libreyolo-kernels resolve ms_deform_attn --arch 9.0
expect 0 "" as ada man -w libreyolo-kernels

echo "$passed passed, 0 failed"
