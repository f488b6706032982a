#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""storm.py over the caches of others: many processes of four simulated machines want one kernel at the same moment, over one folder.

    peers.py triton --late LATE_PATHS.so --cache CACHE.py [--processes N,...] [--late-ms MS] [--renames-hold]
    peers.py pocl --late LATE_PATHS.so --kdl KDL --include DIR --kernels DIR [the same]

triton: CACHE.py is triton/runtime/cache.py of a wheel, as it is; each process does with its FileCacheManager what triton.compile does, with a
compilation that takes 50 ms and writes 200,000 bytes. pocl: each process has PoCL build and run a kernel in OpenCL C, with one POCL_CACHE_DIR.
LATE_PATHS.so is late_paths.c, compiled. With --renames-hold no rename that was done is answered with an error. MADE counts compilations, of PoCL by what it renames to program.bc."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FILES = {"kernel.ttir": b"t" * 50_000, "kernel.llir": b"l" * 100_000, "kernel.ptx": b"p" * 40_000, "kernel.cubin": b"c" * 10_000}


def one_of_triton(path, folder):
    """What triton.compile does about its cache."""
    import importlib.util
    import types
    triton = types.ModuleType("triton")
    triton.__version__ = "of the cache"
    triton.knobs = types.SimpleNamespace(cache=types.SimpleNamespace(dir=folder))
    sys.modules["triton"] = triton
    spec = importlib.util.spec_from_file_location("cache", path)
    cache = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cache)
    manager = cache.FileCacheManager("KEY")
    group = manager.get_group("kernel.json") or {}
    if group.get("kernel.json") is None:
        with open(os.environ["KDL_COUNT_FILE"], "ab") as count:
            count.write(b"1")
        time.sleep(0.05)
        for name, data in FILES.items():
            group[name] = manager.put(data, name)
        group["kernel.json"] = manager.put(json.dumps({"name": "kernel"}), "kernel.json", binary=False)
        manager.put_group("kernel.json", group)
    else:
        json.load(open(group["kernel.json"]))
        for name, data in FILES.items():
            with open(group[name], "rb") as file:
                found = file.read()
            if found != data:
                sys.exit(f"wrong: {name} has {len(found)} bytes, expected {len(data)}")
    print("right")


def command(options, folder):
    if options.peer == "triton":
        return [sys.executable, "-S", "-E", os.path.abspath(__file__), "triton", "--one", folder, "--cache", options.cache, "--late", ""]
    return [options.kdl, "run", f"{os.path.dirname(folder)}/library", "saxpy", "--device=opencl", "--items=4", "--arg=f32:2", "--arg=buf:f32[4]=iota",
            "--arg=buf:f32[4]=1", "--arg=u32:4", "--dump=arg2"]


def count_all(folder, counted):
    """Compilations, links, and files that nothing removes."""
    kinds = open(counted).read() if os.path.exists(counted) else ""
    left = sum(name.startswith("tempfile") for name in os.listdir(folder))
    return len(kinds) - kinds.count("."), kinds.count("."), left


def storm(options, work, count):
    folder, counted = f"{work}/shared", f"{work}/counted"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if os.path.exists(counted):
        os.remove(counted)
    begin = time.monotonic()
    started = []
    for i in range(count):
        environment = dict(os.environ, LD_PRELOAD=options.late, KDL_LATE_FOLDER=folder, KDL_LATE_HOST=f"host{i % 4}", KDL_COUNT_FILE=counted,
                           POCL_CACHE_DIR=folder, KDL_CACHE="off")
        if options.peer == "pocl":
            environment["KDL_COUNT_NAMES"] = "program.bc:.so"
        if options.late_ms:
            environment["KDL_LATE_MS"] = str(options.late_ms)
        if options.renames_hold:
            environment["KDL_LATE_RENAMES_HOLD"] = "1"
        started.append((time.monotonic(), subprocess.Popen(command(options, folder), env=environment, stdout=subprocess.PIPE,
                                                           stderr=subprocess.PIPE, text=True)))
    times, failed, wrong, said, words = [], 0, 0, 0, {}
    for since, process in started:
        out, errors = process.communicate()
        times.append(time.monotonic() - since)
        right = "right" in out if options.peer == "triton" else "arg2 = 1 3 5 7" in out
        failed += process.returncode != 0
        wrong += process.returncode == 0 and not right
        said += process.returncode == 0 and right and bool(errors.strip())
        if errors.strip():
            last = errors.strip().splitlines()[-1].replace(folder, "FOLDER")[-150:]
            words[last] = words.get(last, 0) + 1
    made, linked, left = count_all(folder, counted)
    print(f"{count:9}  {4:5}  {made:5}  {time.monotonic() - begin:8.2f}  {statistics.median(times):10.2f}  {max(times):11.2f}  {failed:6}  {wrong:5}  {said}",
          flush=True)
    if linked:
        print(f"  {linked} times a shared object was put into its place")
    if left:
        print(f"  {left} temporary files are left")
    for word, often in sorted(words.items(), key=lambda item: -item[1])[:3]:
        print(f"  {often} said: {word}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=("triton", "pocl"))
    for name in ("late", "cache", "kdl", "include", "kernels", "one"):
        parser.add_argument("--" + name)
    parser.add_argument("--processes", default="100")
    parser.add_argument("--late-ms", type=int, default=0)
    parser.add_argument("--renames-hold", action="store_true")
    options = parser.parse_args()
    if options.one:
        one_of_triton(options.cache, options.one)
        return
    work = tempfile.mkdtemp(prefix="kdl-peers-")
    try:
        if options.peer == "pocl":
            subprocess.run([options.kdl, "cc", f"{options.kernels}/saxpy.c", "-I" + options.include, "--targets=opencl-c", "-o", f"{work}/library"],
                           check=True)
        print("PROCESSES  HOSTS   MADE   ALL (s)  MEDIAN (s)  LONGEST (s)  FAILED  WRONG  SAID")
        for count in options.processes.split(","):
            storm(options, work, int(count))
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
