#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# order.sh SOURCE WORK: the build that a machine gives does not depend on what it had before. A machine with
# Clang alone, as `make demo` may find it, is configured; the system's compiler comes; what is then configured
# must be what a fresh clone gets, option by option. Configures only.
set -euo pipefail
source=$1 work=$2
command -v ninja >/dev/null || { echo 'skipped: ninja not found'; exit 77; }
cc=$(command -v cc) || { echo 'skipped: cc not found'; exit 77; }
clang=$(command -v clang-22) || { echo 'skipped: clang-22 not found (Debian: clang-22)'; exit 77; }
fail() {
  echo "order: $*" >&2
  exit 1
}
export CMAKE_PREFIX_PATH=$work/prefix
unset CC CXX CFLAGS CXXFLAGS LDFLAGS

# The source under another name, with builds of its own; a PATH without compilers.
rm -rf "$work"
mkdir -p "$work/tree" "$work/bin"
for entry in "$source"/*; do
  [ "${entry##*/}" = build ] || ln -s "$entry" "$work/tree/"
done
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
  find -L "$folder" -maxdepth 1 -type f -perm -u+x 2>/dev/null |
    grep -vE '/([a-z0-9_]+-linux-gnu-)?(cc|c\+\+|gcc|g\+\+|c89|c99|clang|clang\+\+)([-.0-9]*|-gcc)$' |
    xargs -r ln -sn -t "$work/bin" 2>/dev/null || true
done
export PATH=$work/bin
configure() { "$work/tree/scripts/configure.sh" "$1" >"$work/log" 2>&1 || { cat "$work/log"; fail "configure.sh $1 failed"; }; }
compiler() { sed -n 's/^set(CMAKE_C_COMPILER "\(.*\)")$/\1/p' "$build"/CMakeFiles/*/CMakeCCompiler.cmake; }
cached() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt"; }
said() { grep -q "$1" "$work/log" || { cat "$work/log"; fail "expected '$1'"; }; }

ln -s "$clang" "$work/bin/clang-22"
build=$work/tree/build
configure default
[ "$(compiler)" = "$work/bin/clang-22" ] || fail "Clang alone: found $(compiler)"
[ "$(cached "$build" KDL_WERROR)" = ON ] || fail "Clang alone: warnings are not errors"
grep -q -- -gdwarf-4 "$build/build.ninja" || fail "Clang alone: debug information that valgrind 3.19 cannot read"
# A header that comes later is used by what is compiled already.
has_header() { grep -A9 '^build .*/onednn.c.o:' "$build/build.ninja" | grep -q KDL_HAVE_DNNL_H; }
if ! has_header; then
  mkdir -p "$work/prefix/include"
  touch "$work/prefix/include/dnnl.h"
fi
# A choice made by hand stays while the machine does.
cmake -DKDL_WITH_LZ4=OFF "$build" >/dev/null 2>&1
configure default
has_header || fail "oneDNN's header came: its file is not compiled again"
[ "$(cached "$build" KDL_WITH_LZ4)" = OFF ] || fail "an option given by hand was dropped although nothing changed"

ln -s "$cc" "$work/bin/cc"
configure default
said 'configured afresh'
[ "$(compiler)" = "$work/bin/cc" ] || fail "cc came: found $(compiler)"
mv "$build" "$work/after"
configure default
diff <(grep '^[A-Za-z]' "$work/after/CMakeCache.txt") <(grep '^[A-Za-z]' "$build/CMakeCache.txt") ||
  fail "the options differ from those of a fresh clone"
diff "$work/after/build.ninja" "$build/build.ninja" >/dev/null || fail "the commands differ from those of a fresh clone"

rm "$work/bin/cc"
configure default
[ "$(compiler)" = "$work/bin/clang-22" ] || fail "cc went: found $(compiler)"
echo "order: the same build, whatever came before"
