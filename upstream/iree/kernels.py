#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The microkernels of this folder, and programs that call them as IREE lowers `inner_tiled`.

    kernels.py list                          names, one a line
    kernels.py flags NAME                    Clang's options for it
    kernels.py program NAME BITCODE [--large] [--vector-bytes=32]
                                             a program with the bitcode as an executable object: @run multiplies packed operands, and @wrong
                                             counts the values of a product that differ from those of one without the microkernel
    kernels.py matmul NAME BITCODE           a linalg.matmul of 480 by 512 by 512, with the bitcode where IREE's own selection looks for it
    kernels.py test NAME BITCODE FOLDER      the program as a lit test, and one that runs it
"""
import argparse

X86 = ("x86_64-unknown-unknown-eabi-elf", "embedded-elf-x86_64", "x86-64",
       "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128")
ARM = ("aarch64-unknown-unknown-eabi-elf", "embedded-elf-arm_64", "generic",
       "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32")
BASE = "+cmov,+crc32,+cx8,+fxsr,+mmx,+popcnt,+sse4.2,+x87,+xsave"
AVX512 = BASE + ",+avx,+avx2,+avx512f,+f16c,+fma"

# name: target, features of the executable, Clang's options, types of LHS and ACC, M0, N0 (0: the floats of a vector), K0, values of K side by side in the RHS,
# intrinsics_m, intrinsics_n, the instruction
KERNELS = {
    "iree_uk_mma_x86_avx2_fma_1x8x1_f32_f32":
        (X86, BASE + ",+avx,+avx2,+fma", "-mavx2 -mfma", "f32", "f32", 1, 8, 1, 1, 6, 2, "vfmadd"),
    "iree_uk_mma_x86_amxbf16_16x16x32_f32_bf16":
        (X86, AVX512 + ",+amx-tile,+amx-bf16", "-mavx512f -mamx-tile -mamx-bf16", "bf16", "f32", 16, 16, 32, 2, 2, 2, "tdpbf16ps"),
    "iree_uk_mma_x86_amxint8_16x16x64_i32_i8":
        (X86, AVX512 + ",+amx-tile,+amx-int8", "-mavx512f -mamx-tile -mamx-int8", "i8", "i32", 16, 16, 64, 4, 2, 2, "tdpbssd"),
    "iree_uk_mma_arm_neon_fmla_1x4x1_f32_f32":
        (ARM, "+v8a,+neon,+fp-armv8", "-march=armv8-a", "f32", "f32", 1, 4, 1, 1, 6, 4, "fmla"),
    "iree_uk_mma_arm_sve_fmla_1x4vlx1_f32_f32":
        (ARM, "+v8a,+v8.1a,+v8.2a,+crc,+lse,+ras,+rdm,+neon,+fp-armv8,+fullfp16,+sve", "-march=armv8.2-a+sve", "f32", "f32", 1, 0, 1, 1, 8, 2, "fmla"),
}


COMPILE = "--iree-opt-const-eval=false --iree-hal-link-executables=false"
LIT = f"""// The microkernel is linked as an executable object, and inlined.
// RUN: rm -rf %t && mkdir %t
// RUN: iree-compile %s {COMPILE} --iree-hal-dump-executable-intermediates-to=%t -o %t/m.vmfb
// RUN: cat %t/*_executable_*.linked.ll | FileCheck %s --check-prefix=LINKED
// RUN: cat %t/*_executable_*.optimized.ll | FileCheck %s --check-prefix=INLINED
// RUN: cat %t/*_executable_*.s | FileCheck %s --check-prefix=ASM
// LINKED: call void @{{name}}(
// INLINED-NOT: call {{{{{{{{.*}}}}}}}}@{{name}}
// ASM: {{instruction}}

