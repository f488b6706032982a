# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices on the CPU, by the library kdl-matmul."""
from __future__ import annotations

import functools
import math
import operator
import os
from typing import Any

from . import _kdl, _packages
from ._library import Library
from ._library import open as open_library

# By the type of the elements: libkdl's number, and the type of the result.
TYPES = {"bfloat16": (0, "float32"), "int8": (1, "int32"), "float32": (2, "float32"), "float16": (3, "float32")}
LETTERS = {"f": "float32", "e": "float16", "b": "int8"}  # NumPy's letters


@functools.lru_cache(maxsize=None)
def matmul_library() -> Library:
    """The library of kernels that kdl.matmul launches: the package's own, linked for several CPUs, else the one installed with
    libkdl."""
    own = os.path.join(os.path.dirname(__file__), "lib", "kdl-matmul.offload")
    return open_library(own) if os.path.exists(own) else open_library("kdl-matmul")


@functools.lru_cache(maxsize=None)
def _kernels(name: str, threads: int) -> _kdl.Matmul:
    return _kdl.Matmul(matmul_library()._handle, TYPES[name][0], threads)


@functools.lru_cache(maxsize=None)
def _numpy() -> Any:
    import numpy
    return numpy


@functools.lru_cache(maxsize=None)
def _units() -> int:
    return _kdl.device("host").units


def _name_of(array: Any, bits: str | None) -> str:
    """The type of an array's elements; `bits` is the type that 16-bit integers represent."""
    name: str = array.dtype.name
    if bits is not None and name == "uint16":
        name = bits
    if name not in TYPES or not array.dtype.isnative:
        raise TypeError(f"matmul: found elements of {array.dtype}, expected {', '.join(TYPES)}, of this machine's byte order")
    return name


