#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_first_launch.py --program=bench_first_launch --case=NAME=LIBRARY [--case=...] KERNEL THREADS GROUP_BYTES ARGUMENT...

What a kernel's first launch costs on an NVIDIA GPU, through libkdl, in processes of their own:
  cold    libkdl's cache and the driver's are empty: bitcode is linked by kdl-ld (KDL_LD) and made a cubin by ptxas (KDL_PTXAS) or the driver
  cached  libkdl's cache has the image
The columns are bench_first_launch's steps in milliseconds, medians over --runs processes, cases in turn. "first" is open, sym, prefetch,
launch and sync together: what a program waits for that has a device. With --setting=NAME=VALUE every case runs again under that variable.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

STEPS = ["open", "sym", "prefetch", "launch", "sync"]


def run(program, library, arguments, folder, settings):
    os.makedirs(folder, exist_ok=True)
    environment = os.environ | settings | {"KDL_CACHE_DIR": folder, "CUDA_CACHE_PATH": os.path.join(folder, "driver")}
    done = subprocess.run([program, library, arguments.kernel, arguments.device, arguments.threads, arguments.group_bytes, *arguments.values],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode:
        raise SystemExit(f"{library}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--case", action="append", required=True, help="NAME=LIBRARY")
    parser.add_argument("--setting", action="append", default=[], help="NAME=VALUE")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("kernel")
    parser.add_argument("threads")
    parser.add_argument("group_bytes")
    parser.add_argument("values", nargs="*")
    arguments = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(arguments.runs):
            for case in arguments.case:
                name, library = case.split("=", 1)
                for setting in [""] + arguments.setting:
                    settings = dict([setting.split("=", 1)]) if setting else {}
                    folder = os.path.join(work, "cache")
                    shutil.rmtree(folder, ignore_errors=True)
                    for state in ("cold", "cached"):
                        got = run(arguments.program, library, arguments, folder, settings)
                        found.setdefault(f"{name} {setting} {state}".replace("  ", " "), []).append(got)
    print(f"{'':44} image " + "".join(f"{step:>10}" for step in STEPS) + f"{'first':>10}{'least':>10}")
    for name, samples in found.items():
        sums = [sum(sample[step] for step in STEPS) / 1e3 for sample in samples]
        print(f"{name:44} {samples[0]['image']:5} " + "".join(f"{statistics.median(s[step] for s in samples) / 1e3:10.3f}" for step in STEPS)
              + f"{statistics.median(sums):10.3f}{min(sums):10.3f}", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1)


main()
