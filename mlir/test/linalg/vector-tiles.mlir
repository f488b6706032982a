// Types without a microkernel: the loop over K in vectors, in the same tiles. The results are those of plain loops, for this CPU and for the least one,
// of full tiles and of narrow ones, in a batch, and with unsigned operands.
// REQUIRES: ukernels
// RUN: mlir-opt %s --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},func.func(convert-linalg-to-loops),convert-scf-to-cf,expand-strided-metadata,lower-affine,arith-expand{include-bf16=true},convert-to-llvm,reconcile-unrealized-casts)' -o %t.plain.mlir
// RUN: kdl-mlir run %t.plain.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.plain
// RUN: FileCheck %s --check-prefix=PLAIN --input-file=%t.plain
// PLAIN-COUNT-10: sizes = [{{.*}}29, 37]
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host})' 2>%t.remarks -o %t.host.mlir
// RUN: not grep 'remark: stays' %t.remarks
// RUN: kdl-mlir run %t.host.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.host
// RUN: diff %t.plain %t.host
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:x86-64})' 2>/dev/null -o %t.least.mlir
// RUN: kdl-mlir run %t.least.mlir --entry-point-result=void --shared-libs=%llvm_lib/libmlir_runner_utils.so,%llvm_lib/libmlir_c_runner_utils.so | sed 's/base@ = 0x[0-9a-f]* //' > %t.least
// RUN: diff %t.plain %t.least

// The accumulators of f64 are in the registers of AVX-512, 14 rows of 2 vectors.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-lower-linalg{target=host:x86-64-v4})' 2>/dev/null | kdl-mlir translate -o %t.ll
// RUN: llc -O2 -relocation-model=pic -filetype=obj %t.ll -o %t.o
// RUN: python3 %inputs/inner_loop.py %t.o large vfmadd231pd | FileCheck %s --check-prefix=LOOP
// LOOP: vfmadd231pd 28