"""
E2E = f"""// The product of the microkernel in {{name}}.mlir has no wrong value.
// RUN: iree-compile %S/{{name}}.mlir {COMPILE} -o %t.vmfb
// RUN: iree-run-module --device=local-sync --module=%t.vmfb --function=wrong --expected_output=i32=0
"""


def target(kernel):
    triple, form, cpu, layout = kernel[0]
    return f'''#hal.executable.target<"llvm-cpu", "{form}", {{
  cpu = "{cpu}", cpu_features = "{kernel[1]}",
  data_layout = "{layout}",
  native_vector_size = 16 : index, target_triple = "{triple}"
}}>'''


def value(element, index_value):
    """Lines that convert %v, an index of small value, to the type."""
    lines = [f"      %i = arith.index_cast {index_value} : index to i32"]
    if element == "i32":
        return lines + ["      linalg.yield %i : i32"]
    if element == "i8":
        return lines + ["      %e = arith.trunci %i : i32 to i8", "      linalg.yield %e : i8"]
    lines.append("      %e = arith.sitofp %i : i32 to f32")
    if element == "f32":
        return lines + ["      linalg.yield %e : f32"]
    # Small integers are exact; arith.truncf would call a function that is not there.
    return lines + ["      %w32 = arith.bitcast %e : f32 to i32", "      %sixteen = arith.constant 16 : i32",
                    "      %top = arith.shrui %w32, %sixteen : i32", "      %w16 = arith.trunci %top : i32 to i16",
                    "      %h = arith.bitcast %w16 : i16 to bf16", "      linalg.yield %h : bf16"]


def matmul(name, bitcode):
    element, acc = KERNELS[name][3:5]
    lhs, rhs, out = f"tensor<480x512x{element}>", f"tensor<512x512x{element}>", f"tensor<480x512x{acc}>"
    return f'''module attributes {{hal.executable.objects = [
  #hal.executable.object<{{path = "{name}.bc", data = dense<"0x{bitcode.hex().upper()}"> : vector<{len(bitcode)}xi8>}}>]}} {{
  func.func @run(%lhs: {lhs}, %rhs: {rhs}, %acc: {out}) -> {out} {{
    %0 = linalg.matmul ins(%lhs, %rhs : {lhs}, {rhs}) outs(%acc : {out}) -> {out}
    return %0 : {out}
  }}
}}'''


class Program:
    def __init__(self, name, bitcode, large, vector_bytes):
        self.name, self.kernel, self.bitcode = name, KERNELS[name], bitcode
        (_, _, _, self.type, self.acc, self.m0, self.n0, self.k0, self.pack, self.im, self.n_intrinsics, self.instruction) = self.kernel
        self.n0 = self.n0 or vector_bytes // 4
        self.mt, self.nt, self.ko = 2, 3, 5
        if large: # about 512 in each dimension
            self.mt, self.nt = max(1, 512 // (self.im * self.m0)), max(1, 512 // (self.n_intrinsics * self.n0))
            self.ko = 512 // self.k0
        self.m, self.n, self.k = self.mt * self.im * self.m0, self.nt * self.n_intrinsics * self.n0, self.ko * self.k0
        self.lhs_tile, self.rhs_tile = self.im * self.m0 * self.k0, self.n_intrinsics * self.n0 * self.k0
        self.acc_tile = self.im * self.n_intrinsics * self.m0 * self.n0

    def executable(self):
        data = self.bitcode.hex().upper()
        lhs, rhs, acc = self.shapes()
        lhs_tile, rhs_tile = (shape.replace(f"<{count}x", "<1x") for shape, count in ((lhs, self.mt), (rhs, self.nt)))
        acc_tile = f"tensor<1x1x{self.acc_tile}x{self.acc}>"
        return f'''#target = {target(self.kernel)}
#local = #hal.device.target<"local", [#target]> : !hal.device

module attributes {{hal.device.targets = [#local]}} {{
  stream.executable private @executable attributes {{
    hal.executable.objects = #hal.executable.objects<{{
      #target = [#hal.executable.object<{{path = "{self.name}.bc", data = dense<"0x{data}"> : vector<{len(self.bitcode)}xi8>}}>]
    }}>
  }} {{
    stream.executable.export public @matmul workgroups(%m: index, %n: index) -> (index, index, index) {{
      %c1 = arith.constant 1 : index
      stream.return %n, %m, %c1 : index, index, index
    }}
    builtin.module {{
      func.func @matmul(%binding0: !stream.binding, %binding1: !stream.binding, %binding2: !stream.binding) {{
        %c0 = arith.constant 0 : index
        %k_outer = arith.constant {self.ko} : i32
        %intrinsics_m = arith.constant {self.im} : i32
        %intrinsics_n = arith.constant {self.n_intrinsics} : i32
        %intrinsics_k = arith.constant 1 : i32
        %n = stream.dispatch.workgroup.id[0] : index
        %m = stream.dispatch.workgroup.id[1] : index
        %lhs = stream.binding.subspan %binding0[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:{lhs}>
        %rhs = stream.binding.subspan %binding1[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:{rhs}>
        %acc = stream.binding.subspan %binding2[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readwrite:{acc}>
        %lhs_tile = iree_tensor_ext.dispatch.tensor.load %lhs, offsets = [%m, 0, 0], sizes = [1, {self.ko}, {self.lhs_tile}], strides = [1, 1, 1]
          : !iree_tensor_ext.dispatch.tensor<readonly:{lhs}> -> {lhs_tile}
        %rhs_tile = iree_tensor_ext.dispatch.tensor.load %rhs, offsets = [%n, 0, 0], sizes = [1, {self.ko}, {self.rhs_tile}], strides = [1, 1, 1]
          : !iree_tensor_ext.dispatch.tensor<readonly:{rhs}> -> {rhs_tile}
        %acc_tile = iree_tensor_ext.dispatch.tensor.load %acc, offsets = [%m, %n, 0], sizes = [1, 1, {self.acc_tile}], strides = [1, 1, 1]
          : !iree_tensor_ext.dispatch.tensor<readwrite:{acc}> -> {acc_tile}
        %product = iree_codegen.ukernel.generic "{self.name}"
          ins(%lhs_tile, %rhs_tile : {lhs_tile}, {rhs_tile}) outs(%acc_tile : {acc_tile})
          (%k_outer, %intrinsics_m, %intrinsics_n, %intrinsics_k : i32, i32, i32, i32)
          fn_def_attrs {{hal.import.bitcode = true}} strided_dims([[], [], []]) -> {acc_tile}
        iree_tensor_ext.dispatch.tensor.store %product, %acc, offsets = [%m, %n, 0], sizes = [1, 1, {self.acc_tile}], strides = [1, 1, 1]
          : {acc_tile} -> !iree_tensor_ext.dispatch.tensor<readwrite:{acc}>
        return
      }}
    }}
  }}
'''

    def shapes(self):
        return (f"tensor<{self.mt}x{self.ko}x{self.lhs_tile}x{self.type}>", f"tensor<{self.nt}x{self.ko}x{self.rhs_tile}x{self.type}>",
                f"tensor<{self.mt}x{self.nt}x{self.acc_tile}x{self.acc}>")

    def run(self):
        lhs, rhs, acc = self.shapes()
        return f'''  func.func @run(%lhs: {lhs}, %rhs: {rhs}, %acc: {acc}) -> {acc} {{
    %m = arith.constant {self.mt} : index
    %n = arith.constant {self.nt} : index
    %0 = flow.dispatch @executable::@matmul[%m, %n](%lhs, %rhs, %acc) : ({lhs}, {rhs}, {acc}) -> %acc
    return %0 : {acc}
  }}
'''

    # Operands and product by index: a[i, k] = (3 i + 5 k + i k) mod 7 - 3, b[j, k] = (5 j + 3 k + j k) mod 5 - 2, and 1 + a b.
    def check(self):
        lhs, rhs, acc = self.shapes()
        product = f"tensor<{self.m}x{self.n}xi32>"
        lines = ["  func.func @wrong() -> tensor<i32> {"]
        for c in sorted({0, 1, 2, 3, 5, 7, self.im, self.n_intrinsics, self.m0, self.n0, self.k0, self.pack, self.m0 * self.k0,
                         self.n0 * self.k0, self.n0 * self.pack, self.m0 * self.n0, self.im * self.m0, self.n_intrinsics * self.n0}):
            lines.append(f"    %c{c} = arith.constant {c} : index")
        lines.append("    %zero = arith.constant 0 : i32\n    %one = arith.constant 1 : i32")

        def generic(result, shape, maps, kinds, ins, body):
            empty = f"    %{result}_empty = tensor.empty() : {shape}"
            lines.extend([empty, f"    %{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins}outs(%{result}_empty : {shape}) {{"])
            lines.extend(body)
            lines.append(f"    }} -> {shape}")

        packed = 'affine_map<(a, b, c) -> (a, b, c)>', '"parallel", "parallel", "parallel"'
        index = ["      %a = linalg.index 0 : index", "      %b = linalg.index 1 : index", "      %c = linalg.index 2 : index"]

        def op(result, kind, left, right):
            return f"      %{result} = arith.{kind} %{left}, %{right} : index"

        def mixed(row, column, first, second, modulus, shift, tag=""):
            p, q, r, t, u, v = (name + tag for name in "pqrtuv")
            return [op(p, "muli", row, first), op(q, "muli", column, second), op(r, "muli", row, column), op(t, "addi", p, q),
                    op(u, "addi", t, r), op(v + "m", "remui", u, modulus), op(v, "subi", v + "m", shift)]

        # LHS: a is the tile of M, b of K, c is (m, i, kk).
        generic("lhs", lhs, *packed, "", [f"    ^bb0(%x: {self.type}):"] + index + [
            op("kk", "remui", "c", f"c{self.k0}"), op("mi", "divui", "c", f"c{self.k0}"), op("am", "muli", "a", f"c{self.im * self.m0}"),
            op("row", "addi", "am", "mi"), op("bk", "muli", "b", f"c{self.k0}"), op("k", "addi", "bk", "kk")] +
            mixed("row", "k", "c3", "c5", "c7", "c3") + value(self.type, "%v"))
        # RHS: a is the tile of N, b of K, c is (n, k_high, j, k_low).
        generic("rhs", rhs, *packed, "", [f"    ^bb0(%x: {self.type}):"] + index + [
            op("n", "divui", "c", f"c{self.n0 * self.k0}"), op("w", "remui", "c", f"c{self.n0 * self.k0}"),
            op("high", "divui", "w", f"c{self.n0 * self.pack}"), op("y", "remui", "w", f"c{self.n0 * self.pack}"),
            op("j", "divui", "y", f"c{self.pack}"), op("low", "remui", "y", f"c{self.pack}"),
            op("an", "muli", "a", f"c{self.n_intrinsics * self.n0}"), op("nj", "muli", "n", f"c{self.n0}"), op("anj", "addi", "an", "nj"),
            op("column", "addi", "anj", "j"), op("hp", "muli", "high", f"c{self.pack}"), op("kk", "addi", "hp", "low"),
            op("bk", "muli", "b", f"c{self.k0}"), op("k", "addi", "bk", "kk")] +
            mixed("column", "k", "c5", "c3", "c5", "c2") + value(self.type, "%v"))
        generic("acc", acc, *packed, "", [f"    ^bb0(%x: {self.acc}):"] + value(self.acc, "%c1"))
        lines.append(f"    %got = func.call @run(%lhs, %rhs, %acc) : ({lhs}, {rhs}, {acc}) -> {acc}")
        lines.append(f"    %count = tensor.empty() : tensor<{self.k}xi32>\n    %products = tensor.empty() : {product}")
        lines.append(f"    %filled = linalg.fill ins(%one : i32) outs(%products : {product}) -> {product}")
        lines.append(f"    %want = linalg.generic {{indexing_maps = [affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (a, b)>], "
                     f'iterator_types = ["parallel", "parallel", "reduction"]}} ins(%count : tensor<{self.k}xi32>) outs(%filled : {product}) {{')
        lines.append("    ^bb0(%x: i32, %sum: i32):")
        lines.extend(index)
        lines.extend(mixed("a", "c", "c3", "c5", "c7", "c3"))
        lines.append("      %left = arith.index_cast %v : index to i32")
        lines.extend(mixed("b", "c", "c5", "c3", "c5", "c2", "2"))
        lines.extend(["      %right = arith.index_cast %v2 : index to i32", "      %term = arith.muli %left, %right : i32",
                      "      %next = arith.addi %sum, %term : i32", "      linalg.yield %next : i32", f"    }} -> {product}"])
        # ACC: a is the tile of M, b of N, c is (m, n, i, j).
        lines.append("    %none = tensor.empty() : tensor<i32>\n    %start = linalg.fill ins(%zero : i32) outs(%none : tensor<i32>) -> tensor<i32>")
        lines.append("    %wrong = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> ()>], "
                     f'iterator_types = ["reduction", "reduction", "reduction"]}} ins(%got : {acc}) outs(%start : tensor<i32>) {{')
        lines.append(f"    ^bb0(%x: {self.acc}, %sum: i32):")
        lines.extend(index + [
            op("mn", "divui", "c", f"c{self.m0 * self.n0}"), op("ij", "remui", "c", f"c{self.m0 * self.n0}"),
            op("m", "divui", "mn", f"c{self.n_intrinsics}"), op("n", "remui", "mn", f"c{self.n_intrinsics}"),
            op("i", "divui", "ij", f"c{self.n0}"), op("j", "remui", "ij", f"c{self.n0}"),
            op("am", "muli", "a", f"c{self.im * self.m0}"), op("mi", "muli", "m", f"c{self.m0}"), op("ami", "addi", "am", "mi"),
            op("row", "addi", "ami", "i"), op("bn", "muli", "b", f"c{self.n_intrinsics * self.n0}"), op("nj", "muli", "n", f"c{self.n0}"),
            op("bnj", "addi", "bn", "nj"), op("column", "addi", "bnj", "j"),
            f"      %w = tensor.extract %want[%row, %column] : {product}"])
        if self.acc == "f32":
            lines.extend(["      %f = arith.sitofp %w : i32 to f32", "      %differs = arith.cmpf une, %x, %f : f32"])
        else:
            lines.append("      %differs = arith.cmpi ne, %x, %w : i32")
        lines.extend(["      %d = arith.extui %differs : i1 to i32", "      %next = arith.addi %sum, %d : i32", "      linalg.yield %next : i32",
                      "    } -> tensor<i32>", "    return %wrong : tensor<i32>", "  }", ""])
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["list", "flags", "program", "matmul", "test"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("bitcode", nargs="?")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--vector-bytes", type=int, default=32)
    options = parser.parse_args()
    if options.verb == "list":
        print("\n".join(KERNELS))
        return
    if options.verb == "flags":
        print(f"-target {KERNELS[options.name][0][0].split('-')[0]} {KERNELS[options.name][2]}")
        return
    bitcode = open(options.bitcode, "rb").read()
    if options.verb == "matmul":
        print(matmul(options.name, bitcode))
        return
    program = Program(options.name, bitcode, options.large, options.vector_bytes)
    text = program.executable() + program.run() + program.check() + "}\n"
    if options.verb == "program":
        print(text, end="")
        return
    for suffix, content in (("", LIT.format(name=options.name, instruction=program.instruction) + text), ("_e2e", E2E.format(name=options.name))):
        with open(f"{options.folder}/{options.name}{suffix}.mlir", "w") as file:
            file.write(content)


if __name__ == "__main__":
    main()
