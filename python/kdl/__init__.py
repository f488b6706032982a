# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libkdl: the kernel dynamic linker, for Python.

    import kdl, numpy as np
    lib = kdl.open("./saxpy.offload")            # any fat binary: an OffloadBinary, a fatbin, a .so, a cubin ...
    print(lib.explain("saxpy", "mi300x"))        # which image would run there, and why
    saxpy = lib["saxpy"]                         # for the best device of this machine
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    saxpy[8](2.0, x, y, 8)                       # over 8 work-items; launches return before GPUs are done

OPENING. kdl.open takes a path or bytes and returns a Library: its images (kind, triple, arch, metadata, bytes), the names of its
kernels, and library.explain(kernel, device), as a table and as data. kdl.devices() lists this machine's devices; kdl.device("mi300x")
describes one that this machine need not have. kdl.check reports which parts of files, folders and wheels run on a device, kdl.thin
removes the images of a file that no device needs, kdl.trace runs a program and times its launches: each as data and as a table.
kdl.Writer packs images, kdl.compile compiles C, and kdl.triton packs kernels that Triton compiled.

LAUNCHING. kernel[items](arguments...) launches over work-items, kernel.launch(arguments..., grid=, block=) over groups. Arguments are
converted by the kernel's signature; kernel[items].prepare(arguments...) converts them once, and is called without any. Numbers may be
Python's or NumPy's. A pointer may be a NumPy array for a kernel on the host; on a GPU a PyTorch tensor or any object with
__cuda_array_interface__ or DLPack's protocol; a kdl.Buffer of the kernel's device; an address as an int; None. A wrong argument is
a TypeError that names its position.

QUEUES. A launch with a PyTorch tensor on a GPU goes to PyTorch's current stream, unless queue= names another queue: a kdl.Queue,
an object with __cuda_stream__, or a driver's handle. A launch with any other argument goes to the device's own queue, which
kernel.sync() waits for. An array with __dlpack__ gets the queue, so that earlier work on it completes first. The arguments of a
launch must live until it is done; a sequence holds what it recorded.

THREADS. On the CPU, threads= of launch with grid=, of kdl.Queue and of kdl.matmul limits the threads that run a launch;
kdl.limit_threads limits those of all launches of the calling thread, and kdl.thread_count() returns how many there are at most.

MATRICES. kdl.matmul(a, b) multiplies NumPy arrays on the CPU; kdl.PackedMatrix(b) is packed once for repeated products.

MODELS. kdl.load_model("model.so") opens what `kdl-mlir compile` made as a kdl.Model; model.main(array, 2.0) calls its function.

ERRORS are exceptions, all derived from kdl.Error: str() is the full message, status is libkdl's and code the driver's own number.
"""

import sys as _sys
from typing import Optional as _Optional

if "t" in _sys.abiflags:
    raise ImportError("libkdl: this Python is free-threaded, and has no stable ABI, which the package is built for: take a Python with a GIL")

from ._kdl import (BadCallError, BadFileError, Buffer, Device, DeviceError, Error, Event, FileAccessError, Kernel, NoMatchError,
                   NoMemoryError, Queue, Sequence, UnsupportedError, device, devices, limit_threads,
                   thread_count, version)
from ._kdl import devices_refresh as _devices_refresh
from ._library import Explanation, Image, Library, Reason, Verdict, Writer, open
from ._archive import Archive
from ._command import CommandError, compile, run_command, tune
from ._matmul import PackedMatrix, matmul, matmul_library
from ._model import Model, load_model
from ._reports import Report, check, thin, trace, trace_report

__version__ = version()
__all__ = [
    "Archive", "BadCallError", "BadFileError", "Buffer", "CommandError", "Device", "DeviceError", "Error", "Event", "Explanation",
    "FileAccessError", "Image", "Kernel", "Library", "Model", "NoMatchError", "NoMemoryError", "PackedMatrix", "Queue", "Reason",
    "Report", "Sequence", "UnsupportedError", "Verdict", "Writer", "check", "compile", "device", "devices", "limit_threads",
    "load_model", "matmul", "matmul_library", "open", "refresh", "run_command", "thin", "thread_count", "trace", "trace_report", "tune", "version",
]


def refresh(backend: _Optional[str] = None) -> int:
    """Enumerates devices again; returns how many are new. backend: 'cuda', 'hip', ..."""
    return _devices_refresh(backend)
