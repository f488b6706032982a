#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""link_stages.py BIN SOURCE [RUNS]: what linking a kernel with a built-in microkernel costs, by kdl-ld's own report: a small kernel for
a CPU, an NVIDIA GPU (as PTX and as a cubin) and an AMD GPU, and products of matrices for an NVIDIA GPU with the largest tile, `usual`
without and `general` with the code for epilogues, parts of K and any strides. BIN is the folder of kdl-ld in a build, SOURCE that of this project. In milliseconds, over RUNS runs: the medians, and the
fastest of each, for machines that are not idle. `process` is what lies outside kdl-ld's own clock: starting it, which loads LLVM, and
its end. `cpu` is the time of all its processes on CPUs, of user and system: what to compare where others use the machine."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

folder, source = sys.argv[1:3]
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 30
linker = os.path.join(folder, "kdl-ld")
inputs = os.path.join(source, "tests", "tools", "Inputs", "ld")
stages = ["start", "parse", "choose", "link", "optimise", "compile", "program", "write"]

host = ["-fPIC", "-march=x86-64-v2", "-DBUILTIN", os.path.join(inputs, "rows.c")]
gpu = ["-nogpulib", os.path.join(inputs, "gpu_rows.c")]
nvidia = ["-target", "nvptx64-nvidia-cuda", "-march=sm_75", "--cuda-feature=+ptx63"] + gpu
amd = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942"] + gpu
products = os.path.join(folder, "..", "matmul", "ukernels", "matmul", "f32_bf16.nvptx64.bc")
product = "kdl_gpu_matmul_f32_bf16_"
# name, flags or bitcode, device, environment, options
cases = [
    ("host zen4", host, "zen4", {}, []),
    ("h200, PTX", nvidia, "h200", {"KDL_PTXAS": "none"}, []),
    ("h200, cubin", nvidia, "h200", {}, []),
    ("mi300x", amd, "mi300x", {}, []),
    ("usual, PTX", products, "h200", {"KDL_PTXAS": "none"}, [f"--kernel={product}0n_plain"]),
    ("usual, cubin", products, "h200", {}, [f"--kernel={product}0n_plain"]),
    ("general, PTX", products, "h200", {"KDL_PTXAS": "none"}, [f"--kernel={product}0n"]),
    ("general, cubin", products, "h200", {}, [f"--kernel={product}0n"]),
]


def compile_caller(flags, out):
    subprocess.run(["/usr/lib/llvm-22/bin/clang", "-std=gnu17", "-O2", "-Xclang",
                    "-disable-llvm-passes", "-ffreestanding", "-I", os.path.join(source, "include"),
                    "-emit-llvm", "-c", *flags, "-o", out], check=True)


def cpu_seconds():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def link(caller, device, environment, options, work):
    report = os.path.join(work, "report.json")
    cpu, start = cpu_seconds(), time.perf_counter()
    subprocess.run([linker, "--protocol=1", f"--caller={caller}", f"--for={device}",
                    f"--output={work}/image", f"--report={report}", *options],
                   check=True, env=os.environ | environment)
    wall, cpu = (time.perf_counter() - start) * 1000, (cpu_seconds() - cpu) * 1000
    with open(report) as file:
        spent = {k: v / 1000 for k, v in json.load(file)["microseconds"].items()}
    spent["process"] = wall - sum(spent.values())
    spent["all"], spent["cpu"] = wall, cpu
    return spent


columns = stages + ["process", "all", "cpu"]
print(subprocess.run([linker, "--version"], stdout=subprocess.PIPE, text=True).stdout.strip())
print(f"{'':24}" + "".join(f"{name:>9}" for name in columns))
with tempfile.TemporaryDirectory() as work:
    for name, flags, device, environment, options in cases:
        caller = os.path.join(work, "caller.bc") if isinstance(flags, list) else flags
        if isinstance(flags, list):
            compile_caller(flags, caller)
        spent = [link(caller, device, environment, options, work) for _ in range(runs)]
        for kind, choose in (("median", statistics.median), ("fastest", min)):
            print(f"{name:16}{kind:8}" + "".join(f"{choose([s[c] for s in spent]):9.2f}"
                                                 for c in columns))
