# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""launch.py LIBRARY [--loop=loop.so] [--tvm=tvm_saxpy.so] [--stream=default|own] [--blocks=N]: what a launch of four arguments costs
from Python, next to other packages.

LIBRARY holds saxpy for this GPU, as `kdl cc examples/kernels/saxpy.c --targets=sm_90 -o saxpy.offload` makes it. The ways take turns,
a block of launches each, in a loop that holds the call itself, and wait for the GPU outside of what is timed; the median of the blocks
is given, with the 5th and 95th percentile, and what a way takes above C: the median of the differences of each block and the mean of
two of C's, one before and one after it, since the clock of the machine changes. Packages that are not installed are named and left out. loop.so is bench/python/loop.c as a
shared library: launches from C. tvm_saxpy.so is bench/python/tvm_saxpy.cc.
"""
import argparse
import ctypes
import importlib
import statistics
import time

import kdl

COUNT = 400
N = 4


class Saxpy:
    """What is launched: the kernel, its arguments and the stream, as the ways need them."""

    def __init__(self, library, torch):
        self.torch = torch
        self.x, self.y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
        self.kernel = library.kernel("saxpy", "cuda:0")
        self.kernel[N](2.0, self.x, self.y, N)
        torch.cuda.synchronize()
        assert self.y.tolist() == [2.0] * N
        self.image = library.image(self.kernel.info()["image"]).bytes()
        self.stream = torch.cuda.current_stream().cuda_stream
        self.addresses = self.x.data_ptr(), self.y.data_ptr()

    def function(self, driver):
        """The image that libkdl chose, loaded by the driver's own functions."""
        error, module = driver.cuModuleLoadData(self.image)
        assert error == driver.CUresult.CUDA_SUCCESS, error
        error, function = driver.cuModuleGetFunction(module, b"saxpy")
        assert error == driver.CUresult.CUDA_SUCCESS, error
        return function


def timed(statement, **names):
    """A block of a way: `statement` COUNT times, with `names` as its local variables."""
    scope = {"now": time.perf_counter, "times": range(COUNT), **names}
    text = f"def block({', '.join(f'{name}={name}' for name in scope)}):\n start = now()\n for _ in times: {statement}\n return now() - start"
    exec(text, scope)  # pylint: disable=exec-used
    return scope["block"]


def by_c(path, saxpy):
    """Launches from C, through the driver alone."""
    from cuda.bindings import driver
    loop = ctypes.CDLL(path).launch_loop
    loop.restype = ctypes.c_double
    launch, (x, y) = ctypes.CDLL("libcuda.so.1").cuLaunchKernel, saxpy.addresses
    function = saxpy.function(driver)

    def block():
        taken = loop(launch, ctypes.c_void_p(int(function)), ctypes.c_void_p(saxpy.stream), ctypes.c_float(2.0),
                     ctypes.c_uint64(x), ctypes.c_uint64(y), ctypes.c_uint32(N), ctypes.c_size_t(COUNT))
        assert taken >= 0
        return taken
    return block


def by_kdl(saxpy):
    """kdl, with what a program may have at hand."""
    (ax, ay), launcher = saxpy.addresses, saxpy.kernel[N]
    queue = kdl.Queue("cuda:0", native=saxpy.stream)
    yield "kdl, torch tensors", timed("launch(2.0, x, y, N)", launch=launcher, x=saxpy.x, y=saxpy.y, N=N)
    yield "kdl, kernel[n](...)", timed("kernel[N](2.0, x, y, N)", kernel=saxpy.kernel, x=saxpy.x, y=saxpy.y, N=N)
    yield "kdl, prepared tensors", timed("launch()", launch=launcher.prepare(2.0, saxpy.x, saxpy.y, N))
    yield "kdl, addresses and queue", timed("launch(2.0, x, y, N, queue=queue)", launch=launcher, x=ax, y=ay, N=N, queue=queue)
    yield "nothing: a call of a function", timed("nothing()", nothing=lambda: None)


def by_bindings(saxpy):
    """cuda.bindings: the driver's functions."""
    from cuda.bindings import driver
    values = ((2.0, *saxpy.addresses, N), (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32))
    yield "cuda.bindings", timed("launch(function, 1, 1, 1, 256, 1, 1, 0, stream, values, 0)", launch=driver.cuLaunchKernel,
                                 function=saxpy.function(driver), stream=saxpy.stream, values=values)


def by_ctypes(saxpy):
    """The driver's function by ctypes, with prepared arguments."""
    from cuda.bindings import driver
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    values = (ctypes.c_float(2.0), *(ctypes.c_uint64(one) for one in saxpy.addresses), ctypes.c_uint32(N))
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in values))
    yield "ctypes, prepared", timed("launch(function, 1, 1, 1, 256, 1, 1, 0, stream, pointers, None)", launch=launch, keep=values,
                                    function=int(saxpy.function(driver)), stream=saxpy.stream, pointers=pointers)


