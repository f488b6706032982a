#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul_scale.py --loop=matmul_loop.so --library=kdl-matmul.offload: products over numbers of threads, next to PyTorch.

libkdl and PyTorch run in processes of their own, one of each per number of threads, on the same CPUs, and take turns: a block of one, a block of the other.
The median of the blocks is given, in GFLOP/s (int8: GOP/s). "packed" has weights packed before, "plain" has them as they lie; PyTorch is
given plain operands. CPUS counts those that were busy, memory that is allocated for a block included. With few rows, OF COPY is the rate at which
packed weights are read, over that at which PyTorch copies as many bytes (read and written). matmul_loop.so is bench/python/matmul_loop.c with libkdl.a as a shared library:

    cc -O2 -shared -fPIC -Iinclude bench/python/matmul_loop.c build/lib/libkdl_matmul.a build/lib/libkdl.a -lm -lpthread -ldl -o matmul_loop.so

Where this CPU cannot link kernels, --library is one linked for it elsewhere: kdl link --for=host:... -o linked.offload.
"""
import argparse
import ctypes
import json
import math
import os
import platform
import random
import statistics
import struct
import subprocess
import sys
import time

SHAPES = ("1x4096x4096,4x4096x4096,16x4096x4096,32x4096x11008,64x1024x1024,128x768x768,128x3072x768,256x256x256,384x384x384,"
          "512x512x512,1000x1000x1000,1024x1024x1024,2048x2048x2048,4096x4096x4096,127x129x131,512x2048x512")
TYPES = {"bf16": 0, "int8": 1, "f32": 2}  # of kdl_matmul_type
WAYS = {"packed": 0, "plain": 1, "pack": 2}
FEW_ROWS = 32
IDLE = 0.012  # seconds between two looks at the CPU time of a process, which Linux counts at some of its ticks only, of up to 10 ms
SHORT = 0.02  # seconds: a product that is timed again, with caches and threads that are ready, before it is known how many make a block


def cpu_seconds():
    """CPU time of this process, in all its threads."""
    return time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)


def memory_of(size):
    """Memory that begins where a cache line does, as PyTorch's."""
    line = 64
    memory = (ctypes.c_char * (size + line))()
    return (ctypes.c_char * size).from_buffer(memory, -ctypes.addressof(memory) % line)


def numbers(kind, count):
    """Random numbers in memory, the same few thousand again and again."""
    few = 4099
    if kind == "int8":
        pattern = bytes(random.randrange(256) for _ in range(few))
    else:
        pattern = struct.pack(f"{few}f", *(random.gauss(0, 1) for _ in range(few)))
    if kind == "bf16":
        pattern = b"".join(pattern[at + 2:at + 4] for at in range(0, len(pattern), 4))
    size = count * len(pattern) // few
    memory = memory_of(size)
    done = min(size, len(pattern))
    memory[:done] = pattern[:done]
    while done < size:
        more = min(done, size - done)
        ctypes.memmove(ctypes.byref(memory, done), memory, more)
        done += more
    return memory


class Kdl:
    """Products by libkdl."""

    def __init__(self, arguments):
        self.loop = ctypes.CDLL(os.path.abspath(arguments.loop)).matmul_loop
        self.loop.restype = ctypes.c_double
        self.library, self.threads = os.fsencode(arguments.library), arguments.worker_threads

    def prepare(self, kind, m, n, k):
        random.seed(0)
        self.kind, self.sizes = TYPES[kind], (m, n, k)
        self.arrays = numbers(kind, m * k), numbers(kind, k * n), memory_of(m * n * 4)

    def block(self, way, count):
        taken = self.loop(self.library, self.kind, ctypes.c_uint(self.threads), *map(ctypes.byref, self.arrays),
                          *map(ctypes.c_uint, self.sizes), WAYS[way], ctypes.c_size_t(count))
        assert taken >= 0
        return taken / count


