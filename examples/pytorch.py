#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels from a libkdl library on PyTorch's current stream, and inside a CUDA graph.

    python3 examples/pytorch.py saxpy.offload [--without-torch]

libkdl is called through ctypes; no package is needed. Where PyTorch is not installed the same is
shown on the driver itself: a stream, memory and a capture of our own stand in for PyTorch's, and
libkdl cannot tell the difference, since all it is given is a CUstream and addresses.

Returns 77 where there is no NVIDIA GPU.
"""
import argparse
import ctypes
import os
import pathlib
import sys

COUNT = 100_000
A = 2.0

# ----------------------------------------------------------------------------------------------
# libkdl


class Extent(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint64), ("y", ctypes.c_uint64), ("z", ctypes.c_uint64)]


class Args(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("pointers", ctypes.POINTER(ctypes.c_void_p)),
                ("sizes", ctypes.POINTER(ctypes.c_size_t))]


class Error(Exception):
    pass


class Kdl:
    """The handful of functions that this script needs."""

    def __init__(self):
        beside = pathlib.Path(__file__).resolve().parent.parent / "build/lib/libkdl.so.0"
        name = os.environ.get("KDL_LIBRARY") or (str(beside) if beside.exists() else "libkdl.so.0")
        self.so = ctypes.CDLL(name)
        self.so.kdl_error_message.restype = ctypes.c_char_p

    def call(self, name, *args):
        if getattr(self.so, name)(*args) != 0:
            raise Error(self.so.kdl_error_message().decode())

    def make(self, name, *args):
        """Calls a function whose last parameter is where it writes a handle."""
        handle = ctypes.c_void_p()
        self.call(name, *args, ctypes.byref(handle))
        return handle

    def launch(self, kernel, queue, items, *values):
        """`values` are ctypes values in the order of the kernel's parameters."""
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        sizes = (ctypes.c_size_t * len(values))(*[ctypes.sizeof(v) for v in values])
        args = Args(len(values), pointers, sizes)
        extent = Extent(items, 1, 1)
        self.call("kdl_launch_items_call", kernel, queue, ctypes.byref(extent), ctypes.byref(args))


# ----------------------------------------------------------------------------------------------
# Whose stream and memory it is


class Torch:
    name = "PyTorch"

    def __init__(self):
        import torch
        if not torch.cuda.is_available():
            raise ImportError("torch finds no NVIDIA GPU")
        self.torch = torch
        self.side = torch.cuda.Stream()  # captures are not allowed on the default stream
        self.x = torch.arange(COUNT, dtype=torch.float32, device="cuda")
        self.y = torch.ones(COUNT, dtype=torch.float32, device="cuda")
        torch.cuda.synchronize()

    def stream(self):
        return ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)

    def pointers(self):
        return ctypes.c_uint64(self.x.data_ptr()), ctypes.c_uint64(self.y.data_ptr())

    def last(self):
        self.torch.cuda.synchronize()
        return self.y[-1].item()

    def on_side_stream(self):
        return self.torch.cuda.stream(self.side)

    def capture(self, record):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.side):
            record()
        return graph.replay