def by_core(saxpy):
    """cuda.core."""
    core = importlib.import_module("cuda.core")
    if not hasattr(core, "Device"):
        core = importlib.import_module("cuda.core.experimental")
    device = core.Device(0)
    device.set_current()
    code = core.ObjectCode.from_cubin(saxpy.image).get_kernel("saxpy")
    current = saxpy.torch.cuda.current_stream()
    own = device.create_stream(current) if hasattr(type(current), "__cuda_stream__") else device.default_stream
    four = (ctypes.c_float(2.0), *saxpy.addresses, ctypes.c_uint32(N))
    yield "cuda.core", timed("launch(own, config, code, *four)", launch=core.launch, own=own, code=code, four=four,
                             config=core.LaunchConfig(grid=1, block=256))


def by_cupy(saxpy):
    """CuPy's kernels, and its arrays given to kdl's."""
    import cupy
    module = cupy.RawModule(code='extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) '
                                 '{ unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }')
    four = (cupy.float32(2.0), cupy.asarray(saxpy.x), cupy.asarray(saxpy.y), cupy.uint32(N))
    if saxpy.stream:
        cupy.cuda.ExternalStream(saxpy.stream).use()
    yield "CuPy RawKernel", timed("raw((1,), (256,), four)", raw=module.get_function("saxpy"), four=four)
    yield "kdl, CuPy arrays", timed("launch(2.0, x, y, N)", launch=saxpy.kernel[N], x=four[1], y=four[2], N=N)


def by_tvm(saxpy, path):
    """tvm-ffi: a function of C++ that launches."""
    import tvm_ffi
    from cuda.bindings import driver
    module = tvm_ffi.load_module(path)
    launch = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p).value
    module.prepare(launch, int(saxpy.function(driver)))
    before = saxpy.y.tolist()
    module.saxpy(2.0, saxpy.x, saxpy.y, N)
    saxpy.torch.cuda.synchronize()
    assert saxpy.y.tolist() == [one + 2.0 for one in before]
    yield "tvm-ffi, torch tensors", timed("launch(2.0, x, y, N)", launch=module.saxpy, x=saxpy.x, y=saxpy.y, N=N)


def by_triton(saxpy):
    """A kernel of Triton's."""
    from triton_saxpy import saxpy as kernel
    yield "Triton", timed("kernel[(1,)](2.0, x, y, N, BLOCK=256)", kernel=kernel, x=saxpy.x, y=saxpy.y, N=N)


def all_ways(arguments, saxpy):
    """Each way's name, and a function that times a block of it."""
    packages = {"kdl": by_kdl, "cuda.bindings": by_bindings, "ctypes": by_ctypes, "cuda.core": by_core, "CuPy": by_cupy,
                "tvm-ffi": lambda one: by_tvm(one, arguments.tvm), "Triton": by_triton}
    for package, ways in packages.items():
        try:
            for name, way in ways(saxpy):
                way()  # which fails here, where the package cannot be used
                yield name, way
        except (ImportError, AttributeError, TypeError, RuntimeError, ValueError) as error:
            print(f"{package} is left out: {error}")
    yield "torch y.add_(x)", timed("add(x)", add=saxpy.y.add_, x=saxpy.x)


def measure(arguments, saxpy):
    """Microseconds a launch of each way, block by block, and what they take above C."""
    ways = dict(all_ways(arguments, saxpy))
    times, above = {name: [] for name in ["C, driver alone", *ways]}, {}

    def taken(way):
        one = way() / COUNT * 1e6
        saxpy.torch.cuda.synchronize()
        return one
    floor = by_c(arguments.loop, saxpy) if arguments.loop else lambda: float("nan")
    for block in range(arguments.blocks + 3):
        for name, way in ways.items():
            before, own, after = taken(floor), taken(way), taken(floor)
            if block >= 3:
                times[name].append(own)
                times["C, driver alone"] += [before, after]
                above.setdefault(name, []).append(own - (before + after) / 2)
    return times, above


def main():
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--loop")
    parser.add_argument("--tvm", default="./tvm_saxpy.so")
    parser.add_argument("--stream", choices=["default", "own"], default="default")
    parser.add_argument("--blocks", type=int, default=51)
    arguments = parser.parse_args()
    import torch
    library = kdl.open(arguments.library, search=False)
    with torch.cuda.stream(torch.cuda.Stream() if arguments.stream == "own" else torch.cuda.default_stream()):
        times, above = measure(arguments, Saxpy(library, torch))
    print(f"{torch.cuda.get_device_name()}, kdl {kdl.version()}, torch {torch.__version__}, {arguments.stream} stream: microseconds a "
          f"launch, {COUNT} a block")
    print(f"{'WAY':30} {'MEDIAN':>7} {'P5':>7} {'P95':>7} {'ABOVE C':>8}")
    for name, values in times.items():
        ordered, extra = sorted(values), statistics.median(above.get(name, [0.0]))
        print(f"{name:30} {statistics.median(values):7.3f} {ordered[len(values) // 20]:7.3f} {ordered[-1 - len(values) // 20]:7.3f} {extra:8.3f}")


if __name__ == "__main__":
    main()
