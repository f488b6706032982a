// A layout that contradicts itself or its operands is an error where it stands.
// RUN: mlir-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{found intrinsics_m = 0, expected 1 to 65536}}
#none = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_f32", intrinsics_m = 0, intrinsics_n = 1>

// -----

// expected-error@+1 {{found intrinsics_n = 1152921504606846977, expected 1 to 65536}}
#huge = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_f32", intrinsics_m = 4, intrinsics_n = 1152921504606846977>

// -----

// expected-error@+1 {{found vector_bytes = 24, expected 16 or a larger power of two}}
#odd = #kdl.mma_layout<intrinsics_m = 4, intrinsics_n = 1, vector_bytes = 24>

// -----

// expected-error@+1 {{found vector_bytes = -5, expected 16 or a larger power of two}}
#negative = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_f32", intrinsics_m = 4, intrinsics_n = 1, vector_bytes = -5>

// -----

func.func @types(%a: memref<1x8x4x1xi4>, %b: memref<1x8x16x1xi4>, %c: memref<1x1x4x16xi4>) {
  // expected-error@+1 {{kdl.mma_layout: found vector_bytes for 'i4' and 'i4' to 'i4', expected operands that vectors extend to the last}}
  linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<intrinsics_m = 4, intrinsics_n = 1, vector_bytes = 64>}
    ins(%a, %b : memref<1x8x4x1xi4>, memref<1x8x16x1xi4>) outs(%c : memref<1x1x4x16xi4>)
  return
}

// -----

func.func @vectors(%a: memref<1x8x4x1xi8>, %b: memref<1x8x48x1xi8>, %c: memref<1x1x4x48xi8>) {
  // expected-error@+1 {{kdl.mma_layout: found 48 columns, expected whole vectors of 32 bytes}}
  linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<intrinsics_m = 4, intrinsics_n = 3, vector_bytes = 32>}
    ins(%a, %b : memref<1x8x4x1xi8>, memref<1x8x48x1xi8>) outs(%c : memref<1x1x4x48xi8>)
  return
}

// -----

// expected-error@+1 {{found both ukernel and vector_bytes, expected one of them}}
#both = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_f32", intrinsics_m = 4, intrinsics_n = 1, vector_bytes = 64>

// -----

// expected-error@+1 {{found neither ukernel and vector_bytes, expected one of them}}
#neither = #kdl.mma_layout<intrinsics_m = 4, intrinsics_n = 1>

// -----

// expected-error@+1 {{found vector_bytes with words of several elements or steps, expected one of each}}
#vectors = #kdl.mma_layout<intrinsics_m = 4, intrinsics_n = 1, values = 2, vector_bytes = 64>

// -----

func.func @rows(%a: tensor<8x32x13x2xbf16>, %b: tensor<4x32x32x2xbf16>, %c: tensor<8x4x13x32xf32>) -> tensor<8x4x13x32xf32> {
  // expected-error@+1 {{kdl.mma_layout: found operand 0 of type 'tensor<8x32x13x2xbf16>', expected tiles of 14x2}}
  %r = linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_bf16", intrinsics_m = 14, intrinsics_n = 2, values = 2>}
    ins(%a, %b : tensor<8x32x13x2xbf16>, tensor<4x32x32x2xbf16>) outs(%c : tensor<8x4x13x32xf32>) -> tensor<8x4x13x32xf32>
  return %r : tensor<8x4x13x32xf32>
}

// -----

func.func @columns(%a: memref<8x32x14x2xbf16>, %b: memref<4x32x16x2xbf16>, %c: memref<8x4x14x16xf32>) {
  // expected-error@+1 {{kdl.mma_layout: found operand 1 of type 'memref<4x32x16x2xbf16>', expected tiles of 32x2}}
  linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_bf16", intrinsics_m = 14, intrinsics_n = 2, values = 2>}
    ins(%a, %b : memref<8x32x14x2xbf16>, memref<4x32x16x2xbf16>) outs(%c : memref<8x4x14x16xf32>)
  return
}

// -----

// Words of two steps have a dimension of their own.
func.func @steps(%a: memref<8x32x14x2xbf16>, %b: memref<4x32x16x2xbf16>, %c: memref<8x4x14x16xf32>) {
  // expected-error@+1 {{kdl.mma_layout: found operand 0 of type 'memref<8x32x14x2xbf16>', expected tiles of 14x2x2}}
  linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_bf16", intrinsics_m = 14, intrinsics_n = 1, intrinsics_k = 2, values = 2>}
    ins(%a, %b : memref<8x32x14x2xbf16>, memref<4x32x16x2xbf16>) outs(%c : memref<8x4x14x16xf32>)
  return
}

// -----

func.func @other(%a: memref<4x4x4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{kdl.mma_layout: found other operands than two matrices and their product in tiles}}
  linalg.fill {kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_f32", intrinsics_m = 4, intrinsics_n = 1>}
    ins(%zero : f32) outs(%a : memref<4x4x4x16xf32>)
  return
}

// -----

#lhs = affine_map<(m1, n1, k1, m0, n0, k0) -> (m1, k1, m0, k0)>
#rhs = affine_map<(m1, n1, k1, m0, n0, k0) -> (n1, k1, n0, k0)>
#transposed = affine_map<(m1, n1, k1, m0, n0, k0) -> (n1, m1, m0, n0)>
func.func @loops(%a: memref<4x8x4x1xf32>, %b: memref<4x8x16x1xf32>, %c: memref<4x4x4x16xf32>) {
  // expected-error@+1 {{kdl.mma_layout: found other loops than those of linalg.mmt4d}}
  linalg.generic {indexing_maps = [#lhs, #rhs, #transposed], iterator_types = ["parallel", "parallel", "reduction", "parallel", "parallel", "reduction"],
                  kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_f32", intrinsics_m = 4, intrinsics_n = 1>}
    ins(%a, %b : memref<4x8x4x1xf32>, memref<4x8x16x1xf32>) outs(%c : memref<4x4x4x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}
