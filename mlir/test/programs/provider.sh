#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# provider.sh SOURCE PREFIX LLVM WORK: microkernels that are not libkdl's, for a type that libkdl has none for: from a library,
# by options and by attribute, and from the provider of a compiler, which is built with what PREFIX has.
set -euo pipefail
source=$1 prefix=$2 llvm=$3 work=$4
fail() { echo "provider: $*" >&2 && exit 1; }
[ -n "$(find "$prefix" -name ukernels.offload)" ] || {
  echo "skipped: libkdl's own microkernels were not built (Debian: clang-22)"
  exit 77
}
rm -rf "$work"
mkdir -p "$work"
cd "$work"
libdir=$(dirname "$(find "$prefix" -name libKdlMLIRDialect.a)")
PATH=$prefix/bin:$PATH
export PKG_CONFIG_PATH=$libdir/pkgconfig
example=$source/examples/mlir/provider

# libkdl's library has its name for the function, and says the tile.
{
  sed 's/example_mma_f64/kdl_uk_mma_f64_f64/' "$example/mma_f64.c"
  echo 'KDL_MMA_UKERNEL uint32_t kdl_uk_mma_f64_f64_tile(void) { return KDL_MMA_TILE(3, 1, 1); }'
} >named.c
for file in "$example/mma_f64.c" named.c; do
  "$llvm/bin/clang" -c -emit-llvm -O2 --target=x86_64-unknown-linux-gnu -ffreestanding -I"$prefix/include" "$file" \
    -o "$(basename "$file" .c).bc"
done
kdl pack -o own.offload --image=file=named.bc,triple=x86_64-unknown-linux-gnu,arch=x86-64,variant_tag=own,kdl.ukernel.kdl_uk_mma_f64_f64=,kdl.ukernel.kdl_uk_mma_f64_f64_tile=

cat >body.mlir <<'EOF'
  func.func private @printMemrefF64(tensor<*xf64>)
  func.func @product(%a: tensor<37x29xf64>, %b: tensor<29x45xf64>) -> tensor<37x45xf64> {
    %zero = arith.constant 0.0 : f64
    %empty = tensor.empty() : tensor<37x45xf64>
    %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<37x45xf64>) -> tensor<37x45xf64>
    %r = linalg.matmul ins(%a, %b : tensor<37x29xf64>, tensor<29x45xf64>) outs(%start : tensor<37x45xf64>) -> tensor<37x45xf64>
    return %r : tensor<37x45xf64>
  }
  func.func @single(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
  func.func @main() {
    %a = tensor.generate {
    ^bb0(%i: index, %j: index):
      %f = arith.constant 7 : index
      %p = arith.muli %i, %f : index
      %s = arith.addi %p, %j : index
      %w = arith.index_cast %s : index to i32
      %v = arith.sitofp %w : i32 to f64
      tensor.yield %v : f64
    } : tensor<37x29xf64>
    %b = tensor.generate {
    ^bb0(%i: index, %j: index):
      %f = arith.constant 3 : index
      %p = arith.muli %j, %f : index
      %s = arith.subi %i, %p : index
      %w = arith.index_cast %s : index to i32
      %v = arith.sitofp %w : i32 to f64
      tensor.yield %v : f64
    } : tensor<29x45xf64>
    %r = call @product(%a, %b) : (tensor<37x29xf64>, tensor<29x45xf64>) -> tensor<37x45xf64>
    %any = tensor.cast %r : tensor<37x45xf64> to tensor<*xf64>
    call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
    return
  }
EOF
with_attribute() { echo "module attributes {$1} {" && cat body.mlir && echo "}"; }
{ echo "module {" && cat body.mlir && echo "}"; } >plain.mlir
with_attribute 'kdl.ukernel_provider = #kdl.ukernel_library<"own.offload">' >attribute.mlir
with_attribute 'kdl.ukernel_provider = #example.ukernels<"mma_f64.bc">' >provider.mlir
with_attribute 'kdl.ukernel_provider = #example.ukernels<"not-there.bc">' >missing.mlir

# shellcheck disable=SC2046 # pkg-config's words
"$llvm/bin/clang++" -std=c++17 -fno-rtti -fno-exceptions -O1 $(pkg-config --cflags libkdl) -I"$prefix/include/kdl/mlir" -isystem "$llvm/include" \
  "$example/provider.cpp" -o provider-opt -L"$libdir" -lKdlMLIRDialect $(pkg-config --libs-only-l libkdl) \
  -L"$llvm/lib" -lMLIR -lLLVM -Wl,-rpath,"$llvm/lib:$libdir"

lower() { # FILE TOOL [OPTIONS]
  local file=$1 tool=$2
  $tool "$file.mlir" --pass-pipeline="builtin.module(kdl-lower-linalg{target=host leave-plain=false no-silent-fallback=true ${3:-}})" -o "$file.llvm.mlir"
}
run() {
  kdl-mlir run "$1" --entry-point-result=void --shared-libs="$llvm/lib/libmlir_runner_utils.so,$llvm/lib/libmlir_c_runner_utils.so" |
    sed 's/base@ = 0x[0-9a-f]* //'
}
calls() { grep -o 'llvm.call @[a-z_0-9]*mma[a-z_0-9]*' "$1.llvm.mlir" | sort -u | tr '\n' ' '; }

# Plain loops.
kdl-mlir opt plain.mlir -o loops.mlir --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts)'
run loops.mlir >expected
grep -q 'sizes = \[37, 45\]' expected || fail "plain loops: found $(head -1 expected)"

if lower plain "kdl-mlir opt" 2>why; then fail "libkdl has no microkernel for f64, and said nothing"; fi
grep -q 'found f64 and f64 to f64' why || fail "found $(cat why)"

# What a library of one image lacks, for f32, comes from libkdl's.
cp plain.mlir option.mlir
lower option "kdl-mlir opt" "library=own.offload"
lower attribute "kdl-mlir opt"
lower provider ./provider-opt
# The compiler links its microkernels itself: other programs do not know its dialect.
./provider-opt provider.llvm.mlir --pass-pipeline='builtin.module(kdl-link-objects)' -o provider.linked.mlir
for file in option.llvm attribute.llvm provider.linked; do
  run "$file.mlir" >"$file.found"
  cmp expected "$file.found" || fail "$file: other numbers than plain loops"
done
[ "$(calls option)" = "llvm.call @kdl_uk_mma_f32_f32 llvm.call @kdl_uk_mma_f64_f64 " ] || fail "library=: calls $(calls option)"
[ "$(calls attribute)" = "llvm.call @kdl_uk_mma_f32_f32 llvm.call @kdl_uk_mma_f64_f64 " ] || fail "#kdl.ukernel_library: calls $(calls attribute)"
[ "$(calls provider)" = "llvm.call @example_mma_f64 llvm.call @kdl_uk_mma_f32_f32 " ] || fail "the provider: calls $(calls provider)"

if lower missing ./provider-opt 2>why; then fail "a provider whose file is missing said nothing"; fi
grep -q 'has no microkernel: not-there.bc: No such file' why || fail "found $(cat why)"
echo "provider: f64 by a library's option, by its attribute, and by a compiler's provider"
