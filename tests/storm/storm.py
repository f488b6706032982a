#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many processes on several machines that want one image linked at the same moment, over one shared folder of the cache.

    storm.py --kdl KDL --linker KDL-LD --include DIR --inputs DIR --late LATE.so [--processes N,...] [--hosts H] [--late-ms MS] [--kill] [--apart] [--rounds R]

A machine is simulated: a cache folder of its own, and a view of the shared
folder through late_folder.c, which shows what other machines write late, in part, or not at all. --kill ends all processes of one
machine in the middle, its linker with them; --apart, for root, puts each process into a process namespace of its own, so that no machine can
ask its kernel whether a holder has ended, and leases expire. Prints, for each number of processes, how often kdl-ld was run, the time until all had
ended, the median and longest time of a process, and what went wrong: a process that failed, a wrong number, anything on standard error. Exits with 1 where
anything did, or where without --late-ms and --kill more than one link was made."""
import argparse
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

def parse():
    parser = argparse.ArgumentParser()
    for name in ("kdl", "linker", "include", "inputs", "late"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--processes", default="100")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--late-ms", type=int, default=0)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    return parser.parse_args()


def run(*command):
    subprocess.run(command, check=True)


def make_library(options, folder):
    """A kernel and its microkernel, both bitcode, and a linker that counts."""
    clang = shutil.which("clang-22") or shutil.which("clang")
    if not clang or not os.path.exists(options.linker):
        print("skipped: clang or kdl-ld not found")
        sys.exit(77)
    flags = [clang, "-O2", "-I" + options.include, "-emit-llvm", "-c"]
    run(*flags, "-std=gnu17", "-fPIC", "-march=x86-64-v2", f"{options.inputs}/ld/rows.c", "-o", f"{folder}/rows.bc")
    run(*flags, "-Xclang", "-disable-llvm-passes", "-DMARK=1000", "-march=x86-64", f"{options.inputs}/ld/dot.c", "-o",
        f"{folder}/dot.bc")
    image = "triple=x86_64-unknown-linux-gnu,arch=x86-64"
    run(options.kdl, "pack", "-o", f"{folder}/library", f"--image=file={folder}/rows.bc,{image}",
        f"--image=file={folder}/dot.bc,{image}")
    with open(f"{folder}/kdl-ld", "w") as file:
        file.write(f"#!/bin/sh\necho >> {folder}/links\nexec {os.path.abspath(options.linker)} \"$@\"\n")
    os.chmod(f"{folder}/kdl-ld", 0o755)
    if options.rounds > 1 or "," in options.processes:
        time.sleep(3.1)  # a linker without a build ID that has just been written is told by its contents, and then no longer


def check_late(path):
    """That the library does stand in libc's way: one without the functions would delay nothing."""
    import ctypes
    library = ctypes.CDLL(path, mode=os.RTLD_LAZY)
    for name in ("openat", "renameat", "unlinkat"):
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        if address == ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value:
            sys.exit(f"{path}: has no {name} of its own")


class Round:
    def __init__(self, options, folder, processes):
        self.options, self.folder, self.count = options, folder, processes
        self.shared = f"{folder}/shared"
        for name in os.listdir(folder):
            if name.startswith("host") or name == "shared":
                shutil.rmtree(f"{folder}/{name}")
        if os.path.exists(f"{folder}/links"):
            os.remove(f"{folder}/links")
        self.wrong = []
        self.killed = 0

    def command(self):
        apart = ["unshare", "--pid", "--fork", "--kill-child"] if self.options.apart else []
        return apart + [self.options.kdl, "run", f"{self.folder}/library", "rows", "--device=host", "--grid=2", "--arg=buf:f32[128]=1",
                "--arg=buf:f32[64]=2", "--arg=buf:f32[2]", "--dump=arg2"]

    def start(self, host):
        environment = dict(os.environ, KDL_LD=f"{self.folder}/kdl-ld", KDL_CACHE_DIR=f"{self.folder}/host{host}",
                           KDL_CACHE=f"{self.shared},shared")
        environment.pop("KDL_DEBUG", None)
        if self.options.late_ms:
            environment.update(LD_PRELOAD=os.path.abspath(self.options.late), KDL_LATE_FOLDER=self.shared, KDL_LATE_HOST=str(host),
                               KDL_LATE_MS=str(self.options.late_ms))
        return subprocess.Popen(self.command(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def check(self, process, may_be_killed):
        out, errors = process.communicate()
        if may_be_killed and process.returncode == -signal.SIGKILL:
            self.killed += 1
        elif process.returncode != 0:
            self.wrong.append(f"exit {process.returncode}: {errors.strip()[:200]}")
        elif "arg2 = 1128 1128" not in out:
            self.wrong.append(f"found {out.strip()[-60:]}")
        elif errors:
            self.wrong.append(f"said {errors.strip()[:200]}")

    def kill_host(self, started, killed):
        for host, process, _ in started:
            if host == killed:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def run(self):
        begin = time.monotonic()
        started = []
        times = []
        last = random.randrange(min(self.count, 4 * self.options.hosts)) if self.options.kill else -1
        for i in range(self.count):
            started.append((i % self.options.hosts, self.start(i % self.options.hosts), time.monotonic()))
            if i == last:  # some of a machine's processes are at work, others not yet started: these are another boot's
                time.sleep(random.uniform(0, 0.1))
                self.kill_host(started, 0)
        for host, process, since in started:
            self.check(process, self.options.kill and host == 0)
            times.append(time.monotonic() - since)
        try:
            links = open(f"{self.folder}/links").read().count("\n")
        except FileNotFoundError:
            links = 0
        return links, time.monotonic() - begin, statistics.median(times), max(times)


def main():
    options = parse()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two pipes for each process
    folder = tempfile.mkdtemp(prefix="kdl-storm-")
    bad = 0
    try:
        check_late(options.late)
        make_library(options, folder)
        print(f"{'PROCESSES':>9}  {'HOSTS':>5}  {'LINKS':>5}  {'ALL (s)':>8}  {'MEDIAN (s)':>10}  {'LONGEST (s)':>11}  {'KILLED':>6}  WRONG")
        for count in [int(text) for text in options.processes.split(",")]:
            for _ in range(options.rounds):
                storm = Round(options, folder, count)
                links, whole, median, longest = storm.run()
                calm = not options.late_ms and not options.kill
                if calm and links != 1:
                    storm.wrong.append(f"found {links} links, expected 1")
                print(f"{count:9}  {options.hosts:5}  {links:5}  {whole:8.2f}  {median:10.2f}  {longest:11.2f}  {storm.killed:6}  {len(storm.wrong)}",
                      flush=True)
                for text in storm.wrong[:5]:
                    print("  " + text)
                bad += len(storm.wrong)
    finally:
        shutil.rmtree(folder)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