class Driver:
    """The CUDA driver by itself: what PyTorch would have made, made here."""
    name = "the CUDA driver"

    def __init__(self):
        self.so = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.side = self.make("cuStreamCreateWithPriority", 1, 0)
        self.x, self.y = self.upload(float(i) for i in range(COUNT)), self.upload([1.0] * COUNT)

    def call(self, name, *args):
        code = getattr(self.so, name)(*args)
        if code != 0:
            text = ctypes.c_char_p()
            self.so.cuGetErrorName(code, ctypes.byref(text))
            raise Error(f"{name}: {text.value.decode() if text.value else code}")

    def make(self, name, *args):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *args)
        return handle

    def upload(self, values):
        data = (ctypes.c_float * COUNT)(*values)
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(ctypes.sizeof(data)))
        self.call("cuMemcpyHtoDAsync_v2", address, data, ctypes.c_size_t(ctypes.sizeof(data)),
                  self.side)
        self.call("cuStreamSynchronize", self.side)
        return address

    def stream(self):
        return self.side

    def pointers(self):
        return self.x, self.y

    def last(self):
        value = ctypes.c_float()
        last = ctypes.c_uint64(self.y.value + 4 * (COUNT - 1))
        self.call("cuMemcpyDtoHAsync_v2", ctypes.byref(value), last, ctypes.c_size_t(4), self.side)
        self.call("cuStreamSynchronize", self.side)
        return value.value

    def on_side_stream(self):
        import contextlib
        return contextlib.nullcontext()

    def capture(self, record):
        graph, instance = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.side, 0)  # global: what PyTorch asks for
        record()
        self.call("cuStreamEndCapture", self.side, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph,
                  ctypes.c_uint64(0))
        return lambda: self.call("cuGraphLaunch", instance, self.side)


# ----------------------------------------------------------------------------------------------
# What is shown


def expect(what, found, expected):
    print(f"{what}: {found:.0f}")
    if found != expected:
        sys.exit(f"pytorch.py: {what}: found {found}, expected {expected}")


def show(kdl, owner, path):
    device = kdl.make("kdl_device_find", b"cuda:0")
    library = kdl.make("kdl_open", path.encode(), None)
    kernel = kdl.make("kdl_sym", library, device, b"saxpy", None)
    a, n = ctypes.c_float(A), ctypes.c_uint32(COUNT)
    x, y = owner.pointers()
    step = A * (COUNT - 1)

    # The stream that is current, also where other code made it.
    queue = kdl.make("kdl_queue_adopt", device, owner.stream())
    kdl.launch(kernel, queue, COUNT, a, x, y, n)
    expect("y[-1] after a launch on the current stream", owner.last(), 1 + step)

    with owner.on_side_stream():
        # A stream that is captured. `kernel` is loaded by now; kdl_prefetch does that for one that
        # was never launched.
        side = kdl.make("kdl_queue_adopt", device, owner.stream())
        fresh_library = kdl.make("kdl_open", path.encode(), None)
        fresh = kdl.make("kdl_sym", fresh_library, device, b"saxpy", None)
        refused = []

        def record():
            try:
                kdl.launch(fresh, side, COUNT, a, x, y, n)
            except Error as error:
                refused.append(str(error))
            kdl.launch(kernel, side, COUNT, a, x, y, n)

        replay = owner.capture(record)
        if not refused or "kdl_prefetch" not in refused[0]:
            sys.exit(f"pytorch.py: found {refused}, expected an error that names kdl_prefetch")
        print(f"a first launch on a captured stream: {refused[0]}")
        expect("y[-1] after a capture, which runs nothing", owner.last(), 1 + step)
        replay()
        replay()
        expect("y[-1] after two replays of it", owner.last(), 1 + 3 * step)

        kdl.call("kdl_prefetch", fresh)
        replay = owner.capture(lambda: kdl.launch(fresh, side, COUNT, a, x, y, n))
        replay()
        expect("y[-1] after kdl_prefetch, a capture and its replay", owner.last(), 1 + 4 * step)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="a library with the kernel saxpy")
    parser.add_argument("--without-torch", action="store_true", help="use the driver directly")
    options = parser.parse_args()
    kdl = Kdl()
    owner = None
    if not options.without_torch:
        try:
            owner = Torch()
        except ImportError as why:
            print(f"PyTorch is not used: {why}")
    try:
        owner = owner or Driver()
    except (OSError, Error) as why:
        print(f"skipped: {why}")
        sys.exit(77)
    print(f"stream and memory are those of {owner.name}")
    try:
        show(kdl, owner, options.library)
    except Error as error:
        sys.exit(f"pytorch.py: {error}")


if __name__ == "__main__":
    main()