func.func private @printMemrefF64(tensor<*xf64>)
func.func @large(%a: tensor<56x64xf64>, %b: tensor<64x64xf64>, %c: tensor<56x64xf64>) -> tensor<56x64xf64> {
  %r = linalg.matmul ins(%a, %b : tensor<56x64xf64>, tensor<64x64xf64>) outs(%c : tensor<56x64xf64>) -> tensor<56x64xf64>
  return %r : tensor<56x64xf64>
}
// Small whole numbers, so that every sum is exact: (i * x + j * y) mod 7 - 3.
func.func private @number(%i: index, %j: index, %x: index, %y: index) -> i8 {
  %c7 = arith.constant 7 : index
  %three = arith.constant 3 : i8
  %0 = arith.muli %i, %x : index
  %1 = arith.muli %j, %y : index
  %2 = arith.addi %0, %1 : index
  %3 = arith.remui %2, %c7 : index
  %4 = arith.index_cast %3 : index to i8
  %5 = arith.subi %4, %three : i8
  return %5 : i8
}
func.func @product_f64() {
  %one = arith.constant 1.0 : f64
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<29x23xf64>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<23x37xf64>
  %empty = tensor.empty() : tensor<29x37xf64>
  %start = linalg.fill ins(%one : f64) outs(%empty : tensor<29x37xf64>) -> tensor<29x37xf64>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xf64>, tensor<23x37xf64>) outs(%start : tensor<29x37xf64>) -> tensor<29x37xf64>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xf64>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: f64, %o: f64):
    linalg.yield %s : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_mixed() {
  %one = arith.constant 1.0 : f64
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f32
  tensor.yield %v : f32
} : tensor<29x23xf32>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<23x37xf64>
  %empty = tensor.empty() : tensor<29x37xf64>
  %start = linalg.fill ins(%one : f64) outs(%empty : tensor<29x37xf64>) -> tensor<29x37xf64>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xf32>, tensor<23x37xf64>) outs(%start : tensor<29x37xf64>) -> tensor<29x37xf64>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xf64>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: f64, %o: f64):
    linalg.yield %s : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_i16() {
  %one = arith.constant 1 : i32
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<29x23xi16>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<23x37xi16>
  %empty = tensor.empty() : tensor<29x37xi32>
  %start = linalg.fill ins(%one : i32) outs(%empty : tensor<29x37xi32>) -> tensor<29x37xi32>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xi16>, tensor<23x37xi16>) outs(%start : tensor<29x37xi32>) -> tensor<29x37xi32>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xi32>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: i32, %o: f64):
    %f = arith.sitofp %s : i32 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_short() {
  %one = arith.constant 1 : i16
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<29x23xi16>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<23x37xi16>
  %empty = tensor.empty() : tensor<29x37xi16>
  %start = linalg.fill ins(%one : i16) outs(%empty : tensor<29x37xi16>) -> tensor<29x37xi16>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xi16>, tensor<23x37xi16>) outs(%start : tensor<29x37xi16>) -> tensor<29x37xi16>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xi16>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: i16, %o: f64):
    %f = arith.sitofp %s : i16 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_words() {
  %one = arith.constant 1 : i32
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i32
  tensor.yield %v : i32
} : tensor<29x23xi32>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i32
  tensor.yield %v : i32
} : tensor<23x37xi32>
  %empty = tensor.empty() : tensor<29x37xi32>
  %start = linalg.fill ins(%one : i32) outs(%empty : tensor<29x37xi32>) -> tensor<29x37xi32>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xi32>, tensor<23x37xi32>) outs(%start : tensor<29x37xi32>) -> tensor<29x37xi32>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xi32>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: i32, %o: f64):
    %f = arith.sitofp %s : i32 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_f16() {
  %one = arith.constant 1.0 : f16
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f16
  tensor.yield %v : f16
} : tensor<29x23xf16>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f16
  tensor.yield %v : f16
} : tensor<23x37xf16>
  %empty = tensor.empty() : tensor<29x37xf16>
  %start = linalg.fill ins(%one : f16) outs(%empty : tensor<29x37xf16>) -> tensor<29x37xf16>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xf16>, tensor<23x37xf16>) outs(%start : tensor<29x37xf16>) -> tensor<29x37xf16>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xf16>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: f16, %o: f64):
    %f = arith.extf %s : f16 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_bf16() {
  %one = arith.constant 1.0 : bf16
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to bf16
  tensor.yield %v : bf16
} : tensor<29x23xbf16>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to bf16
  tensor.yield %v : bf16
} : tensor<23x37xbf16>
  %empty = tensor.empty() : tensor<29x37xbf16>
  %start = linalg.fill ins(%one : bf16) outs(%empty : tensor<29x37xbf16>) -> tensor<29x37xbf16>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xbf16>, tensor<23x37xbf16>) outs(%start : tensor<29x37xbf16>) -> tensor<29x37xbf16>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xbf16>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: bf16, %o: f64):
    %f = arith.extf %s : bf16 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @product_wide() {
  %one = arith.constant 1 : i64
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  tensor.yield %n : i8
} : tensor<29x23xi8>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<23x37xi16>
  %empty = tensor.empty() : tensor<29x37xi64>
  %start = linalg.fill ins(%one : i64) outs(%empty : tensor<29x37xi64>) -> tensor<29x37xi64>
  %r = linalg.matmul ins(%a, %b : tensor<29x23xi8>, tensor<23x37xi16>) outs(%start : tensor<29x37xi64>) -> tensor<29x37xi64>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xi64>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: i64, %o: f64):
    %f = arith.sitofp %s : i64 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @batch() {
  %one = arith.constant 1.0 : f64
  %a = tensor.generate {
^bb0(%i0: index, %i1: index, %i2: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i1, %i2, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<3x29x23xf64>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index, %i2: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i1, %i2, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<3x23x37xf64>
  %empty = tensor.empty() : tensor<3x29x37xf64>
  %start = linalg.fill ins(%one : f64) outs(%empty : tensor<3x29x37xf64>) -> tensor<3x29x37xf64>
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x29x23xf64>, tensor<3x23x37xf64>) outs(%start : tensor<3x29x37xf64>) -> tensor<3x29x37xf64>
  %to = tensor.empty() : tensor<3x29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<3x29x37xf64>) outs(%to : tensor<3x29x37xf64>) {
  ^bb0(%s: f64, %o: f64):
    linalg.yield %s : f64
  } -> tensor<3x29x37xf64>
  %any = tensor.cast %shown : tensor<3x29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @unsigned() {
  %one = arith.constant 1 : i32
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<29x23xi16>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<23x37xi16>
  %empty = tensor.empty() : tensor<29x37xi32>
  %start = linalg.fill ins(%one : i32) outs(%empty : tensor<29x37xi32>) -> tensor<29x37xi32>
  %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<29x23xi16>, tensor<23x37xi16>) outs(%start : tensor<29x37xi32>) -> tensor<29x37xi32>
  %to = tensor.empty() : tensor<29x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<29x37xi32>) outs(%to : tensor<29x37xf64>) {
  ^bb0(%s: i32, %o: f64):
    %f = arith.sitofp %s : i32 to f64
  linalg.yield %f : f64
  } -> tensor<29x37xf64>
  %any = tensor.cast %shown : tensor<29x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @row() {
  %one = arith.constant 1.0 : f64
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<1x23xf64>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.sitofp %n : i8 to f64
  tensor.yield %v : f64
} : tensor<23x37xf64>
  %empty = tensor.empty() : tensor<1x37xf64>
  %start = linalg.fill ins(%one : f64) outs(%empty : tensor<1x37xf64>) -> tensor<1x37xf64>
  %r = linalg.matmul ins(%a, %b : tensor<1x23xf64>, tensor<23x37xf64>) outs(%start : tensor<1x37xf64>) -> tensor<1x37xf64>
  %to = tensor.empty() : tensor<1x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<1x37xf64>) outs(%to : tensor<1x37xf64>) {
  ^bb0(%s: f64, %o: f64):
    linalg.yield %s : f64
  } -> tensor<1x37xf64>
  %any = tensor.cast %shown : tensor<1x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @narrow() {
  %one = arith.constant 1 : i32
  %a = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 5 : index
  %y = arith.constant 3 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<3x23xi16>
  %b = tensor.generate {
^bb0(%i0: index, %i1: index):
  %x = arith.constant 2 : index
  %y = arith.constant 11 : index
  %n = func.call @number(%i0, %i1, %x, %y) : (index, index, index, index) -> i8
  %v = arith.extsi %n : i8 to i16
  tensor.yield %v : i16
} : tensor<23x37xi16>
  %empty = tensor.empty() : tensor<3x37xi32>
  %start = linalg.fill ins(%one : i32) outs(%empty : tensor<3x37xi32>) -> tensor<3x37xi32>
  %r = linalg.matmul ins(%a, %b : tensor<3x23xi16>, tensor<23x37xi16>) outs(%start : tensor<3x37xi32>) -> tensor<3x37xi32>
  %to = tensor.empty() : tensor<3x37xf64>
  %shown = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<3x37xi32>) outs(%to : tensor<3x37xf64>) {
  ^bb0(%s: i32, %o: f64):
    %f = arith.sitofp %s : i32 to f64
  linalg.yield %f : f64
  } -> tensor<3x37xf64>
  %any = tensor.cast %shown : tensor<3x37xf64> to tensor<*xf64>
  call @printMemrefF64(%any) : (tensor<*xf64>) -> ()
  return
}
func.func @main() {
  call @product_f64() : () -> ()
  call @product_mixed() : () -> ()
  call @product_i16() : () -> ()
  call @product_short() : () -> ()
  call @product_words() : () -> ()
  call @product_f16() : () -> ()
  call @product_bf16() : () -> ()
  call @product_wide() : () -> ()
  call @batch() : () -> ()
  call @unsigned() : () -> ()
  call @row() : () -> ()
  call @narrow() : () -> ()
  return
}
