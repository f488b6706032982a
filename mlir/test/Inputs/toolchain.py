# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether kdl cc, kdl-ld and the MLIR plugin run the same ptxas: toolchain.py FOLDER MLIR-OPT...

Every ptxas here says its name and fails, so that the command that runs it fails with that name."""
import os
import re
import shutil
import subprocess
import sys

folder, mlir_opt = os.path.abspath(sys.argv[1]), sys.argv[2:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chdir(folder)
plain = {name: value for name, value in os.environ.items() if not re.match("CUDA_|KDL_PTXAS|KDL_LIBDEVICE", name)}

KERNEL = """#include <kdl/kernel.h>
__gpu_kernel void twice(__gpu_global float *y) { y[__gpu_block_id_x()] *= 2; }
"""
MODULE = """module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @twice(%y: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %v = memref.load %y[%i] : memref<?xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %y[%i] : memref<?xf32>
      gpu.return
    }
  }
}
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def write_ptxas(path, name):
    write(path, f"#!/bin/sh\necho 'error: this is ptxas of {name};' >&2\nexit 1\n", 0o755)


write("k.c", KERNEL)
write("m.mlir", MODULE)
for toolkit in "home", "path", "root", "listed":
    write_ptxas(f"{toolkit}/bin/ptxas", toolkit)
write_ptxas("listed/bin/ptxas-13", "version 13")
write_ptxas("own", "own")
write("empty.c", "")
subprocess.run(["clang", "--target=nvptx64-nvidia-cuda", "-nogpulib", "-c", "-emit-llvm", "empty.c", "-o", "libdevice.10.bc"], check=True)
subprocess.run(["kdl", "cc", "k.c", "--targets=sm_90", "--emit=bitcode", "-o", "k.offload"], check=True)

COMMANDS = {
    "kdl cc": ["kdl", "cc", "k.c", "--targets=sm_90", "-o", "image.offload"],
    "kdl-ld": ["kdl", "link", "k.offload", "--for=h200", "-o", "linked.offload"],
    "MLIR": mlir_opt + ["m.mlir", "--pass-pipeline=builtin.module(kdl-attach-targets{targets=sm_90},kdl-compile-targets)", "-o", "m.out"],
}
HOME, PATH, ROOT = ({name: f"{folder}/{toolkit}"} for name, toolkit in (("CUDA_HOME", "home"), ("CUDA_PATH", "path"), ("CUDA_ROOT", "root")))
CASES = (
    ({}, "listed"),
    (HOME, "home"),
    (PATH, "path"),
    (ROOT, "root"),
    ({**PATH, **ROOT}, "path"),
    ({**HOME, **PATH, **ROOT}, "home"),
    ({"CUDA_HOME": "/nonexistent", **ROOT}, "root"),
    ({"CUDA_HOME": "", "KDL_PTXAS": ""}, "listed"),
    ({**HOME, "KDL_PTXAS": f"{folder}/own"}, "own"),
    ({**HOME, "KDL_PTXAS": "ptxas-13"}, "version 13"),
    ({**HOME, "KDL_PTXAS": "none"}, None),
    ({**HOME, "KDL_PTXAS": "/nonexistent"}, None),
)
failed = False
for variables, expected in CASES:
    environment = {**plain, "PATH": f"{folder}/listed/bin:{plain['PATH']}", "KDL_LIBDEVICE": f"{folder}/libdevice.10.bc", **variables}
    for name, command in COMMANDS.items():
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        found = re.search("this is ptxas of ([a-z0-9 ]+);", run.stdout + run.stderr)
        if (found and found.group(1)) != expected or (run.returncode == 0) != (expected is None):
            failed = True
            print(f"{name}: {variables}: found {found and found.group(1)}, expected {expected}:\n{run.stderr}")
sys.exit(failed)
