#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.sh [--work WORK] [--base BASE] [--kdl BUILD] [SERIES...]: from nothing, gets Debian's LLVM 24 and 23 and the sources, applies
# each series patch by patch, and shows of each patch that its tests fail before it and pass after it. Prints a table.
# With libkdl's build folder, the verdicts of the patches are compared with libkdl's.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
work=$here/../build/upstream bases="23 24 suite" series=() kdl=
while [ $# -gt 0 ]; do
  case $1 in
    --work) work=$2 && shift 2 ;;
    --base) bases=$2 && shift 2 ;;
    --kdl) kdl=$2 && shift 2 ;;
    -*) fail "unknown option $1 (usage: build.sh [--work WORK] [--base BASE] [--kdl BUILD] [SERIES...])" ;;
    *) series+=("$1") && shift ;;
  esac
done
work=$(realpath -m "$work")
if [ ${#series[@]} = 0 ]; then
  for folder in "$here"/*/test.sh; do series+=("$(basename "$(dirname "$folder")")"); done
fi

"$here/root.sh" "$work"
"$here/project.sh" "$work"
mkdir -p "$work/root/build"
copy=upstream.$$ tables=()
trap 'rm -rf "$work/root/$copy"' EXIT
cp -a "$here" "$work/root/$copy"
if [ -n "$kdl" ]; then
  mkdir -p "$work/root/kdl"
  cp "$kdl"/lib/lib{kdl,rfc_kdl_reference}.a "$here/../tests/rfc/kdl_reference.h" "$work/root/kdl"
fi

status=0
for name in "${series[@]}"; do
  [ -f "$here/$name/test.sh" ] || fail "no series $name"
  for base in $bases; do
    say "series $name on $base"
    code=0
    in_root /usr/bin/bash "/$copy/run.sh" "$name" "$base" || code=$?
    [ $code = 77 ] && continue # not for this base
    [ $code = 0 ] || status=1
    tables+=("$work/root/build/$name/$base/table")
  done
done

[ ${#tables[@]} -gt 0 ] || skip "nothing ran"
table() {
  echo '| series | patch | base | files that it changes | applies | tests before | s | with main | builds | tests after | s | clang-format | GPU |'
  echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|'
  cat "${tables[@]}" | sed 's/|/ | /g; s/^/| /; s/$/ |/'
}
table | tee "$work/table.md"
[ $status = 0 ] || fail "some patch is not as it should be; logs are in $work/root/build/SERIES/BASE/logs"
