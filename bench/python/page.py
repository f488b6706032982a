# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page.py --loop=matmul_loop.so [--sizes=512,1024,2048] [--blocks=N] [--types=float32,...]: the calls of docs/python.md, as they stand there
below "Matrices", in every type, next to the same products from C.

Each line of the page that multiplies and the C call take turns, a block each. Given are the median of both, and the median of the ratios
of neighbouring blocks with the range that holds it in 95 of 100 cases. Operands begin 16 bytes after a cache line, as those that NumPy
allocates do. "bits" is bfloat16 as uint16; "bfloat16" needs the package ml_dtypes. bench/matmul_scale.py has the command that builds matmul_loop.so. KDL_HOST_THREADS limits the threads.
"""
import argparse
import ctypes
import os
import random
import re
import statistics
import time

import numpy as np

import kdl

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")
NUMBERS = {"bfloat16": 0, "int8": 1, "float32": 2, "float16": 3, "bits": 0}  # of kdl_matmul_type
PACKED, PLAIN = 0, 1  # ways of matmul_loop
LINE = 64


def calls():
    """The lines of the page that multiply."""
    with open(PAGE, encoding="utf-8") as file:
        block = re.search(r"^## Matrices\n```python\n(.*?)^```", file.read(), flags=re.M | re.S).group(1)
    lines = [line.split("  #")[0].strip() for line in block.splitlines()]
    return [line for line in lines if "kdl.matmul(" in line or "@" in line]


def as_numpy_allocates(array):
    """A copy that begins 16 bytes after a cache line."""
    memory = np.empty(array.nbytes + 2 * LINE, np.uint8)
    start = -memory.ctypes.data % LINE + 16
    copy = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def matrices(name, size):
    """The page's a, b and c."""
    numbers = np.random.default_rng(0)
    if name == "int8":
        operands = [numbers.integers(-128, 128, (size, size), np.int8) for _ in range(2)]
    else:
        operands = [numbers.standard_normal((size, size), np.float32) for _ in range(2)]
    if name == "bits":
        operands = [(one.view(np.uint32) >> 16).astype(np.uint16) for one in operands]
    elif name == "bfloat16":
        import ml_dtypes
        operands = [one.astype(ml_dtypes.bfloat16) for one in operands]
    elif name == "float16":
        operands = [one.astype(np.float16) for one in operands]
    return [as_numpy_allocates(one) for one in (*operands, np.empty((size, size), np.int32 if name == "int8" else np.float32))]


def address(array):
    """Of the first element."""
    return ctypes.c_void_p(array.ctypes.data)


def of_python(line, names):
    """Seconds of one call, by a block of them that follows one untimed."""
    code = compile(f"for _ in range(count):\n    {line}", PAGE, "exec")

    def block(count):
        exec(code, names, {"count": 1})  # pylint: disable=exec-used
        start = time.perf_counter()
        exec(code, names, {"count": count})  # pylint: disable=exec-used
        return (time.perf_counter() - start) / count
    return block


def of_c(loop, name, arrays, threads, way):
    """The same from C."""
    size, path = len(arrays[0]), os.fsencode(kdl.matmul_library().path)

    def block(count):
        taken = loop(path, NUMBERS[name], ctypes.c_uint(threads), *map(address, arrays), *3 * [ctypes.c_uint(size)], way, ctypes.c_size_t(count + 1))
        assert taken >= 0
        return taken / (count + 1)
    return block


def range_of_median(values, count=2000):
    """By drawing from the values again, 2,000 times."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(count))
    return medians[int(count * 0.025)], medians[int(count * 0.975)]


def lines_of(name, arrays):
    """Each line with the way from C and the threads that correspond to it, and what the names on the page are."""
    a, b, c = arrays
    bits = "bfloat16" if name == "bits" else None
    names = {"kdl": kdl, "a": a, "b": b, "c": c, "weights": kdl.PackedMatrix(b, bits=bits)}
    for line in calls():
        way = PACKED if "weights" in line else PLAIN
        threads = int((re.search(r"threads=(\d+)", line) or [0, 0])[1]) or kdl.thread_count()
        if name == "bits" and way == PLAIN:
            line = line[:-1] + ', bits="bfloat16")'
        yield line, names, way, threads


def measure(loop, name, size, blocks):
    """Prints a row for each call of a type and a size."""
    arrays = matrices(name, size)
    for line, names, way, threads in lines_of(name, arrays):
        python, c = of_python(line, names), of_c(loop, name, arrays, threads, way)
        count = max(1, int(0.02 / min(c(1), c(1))))
        pairs = [(python(count), c(count)) for _ in range(blocks + 1)][1:]
        ratios = [one / other for one, other in pairs]
        low, high = range_of_median(ratios)
        median_python, median_c = (statistics.median(values) * 1e6 for values in zip(*pairs))
        print(f"{size:5} {name:15} {line:52} {threads:7} {median_python:11.1f} {median_c:11.1f} {statistics.median(ratios):6.3f} {low:6.3f}-{high:.3f}",
              flush=True)


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loop", required=True)
    parser.add_argument("--sizes", default="512,1024,2048")
    parser.add_argument("--types", default="float32,float16,bfloat16,bits,int8")
    parser.add_argument("--blocks", type=int, default=21)
    arguments = parser.parse_args()
    loop = ctypes.CDLL(os.path.abspath(arguments.loop)).matmul_loop
    loop.restype = ctypes.c_double
    print(f"{kdl.device('host').label}, kdl {kdl.version()}, NumPy {np.__version__}, {kdl.thread_count()} threads")
    print(f"{'SIZE':>5} {'TYPE':15} {'CALL':52} {'THREADS':>7} {'PYTHON, µs':>11} {'C, µs':>11} {'RATIO':>6} {'95 %':>12}")
    for size in map(int, arguments.sizes.split(",")):
        for name in arguments.types.split(","):
            measure(loop, name, size, arguments.blocks)


if __name__ == "__main__":
    main()
