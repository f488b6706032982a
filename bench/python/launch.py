# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""launch.py LIBRARY [--loop=loop.so] [--blocks=N]: what a launch of four arguments costs from Python, beside other packages.

LIBRARY holds saxpy for this GPU, as `kdl cc examples/kernels/saxpy.c --targets=sm_90 -o saxpy.offload` makes it. The ways take turns,
a block of launches each, and wait for the GPU outside of what is timed; the median of the blocks is given, with the 5th and 95th
percentile. Packages that are not installed are named and left out. loop.so is bench/python/loop.c as a shared library: launches from C.
"""
import argparse
import ctypes
import importlib
import statistics
import time

import kdl

COUNT = 400
N = 4


def by_loop(path, kernel, x, y):
    """Launches from C, through the driver alone."""
    from cuda.bindings import driver
    loop = ctypes.CDLL(path).launch_loop
    loop.restype = ctypes.c_double
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    function = load_function(driver, kernel)

    def block(stream):
        taken = loop(launch, ctypes.c_void_p(int(function)), ctypes.c_void_p(stream), ctypes.c_float(2.0),
                     ctypes.c_uint64(x.data_ptr()), ctypes.c_uint64(y.data_ptr()), ctypes.c_uint32(N), ctypes.c_size_t(COUNT))
        assert taken >= 0
        return taken
    return block


def load_function(driver, kernel):
    """The image that libkdl chose, loaded by the driver's own functions."""
    error, module = driver.cuModuleLoadData(kernel)
    assert error == driver.CUresult.CUDA_SUCCESS, error
    error, function = driver.cuModuleGetFunction(module, b"saxpy")
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return function


def timed(call):
    """A block of a way whose one launch is call()."""
    def block(_stream):
        start = time.perf_counter()
        for _ in range(COUNT):
            call()
        return time.perf_counter() - start
    return block


def ways(arguments, library, image, x, y, torch):
    """Each way's name, and a function that times a block of it."""
    stream = torch.cuda.current_stream().cuda_stream
    kernel = library.kernel("saxpy", "cuda:0")
    launcher, queue = kernel[N], kdl.Queue("cuda:0", native=stream)
    ax, ay = x.data_ptr(), y.data_ptr()
    if arguments.loop:
        yield "C, driver alone", by_loop(arguments.loop, image, x, y)
    yield "kdl, torch tensors", timed(lambda: launcher(2.0, x, y, N))
    yield "kdl, kernel[n](...)", timed(lambda: kernel[N](2.0, x, y, N))
    yield "kdl, addresses and queue", timed(lambda: launcher(2.0, ax, ay, N, queue=queue))
    yield "nothing: a call of a lambda", timed(lambda: None)
    try:
        from cuda.bindings import driver
        function = load_function(driver, image)
        values = ((2.0, ax, ay, N), (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32))
        yield "cuda.bindings", timed(lambda: driver.cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, values, 0))
    except ImportError as error:
        print(f"cuda.bindings is left out: {error}")
    try:
        core = importlib.import_module("cuda.core")
        if not hasattr(core, "Device"):
            core = importlib.import_module("cuda.core.experimental")
        device = core.Device(0)
        device.set_current()
        code = core.ObjectCode.from_cubin(image).get_kernel("saxpy")
        own = device.create_stream(torch.cuda.current_stream()) if hasattr(torch.cuda.Stream, "__cuda_stream__") else device.default_stream
        config = core.LaunchConfig(grid=1, block=256)
        four = (ctypes.c_float(2.0), ax, ay, ctypes.c_uint32(N))
        yield "cuda.core", timed(lambda: core.launch(own, config, code, *four))
    except (ImportError, AttributeError, TypeError, RuntimeError) as error:
        print(f"cuda.core is left out: {error}")
    try:
        import cupy
        module = cupy.RawModule(code='extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) '
                                     '{ unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }')
        raw, cx, cy = module.get_function("saxpy"), cupy.asarray(x), cupy.asarray(y)
        a, n = cupy.float32(2.0), cupy.uint32(N)
        yield "CuPy RawKernel", timed(lambda: raw((1,), (256,), (a, cx, cy, n)))
        yield "kdl, CuPy arrays", timed(lambda: launcher(2.0, cx, cy, N))
    except ImportError as error:
        print(f"CuPy is left out: {error}")
    try:
        import tvm_ffi  # noqa: F401  pylint: disable=unused-import
    except ImportError as error:
        print(f"tvm-ffi is left out: {error}")
    try:
        from triton_saxpy import saxpy
        yield "Triton", timed(lambda: saxpy[(1,)](2.0, x, y, N, BLOCK=256))
    except ImportError as error:
        print(f"Triton is left out: {error}")
    yield "torch y.add_(x)", timed(lambda: y.add_(x))


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--loop")
    parser.add_argument("--blocks", type=int, default=51)
    arguments = parser.parse_args()
    import torch
    library = kdl.open(arguments.library, search=False)
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    kernel = library.kernel("saxpy", "cuda:0")
    kernel[N](2.0, x, y, N)
    torch.cuda.synchronize()
    assert y.tolist() == [2.0] * N
    image = library.image(kernel.info()["image"]).bytes()
    stream = torch.cuda.current_stream().cuda_stream
    all_ways = list(ways(arguments, library, image, x, y, torch))
    times = {name: [] for name, _ in all_ways}
    for block in range(arguments.blocks + 3):
        for name, way in all_ways:
            taken = way(stream) / COUNT * 1e6
            torch.cuda.synchronize()
            if block >= 3:
                times[name].append(taken)
    floor = statistics.median(times.get("C, driver alone", [float("nan")]))
    print(f"{torch.cuda.get_device_name()}, kdl {kdl.version()}, torch {torch.__version__}: microseconds a launch, {COUNT} a block")
    print(f"{'WAY':28} {'MEDIAN':>7} {'P5':>7} {'P95':>7} {'ABOVE C':>8}")
    for name, values in times.items():
        values.sort()
        middle = statistics.median(values)
        print(f"{name:28} {middle:7.3f} {values[len(values) // 20]:7.3f} {values[-1 - len(values) // 20]:7.3f} {middle - floor:8.3f}")


if __name__ == "__main__":
    main()
