# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul.py [--sizes=64,256,1024] [--threads=N] [--blocks=N] [--loop=matmul_loop.so]: products of NumPy's matrices in float32, next to
NumPy's own, and in types that NumPy multiplies without a BLAS.

The ways take turns, a block each; the median of the blocks is given. Set OPENBLAS_NUM_THREADS to the same number of threads for NumPy.
matmul_loop.so is bench/python/matmul_loop.c with libkdl.a as a shared library: the same products from C, of the same matrices by the
same library of kernels.
"""
import argparse
import ctypes
import os
import statistics
import time

import numpy as np

import kdl

NUMBERS = {"bfloat16": 0, "int8": 1, "float32": 2, "float16": 3}  # of kdl_matmul_type


def by_python(call):
    """Seconds of one call, by a block of them that follows one untimed."""
    def block(count):
        call()
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count
    return block


def by_c(loop, name, arrays, threads):
    """The same by C, of matrices whose elements are `name`."""
    path, size = os.fsencode(kdl.matmul_library().path), len(arrays[0])

    def block(count):
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
        taken = loop(path, NUMBERS[name], ctypes.c_uint(threads), *addresses, *3 * [ctypes.c_uint(size)], 0, ctypes.c_size_t(count))
        assert taken >= 0
        return taken / count
    return block


def matrices(size):
    """Two operands and a result of each type."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((size, size), np.float32) for _ in range(2))
    out = np.empty((size, size), np.float32)
    yield "float32", a, b, out
    yield "float16", a.astype(np.float16), b.astype(np.float16), out
    yield "bfloat16", *((one.view(np.uint32) >> 16).astype(np.uint16) for one in (a, b)), out
    yield "int8", *(random.integers(-128, 128, (size, size), np.int8) for _ in range(2)), np.empty((size, size), np.int32)


def ways(size, threads, loop):
    """Each way's name, and what times a block of it."""
    for name, a, b, out in matrices(size):
        packed = kdl.PackedMatrix(b, bits="bfloat16" if name == "bfloat16" else None)
        if name == "float32":
            yield "NumPy float32", by_python(lambda a=a, b=b, out=out: np.matmul(a, b, out))
            yield "kdl float32", by_python(lambda a=a, b=b, out=out: kdl.matmul(a, b, out, threads=threads))
        yield f"kdl {name}, packed", by_python(lambda a=a, b=packed, out=out: kdl.matmul(a, b, out, threads=threads))
        if loop:
            yield f"C {name}, packed", by_c(loop, name, (a, b, out), threads)


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="32,64,128,256,512,1024")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=21)
    parser.add_argument("--loop")
    arguments = parser.parse_args()
    loop = ctypes.CDLL(arguments.loop).matmul_loop if arguments.loop else None
    if loop:
        loop.restype = ctypes.c_double
    print(f"{kdl.device('host').label}, kdl {kdl.version()}, NumPy {np.__version__}, {arguments.threads} threads")
    print(f"{'SIZE':>5} {'WAY':22} {'MICROSECONDS':>12} {'LEAST':>9} {'GFLOP/S':>8}")
    for size in map(int, arguments.sizes.split(",")):
        blocks, times = dict(ways(size, arguments.threads, loop)), {}
        count = max(1, int(2e8 / (2 * size ** 3)))
        for turn in range(arguments.blocks + 1):
            for name, block in blocks.items():
                taken = block(count)
                if turn:
                    times.setdefault(name, []).append(taken)
        for name, values in times.items():
            middle = statistics.median(values)
            print(f"{size:5} {name:22} {middle * 1e6:12.1f} {min(values) * 1e6:9.1f} {2 * size ** 3 / middle / 1e9:8.1f}")


if __name__ == "__main__":
    main()
