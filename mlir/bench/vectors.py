#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures linalg.matmul of types without a microkernel, compiled by kdl-lower-linalg, next to what the vector unit can do.

    vectors.py BUILD [--shapes=MxNxK,...] [--types=LHS:RHS:ACC,...] [--runs=N]

BUILD is a build of libkdl or its installation. Times are CPU time of one thread, the least of N runs; results are checked. The
last column is the speed over that of a loop of multiply-add instructions on registers, of AVX-512, for the accumulator's type:
multiplication and addition for integers, which for i16 to i32 is vpmaddwd and vpaddd."""
import argparse
import ctypes
import pathlib
import subprocess
import tempfile
import time

import numpy as np

from operands import Memref, compile_function

PEAK = """
#include <immintrin.h>
#include <time.h>
double peak(void) {
  V sums[24], a = ONE, b = ONE;
  for (int i = 0; i < 24; ++i) sums[i] = ONE;
  struct timespec from, to;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (int k = 0; k < 4000000; ++k) {
    for (int i = 0; i < 24; ++i) sums[i] = STEP;
    __asm__ volatile("" : "+v"(a));
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  for (int i = 0; i < 24; ++i) __asm__ volatile("" : : "v"(sums[i]));
  return 4e6 * 24 * OPERATIONS / (1e9 * (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec));
}
"""
# The vector, its ones, a step, and the operations in it.
STEPS = {
    "f64": ("__m512d", "_mm512_set1_pd(1)", "_mm512_fmadd_pd(a, b, sums[i])", 16),
    "f32": ("__m512", "_mm512_set1_ps(1)", "_mm512_fmadd_ps(a, b, sums[i])", 32),
    "i32": ("__m512i", "_mm512_set1_epi32(1)", "_mm512_add_epi32(sums[i], _mm512_mullo_epi32(a, sums[i]))", 32),
    "i16:i32": ("__m512i", "_mm512_set1_epi32(1)", "_mm512_add_epi32(sums[i], _mm512_madd_epi16(a, sums[i]))", 64),
    "i16": ("__m512i", "_mm512_set1_epi16(1)", "_mm512_add_epi16(sums[i], _mm512_mullo_epi16(a, sums[i]))", 64),
}
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def source(a, b, c, m, n, k):
    lhs, rhs, out = f"{m}x{k}x{a}", f"{k}x{n}x{b}", f"{m}x{n}x{c}"
    return f"""func.func @f(%am: memref<{lhs}>, %bm: memref<{rhs}>, %cm: memref<{out}>) attributes {{llvm.emit_c_interface}} {{
  %a = bufferization.to_tensor %am restrict : memref<{lhs}> to tensor<{lhs}>
  %b = bufferization.to_tensor %bm restrict : memref<{rhs}> to tensor<{rhs}>
  %zero = arith.constant {'0' if c[0] == 'i' else '0.0'} : {c}
  %empty = tensor.empty() : tensor<{out}>
  %start = linalg.fill ins(%zero : {c}) outs(%empty : tensor<{out}>) -> tensor<{out}>
  %sum = linalg.matmul ins(%a, %b : tensor<{lhs}>, tensor<{rhs}>) outs(%start : tensor<{out}>) -> tensor<{out}>
  bufferization.materialize_in_destination %sum in restrict writable %cm : (tensor<{out}>, memref<{out}>) -> ()
  return
}}"""


def measure_peak(folder, name):
    vector, one, step, operations = STEPS[name]
    (folder / "peak.c").write_text(PEAK)
    library = folder / f"peak-{name}.so"
    subprocess.run(["clang-22", "-O2", "-march=x86-64-v4", "-fPIC", "-shared", f"-DV={vector}", f"-DONE={one}", f"-DSTEP={step}",
                    f"-DOPERATIONS={operations}", folder / "peak.c", "-o", library], check=True)
    peak = ctypes.CDLL(str(library)).peak
    peak.restype = ctypes.c_double
    return max(peak() for _ in range(3))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--shapes", default="512x512x512")
    parser.add_argument("--types", default="f64:f64:f64,i16:i16:i32,i16:i16:i16,i32:i32:i32,f32:f32:f64,f32:f64:f64,f16:f16:f16,f32:f32:f32")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    print("types, shape: Gop/s, over the vector unit's")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for words in options.types.split(","):
            types = words.split(":")
            peak = next((key for key in (f"{types[0]}:{types[2]}", types[2]) if key in STEPS), None)
            most = measure_peak(folder, peak) if peak else None
            for text in options.shapes.split(","):
                m, n, k = shape = [int(size) for size in text.split("x")]
                function = compile_function(options.build, folder, f"{words}-{text}", source(*types, *shape))
                numbers = np.random.default_rng(1)
                a, b = (numbers.integers(-9, 9, size).astype(NUMPY[type]) for size, type in (((m, k), types[0]), ((k, n), types[1])))
                c = np.empty((m, n), NUMPY[types[2]])
                arguments = [ctypes.byref(Memref(matrix)) for matrix in (a, b, c)]
                best = float("inf")
                for _ in range(options.runs):
                    start = time.thread_time()
                    function(*arguments)
                    best = min(best, time.thread_time() - start)
                expected = a.astype(np.float64) @ b.astype(np.float64)
                if types[2] != "f16" and not np.array_equal(c, expected.astype(c.dtype)):  # f16 rounds each sum
                    raise SystemExit(f"{words} {text}: wrong results")
                speed = 2e-9 * m * n * k / best
                print(f"{words:12} {text:12} {speed:7.1f}" + (f" {speed / most:6.2f}" if most else ""), flush=True)


main()
