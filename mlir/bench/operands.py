# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of NumPy as MLIR's C interface takes them."""
import ctypes


class Memref(ctypes.Structure):
    """A memref of two dimensions."""
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                ("sizes", ctypes.c_int64 * 2), ("strides", ctypes.c_int64 * 2)]

    def __init__(self, array):
        pair = ctypes.c_int64 * 2
        super().__init__(array.ctypes.data, array.ctypes.data, 0, pair(*array.shape), pair(array.shape[1], 1))
