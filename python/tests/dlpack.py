# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack's structures by ctypes, and arrays of every protocol around an address: packages that are not installed where tests run."""
import ctypes

CPU, CUDA, ROCM, CUDA_MANAGED = 1, 2, 10, 13
EXCHANGE_NAME = b"dlpack_exchange_api"  # a capsule keeps the address of its name
CODES = {"i": 0, "u": 1, "f": 2, "bf": 4}
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("dimensions", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("destroy", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("destroy", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


DESCRIBE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("from_object", ctypes.c_void_p), ("to_object", ctypes.c_void_p), ("describe", DESCRIBE), ("current_stream", STREAM)]


def tensor(address, place, dtype, offset=0):
    """A tensor of one dimension without a shape."""
    letters = dtype.rstrip("0123456789")
    return Tensor(address - offset, place[0], place[1], 1, CODES[letters], int(dtype[len(letters):]), 1, None, None, offset)


class ByCudaInterface:
    """An array with CUDA's interface. stream: -1 leaves the key out."""

    def __init__(self, address, typestr="<f4", stream=-1, **changes):
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": typestr, "data": (address, False), "version": 3, **changes}
        if stream != -1:
            self.__cuda_array_interface__["stream"] = stream

    __cuda_array_interface__ = None


class ByDlpack:
    """An array with DLPack's protocol; keeps the arguments of its calls."""

    def __init__(self, address, place, dtype="f32", is_versioned=False, offset=0):
        self.place, self.streams, self.name = place, [], b"dltensor"
        data = tensor(address, place, dtype, offset)
        self.managed = Managed(data)
        if is_versioned:
            self.managed, self.name = Versioned(1, 1, None, None, 0, data), b"dltensor_versioned"

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


class ByExchange:
    """An array of a type with DLPack's exchange, as PyTorch's tensors have it."""
    stream = 0
    asked = 0  # how often for its stream
    fails = False

    def __init__(self, address, place, dtype="f32"):
        self.tensor = tensor(address, place, dtype)


@DESCRIBE
def _describe(array, out):
    if ByExchange.fails:
        return -1
    ctypes.memmove(out, ctypes.addressof(array.tensor), ctypes.sizeof(Tensor))
    return 0


@STREAM
def _current_stream(_type, _ordinal, out):
    ByExchange.asked += 1
    out[0] = ByExchange.stream
    return 0


_exchange = Exchange(1, 3, None, None, None, None, _describe, _current_stream)
_later = Exchange(2, 0, ctypes.addressof(_exchange), None, None, None, _describe, _current_stream)
ByExchange.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(_later), EXCHANGE_NAME, None)
