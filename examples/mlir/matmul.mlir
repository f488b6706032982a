// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C = A B, then the sum of each row of C. A[i][j] = i + j and B is all ones, so that row i sums up to
// 48 (32 i + 496); all numbers are exact in f32. docs/mlir.md compiles it for every vendor at once.

func.func private @printMemrefF32(memref<*xf32>)

func.func @matmul(%a: memref<64x32xf32>, %b: memref<32x48xf32>, %c: memref<64x48xf32>) {
  linalg.matmul ins(%a, %b : memref<64x32xf32>, memref<32x48xf32>)
                outs(%c : memref<64x48xf32>)
  return
}

func.func @row_sums(%c: memref<64x48xf32>, %sums: memref<64xf32>) {
  linalg.reduce {arith.addf} ins(%c : memref<64x48xf32>) outs(%sums : memref<64xf32>)
                dimensions = [1]
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<64x32xf32>
  %b = memref.alloc() : memref<32x48xf32>
  %c = memref.alloc() : memref<64x48xf32>
  %sums = memref.alloc() : memref<64xf32>
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero, %sums[%i] : memref<64xf32>
    scf.for %j = %c0 to %c32 step %c1 {
      %sum = arith.addi %i, %j : index
      %sum_i32 = arith.index_cast %sum : index to i32
      %value = arith.sitofp %sum_i32 : i32 to f32
      memref.store %value, %a[%i, %j] : memref<64x32xf32>
    }
    scf.for %j = %c0 to %c48 step %c1 {
      memref.store %zero, %c[%i, %j] : memref<64x48xf32>
    }
  }
  scf.for %i = %c0 to %c32 step %c1 {
    scf.for %j = %c0 to %c48 step %c1 {
      memref.store %one, %b[%i, %j] : memref<32x48xf32>
    }
  }

  %any_a = memref.cast %a : memref<64x32xf32> to memref<*xf32>
  %any_b = memref.cast %b : memref<32x48xf32> to memref<*xf32>
  %any_c = memref.cast %c : memref<64x48xf32> to memref<*xf32>
  %any_sums = memref.cast %sums : memref<64xf32> to memref<*xf32>
  gpu.host_register %any_a : memref<*xf32>
  gpu.host_register %any_b : memref<*xf32>
  gpu.host_register %any_c : memref<*xf32>
  gpu.host_register %any_sums : memref<*xf32>
  call @matmul(%a, %b, %c) : (memref<64x32xf32>, memref<32x48xf32>, memref<64x48xf32>) -> ()
  call @row_sums(%c, %sums) : (memref<64x48xf32>, memref<64xf32>) -> ()
  call @printMemrefF32(%any_sums) : (memref<*xf32>) -> ()
  return
}
