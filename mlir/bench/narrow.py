#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures linalg.matmul of few columns as it is and transposed, next to what kdl-data-tile decides by the costs of the CPU.

    narrow.py BUILD [--shapes=MxK,...] [--columns=N,...] [--runs=N]

BUILD is a build of libkdl or its installation. f32, packed at run time. Times are CPU time of one thread, the least of N runs
that take turns; results are checked. The decision should be the faster of the two, unless they differ by little."""
import argparse
import ctypes
import pathlib
import tempfile
import time

import numpy as np

from operands import Memref, compile_function

NEVER = 'dlti.target_system_spec = #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<"kdl.scatter_cycles" = 100000000 : i64>>'


def source(how, m, n, k):
    lhs, rhs, out = f"{m}x{k}xf32", f"{k}x{n}xf32", f"{m}x{n}xf32"
    product = f"linalg.matmul ins(%a, %b : tensor<{lhs}>, tensor<{rhs}>) outs(%start : tensor<{out}>) -> tensor<{out}>"
    if how == "transposed":
        product = f"""linalg.generic {{indexing_maps = [affine_map<(x, y, z) -> (z, x)>, affine_map<(x, y, z) -> (y, z)>,
      affine_map<(x, y, z) -> (y, x)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%b, %a : tensor<{rhs}>, tensor<{lhs}>) outs(%start : tensor<{out}>) {{
    ^bb0(%p: f32, %q: f32, %s: f32):
      %t = arith.mulf %p, %q : f32
      %u = arith.addf %s, %t : f32
      linalg.yield %u : f32
    }} -> tensor<{out}>"""
    return f"""module attributes {{{'' if how == 'decided' else NEVER}}} {{
  func.func @f(%am: memref<{lhs}>, %bm: memref<{rhs}>, %cm: memref<{out}>) attributes {{llvm.emit_c_interface}} {{
    %a = bufferization.to_tensor %am restrict : memref<{lhs}> to tensor<{lhs}>
    %b = bufferization.to_tensor %bm restrict : memref<{rhs}> to tensor<{rhs}>
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<{out}>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<{out}>) -> tensor<{out}>
    %sum = {product}
    bufferization.materialize_in_destination %sum in restrict writable %cm : (tensor<{out}>, memref<{out}>) -> ()
    return
  }}
}}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--shapes", default="504x512,504x64,100x2048")
    parser.add_argument("--columns", default="2,4,6,8,10,12,14,16,20,24,33")
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    print("  M   N    K: us as it is, transposed, as decided; the last over the least")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shape in options.shapes.split(","):
            m, k = (int(size) for size in shape.split("x"))
            for n in (int(columns) for columns in options.columns.split(",")):
                functions = {how: compile_function(options.build, folder, f"{how}-{m}-{n}-{k}", source(how, m, n, k), "leave-plain=false")
                             for how in ("plain", "transposed", "decided")}
                numbers = np.random.default_rng(1)
                a, b = (numbers.integers(-9, 9, size).astype(np.float32) for size in ((m, k), (k, n)))
                best = dict.fromkeys(functions, float("inf"))
                for _ in range(options.runs):
                    for how, function in functions.items():
                        c = np.empty((m, n), np.float32)
                        arguments = [ctypes.byref(Memref(matrix)) for matrix in (a, b, c)]
                        start = time.thread_time()
                        function(*arguments)
                        best[how] = min(best[how], time.thread_time() - start)
                        if not np.array_equal(c, a @ b):
                            raise SystemExit(f"{how} {m}x{n}x{k}: wrong results")
                times = " ".join(f"{1e6 * best[how]:8.1f}" for how in functions)
                least = min(best["plain"], best["transposed"])
                print(f"{m:3} {n:3} {k:4}: {times}  {best['decided'] / least:.2f}", flush=True)


main()
