#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# uninstall.sh SOURCE PREFIX WORK: `make uninstall` removes what was installed, and leaves what others put into the same folders.
set -euo pipefail
source=$1 prefix=$2 work=$3
fail() {
  echo "uninstall: $*" >&2
  exit 1
}
uninstall() { make -s -C "$source" uninstall PREFIX="$1" >"$work/said" 2>&1; }

rm -rf "$work"
mkdir -p "$work"
cp -al "$prefix" "$work/prefix"
touch "$work/prefix/bin/other" "$work/outside"
mkdir "$work/prefix/lib/other"
echo ../outside >>"$work/prefix/share/doc/libkdl/installed.txt.new"
cat "$work/prefix/share/doc/libkdl/installed.txt" >>"$work/prefix/share/doc/libkdl/installed.txt.new"
mv "$work/prefix/share/doc/libkdl/installed.txt.new" "$work/prefix/share/doc/libkdl/installed.txt"
uninstall "$work/prefix" || fail "exit code $?: $(cat "$work/said")"
left=$(cd "$work/prefix" && find . ! -type d)
[ "$left" = ./bin/other ] || fail "found $left, expected ./bin/other"
left=$(cd "$work/prefix" && find . -name '*kdl*')
[ -z "$left" ] || fail "left behind: $left"
[ -d "$work/prefix/lib/other" ] || fail "a folder of others is gone"
[ -e "$work/outside" ] || fail "a file outside the prefix is gone"
[ -e "$prefix/bin/kdl" ] || fail "the other prefix is gone"

# A second time, and where there was nothing.
for folder in "$work/prefix" "$work/none"; do
  if uninstall "$folder"; then fail "$folder: expected a refusal"; fi
  grep -q "no libkdl is installed in $folder" "$work/said" || fail "$folder: found $(cat "$work/said")"
done

# Below DESTDIR, as packages are made.
mkdir -p "$work/stage/usr"
cp -al "$prefix" "$work/stage/usr/local"
DESTDIR=$work/stage uninstall /usr/local || fail "DESTDIR: exit code $?: $(cat "$work/said")"
left=$(cd "$work/stage" && find . ! -type d)
[ -z "$left" ] || fail "DESTDIR: left behind: $left"
echo "uninstall: all removed, nothing else"