def _array(np: Any, array: Any) -> Any:
    """The array as a NumPy array; refuses one whose mask would be ignored."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("matmul: found a masked array, whose mask is not looked at: pass its data or filled()")
    return np.asarray(array)


def _plain(np: Any, array: Any, name: str) -> Any:
    """The array as a matrix with a format of the buffer protocol."""
    if any(stride % array.itemsize for stride in array.strides):
        array = np.ascontiguousarray(array)
    return array.view(np.uint16) if name == "bfloat16" and array.dtype != np.uint16 else array


class PackedMatrix:
    """A matrix that is packed once, as the right operand of many products: kdl.matmul(a, packed), or a @ packed.

    matrix: an array of NumPy or a tensor of PyTorch, K by N, of float32, float16, int8, or bfloat16 (for NumPy, the package ml_dtypes). bits="bfloat16": of uint16, which are the
    bits of bfloat16. It is copied: later changes have no effect. The packed form is for this CPU, and cannot be stored."""

    __array_ufunc__ = None  # so that NumPy leaves `array @ packed` to __rmatmul__

    def __init__(self, matrix: Any, *, bits: str | None = None) -> None:
        np = _numpy()
        matrix, is_bfloat16 = _packages.to_numpy(np, matrix)
        matrix = _array(np, matrix)
        self._name = _name_of(matrix, "bfloat16" if is_bfloat16 else bits)
        if matrix.ndim != 2:
            raise ValueError(f"matmul: b: found {matrix.ndim} dimensions, expected 2")
        self._packed = _kernels(self._name, _kdl.thread_count()).pack(_plain(np, matrix, self._name))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._packed.shape

    @property
    def dtype(self) -> str:
        """The name of the type of its elements."""
        return self._name

    def __rmatmul__(self, a: Any) -> Any:
        return matmul(a, self)

    def __repr__(self) -> str:
        return f"<kdl.PackedMatrix {self.shape[0]} by {self.shape[1]} of {self._name}>"


def _check_out(np: Any, out: Any, name: str, shape: tuple[int, ...]) -> None:
    """Checks that `out` can hold the result."""
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.dtype != np.dtype(name) or out.shape != shape:
        found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out)
        raise ValueError(f"matmul: out: found {found}, expected an array of {name} {shape}")
    if not out.flags.writeable:
        raise ValueError("matmul: out: found an array that is read-only")


def _at_once(np: Any, a: Any, b: Any, out: Any, bits: str | None, threads: int) -> Any:
    """The product of two matrices without preparation, which the compiled module checks; None if they need some."""
    packed = type(b) is PackedMatrix
    if type(a) is not np.ndarray or a.ndim != 2 or a.shape[1] == 0 or not a.dtype.isnative:
        return None
    if not packed and (type(b) is not np.ndarray or b.ndim != 2 or b.dtype != a.dtype):
        return None
    name = LETTERS.get(a.dtype.char)
    if name is None and a.dtype.type.__name__ == "bfloat16":
        name, a, b = "bfloat16", a.view(np.uint16), b if packed else b.view(np.uint16)
    elif name is None and a.dtype.char == "H" and (b._name if packed else bits) == "bfloat16":
        name = "bfloat16"
    if name is None or packed and b._name != name:
        return None
    right = b._packed if packed else b
    columns = right.shape[1]
    if columns == 0:
        return None
    if out is None:
        out = np.empty((a.shape[0], columns), TYPES[name][1])
    elif type(out) is not np.ndarray:
        return None
    try:
        _kernels(name, threads).run(a, right, out)
    except (TypeError, ValueError):
        return None  # the slow path does it, or refuses it
    return out


def _count(threads: int | None) -> int:
    """The number of threads that the kernels divide their work for: what the process has, unless there is a limit."""
    count = operator.index(threads or 0)
    if count < 0:
        raise ValueError(f"matmul: threads: found {count}, expected a number from 1 on")
    return min(count, _units()) or _kdl.thread_count()


def matmul(a: Any, b: Any, out: Any = None, *, bits: str | None = None, threads: int | None = None) -> Any:
    """The matrix product of NumPy's arrays or PyTorch's tensors on the CPU; b may be a kdl.PackedMatrix. The result is a tensor if a or b is one,
    and of another package with Python's array API an array of that package.

    Of float32, float16 and bfloat16 (the package ml_dtypes) the result is float32, of int8 it is int32. a may have any number of
    dimensions, b one or two. bits="bfloat16": arrays of uint16 are the bits of bfloat16. out: an array for the result. threads: how many
    at most; by default kdl.thread_count(). Other Python threads can run in between."""
    np = _numpy()
    count = _count(threads)
    result = _at_once(np, a, b, out, bits, count)
    return result if result is not None else _of_packages(np, a, b, out, bits, count)


def _of_packages(np: Any, a: Any, b: Any, out: Any, bits: str | None, threads: int) -> Any:
    """The product with tensors as arrays of the same memory."""
    (left, is_left), (right, is_right), (place, is_place) = (_packages.to_numpy(np, one) for one in (a, b, out))
    if is_place:
        raise ValueError(f"matmul: out: found a tensor of {out.dtype}, expected one of torch.float32 or torch.int32")
    if is_left or is_right:
        bits = "bfloat16"
    result = None
    if left is not a or right is not b or place is not out:
        result = _at_once(np, left, right, place, bits, threads)
    if result is None:
        result = _at_length(np, left, right, place, bits, threads)
    if out is not None:
        return out
    found = (_packages.like(np, one, result) for one in (a, b))
    return next((one for one in found if one is not None), result)


def _place(np: Any, out: Any, shape: tuple[int, int], operands: list[Any]) -> Any:
    """`out` as a matrix that the kernels can write; None if there is none: its strides are those of no matrix, or it overlaps an operand."""
    if out is None or any(np.may_share_memory(out, operand) for operand in operands):
        return None
    matrix = out.reshape(shape)
    written = np.may_share_memory(matrix, out) and not any(stride % matrix.itemsize for stride in matrix.strides)
    return matrix if written else None


def _at_length(np: Any, a: Any, b: Any, out: Any, bits: str | None, threads: int) -> Any:
    a = _array(np, a)
    packed = b if isinstance(b, PackedMatrix) else None
    b = b if packed else _array(np, b)
    if packed and packed.dtype == "bfloat16":
        bits = bits or "bfloat16"
    name, other = _name_of(a, bits), packed.dtype if packed else _name_of(b, bits)
    if name != other:
        raise TypeError(f"matmul: found {name} and {other}, expected the same type twice")
    if a.ndim == 0 or len(b.shape) not in (1, 2):
        raise ValueError(f"matmul: found {a.ndim} and {len(b.shape)} dimensions, expected at least 1, and 1 or 2")
    k, n = b.shape if len(b.shape) == 2 else (b.shape[0], 1)
    if a.shape[-1] != k:
        raise ValueError(f"matmul: a has {a.shape[-1]} columns, b has {k} rows")
    rows, shape = math.prod(a.shape[:-1]), a.shape[:-1] + b.shape[1:]
    _check_out(np, out, TYPES[name][1], shape)
    left = _plain(np, a.reshape(rows, k), name)
    right = packed._packed if packed else _plain(np, b.reshape(k, n), name)
    made = _place(np, out, (rows, n), [left] if packed else [left, right])
    if made is None:
        made = np.empty((rows, n), TYPES[name][1])
    if k == 0:
        made[...] = 0
    _kernels(name, threads).run(left, right, made)
    if out is None:
        return made.reshape(shape) if shape else made[0, 0]
    if not np.may_share_memory(made, out):
        out[...] = made.reshape(shape)
    return out
