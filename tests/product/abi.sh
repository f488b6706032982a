#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# abi.sh SOURCE LIBRARY MAP NEEDED HEADER...: the shared library has its soname, needs what matches NEEDED alone, and exports
# exactly what the map lists and the headers declare.
set -euo pipefail
source=$1 library=$2 map=$1/$3 needed=$4
shift 4
name=$(basename "$map" .map)

fail() {
  echo "abi: $*" >&2
  exit 1
}

dynamic=$(readelf -dW "$library")
soname=$(sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p' <<<"$dynamic")
[ "$soname" = "$name.so.0" ] || fail "soname: found '$soname', expected $name.so.0"

# The dynamic loader is a part of libc that thread-local storage may name.
others=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | grep -v "$needed" || true)
[ -z "$others" ] || fail "needs $needed alone, found $others"
grep -q '(NEEDED).*\[libc\.' <<<"$dynamic" || fail "does not need libc, so this is not a real build"

mapped=$(sed -n '/global:/,/local:/s/^ *\(kdl_[a-z0-9_]*\);/\1/p' "$map" | sort)
version=$(sed -n 's/^\([A-Z_0-9]*\) {$/\1/p' "$map")
exported=$(nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* [^A] //p' | sort)
# shellcheck disable=SC2086 # one symbol a word
diff <(printf "%s@@$version\n" $mapped) <(echo "$exported") ||
  fail "exported symbols (>) differ from $map (<)"

declared=$(cd "$source/include/kdl" && cat "$@" | grep -v '^#' | tr '\n' ' ' | grep -o 'KDL_API [^(;]*(' |
  sed 's/.*[ *]\(kdl_[a-z0-9_]*\)($/\1/' | sort)
diff <(echo "$mapped") <(echo "$declared") ||
  fail "functions declared with KDL_API (>) differ from $map (<)"
echo "abi: $(wc -l <<<"$exported") symbols, soname $soname"
