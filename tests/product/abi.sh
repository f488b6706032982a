#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# abi.sh SOURCE LIBRARY: the shared library has its soname, needs libc alone, and exports exactly
# what src/libkdl.map lists and the headers declare.
set -euo pipefail
source=$1 library=$2

fail() {
  echo "abi: $*" >&2
  exit 1
}

dynamic=$(readelf -dW "$library")
soname=$(sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p' <<<"$dynamic")
[ "$soname" = libkdl.so.0 ] || fail "soname: found '$soname', expected libkdl.so.0"

# The dynamic loader is a part of libc that thread-local storage may name.
others=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | grep -v '^libc\.\|^ld-' || true)
[ -z "$others" ] || fail "needs libc alone, found $others"
grep -q '(NEEDED).*\[libc\.' <<<"$dynamic" || fail "does not need libc, so this is not a real build"

mapped=$(sed -n '/global:/,/local:/s/^ *\(kdl_[a-z0-9_]*\);/\1/p' "$source/src/libkdl.map" | sort)
exported=$(nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* [^A] //p' | sort)
# shellcheck disable=SC2086 # one symbol a word
diff <(printf '%s@@KDL_0\n' $mapped) <(echo "$exported") ||
  fail "exported symbols (>) differ from src/libkdl.map (<)"

declared=$(cat "$source"/include/kdl/*.h | grep -v '^#' | tr '\n' ' ' | grep -o 'KDL_API [^(;]*(' |
  sed 's/.*[ *]\(kdl_[a-z0-9_]*\)($/\1/' | sort)
diff <(echo "$mapped") <(echo "$declared") ||
  fail "functions declared with KDL_API (>) differ from src/libkdl.map (<)"
echo "abi: $(wc -l <<<"$exported") symbols, soname $soname"
