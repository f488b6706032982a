# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libkdl: the kernel dynamic linker, for Python.

    import kdl, numpy as np
    lib = kdl.open("./saxpy.offload")            # any fat binary: an OffloadBinary, a fatbin, a .so, a cubin ...
    print(lib.explain("saxpy", "mi300x"))        # which image would run there, and why
    saxpy = lib["saxpy"]                         # for the best device of this machine
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    saxpy[8](2.0, x, y, 8)                       # over 8 work-items; launches return before GPUs are done

OPENING. kdl.open takes a path or bytes and gives a Library: its images (kind, triple, arch, metadata, bytes), the names of its
kernels, and library.explain(kernel, device), a table and data. kdl.devices() lists this machine's devices; kdl.device("mi300x")
describes one that need not be here. kdl.check says what of files, folders and wheels runs on a device, kdl.thin keeps of a file what
devices need, kdl.trace runs a program and says what its launches took: each as data and as a table. kdl.Writer packs images,
kdl.compile compiles C, and kdl.triton packs kernels of Triton's.

LAUNCHING. kernel[items](arguments...) launches over work-items, kernel.launch(arguments..., grid=, block=) over groups. Arguments are
converted by the kernel's signature; kernel[items].prepare(arguments...) converts them once, and is called without any. Numbers may be
Python's or NumPy's. A pointer may be an array of NumPy's for a kernel on the host; on a GPU a tensor of PyTorch's or whatever has
__cuda_array_interface__ or DLPack's protocol; a kdl.Buffer of the kernel's device; an address as an int; None. What is wrong is a
TypeError that names the argument by its place.

QUEUES. A tensor of PyTorch's for a GPU brings its stream with it: the launch goes to PyTorch's current one unless queue= names
another: a kdl.Queue, an object with __cuda_stream__, or a driver's handle. A launch with any other argument goes to the device's own
queue, which kernel.sync() waits for. An array with __dlpack__ is told the queue, so that work on it is done before. What a launch
uses must live until it is done; a sequence holds what it recorded.

MATRICES. kdl.matmul(a, b) multiplies NumPy's on the CPU, and kdl.PackedMatrix(b) is packed once and multiplied with often.

ERRORS are exceptions, all of them kdl.Error: their text says all of it, status is libkdl's and code the driver's own number.
"""

from typing import Optional as _Optional

from ._kdl import (BadCallError, BadFileError, Buffer, Device, DeviceError, Error, Event, FileAccessError, Kernel, NoMatchError,
                   NoMemoryError, Queue, Sequence, UnsupportedError, device, devices, version)
from ._kdl import devices_refresh as _devices_refresh
from ._library import Explanation, Image, Library, Reason, Verdict, Writer, open
from ._archive import Archive
from ._command import CommandError, compile, run_command
from ._matmul import PackedMatrix, matmul, matmul_library
from ._reports import Report, check, thin, trace, trace_report

__version__ = version()
__all__ = [
    "Archive", "BadCallError", "BadFileError", "Buffer", "CommandError", "Device", "DeviceError", "Error", "Event", "Explanation",
    "FileAccessError", "Image", "Kernel", "Library", "NoMatchError", "NoMemoryError", "PackedMatrix", "Queue", "Reason",
    "Report", "Sequence", "UnsupportedError", "Verdict", "Writer", "check", "compile", "device", "devices", "matmul",
    "matmul_library", "open", "refresh", "run_command", "thin", "trace", "trace_report", "version",
]


def refresh(backend: _Optional[str] = None) -> int:
    """Asks drivers once more for their devices; how many there are that were not there before. backend: 'cuda', 'hip', ..."""
    return _devices_refresh(backend)
