#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh SOURCE BUILD WORK COMPILER FUNCTION...: short_of_memory.py with the package's extension built so that calls of these functions of
# libc's can fail.
set -eu
source=$1 build=$2 work=$3 compiler=$4
shift 4
python=${PYTHON:-/usr/bin/python3}
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))') || exit 77
[ -e "$include/Python.h" ] || {
  echo "skipped: Python.h not found (Debian: python3-dev)"
  exit 77
}
rm -rf "$work"
mkdir -p "$work/kdl"
cp "$source"/python/kdl/*.py "$work/kdl"
own=$source/tests/memory
for function in "$@"; do
  shift
  set -- "$@" "-Wl,--wrap=$function"
done
"$compiler" -std=c17 -D_GNU_SOURCE -O1 -g -fPIC -shared -fvisibility=hidden -I"$source/include" -I"$own" -I"$include" \
  "$source"/python/csrc/*.c "$own/fail_allocation.c" "$own/python/fail_python.c" "$build/lib/libkdl_matmul.a" "$build/lib/libkdl.a" -lm -ldl -lpthread \
  "$@" -Wl,--exclude-libs,ALL -o "$work/kdl/_kdl.abi3.so"
cd "$work"
export PYTHONPATH="$work" KDL_LD=/nonexistent LD_LIBRARY_PATH="$build/fakes/whole" KDL_FAKE_DEVICES= KDL_VARIANT_TAG=second
exec "$python" -B "$own/python/short_of_memory.py" "$build/examples/saxpy.offload"
