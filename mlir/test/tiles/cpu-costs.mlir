// What passes assume of a CPU is its description by libkdl, or an entry of the module's own in MLIR's dialect dlti.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4},canonicalize,cse,kdl-fuse-tiles{target=host:x86-64-v4},canonicalize,cse)' -split-input-file | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4},canonicalize,cse,func.func(kdl-fuse-tiles{target="host:x86-64-v4 l2=2MiB"}),canonicalize,cse)' -split-input-file | FileCheck %s --check-prefixes=LARGE

// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-data-tile{target=host:x86-64-v4},canonicalize,cse,func.func(kdl-fuse-tiles{target="host:x86-64-v4 l2=1GiB"}),canonicalize,cse)' -split-input-file | FileCheck %s --check-prefixes=LARGE

// A packed tile has 14 * 4096 * 4 bytes, and 1 MiB of L2 room for two. With 2 MiB it is three, because more would leave too few blocks.
// CHECK-LABEL: func.func @caches(
// CHECK: scf.forall (%{{.*}}) in (18)
// LARGE-LABEL: func.func @caches(
// LARGE: scf.forall (%{{.*}}) in (12)
func.func @caches(%a: tensor<504x4096xf32>, %b: tensor<4096x64xf32>, %c: tensor<504x64xf32>) -> tensor<504x64xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<504x4096xf32>, tensor<4096x64xf32>) outs(%c : tensor<504x64xf32>) -> tensor<504x64xf32>
  return %r : tensor<504x64xf32>
}

// -----

// The module's entry has precedence over both.
// CHECK-LABEL: func.func @entry(
// CHECK: scf.forall (%{{.*}}) in (36)
// LARGE-LABEL: func.func @entry(
// LARGE: scf.forall (%{{.*}}) in (36)
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<"L2_cache_size_in_bytes" = 524288 : i64>>} {
  func.func @entry(%a: tensor<504x4096xf32>, %b: tensor<4096x64xf32>, %c: tensor<504x64xf32>) -> tensor<504x64xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<504x4096xf32>, tensor<4096x64xf32>) outs(%c : tensor<504x64xf32>) -> tensor<504x64xf32>
    return %r : tensor<504x64xf32>
  }
}

// -----

// Six columns would fill less than half of a vector: the product is transposed, and they are rows.
// CHECK-LABEL: func.func @few_columns(
// CHECK: linalg.mmt4d {{.*}}intrinsics_m = 6, intrinsics_n = 2
func.func @few_columns(%a: tensor<504x512xf32>, %b: tensor<512x6xf32>, %c: tensor<504x6xf32>) -> tensor<504x6xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<504x512xf32>, tensor<512x6xf32>) outs(%c : tensor<504x6xf32>) -> tensor<504x6xf32>
  return %r : tensor<504x6xf32>
}

// -----

// So are ten, of which a tile's 14 rows leave less unused than 16 columns do; but not if storing the result transposed takes so long.
// CHECK-LABEL: func.func @ten_columns(
// CHECK: linalg.mmt4d {{.*}}intrinsics_m = 10, intrinsics_n = 2
func.func @ten_columns(%a: tensor<504x512xf32>, %b: tensor<512x10xf32>, %c: tensor<504x10xf32>) -> tensor<504x10xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<504x512xf32>, tensor<512x10xf32>) outs(%c : tensor<504x10xf32>) -> tensor<504x10xf32>
  return %r : tensor<504x10xf32>
}

// -----

// CHECK-LABEL: func.func @slow_stores(
// CHECK: linalg.mmt4d {{.*}}intrinsics_m = 14, intrinsics_n = 1
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<"kdl.scatter_cycles" = 64 : i64>>} {
  func.func @slow_stores(%a: tensor<504x512xf32>, %b: tensor<512x10xf32>, %c: tensor<504x10xf32>) -> tensor<504x10xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<504x512xf32>, tensor<512x10xf32>) outs(%c : tensor<504x10xf32>) -> tensor<504x10xf32>
    return %r : tensor<504x10xf32>
  }
}

// -----

// Few rows are not transposed: each fills whole vectors.
// CHECK-LABEL: func.func @few_rows(
// CHECK: linalg.mmt4d {{.*}}intrinsics_m = 3, intrinsics_n = 2
func.func @few_rows(%a: tensor<3x512xf32>, %b: tensor<512x504xf32>, %c: tensor<3x504xf32>) -> tensor<3x504xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<3x512xf32>, tensor<512x504xf32>) outs(%c : tensor<3x504xf32>) -> tensor<3x504xf32>
  return %r : tensor<3x504xf32>
}
