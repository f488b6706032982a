#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer block in linalg on tensors, and what NumPy makes of it.

    transformer.py mlir > block.mlir        the module; its weights are arguments
    transformer.py check BUILD [--threads=N] [--constants] compiles and runs it, and compares

mlir/bench/network.py measures it. One block: layer norm, attention of HEADS heads, residual, layer norm, two linear layers with GELU's
approximation by tanh, residual."""
import argparse
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

SEQ, WIDTH, HEADS, HIDDEN = 64, 128, 4, 512
DEPTH = WIDTH // HEADS
PARAMETERS = [("x", (SEQ, WIDTH)), ("gain1", (WIDTH,)), ("shift1", (WIDTH,)), ("wq", (WIDTH, WIDTH)), ("wk", (WIDTH, WIDTH)),
              ("wv", (WIDTH, WIDTH)), ("wo", (WIDTH, WIDTH)), ("bo", (WIDTH,)), ("gain2", (WIDTH,)), ("shift2", (WIDTH,)),
              ("w1", (WIDTH, HIDDEN)), ("b1", (HIDDEN,)), ("w2", (HIDDEN, WIDTH)), ("b2", (WIDTH,))]


class Module:
    """Text of operations on tensors of f32; a value is its name and its shape."""

    def __init__(self):
        self.lines, self.count = [], 0

    def new(self):
        self.count += 1
        return f"%v{self.count}"

    @staticmethod
    def type(shape):
        return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"

    def constant(self, number):
        name = self.new()
        self.lines.append(f"{name} = arith.constant {number:.9e} : f32")
        return name

    def empty(self, shape):
        name = self.new()
        self.lines.append(f"{name} = tensor.empty() : {self.type(shape)}")
        return name

    def filled(self, shape, number=0.0):
        empty, value, name = self.empty(shape), self.constant(number), self.new()
        self.lines.append(f"{name} = linalg.fill ins({value} : f32) outs({empty} : {self.type(shape)}) -> {self.type(shape)}")
        return name

    def product(self, kind, a, b, shape, maps=""):
        start, name = self.filled(shape), self.new()
        self.lines.append(f"{name} = linalg.{kind}{maps} ins({a[0]}, {b[0]} : {self.type(a[1])}, {self.type(b[1])}) "
                          f"outs({start} : {self.type(shape)}) -> {self.type(shape)}")
        return name, shape

    def generic(self, inputs, maps, shape, body, start=None, reduced=0):
        """body: lines with {0}, {1}... for arguments; the last one yields {r}. Loops: those of the first input."""
        loops = [f"d{i}" for i in range(max(len(s) for _, s in inputs))]
        parallel = len(loops) - reduced
        out = start or self.empty(shape)
        texts = [f"affine_map<({', '.join(loops)}) -> ({', '.join(m)})>" for m in maps]
        kinds = ", ".join('"parallel"' if i < parallel else '"reduction"' for i in range(len(loops)))
        name, arguments = self.new(), [f"%a{i}" for i in range(len(inputs) + 1)]
        self.lines.append(f"{name} = linalg.generic {{indexing_maps = [{', '.join(texts)}], iterator_types = [{kinds}]}} "
                          f"ins({', '.join(n for n, _ in inputs)} : {', '.join(self.type(s) for _, s in inputs)}) "
                          f"outs({out} : {self.type(shape)}) {{")
        self.lines.append(f"^bb0({', '.join(a + ': f32' for a in arguments)}):")
        self.lines += ["  " + line.format(*arguments) for line in body]
        self.lines.append(f"}} -> {self.type(shape)}")
        return name, shape

    def reduce(self, value, operation, start):
        dims = [f"d{i}" for i in range(len(value[1]))]
        shape = value[1][:-1]
        return self.generic([value], [dims, dims[:-1]], shape,
                            [f"%s = arith.{operation} {{0}}, {{1}} : f32", "linalg.yield %s : f32"],
                            start=self.filled(shape, start), reduced=1)

    def norm(self, x, gain, shift):
        full, row, column = ["d0", "d1"], ["d0"], ["d1"]
        count, epsilon = self.constant(float(x[1][1])), self.constant(1e-5)
        sums = self.reduce(x, "addf", 0.0)
        centred = self.generic([x, sums], [full, row, full], x[1],
                               [f"%m = arith.divf {{1}}, {count} : f32", "%s = arith.subf {0}, %m : f32", "linalg.yield %s : f32"])
        squares = self.generic([centred], [full, full], x[1], ["%s = arith.mulf {0}, {0} : f32", "linalg.yield %s : f32"])
        variance = self.reduce(squares, "addf", 0.0)
        return self.generic([centred, variance, gain, shift], [full, row, column, column, full], x[1],
                            [f"%v = arith.divf {{1}}, {count} : f32", f"%e = arith.addf %v, {epsilon} : f32",
                             "%r = math.rsqrt %e : f32", "%n = arith.mulf {0}, %r : f32", "%g = arith.mulf %n, {2} : f32",
                             "%s = arith.addf %g, {3} : f32", "linalg.yield %s : f32"])

    def heads(self, x):
        """[SEQ][HEADS][DEPTH], then [HEADS][SEQ][DEPTH]."""
        name = self.new()
        shape = (SEQ, HEADS, DEPTH)
        self.lines.append(f"{name} = tensor.expand_shape {x[0]} [[0], [1, 2]] output_shape [{SEQ}, {HEADS}, {DEPTH}] : "
                          f"{self.type(x[1])} into {self.type(shape)}")
        return self.transpose((name, shape))

    def transpose(self, x):
        shape, name, out = (x[1][1], x[1][0], x[1][2]), self.new(), None
        out = self.empty(shape)
        self.lines.append(f"{name} = linalg.transpose ins({x[0]} : {self.type(x[1])}) outs({out} : {self.type(shape)}) "
                          "permutation = [1, 0, 2]")
        return name, shape

    def softmax(self, x):
        full, row = ["d0", "d1", "d2"], ["d0", "d1"]
        largest = self.reduce(x, "maximumf", -1e30)
        powers = self.generic([x, largest], [full, row, full], x[1],
                              ["%d = arith.subf {0}, {1} : f32", "%s = math.exp %d : f32", "linalg.yield %s : f32"])
        sums = self.reduce(powers, "addf", 0.0)
        return self.generic([powers, sums], [full, row, full], x[1],
                            ["%s = arith.divf {0}, {1} : f32", "linalg.yield %s : f32"])


def block_text(destination, constants=None):
    """On memrefs and with a destination, or on tensors; `constants`: what parameters are that are not handed over."""
    m = Module()
    p = {name: (f"%{name}", shape) for name, shape in PARAMETERS}
    for name, value in (constants or {}).items():
        m.lines.append(f'%{name} = arith.constant dense<"0x{value.tobytes().hex()}"> : {m.type(value.shape)}')
    handed = [value for name, value in p.items() if name not in (constants or {})]
    full, column = ["d0", "d1"], ["d1"]
    normed = m.norm(p["x"], p["gain1"], p["shift1"])
    q, k, v = (m.heads(m.product("matmul", normed, p[w], (SEQ, WIDTH))) for w in ("wq", "wk", "wv"))
    scores = m.product("batch_matmul", q, k, (HEADS, SEQ, SEQ),
                       " indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, "
                       "affine_map<(b, m, n, k) -> (b, m, n)>]")
    factor = m.constant(float(np.float32(DEPTH ** -0.5)))
    dims = ["d0", "d1", "d2"]
    scaled = m.generic([scores], [dims, dims], scores[1], [f"%s = arith.mulf {{0}}, {factor} : f32", "linalg.yield %s : f32"])
    mixed = m.transpose(m.product("batch_matmul", m.softmax(scaled), v, (HEADS, SEQ, DEPTH)))
    joined = m.new()
    m.lines.append(f"{joined} = tensor.collapse_shape {mixed[0]} [[0], [1, 2]] : {m.type(mixed[1])} into {m.type((SEQ, WIDTH))}")
    attended = m.product("matmul", (joined, (SEQ, WIDTH)), p["wo"], (SEQ, WIDTH))
    residual = ["%b = arith.addf {0}, {1} : f32", "%s = arith.addf %b, {2} : f32", "linalg.yield %s : f32"]
    x = m.generic([attended, p["bo"], p["x"]], [full, column, full, full], (SEQ, WIDTH), residual)
    hidden = m.product("matmul", m.norm(x, p["gain2"], p["shift2"]), p["w1"], (SEQ, HIDDEN))
    c = [m.constant(number) for number in (0.044715, 0.7978845608, 1.0, 0.5)]
    gelu = m.generic([hidden, p["b1"]], [full, column, full], (SEQ, HIDDEN),
                     ["%b = arith.addf {0}, {1} : f32", "%2 = arith.mulf %b, %b : f32", "%3 = arith.mulf %2, %b : f32",
                      f"%4 = arith.mulf %3, {c[0]} : f32", "%5 = arith.addf %b, %4 : f32", f"%6 = arith.mulf %5, {c[1]} : f32",
                      "%7 = math.tanh %6 : f32", f"%8 = arith.addf %7, {c[2]} : f32", f"%9 = arith.mulf %b, {c[3]} : f32",
                      "%s = arith.mulf %9, %8 : f32", "linalg.yield %s : f32"])
    out = m.generic([m.product("matmul", gelu, p["w2"], (SEQ, WIDTH)), p["b2"], x], [full, column, full, full], (SEQ, WIDTH), residual)
    if not destination:
        head = f"func.func @main({', '.join(f'{n}: {m.type(s)}' for n, s in handed)}) -> {m.type(out[1])} {{"
        return "\n".join([head, *("  " + line for line in m.lines), f"  return {out[0]} : {m.type(out[1])}", "}"])
    memref = lambda shape: "memref" + m.type(shape)[6:]
    head = (f"func.func @block({', '.join(f'{n}_m: {memref(s)}' for n, s in handed)}, %out_m: {memref(out[1])}) "
            "attributes {llvm.emit_c_interface} {")
    taken = [f"{n} = bufferization.to_tensor {n}_m restrict : {memref(s)} to {m.type(s)}" for n, s in handed]
    put = f"bufferization.materialize_in_destination {out[0]} in restrict writable %out_m : ({m.type(out[1])}, {memref(out[1])}) -> ()"
    return "\n".join([head, *("  " + line for line in taken + m.lines + [put]), "  return", "}"])


def weights():
    rng = np.random.default_rng(1)
    made = {}
    for name, shape in PARAMETERS:
        scale = shape[0] ** -0.5 if name[0] == "w" else 1.0
        made[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
    return made


def reference(p):
    """In float64."""
    p = {name: value.astype(np.float64) for name, value in p.items()}

    def norm(x, gain, shift):
        c = x - x.mean(1, keepdims=True)
        return c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5) * gain + shift
    n = norm(p["x"], p["gain1"], p["shift1"])
    q, k, v = ((n @ p[w]).reshape(SEQ, HEADS, DEPTH).transpose(1, 0, 2) for w in ("wq", "wk", "wv"))
    s = q @ k.transpose(0, 2, 1) * DEPTH ** -0.5
    e = np.exp(s - s.max(2, keepdims=True))
    x = ((e / e.sum(2, keepdims=True)) @ v).transpose(1, 0, 2).reshape(SEQ, WIDTH) @ p["wo"] + p["bo"] + p["x"]
    h = norm(x, p["gain2"], p["shift2"]) @ p["w1"] + p["b1"]
    g = 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h ** 3)))
    return g @ p["w2"] + p["b2"] + x


def descriptor(array):
    """What MLIR hands over for a memref."""
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
              ("sizes", ctypes.c_int64 * array.ndim), ("strides", ctypes.c_int64 * array.ndim)]
    kind = type("Memref", (ctypes.Structure,), {"_fields_": fields})
    return kind(array.ctypes.data, array.ctypes.data, 0, (ctypes.c_int64 * array.ndim)(*array.shape),
                (ctypes.c_int64 * array.ndim)(*[stride // array.itemsize for stride in array.strides]))


def compile_block(build, folder, threads, constants=None, debug=False):
    opt = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
    clang = shutil.which("clang-22") or shutil.which("clang")
    (folder / "block.mlir").write_text(block_text(destination=True, constants=constants))
    lines = ",ensure-debug-info-scope-on-llvm-func" if debug else ""
    subprocess.run([opt, f"--load-dialect-plugin={build}/lib/KdlMLIR.so", folder / "block.mlir", "-o", folder / "llvm.mlir",
                    "--mlir-print-debuginfo", "--pass-pipeline=builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true "
                    f"approximate-math=true threads={int(threads > 1)}}}{lines})"], check=True)
    subprocess.run([f"{build}/bin/kdl-mlir", "translate", folder / "llvm.mlir", "-o", folder / "block.ll"], check=True)
    subprocess.run([clang, "-O2", "-fPIC", "-shared", "-Wno-override-module", folder / "block.ll", "-o", folder / "block.so", "-lm",
                    f"-L{build}/lib", "-lkdl_mlir_runtime", f"-Wl,-rpath,{build.resolve()}/lib"], check=True)
    return ctypes.CDLL(str(folder / "block.so"))


def run_block(library, p, constants=None):
    """The result, and a function that computes it again."""
    out = np.zeros((SEQ, WIDTH), np.float32)
    arguments = [descriptor(value) for name, value in p.items() if name not in (constants or {})] + [descriptor(out)]
    pointers = [ctypes.byref(argument) for argument in arguments]

    def again():
        library._mlir_ciface_block(*pointers)
        return out  # which lives as long as this function
    return again(), again


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["mlir", "check"])
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--constants", action="store_true")
    options = parser.parse_args()
    if options.command == "mlir":
        print(block_text(destination=True))
        return
    os.environ["KDL_HOST_THREADS"] = str(options.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        p = weights()
        constants = {name: value for name, value in p.items() if name != "x"} if options.constants else None
        library = compile_block(options.build, folder, options.threads, constants)
        out, _ = run_block(library, p, constants)
        if options.threads > 1:
            (folder / "one").mkdir()
            alone, _ = run_block(compile_block(options.build, folder / "one", 1, constants), p, constants)
            print(f"{np.count_nonzero(out.view(np.uint32) != alone.view(np.uint32))} of {out.size} numbers differ from those of one thread")
            if not np.abs(out - alone).max() < 1e-5:
                sys.exit("the results of several threads and of one are apart")
        error = float(np.abs(out - reference(p)).max())
        lowered = (folder / "llvm.mlir").read_text()
        tiles, plain = lowered.count("llvm.call @kdl_uk_mma"), len(re.findall(r"llvm.call @kdl_matmul_(?:plain_)?[fs]", lowered))
        print(f"largest difference to float64: {error:.2e}; {tiles} products in tiles, {plain} as the operands lie", flush=True)
        if not error < 1e-4 or tiles + plain != 8:
            sys.exit("transformer: the result is wrong, or a product has no microkernel")


if __name__ == "__main__":
    main()
