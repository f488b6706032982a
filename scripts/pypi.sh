# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pypi.sh: sourced by scripts that put packages of the Python package index into a folder, for tests, and leave what is outside the
# folder alone. They set:
#   name     of the script; the packages are those of NAME.txt, with their hashes
#   tests    what is reported as skipped where they cannot be had
#   python   the program that fetches them
# It ends the script where the folder has them already. $work becomes $folder at the end.

# shellcheck disable=SC2154 # set by the script
list=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$name.txt
[ $# = 1 ] || {
  echo "usage: $name.sh FOLDER" >&2
  exit 2
}
folder=$1
work=$folder.new

say() { printf '%s: %s\n' "$name" "$*"; }
# shellcheck disable=SC2154
skip() {
  say "$*: $tests will be skipped"
  exit 0
}
require_x86_64() { [ "$(uname -m)" = x86_64 ] || skip "there is none for $(uname -m)"; }

# fetch WHAT install|download OPTION...: says WHAT, where it is not empty, and runs pip.
# shellcheck disable=SC2154
fetch() {
  local what=$1
  shift
  "$python" -m pip --version >/dev/null 2>&1 || skip "pip not found (Debian: python3-pip)"
  rm -rf "$work"
  mkdir -p "$work"
  trap 'rm -rf "$work"' EXIT
  [ -z "$what" ] || say "fetching $what into $folder"
  "$python" -m pip "$@" --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --require-hashes --retries 1 --timeout 30 \
    -r "$list" || skip "the Python package index did not give it"
}

finish() {
  cp "$list" "$work/list.txt"
  rm -rf "$folder"
  mv "$work" "$folder"
  trap - EXIT
}

if cmp -s "$list" "$folder/list.txt"; then
  exit 0
fi
