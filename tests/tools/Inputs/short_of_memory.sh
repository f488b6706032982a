#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# short_of_memory.sh COUNT COMMAND...: runs the command, which writes the file "out", with each of its
# first COUNT allocations failing in turn: it writes what it would have written, or ends with an error.
count=$1
shift
rm -f out whole
"$@" >/dev/null 2>&1 || exit 1
mv out whole
refused=0
at=1
while [ "$at" -le "$count" ]; do
  rm -f out
  KDL_FAIL_AT=$at LD_PRELOAD=./fail_malloc.so "$@" >/dev/null 2>&1
  code=$?
  if [ "$code" = 0 ]; then
    cmp -s out whole || echo "allocation $at: exit code 0 and another file"
  else
    refused=$((refused + 1))
    [ "$code" -lt 5 ] || echo "allocation $at: exit code $code"
    [ ! -e out ] || echo "allocation $at: exit code $code and a file"
  fi
  at=$((at + 1))
done
[ "$refused" -gt 3 ] || echo "only $refused allocations failed"
echo "$1 $2: done"
