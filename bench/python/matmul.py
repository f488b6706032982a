# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul.py [--sizes=64,256,1024] [--threads=N] [--blocks=N]: products of NumPy's matrices in float32, beside NumPy's own, and in types that
NumPy multiplies without a BLAS.

The ways take turns, a block each; the median of the blocks is given. Set OPENBLAS_NUM_THREADS to the same number of threads for NumPy.
"""
import argparse
import statistics
import time

import numpy as np

import kdl


def seconds(call, count):
    """Of one call, by a block of them."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def ways(size, threads):
    """Each way's name, and its call."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((size, size), np.float32) for _ in range(2))
    out, packed = np.empty((size, size), np.float32), kdl.PackedMatrix(b)
    yield "NumPy float32", lambda: np.matmul(a, b, out)
    yield "kdl float32", lambda: kdl.matmul(a, b, out, threads=threads)
    yield "kdl float32, packed", lambda: kdl.matmul(a, packed, out, threads=threads)
    half = kdl.PackedMatrix(b.astype(np.float16))
    yield "kdl float16, packed", lambda left=a.astype(np.float16): kdl.matmul(left, half, out, threads=threads)
    bits, left_bits = ((one.view(np.uint32) >> 16).astype(np.uint16) for one in (b, a))
    brain = kdl.PackedMatrix(bits, bits="bfloat16")
    yield "kdl bfloat16, packed", lambda: kdl.matmul(left_bits, brain, out, threads=threads)
    small, left_small = (random.integers(-128, 128, (size, size), np.int8) for _ in range(2))
    bytes_, sums = kdl.PackedMatrix(small), np.empty((size, size), np.int32)
    yield "kdl int8, packed", lambda: kdl.matmul(left_small, bytes_, sums, threads=threads)


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="32,64,128,256,512,1024")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=21)
    arguments = parser.parse_args()
    print(f"{kdl.device('host').label}, kdl {kdl.version()}, NumPy {np.__version__}, {arguments.threads} threads")
    print(f"{'SIZE':>5} {'WAY':22} {'MICROSECONDS':>12} {'GFLOP/S':>8}")
    for size in map(int, arguments.sizes.split(",")):
        calls, times = dict(ways(size, arguments.threads)), {}
        count = max(1, int(2e8 / (2 * size ** 3)))
        for block in range(arguments.blocks + 1):
            for name, call in calls.items():
                taken = seconds(call, count)
                if block:
                    times.setdefault(name, []).append(taken)
        for name, values in times.items():
            middle = statistics.median(values)
            print(f"{size:5} {name:22} {middle * 1e6:12.1f} {2 * size ** 3 / middle / 1e9:8.1f}")


if __name__ == "__main__":
    main()
