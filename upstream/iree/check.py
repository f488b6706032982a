#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check.py NAME LIBRARY: calls the microkernel in a shared library for many shapes, and compares its products with NumPy's."""
import ctypes
import itertools
import sys

import numpy as np

from kernels import KERNELS

TYPES = {"f32": np.float32, "bf16": np.uint16, "i8": np.int8, "i32": np.int32}


def encode(values, element):
    if element == "bf16": # small integers are exact
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(TYPES[element])


def main():
    name, library = sys.argv[1:]
    function = getattr(ctypes.CDLL(library), name)
    function.restype = None
    _, _, _, element, acc_type, m0, n0, k0, pack, *_ = KERNELS[name]
    random = np.random.default_rng(1)
    shapes, wrong = 0, 0
    for k_outer, im, in_, ik in itertools.product((0, 1, 3), (1, 2, 3, 13), (1, 2, 3), (1, 2)):
        m, n, k = im * m0, in_ * n0, k_outer * ik * k0
        a, b = random.integers(-3, 4, (m, k)), random.integers(-3, 4, (n, k))
        lhs = a.reshape(im, m0, k_outer, ik, k0).transpose(2, 0, 3, 1, 4)
        rhs = b.reshape(in_, n0, k_outer, ik, k0 // pack, pack).transpose(2, 0, 3, 4, 1, 5)
        lhs, rhs = (np.ascontiguousarray(encode(x, element)).ravel() for x in (lhs, rhs))
        # Offsets, and values behind the product that stay.
        lhs, rhs = (np.concatenate([np.zeros(5, x.dtype), x]) for x in (lhs, rhs))
        acc = np.ones(7 + m * n + 9, TYPES[acc_type])
        function(ctypes.c_void_p(lhs.ctypes.data), ctypes.c_int64(5), ctypes.c_void_p(rhs.ctypes.data), ctypes.c_int64(5),
                 ctypes.c_void_p(acc.ctypes.data), ctypes.c_int64(7), *(ctypes.c_int32(x) for x in (k_outer, im, in_, ik)))
        got = acc[7:7 + m * n].reshape(im, in_, m0, n0).transpose(0, 2, 1, 3).reshape(m, n)
        wrong += np.count_nonzero(got != a @ b.T + 1) + np.count_nonzero(acc[:7] != 1) + np.count_nonzero(acc[7 + m * n:] != 1)
        shapes += 1
    print(f"{name}: {shapes} shapes, {wrong} wrong values")
    sys.exit(1 if wrong or not shapes else 0)


main()
