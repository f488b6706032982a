#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kernels.sh SOURCE KDL TABLE WORK ROUTE TARGETS: compiles the example kernels for the targets and runs
# every image that a device here takes through the driver ROUTE, beside a reference.
set -euo pipefail
source=$1 kdl=$2 table=$3 work=$4 route=$5 targets=$6
kernels=$source/examples/kernels

if ! command -v "${KDL_CLANG:-clang-22}" >/dev/null; then
  echo "skipped: clang-22 not found (Debian: clang-22)"
  exit 77
fi
if ! "$kdl" devices --json | grep -q "^ *\"backend\": \"$route\",\$"; then
  echo "skipped: nothing here runs through $route"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
compile() {
  local kernel=$1
  shift
  "$kdl" cc "$kernels/$kernel.c" --targets="$targets" -Wall -Wextra -Werror \
    --flag=-include "--flag=$source/tests/examples/mark.h" "$@" -o "$work/$kernel.offload"
}
for kernel in saxpy reduce softmax layernorm histogram; do
  compile "$kernel"
done
compile matmul "--variant=tag=tiled,priority=10:$kernels/matmul_tiled.c"
"$table" "$work" "$route"
