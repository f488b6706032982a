// A matmul of packed operands whose inner loop is the microkernel, called as IREE lowers inner_tiled: tiles of 6 by 16, one workgroup for each.
#x86_64_target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {
  cpu = "x86-64",
  cpu_features = "+avx,+avx2,+fma,+cmov,+crc32,+cx8,+fxsr,+mmx,+popcnt,+sse4.2,+x87,+xsave",
  data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128",
  native_vector_size = 32 : index,
  target_triple = "x86_64-unknown-unknown-eabi-elf"
}>
#cpu_target = #hal.device.target<"local", [#x86_64_target]> : !hal.device

module attributes {hal.device.targets = [#cpu_target]} {
  stream.executable private @executable attributes {
    hal.executable.objects = #hal.executable.objects<{
      #x86_64_target = [#hal.executable.object<{path = "iree_uk_mma_x86_avx2_fma_1x8x1_f32_f32.bc"}>]
    }>
  } {
    stream.executable.export public @matmul workgroups(%m: index, %n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %m, %c1 : index, index, index
    }
    builtin.module {
      func.func @matmul(%binding0: !stream.binding, %binding1: !stream.binding, %binding2: !stream.binding) {
        %c0 = arith.constant 0 : index
        %k = arith.constant 512 : i32
        %six = arith.constant 6 : i32
        %two = arith.constant 2 : i32
        %one = arith.constant 1 : i32
        %n = stream.dispatch.workgroup.id[0] : index
        %m = stream.dispatch.workgroup.id[1] : index
        %lhs = stream.binding.subspan %binding0[%c0] : !stream.binding -> memref<80x512x6xf32>
        %rhs = stream.binding.subspan %binding1[%c0] : !stream.binding -> memref<32x512x16xf32>
        %acc = stream.binding.subspan %binding2[%c0] : !stream.binding -> memref<80x32x6x16xf32>
        %lhs_tile = memref.subview %lhs[%m, 0, 0] [1, 512, 6] [1, 1, 1] : memref<80x512x6xf32> to memref<512x6xf32, strided<[6, 1], offset: ?>>
        %rhs_tile = memref.subview %rhs[%n, 0, 0] [1, 512, 16] [1, 1, 1] : memref<32x512x16xf32> to memref<512x16xf32, strided<[16, 1], offset: ?>>
        %acc_tile = memref.subview %acc[%m, %n, 0, 0] [1, 1, 6, 16] [1, 1, 1, 1] : memref<80x32x6x16xf32> to memref<6x16xf32, strided<[16, 1], offset: ?>>
        iree_codegen.ukernel.generic "iree_uk_mma_x86_avx2_fma_1x8x1_f32_f32"
          ins(%lhs_tile, %rhs_tile : memref<512x6xf32, strided<[6, 1], offset: ?>>, memref<512x16xf32, strided<[16, 1], offset: ?>>)
          outs(%acc_tile : memref<6x16xf32, strided<[16, 1], offset: ?>>)
          (%k, %six, %two, %one : i32, i32, i32, i32)
          fn_def_attrs {hal.import.bitcode = true}
          strided_dims([[], [], [0]])
        return
      }
    }
  }
  func.func @run(%lhs: tensor<80x512x6xf32>, %rhs: tensor<32x512x16xf32>, %acc: tensor<80x32x6x16xf32>) -> tensor<80x32x6x16xf32> {
    %m = arith.constant 80 : index
    %n = arith.constant 32 : index
    %0 = flow.dispatch @executable::@matmul[%m, %n](%lhs, %rhs, %acc) : (tensor<80x512x6xf32>, tensor<32x512x16xf32>, tensor<80x32x6x16xf32>) -> %acc
    return %0 : tensor<80x32x6x16xf32>
  }
}
