// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The launches that bench_mlir_launch measures, of a kernel that does nothing. CMakeLists.txt
// compiles them under #kdl.runtime_select and under #gpu.select_object.
module attributes {gpu.container_module} {
  gpu.module @bench {
    gpu.func @nothing(%n: i32) kernel {
      gpu.return
    }
  }

  llvm.func @async(%stream: !llvm.ptr, %n: i32) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c16 = llvm.mlir.constant(16 : i64) : i64
    %c128 = llvm.mlir.constant(128 : i64) : i64
    gpu.launch_func <%stream : !llvm.ptr> @bench::@nothing
      blocks in (%c16, %c1, %c1) threads in (%c128, %c1, %c1) : i64 args(%n : i32)
    llvm.return
  }

  llvm.func @sync(%n: i32) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c16 = llvm.mlir.constant(16 : i64) : i64
    %c128 = llvm.mlir.constant(128 : i64) : i64
    gpu.launch_func @bench::@nothing
      blocks in (%c16, %c1, %c1) threads in (%c128, %c1, %c1) : i64 args(%n : i32)
    llvm.return
  }

  llvm.func @loop(%n: i32, %times: i64) {
    %c0 = llvm.mlir.constant(0 : i64) : i64
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c16 = llvm.mlir.constant(16 : i64) : i64
    %c128 = llvm.mlir.constant(128 : i64) : i64
    llvm.br ^head(%c0 : i64)
  ^head(%i: i64):
    gpu.launch_func @bench::@nothing
      blocks in (%c16, %c1, %c1) threads in (%c128, %c1, %c1) : i64 args(%n : i32)
    %next = llvm.add %i, %c1 : i64
    %more = llvm.icmp "slt" %next, %times : i64
    llvm.cond_br %more, ^head(%next : i64), ^done
  ^done:
    llvm.return
  }
}
