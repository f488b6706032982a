#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cross.sh SOURCE KDL PYTHON WORK MACHINE TARGET:CPU...: libkdl for another CPU, and with it the language's suite
# and the example kernels, compiled for each TARGET and run by qemu, which is CPU.
set -euo pipefail
source=$1 kdl=$2 python=$3 work=$4 machine=$5
shift 5
root=/usr/$machine-linux-gnu
compiler=$machine-linux-gnu-gcc

for need in "$compiler" "qemu-$machine" cmake ninja "${KDL_CLANG:-clang-22}"; do
  if ! command -v "$need" >/dev/null; then
    echo "skipped: $need not found (Debian: gcc-${machine/_/-}-linux-gnu, qemu-user, clang-22)"
    exit 77
  fi
done
if [ ! -e "$root/include/stdint.h" ]; then
  echo "skipped: $root has no C library (Debian: libc6-dev-${machine/aarch64/arm64}-cross)"
  exit 77
fi

major=$("qemu-$machine" --version | sed -n 's/^.*version \([0-9]*\).*/\1/p')
if [[ "$*" == *v=true* ]] && [ "${major:-0}" -lt 8 ]; then
  echo "skipped: qemu $major fails of itself on vectors, 8 is the first that has them (Debian 12: qemu-user of bookworm-backports)"
  exit 77
fi

mkdir -p "$work"
cmake -S "$source" -B "$work/libkdl" -G Ninja -DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$machine" \
  "-DCMAKE_C_COMPILER=$compiler" -DCMAKE_BUILD_TYPE=Debug -DKDL_BUILD_TESTS=OFF -DKDL_BUILD_BENCH=OFF \
  -DKDL_WITH_MLIR=OFF --log-level=WARNING >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
ninja -C "$work/libkdl" kdl_shared >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }

# program NAME FILE...
program() {
  local name=$1
  shift
  "$compiler" -std=gnu17 -O1 -I"$source/include" "$@" -L"$work/libkdl/lib" -lkdl -lm -lpthread -o "$work/$name.program"
  # shellcheck disable=SC2016 # the script's own variables
  printf '#!/bin/sh\nexec env LD_LIBRARY_PATH=%s qemu-%s -cpu "$QEMU_CPU" -L %s %s "$@"\n' "$work/libkdl/lib" "$machine" "$root" \
    "$work/$name.program" >"$work/$name"
  chmod +x "$work/$name"
}
program launcher "$source/tests/language/launcher.c" "$source/tests/language/numbers.c"
program suites "$source"/tests/language/suites/{main,rodinia,polybench}.c
program table "$source/tests/examples/cases.c" "$source/tests/examples/table.c"

for pair in "$@"; do
  target=${pair%%:*}
  export QEMU_CPU=${pair#*:}
  echo "== $target on qemu's $QEMU_CPU"
  "$python" "$source/tests/language/run.py" "$kdl" "$work/launcher" "$work/language-$target" host "$target"
  bash "$source/tests/language/suites.sh" "$source" "$kdl" "$work/suites" "$work/suites-$target" host "$target"
  [[ $target != portable@* ]] || continue # examples test KDL_HOST, which portable refuses
  bash "$source/tests/examples/kernels.sh" "$source" "$kdl" "$work/table" "$work/examples-$target" host "$target"
done
