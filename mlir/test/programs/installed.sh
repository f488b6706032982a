#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# installed.sh SOURCE PREFIX WORK: kdl-mlir finds the microkernels in its install prefix, whether it was run by PATH,
# by a path or by a link.
set -euo pipefail
source=$1 prefix=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cp "$source/examples/mlir/linear.mlir" .
[ -n "$(find "$prefix" -name ukernels.offload)" ] || {
  echo "skipped: libkdl's own microkernels were not built (Debian: clang-22)"
  exit 77
}
ln -s "$prefix/bin/kdl-mlir" linked
touch kdl-mlir # which is not the program

PATH=$prefix/bin:$PATH
for program in kdl-mlir "$prefix/bin/kdl-mlir" ./linked; do
  "$program" opt linear.mlir --kdl-lower-linalg="target=host no-silent-fallback=true" -o lowered.mlir
  grep -q 'kdl.variant = "' lowered.mlir
done
echo "installed: kdl-mlir found the microkernels of $prefix"
