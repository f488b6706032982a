#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kernels.sh SOURCE PREFIX WORK: a project that finds the installed package compiles kernels by
# kdl_add_kernels, with Ninja and with make: the program runs them, a build that has nothing to do does
# nothing, and a header that changes has them compiled again.
set -euo pipefail
source=$1 prefix=$2 work=$3

fail() {
  echo "kernels: $*" >&2
  exit 1
}
if ! command -v clang-22 >/dev/null || ! command -v ld.lld-22 >/dev/null; then
  echo "skipped: clang-22 or lld-22 not found (Debian: clang-22, lld-22)"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
libdir=$(dirname "$(find "$prefix" -name libkdl.so)")
case $(uname -m) in
x86_64) targets="x86-64;spirv64" ;;
*) targets="native;spirv64" ;;
esac

runs() {
  local found
  found=$(LD_LIBRARY_PATH=$libdir "$1/app") || fail "$1/app: exit code $?"
  [ "$found" = "$2" ] || fail "$1/app: found '$found', expected $2"
}
times() { stat -c '%y %n' "$1"/app "$1"/scale.offload; }

for generator in Ninja "Unix Makefiles"; do
  tree=$work/$generator # a path with a space
  cp -r "$source/tests/product/kernels" "$tree.source"
  cmake -S "$tree.source" -B "$tree" -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" "-DTARGETS=$targets" --log-level=WARNING >/dev/null
  cmake --build "$tree" >"$tree.log" 2>&1 || fail "$generator: $(cat "$tree.log")"
  runs "$tree" 4
  [ "$("$prefix/bin/kdl" ls --kernels "$tree/app" | grep -cE '^ *(scale|shift)$|kernel.*(scale|shift)')" -ge 2 ] ||
    fail "$generator: app carries $("$prefix/bin/kdl" ls --kernels "$tree/app")"

  before=$(times "$tree")
  cmake --build "$tree" >"$tree.log" 2>&1 || fail "$generator: $(cat "$tree.log")"
  [ "$(times "$tree")" = "$before" ] || fail "$generator: a build that had nothing to do made something: $(cat "$tree.log")"
  if grep -q 'Compiling kernels' "$tree.log"; then fail "$generator: found $(cat "$tree.log"), expected nothing to do"; fi

  sleep 1.1 # a second is the smallest time that some file systems know
  sed -i 's/FACTOR 2/FACTOR 3/' "$tree.source/include/factor.h"
  cmake --build "$tree" >"$tree.log" 2>&1 || fail "$generator: $(cat "$tree.log")"
  runs "$tree" 6
  if grep -q 'Compiling kernels of shift.cpp' "$tree.log"; then fail "$generator: shift.cpp does not include the header, and was compiled again"; fi
  echo "kernels: $generator: compiled, embedded, run; nothing to do the second time; again after a header changed"
done
cmp "$work/Ninja/scale.offload" "$work/Unix Makefiles/scale.offload" ||
  fail "the same source in another folder gave other bytes"

if cmake -S "$source/tests/product/kernels" -B "$work/wrong" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" "-DTARGETS=$targets" -DWRONG_CALL=ON >"$work/wrong.log" 2>&1; then
  fail "kdl_add_kernels took a target that is none"
fi
grep -q 'nothing is no target, expected one that carries the kernels' <(tr -s ' \n' ' ' <"$work/wrong.log") ||
  fail "kdl_add_kernels without a target: found $(cat "$work/wrong.log")"
