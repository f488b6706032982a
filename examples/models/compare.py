#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare.py FOLDER [NAME...]: compiles the models that export.py wrote to FOLDER, runs each by kdl.load_model, compares the result with
PyTorch's, and times both on one thread, taking turns. Without names, all models that FOLDER has."""
import argparse
import glob
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

ROW = "{:20} {:30} {:>10} {:>10} {:>7} {:>9} {:>8}"
LIMIT = 2e-4  # of the largest difference, relative to the largest value


def compiled(tool, folder, name, more):
    """The CPU seconds that it took; raises RuntimeError with the message of the command."""
    path = os.path.join(folder, name)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([tool, "compile", f"{path}.mlir", "-o", f"{path}.so", "--target=native", *more], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(next((line for line in lines if "rror" in line), lines[-1] if lines else f"ended with {done.returncode}"))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median_times(calls, seconds):
    """The median of each call in ms; the calls take turns."""
    times = [[] for _ in calls]
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < 5:
        for call, list_of in zip(calls, times):
            start = time.perf_counter()
            call()
            list_of.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(one[1:]) for one in times]


def row(tool, folder, name, seconds, more):
    """Compiles, compares and times one model, in this process."""
    cpu = compiled(tool, folder, name, more)
    import numpy as np
    import torch
    import kdl
    import zoo
    torch.set_num_threads(1)
    kdl.limit_threads(1)
    path = os.path.join(folder, name)
    inputs = [np.load(one) for one in sorted(glob.glob(f"{path}.in*.npy"))]
    expected, function = np.load(f"{path}.out.npy"), kdl.load_model(f"{path}.so").main
    found = function(*inputs)
    error = float(np.abs(found - expected).max() / np.abs(expected).max()) if found.shape == expected.shape else float("inf")
    said = f"{'right' if error < LIMIT else 'WRONG'}, error {error:.1e}"
    model, tensors = zoo.make(name)
    with torch.inference_mode():
        ours, theirs = median_times([lambda: function(*inputs), lambda: model(*tensors)], seconds)
    print(ROW.format(name, said, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}", f"{cpu:.0f}", f"{os.path.getsize(path + '.so') / 2**20:.0f}"), flush=True)
    return error < LIMIT


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=5, help="how long a model is timed, at least (default: 5)")
    parser.add_argument("--compile", action="append", default=[], metavar="OPTION", help="one more option of kdl-mlir compile")
    parser.add_argument("--kdl-mlir", default="kdl-mlir", metavar="PROGRAM", help="the command (default: kdl-mlir of PATH)")
    parser.add_argument("--here", action="store_true", help="in this process")
    arguments = parser.parse_intermixed_args()
    if not shutil.which(arguments.kdl_mlir):
        parser.error(f"found no {arguments.kdl_mlir}: put kdl-mlir into PATH, or name it with --kdl-mlir")
    if arguments.here:
        return 0 if row(arguments.kdl_mlir, arguments.folder, arguments.names[0], arguments.seconds, arguments.compile) else 1
    names = arguments.names or sorted(os.path.basename(path)[:-len(".mlir")] for path in glob.glob(os.path.join(arguments.folder, "*.mlir")))
    print(ROW.format("MODEL", "RESULT", "ms libkdl", "ms PyTorch", "ratio", "compile s", "MiB"), flush=True)
    failed = 0
    for name in names:
        command = [sys.executable, __file__, "--here", f"--seconds={arguments.seconds}", f"--kdl-mlir={arguments.kdl_mlir}", *(f"--compile={one}" for one in arguments.compile), arguments.folder, name]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        failed += done.returncode != 0
        if done.returncode not in (0, 1) or done.stderr.startswith("Traceback"):
            lines = done.stderr.strip().splitlines()
            print(f"{name:20} failed: {lines[-1] if lines else f'ended with {done.returncode}'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
