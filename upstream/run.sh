#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh SERIES BASE: runs in the root, from a copy of this folder there. Applies the patches of SERIES one by one to a
# worktree of /project/BASE. For each patch: its tests alone are added, built and run, and must fail; then the patch is
# applied with `git am`, built and run, and they must pass. Where the series has main_NUMBER, its tests are also run with main's own
# tools, as Debian packs them, and must fail there as well. Rows for the table go to /build/SERIES/BASE/table.
set -uo pipefail
series=$1 BASE=$2
upstream=$(dirname "$0")
SRC=/build/$series/$BASE/src BUILD=/build/$series/$BASE/out LLVM=/usr/lib/llvm-$BASE
INCLUDE=$LLVM/include
JOBS=${JOBS:-2}
# Main and the release, with their dates.
MAIN="main 2026-10-25" OLD="23.1.1"
# llvm-test-suite is built with main's tools, if it is there.
if [ "$BASE" = suite ]; then
  [ -d /project/suite ] || exit 77
  OLD="llvm-test-suite 2026-08-21" LLVM=/usr/lib/llvm-24 INCLUDE=/usr/lib/llvm-24/include
fi
logs=/build/$series/$BASE/logs
table=/build/$series/$BASE/table
export SRC BUILD LLVM BASE JOBS INCLUDE CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime

# For the series: what they may use.
skip_patch() { exit 77; }
# cxx ARGUMENT...: compiles as LLVM does.
cxx() { nice -n 10 ccache c++ -std=c++17 -O1 -fno-rtti -fno-exceptions -Wall -Wextra -Werror -Wno-unused-parameter -Wno-dangling-reference -Wno-redundant-move -Wno-comment -D_GNU_SOURCE -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS "$@"; }
# gtest OUTPUT SOURCE... -- ARGUMENT...: a unit test with LLVM's copy of googletest, against libLLVM.
gtest() {
  local output=$1 sources=() unit=$SRC/third-party/unittest
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do sources+=("$1") && shift; done
  [ $# -gt 0 ] && shift
  if [ ! -f "$BUILD/Error.o" ]; then
    cxx -w -I"$unit/googletest" -I"$unit/googletest/include" -I"$INCLUDE" -c "$unit/googletest/src/gtest-all.cc" -o "$BUILD/gtest-all.o" &&
      cxx -w -I"$unit/googlemock" -I"$unit/googlemock/include" -I"$unit/googletest/include" -I"$INCLUDE" \
        -c "$unit/googlemock/src/gmock-all.cc" -o "$BUILD/gmock-all.o" &&
      cxx -w -I"$unit/googlemock/include" -I"$unit/googletest/include" -I"$INCLUDE" -c "$unit/UnitTestMain/TestMain.cpp" -o "$BUILD/TestMain.o" &&
      cxx -w -I"$unit/googlemock/include" -I"$unit/googletest/include" -I"$INCLUDE" -c "$SRC/llvm/lib/Testing/Support/Error.cpp" -o "$BUILD/Error.o" || return
  fi
  cxx -I"$SRC/llvm/include" -isystem "$INCLUDE" -isystem "$unit/googletest/include" -isystem "$unit/googlemock/include" \
    "${sources[@]}" "$BUILD/TestMain.o" "$BUILD/Error.o" "$BUILD/gtest-all.o" "$BUILD/gmock-all.o" "$@" -L"$LLVM/lib" -lLLVM-$BASE -o "$output"
}
# lit TEST...: LLVM's test runner over files or folders; tools come from $BUILD/bin, then from Debian's LLVM.
lit() { python3 "$SRC/llvm/utils/lit/lit.py" -sv -j "$JOBS" --param "build=$BUILD" --param "base=$BASE" --config-prefix upstream "$@"; }
# lit_main TEST...: the same with Debian's tools of main alone.
lit_main() { BUILD=$BUILD/none BASE=24 lit "$@"; }

BASES="23 24"
# shellcheck source=/dev/null
. "$upstream/$series/test.sh"
case " $BASES " in *" $BASE "*) ;; *) exit 77 ;; esac

rm -rf "$SRC" "$logs"
mkdir -p "$BUILD/bin" "$logs"
: >"$table"
git -C "/project/$BASE" worktree prune
git -C "/project/$BASE" worktree add --quiet --force --detach "$SRC" base || exit 1
cp "$upstream/lit.cfg.py" "$SRC/upstream.cfg.py"
git -C "$SRC" config --worktree core.excludesFile /dev/null 2>/dev/null
echo upstream.cfg.py >>"$(git -C "$SRC" rev-parse --git-common-dir)/info/exclude"

