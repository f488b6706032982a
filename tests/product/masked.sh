#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# masked.sh SOURCE WORK: scripts/masked.sh hides what this machine has, and fails where its command does or leaves files behind.
# shellcheck disable=SC2016 # what stands in single quotes is for the masked shell
set -euo pipefail
masked=$1/scripts/masked.sh work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() {
  echo "masked test: $*" >&2
  cat output >&2
  exit 1
}
# exits CODE COMMAND...: the exit code of the command, masked.
exits() {
  local expected=$1 code=0
  shift
  "$masked" "$@" >output 2>&1 || code=$?
  [ "$code" = "$expected" ] || fail "$*: exit code $code, expected $expected"
}

exits 0 true
exits 7 sh -c 'exit 7'
CUDA_HOME=/nowhere exits 0 sh -c '[ -z "${CUDA_HOME:-}" ] && [ -z "$(ls -A "$HOME")" ]'
exits 1 sh -c 'mkdir "$HOME/.cache"'
grep -q 'home/[.]cache' output || fail "expected the name of what was left"
exits 1 sh -c 'mktemp /tmp/kdl-masked-XXXXXX >left'
grep -qF "$(cat left)" output || fail "expected the name of what was left"
rm -f "$(cat left)"
exits 0 sh -c 'rm "$(mktemp /tmp/kdl-masked-XXXXXX)"'
if [ "$(id -u)" = 0 ] && unshare --mount --propagation private true 2>/dev/null; then
  exits 0 sh -c '[ ! -e /usr/local/bin ] && [ -z "$(ls -A /opt)" ]'
fi
[ -z "$(find build -mindepth 1 2>/dev/null)" ] || fail "it left its own folders"
echo "masked: all cases as expected"
