# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2154 # variables and functions of run.sh and of the series mlir, whose way of building it uses
# Events that `gpu-to-llvm` takes for streams. The file that the patch touches is linked with Debian's archives. One call in 23's
# sources does not fit 24's headers: main has one builder of a launch in the place of two.
. "$upstream/mlir/test.sh"

build_0001() {
  local file=$BUILD/GPUToLLVMConversion.cpp
  cp "$SRC/mlir/lib/Conversion/GPUCommon/GPUToLLVMConversion.cpp" "$file"
  [ "$BASE" = 23 ] || sed -i 's/^      stream, clusterSize);/      Type(), ValueRange(), stream, clusterSize);/' "$file"
  compile "$file" && link_tools
}
# Tests of 23 that do not fit 24's dialects are left out there.
test_0001() {
  local tests="Conversion/GPUCommon"
  [ "$BASE" = 23 ] || tests=$(printf 'Conversion/GPUCommon/lower-%s-to-gpu-runtime-calls.mlir ' async wait alloc memcpy memset)
  # shellcheck disable=SC2086 # several words
  mlir_lit $tests Dialect/GPU/async-region.mlir
}
main_0001() { LLVM=/usr/lib/llvm-24 BUILD=$BUILD/none mlir_lit Conversion/GPUCommon/lower-async-to-gpu-runtime-calls.mlir; }