now() { date +%s%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", (b - a) / 1e9 }'; }
# attempt STAGE NUMBER: builds, then tests; prints "passes", "fails" or "does not build", and the seconds taken.
attempt() {
  local start result=passes
  start=$(now)
  # Bash has no `set -e` in conditions.
  (set -e && "build_$2") >"$logs/$2-$1-build.log" 2>&1
  if [ $? != 0 ]; then
    result="does not build"
  else
    (set -e && "test_$2") >"$logs/$2-$1-test.log" 2>&1
    [ $? = 0 ] || result=fails
  fi
  echo "$result|$(since "$start")"
}

# sources PATCH: whose the files are that it changes. Debian's packages of 24 contain main's headers and TableGen files, and nothing else of it.
sources() {
  local file packaged main=0 old=0 new=0 text=
  while read -r file; do
    case $file in
      llvm/include/*) packaged=/usr/include/llvm-24/${file#llvm/include/} ;;
      mlir/include/*) packaged=/usr/lib/llvm-24/include/${file#mlir/include/} ;;
      clang/lib/Headers/*) packaged=/usr/lib/llvm-24/lib/clang/24/include/${file#clang/lib/Headers/} ;;
      *) packaged= ;;
    esac
    if [ ! -f "$SRC/$file" ]; then
      new=$((new + 1))
    elif [ "$BASE" = 24 ] && { [ -f "$packaged" ] || [ -f /project/24.complete ]; }; then
      main=$((main + 1))
    else
      old=$((old + 1))
    fi
  done < <(sed -n 's,^+++ b/,,p' "$1")
  [ $main = 0 ] || text="$main of $MAIN"
  [ $old = 0 ] || text="$text${text:+, }$old of $OLD"
  [ $new = 0 ] || text="$text${text:+, }$new new"
  echo "$text"
}
# gpu NUMBER: what is known of a run on a GPU, of this base.
gpu() { awk -v s="$series" -v n="$1" -v b="$BASE" '$1 == s && $2 == n && ($3 == b || $3 == "*") { sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); print }' "$upstream/gpu"; }
# reason LOG: the first error of LOG in a few words, and the RUN line of lit that it is of.
reason() {
  awk '/RUN: at line/ { run = "line " $NF ": " } match($0, /error: .*|[0-9]+ FAILED TESTS?/) {
    text = substr($0, RSTART, RLENGTH); sub(/^error: /, "", text); sub(/ in input.*/, "", text); gsub(/[|]/, "", text); print run substr(text, 1, 60); exit }' "$1"
}

status=0
for patch in "$upstream/$series"/[0-9]*.patch; do
  name=$(basename "$patch" .patch) number=${name%%-*}
  if [ "$(type -t "only_$number")" = function ] && ! "only_$number"; then
    git -C "$SRC" am --quiet --keep-non-patch "$patch" >"$logs/$number-am.log" 2>&1 || git -C "$SRC" am --abort 2>/dev/null
    continue
  fi
  of=$(sources "$patch")
  # The tests alone: what the patch does to files in folders of tests.
  before="no tests|0" main=-
  if git -C "$SRC" apply --include='*/test/*' --include='*/unittests/*' --include='litsupport-tests/*' "$patch" 2>"$logs/$number-tests.log"; then
    before=$(attempt before "$number")
    if [ "$(type -t "main_$number")" = function ]; then
      (set -e && "main_$number") >"$logs/$number-main.log" 2>&1
      if [ $? = 0 ]; then main=passes status=1; else main="fails: $(reason "$logs/$number-main.log")"; fi
    fi
    git -C "$SRC" checkout --quiet --force HEAD && git -C "$SRC" clean --quiet --force -d -e upstream.cfg.py
  else
    before="tests do not apply|0"
  fi
  if ! git -C "$SRC" am --quiet --keep-non-patch "$patch" >"$logs/$number-am.log" 2>&1; then
    git -C "$SRC" am --abort
    echo "$series|$number|$BASE|$of|does not apply||||||||" >>"$table"
    status=1
    break
  fi
  format=clean
  [ -n "$(git -C "$SRC" diff --name-only HEAD~ -- '*.h' '*.cpp' ':!*/test/*' ':!clang/lib/Headers')" ] || format="no source to check"
  git -C "$SRC" diff -U0 --no-color HEAD~ -- '*.h' '*.cpp' ':!*/test/*' ':!clang/lib/Headers' |
    (cd "$SRC" && python3 /usr/share/clang/clang-format-24/clang-format-diff.py -p1 -style=LLVM -binary /usr/lib/llvm-24/bin/clang-format) >"$logs/$number-format.log" 2>&1
  [ -s "$logs/$number-format.log" ] && format="not clean" && status=1
  after=$(attempt after "$number")
  [ "${after%|*}" != passes ] || [ "$(type -t "passes_$number")" != function ] || after="$("passes_$number")|${after#*|}"
  builds=yes
  [ "${after%|*}" != "does not build" ] || builds=no
  echo "$series|$number|$BASE|$of|applies|${before%|*}|${before#*|}|$main|$builds|${after%|*}|${after#*|}|$format|$(gpu "$number")" >>"$table"
  { [ "${after%|*}" = passes ] || [ "${after%|*}" = compiles ]; } && [ "${before%|*}" != passes ] || status=1
done
exit $status
