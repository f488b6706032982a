# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""on_fakes.py FAKES DIR: runs the example kernels that `kdl cc` compiled into DIR/KERNEL.offload on every fake driver
whose device takes one of their images. The fakes check what real drivers check: the image, its target, each argument,
the block. What a launch reached is read in their record of calls."""

import os
import pathlib
import subprocess
import sys

fakes, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

LIMITS = "memory=1GiB max_block=1024 shared=64KiB"
HIP = "hipModuleLaunchKernel"
LEVEL_ZERO = "zeCommandListAppendLaunchKernel"
OPENCL = "clEnqueueNDRangeKernel"
# (folder, device, what launches there, how the image is told)
DEVICES = [
    ("whole", "hip:gfx90a:sramecc+:xnack- driver=7.0.0", HIP, "hsaco", "exact"),
    ("old", "hip:gfx90a:sramecc+:xnack- driver=5.2.3", HIP, "hsaco", "exact"),
    ("whole", "hip:gfx942:sramecc+:xnack- driver=7.0.0", HIP, "hsaco", "exact"),
    ("whole", "hip:gfx1100 driver=7.0.0", HIP, "hsaco", "generic"),
    ("whole", "level_zero:pvc il=1.2", LEVEL_ZERO, "spirv", "portable IR"),
    ("old", "level_zero:pvc il=1.2", LEVEL_ZERO, "spirv", "portable IR"),
    ("whole", "opencl:spirv64 il=1.2 features=int64 platform=fake", OPENCL, "spirv", "portable IR"),
    ("old", "opencl:spirv64 il=1.2 features=int64 platform=fake", OPENCL, "spirv", "portable IR"),
]
# Kernel, items, arguments.
KERNELS = [
    ("saxpy", "1000", ["f32:2", "buf:f32[1000]=iota", "buf:f32[1000]=1", "u32:1000"]),
    ("reduce", "1000", ["buf:f32[1000]=1", "buf:f32[1]", "u32:1000"]),
    ("softmax", "4", ["buf:f32[64]=iota", "buf:f32[64]", "u32:16"]),
    ("layernorm", "4", ["buf:f32[64]=iota", "buf:f32[16]=1", "buf:f32[16]", "buf:f32[64]", "u32:16", "f32:0.001"]),
    ("matmul", "48x48", ["buf:f32[2304]=1", "buf:f32[2304]=1", "buf:f32[2304]", "u32:48", "u32:48", "u32:48"]),
    ("histogram", "1000", ["buf:u8[1000]=iota", "buf:u32[256]", "u32:1000"]),
]


def run(kernel, items, arguments, device):
    age, spec, function, kind, fit = device
    log = folder / "calls"
    log.unlink(missing_ok=True)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(fakes / age), KDL_FAKE_DEVICES=f"{spec} {LIMITS}",
                       KDL_FAKE_LOG=str(log))
    command = ["kdl", "run", str(folder / f"{kernel}.offload"), kernel, "--device=" + spec.split(":")[0],
               f"--items={items}", *(f"--arg={argument}" for argument in arguments)]
    if kernel == "saxpy":
        command.append("--dump=arg2")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    where = f"{kernel} on {age} {spec}"
    if done.returncode:
        sys.exit(f"{where}: {done.stderr}")
    if f", {kind}, on " not in done.stdout or f"fits as {fit}, choice 1 of" not in done.stdout:
        sys.exit(f"{where}: found {done.stdout}, expected {kind}, {fit}, the first choice")
    if kernel == "saxpy" and "arg2 = 1 3 5 7 9 11 13 15" not in done.stdout:
        sys.exit(f"{where}: wrong numbers: {done.stdout}")
    calls = log.read_text().splitlines()
    if calls.count(function) != 1:
        sys.exit(f"{where}: {calls.count(function)} calls of {function}")


for device in DEVICES:
    for kernel in KERNELS:
        run(*kernel, device)
print(f"{len(KERNELS)} kernels on {len(DEVICES)} fake devices: loaded, first choice, launched")
