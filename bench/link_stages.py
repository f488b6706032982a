#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""link_stages.py BIN SOURCE [RUNS]: what linking a small kernel with a built-in microkernel costs, by
kdl-ld's own report, for a CPU, an NVIDIA GPU (as PTX and as a cubin) and an AMD GPU. BIN is the
folder of kdl-ld, SOURCE that of this project. In milliseconds, over RUNS runs: the medians, and the
fastest of each, for machines that are not idle. `process` is what lies outside kdl-ld's own clock:
starting it, which loads LLVM, and its end."""

import json
import os
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
cases = [
    ("host zen4", host, "zen4", {}),
    ("h200, PTX", nvidia, "h200", {"KDL_PTXAS": "none"}),
    ("h200, cubin", nvidia, "h200", {}),
    ("mi300x", amd, "mi300x", {}),
]


def compile_caller(flags, out):
    subprocess.run(["/usr/lib/llvm-22/bin/clang", "-std=gnu17", "-O2", "-Xclang",
                    "-disable-llvm-passes", "-ffreestanding", "-I", os.path.join(source, "include"),
                    "-emit-llvm", "-c", *flags, "-o", out], check=True)


def link(caller, device, environment, work):
    report = os.path.join(work, "report.json")
    start = time.perf_counter()
    subprocess.run([linker, "--protocol=1", f"--caller={caller}", f"--for={device}",
                    f"--output={work}/image", f"--report={report}"],
                   check=True, env=os.environ | environment)
    wall = (time.perf_counter() - start) * 1000
    with open(report) as file:
        spent = {k: v / 1000 for k, v in json.load(file)["microseconds"].items()}
    spent["process"] = wall - sum(spent.values())
    spent["all"] = wall
    return spent


columns = stages + ["process", "all"]
print(subprocess.run([linker, "--version"], stdout=subprocess.PIPE, text=True).stdout.strip())
print(f"{'':20}" + "".join(f"{name:>9}" for name in columns))
with tempfile.TemporaryDirectory() as work:
    for name, flags, device, environment in cases:
        caller = os.path.join(work, "caller.bc")
        compile_caller(flags, caller)
        spent = [link(caller, device, environment, work) for _ in range(runs)]
        for kind, choose in (("median", statistics.median), ("fastest", min)):
            print(f"{name:12}{kind:8}" + "".join(f"{choose([s[c] for s in spent]):9.2f}"
                                                 for c in columns))