class Torch:
    """Products by PyTorch."""

    def __init__(self, arguments):
        import torch
        self.torch = torch
        torch.set_num_threads(arguments.worker_threads)

    def prepare(self, kind, m, n, k):
        torch = self.torch
        torch.manual_seed(0)
        few = torch.randint(-127, 128, (4099,), dtype=torch.int8) if kind == "int8" else torch.randn(4099)
        few = few.to(torch.bfloat16) if kind == "bf16" else few
        a, b = (few.repeat(rows * columns // len(few) + 1)[:rows * columns].view(rows, columns) for rows, columns in ((m, k), (k, n)))
        if kind == "int8":
            out = torch.empty(m, n, dtype=torch.int32)
            self.call = lambda: torch._int_mm(a, b, out=out)
        else:
            out = torch.empty(m, n, dtype=few.dtype)
            self.call = lambda: torch.mm(a, b, out=out)
        copy = torch.empty_like(b) if m <= FEW_ROWS else b
        self.copy = lambda: copy.copy_(b)

    def block(self, way, count):
        call = self.copy if way == "copy" else self.call
        with self.torch.inference_mode():
            if count > 1:
                call()
            start = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - start) / count


def work(arguments):
    """Answers requests on the standard input, a line each."""
    peer = {"kdl": Kdl, "torch": Torch}[arguments.worker](arguments)
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "prepare":
            peer.prepare(words[1], *map(int, words[2:]))
            print("prepared", flush=True)
        else:
            cpu, wall = cpu_seconds(), time.perf_counter()
            try:
                taken = peer.block(words[0], int(words[1]))
            except RuntimeError as error:  # a shape that PyTorch refuses
                print(error, file=sys.stderr)
                taken = math.inf
            busy = (cpu_seconds() - cpu) / (time.perf_counter() - wall)
            print(taken, busy, flush=True)


class Worker:
    """One of the processes, for one number of threads. Bound, all processes have the same CPUs: virtual ones are not equally fast."""

    def __init__(self, name, threads, arguments, is_bound=True):
        count = str(threads)
        loop, library = arguments.before.split(",") if name == "before" else (arguments.loop, arguments.library)
        kind = "torch" if name == "torch" else "kdl"
        environment = dict(os.environ, KDL_HOST_THREADS=count, OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), f"--worker={kind}", f"--worker-threads={count}",
                                         f"--loop={loop}", f"--library={library}"], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if is_bound:
            os.sched_setaffinity(self.process.pid, sorted(os.sched_getaffinity(0))[:threads])
        assert self.process.stdout.readline() == "ready\n"

    def send(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def answer(self):
        return self.process.stdout.readline().split() or None

    def ask(self, *words):
        """The answer to one request, as words; None where the process has died."""
        try:
            self.send(*words)
            return self.answer()
        except BrokenPipeError:
            return None

    def seconds(self, way, count):
        answer = self.ask(way, count)
        return (float(answer[0]), float(answer[1])) if answer else (math.inf, 0.0)

    def wait_until_idle(self):
        """Threads of PyTorch wait for more work without sleeping, on the CPUs that the next block is for."""
        clock = ~self.process.pid << 3 | 2  # Linux's name for the CPU time of another process
        before, deadline = -1.0, time.monotonic() + 0.5
        while self.process.poll() is None and time.monotonic() < deadline:
            now = time.clock_gettime(clock)
            if now - before < IDLE / 10:
                return
            before = now
            time.sleep(IDLE)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(workers, kind, shape, arguments):
    """Medians of the seconds of each way, and how many CPUs were busy: {way: (seconds, CPUs)}."""
    ways = []
    for name, worker in workers.items():
        ways += [(worker, "torch")] + [(worker, "copy")] * (shape[0] <= FEW_ROWS) if name == "torch" else [(worker, ("before " if name == "before" else "") + way) for way in arguments.ways.split(",")]
    for worker in workers.values():
        worker.ask("prepare", kind, *shape)
    counts, found = {}, {way: [] for _, way in ways}
    for worker, way in ways:
        first = worker.seconds(way.split()[-1], 1)[0]
        if first < SHORT:
            first = worker.seconds(way.split()[-1], 2)[0]
        counts[way] = max(1, min(1000, int(arguments.block_ms / 1e3 / first))) if first else 1000
    for _ in range(arguments.blocks):
        for worker, way in ways:
            found[way].append(worker.seconds(way.split()[-1], counts[way]))
            if way in ("torch", "copy"):
                worker.wait_until_idle()
    one = min if arguments.least else statistics.median
    return {way: tuple(one(column) for column in zip(*values)) for way, values in found.items()}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def table(workers, kind, threads, arguments):
    """Prints a row per shape; returns the rows."""
    print(f"\n{kind}, {threads} thread{'s'[:threads > 1]}")
    print(f"{'SHAPE':16} {'PACKED':>8} {'PLAIN':>8} {'TORCH':>8} {'RATIO':>6} {'PACKED':>6} {'PACK US':>8} {'PACKED US':>10} {'CPUS':>5} {'OF COPY':>7}" + " PACKED  PLAIN over before" * bool(arguments.before), flush=True)
    rows = []
    for text in arguments.shapes.split(","):
        shape = m, n, k = tuple(map(int, text.split("x")))
        taken = measure(workers, kind, shape, arguments)
        rate = {way: 2 * m * n * k / seconds / 1e9 for way, (seconds, _) in taken.items()}
        peer = rate.get("torch", math.nan)
        nothing = (math.nan, math.nan)
        plain, packed = rate.get("plain", math.nan), rate.get("packed", math.nan)
        rows.append({"type": kind, "threads": threads, "shape": text, **{way: seconds for way, (seconds, _) in taken.items()}})
        of_copy = f"{taken['copy'][0] / 2 / taken['packed'][0]:7.2f}" if "copy" in taken and "packed" in taken else " " * 7
        before = "".join(f" {rate[way] / rate['before ' + way]:6.2f}" for way in ("packed", "plain") if "before " + way in rate)
        print(f"{text:16} {packed:8.0f} {plain:8.0f} {peer:8.0f} {plain / peer:6.2f} {packed / peer:6.2f} "
              f"{taken.get('pack', nothing)[0] * 1e6:8.1f} {taken.get('packed', nothing)[0] * 1e6:10.1f} "
              f"{taken.get('packed', nothing)[1]:5.1f} {of_copy}{before}", flush=True)
    for way in ("packed", "plain"):
        if "before " + way in rows[0]:
            print(f"geometric mean, {way} over before: {geometric_mean([row['before ' + way] / row[way] for row in rows]):.2f}", flush=True)
    if "torch" in rows[0]:
        means = {way: geometric_mean([row["torch"] / row[way] for row in rows if row["torch"] < math.inf])
                 for way in ("plain", "packed") if way in rows[0]}
        print("geometric mean, kdl / torch: " + ", ".join(f"{way} {mean:.2f}" for way, mean in means.items()), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--types", default="f32,bf16,int8")
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--ways", default="packed,plain,pack")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--block-ms", type=float, default=3)
    parser.add_argument("--peers", default="torch", help="'' for none")
    parser.add_argument("--before", help="LOOP,LIBRARY of another commit, which takes turns too")
    parser.add_argument("--least", action="store_true", help="the least of the blocks counts, not their median: where others use the machine")
    parser.add_argument("--json")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--worker-threads", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return
    print(f"{platform.processor() or platform.machine()}, {len(os.sched_getaffinity(0))} CPUs")
    rows = []
    for threads in map(int, arguments.threads.split(",")):
        workers = {name: Worker(name, threads, arguments) for name in ("kdl", *filter(None, ("before" * bool(arguments.before), *arguments.peers.split(","))))}
        for kind in arguments.types.split(","):
            rows += table(workers, kind, threads, arguments)
            if arguments.json:
                with open(arguments.json, "w", encoding="utf-8") as file:
                    json.dump(rows, file)
        for worker in workers.values():
            worker.end()


if __name__ == "__main__":
    main()
