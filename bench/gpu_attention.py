#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_attention.py --libraries=FOLDER --kernels=NAME=FILE.offload...: attention on an NVIDIA GPU, next to torch's.

All run in one process on random normal numbers in bf16: libkdl's (<kdl/attention_gpu.h>), and torch.nn.functional.scaled_dot_product_attention
with each of its fused backends and with its own choice. FOLDER has libkdl.so.0 and libkdl_matmul.so.0. Results are compared first, those
of the very code that is timed, with float64 in some rows. Clocks are left as they are, and noted. Launches are recorded as a graph and
replayed, after a pause and one graph to warm up; a round runs everything once in shuffled order. Medians over the rounds. Ratios are those of
the rounds, to the fastest backend of torch and to torch's own choice.
"""
import argparse
import contextlib
import ctypes as ct
import json
import math
import os
import random
import statistics
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from gpu.card import Card

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
            "torch": None}
# batch, heads, heads of K and V, queries, keys, head, causal: 8192 and 16384 rows in all, 2048 values in each; then some of language models
SHAPES = [(min(16, 16384 // rows), 2048 // head, 2048 // head, rows, rows, head, causal)
          for head in (128, 64) for causal in (0, 1) for rows in (512, 1024, 2048, 4096, 8192, 16384)]
SHAPES += [(1, 32, 8, 2048, 2048, 128, 1), (1, 32, 8, 8192, 8192, 128, 1), (2, 28, 4, 4000, 4000, 128, 1), (16, 16, 16, 197, 197, 64, 0),
           (1, 24, 24, 4608, 4608, 128, 0)]
GRAPH_SECONDS = 1e-3
MOST_LAUNCHES = 32


# ---------------------------------------------------------------------------------------------
# libkdl

class Tensor(ct.Structure):
    _fields_ = [("elements", ct.c_void_p), ("batch_stride", ct.c_int64), ("head_stride", ct.c_int64), ("row_stride", ct.c_int64)]

    @classmethod
    def of(cls, x):
        """Of a tensor with the dimensions batch, head, row, value."""
        return cls(x.data_ptr(), *x.stride()[:3])


class Buffer(ct.Structure):
    _fields_ = [("address", ct.c_uint64), ("size", ct.c_uint64), ("device", ct.c_void_p)]


class Problem(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("batch", ct.c_uint32), ("heads", ct.c_uint32), ("kv_heads", ct.c_uint32), ("queries", ct.c_uint32),
                ("keys", ct.c_uint32), ("head", ct.c_uint32), ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
                ("sums", ct.c_void_p), ("scale", ct.c_float), ("is_causal", ct.c_int32), ("diagonal", ct.c_int32),
                ("workspace", Buffer)]


class Library:
    def __init__(self, folder):
        self.kdl = ct.CDLL(os.path.join(folder, "libkdl.so.0"), mode=ct.RTLD_GLOBAL)
        self.matmul = ct.CDLL(os.path.join(folder, "libkdl_matmul.so.0"))
        self.kdl.kdl_error_message.restype = ct.c_char_p
        self.device, self.queues = ct.c_void_p(), {}
        self.workspace = torch.zeros(4, dtype=torch.uint8, device="cuda")
        self.check(self.kdl.kdl_device_find(f"cuda:{torch.cuda.current_device()}".encode(), ct.byref(self.device)))

    def check(self, status):
        if status:
            raise RuntimeError(self.kdl.kdl_error_message().decode())

    def open(self, kernels):
        library, attention = ct.c_void_p(), ct.c_void_p()
        self.check(self.kdl.kdl_open(os.fsencode(os.path.abspath(kernels)), None, ct.byref(library)))
        self.check(self.matmul.kdl_attention_gpu_find(library, self.device, ct.byref(attention)))
        return attention

    def run(self, attention, problem):
        stream = torch.cuda.current_stream().cuda_stream
        if stream not in self.queues:
            self.queues[stream] = ct.c_void_p()
            self.check(self.kdl.kdl_queue_adopt(self.device, ct.c_void_p(stream), ct.byref(self.queues[stream])))
        self.check(self.matmul.kdl_attention_gpu_run(attention, self.queues[stream], ct.byref(problem)))


def kdl_run(library, attention, q, k, v, causal, has_workspace=True):
    """A function that launches, and returns the result."""
    o = torch.full_like(q, float("nan"))
    batch, heads, queries, head = q.shape
    problem = Problem(size=ct.sizeof(Problem), batch=batch, heads=heads, kv_heads=k.shape[1], queries=queries, keys=k.shape[2], head=head,
                      q=Tensor.of(q), k=Tensor.of(k), v=Tensor.of(v), o=Tensor.of(o), scale=1 / math.sqrt(head), is_causal=causal,
                      workspace=Buffer(library.workspace.data_ptr() if has_workspace else 0, 4, library.device))

    def run():
        library.run(attention, problem)
        return o
    return run


# ---------------------------------------------------------------------------------------------
# torch

def torch_run(backend, q, k, v, causal):
    gqa = {"enable_gqa": True} if k.shape[1] != q.shape[1] else {}

    def run():
        with sdpa_kernel(backend) if backend else contextlib.nullcontext():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), **gqa)
    return run


def errors(o, q, k, v, causal):
    """The largest difference to float64, in 64 rows of two heads."""
    worst = 0.0
    for batch, head in ((0, 0), (q.shape[0] - 1, q.shape[1] - 1)):
        kv = head // (q.shape[1] // k.shape[1])
        rows = torch.linspace(0, q.shape[2] - 1, 64, device=q.device).long()
        scores = q[batch, head, rows].double() @ k[batch, kv].double().t() / math.sqrt(q.shape[3])
        if causal:
            scores.masked_fill_(torch.arange(k.shape[2], device=q.device)[None, :] > rows[:, None], -math.inf)
        exact = scores.softmax(-1) @ v[batch, kv].double()
        worst = max(worst, (o[batch, head, rows].double() - exact).abs().nan_to_num(math.inf).max().item())
    return worst


# ---------------------------------------------------------------------------------------------
# Timing

class Graph:
    def __init__(self, run, launches):
        self.launches, self.graph = launches, torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(launches):
                run()
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self):
        """Of one launch."""
        self.start.record()
        self.graph.replay()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end) / 1e3 / self.launches


def graph_of(run):
    """A graph of about GRAPH_SECONDS, and of 2 launches at least."""
    run()
    torch.cuda.synchronize()
    few = Graph(run, 2)
    few.seconds()
    launches = max(2, min(MOST_LAUNCHES, int(GRAPH_SECONDS / few.seconds())))
    return few if launches == 2 else Graph(run, launches)


def measure(graphs, arguments):
    """Seconds of each, round by round."""
    times = {name: [] for name in graphs}
    for _ in range(arguments.rounds):
        for name in random.sample(list(graphs), len(graphs)):
            torch.cuda.synchronize()
            time.sleep(arguments.pause)
            graphs[name].graph.replay()
            times[name].append(graphs[name].seconds())
    return times


def operations(shape):
    batch, heads, _, queries, keys, head, causal = shape
    return 4 * batch * heads * queries * keys * head / (2 if causal else 1)


def run_shape(shape, arguments, library, kernels, card):
    batch, heads, kv_heads, queries, keys, head, causal = shape
    q = torch.randn(batch, heads, queries, head, device="cuda").bfloat16()
    k, v = (torch.randn(batch, kv_heads, keys, head, device="cuda").bfloat16() for _ in range(2))
    runs = {name: kdl_run(library, attention, q, k, v, causal) for name, attention in kernels.items()}
    if arguments.turns:
        runs |= {name + "-turns": kdl_run(library, attention, q, k, v, causal, False) for name, attention in kernels.items()}
    runs |= {name: torch_run(backend, q, k, v, causal) for name, backend in BACKENDS.items() if name in arguments.backends}
    row, graphs = {"shape": shape, "errors": {}, "figures": {}, "left_out": {}}, {}
    for name, run in runs.items():
        try:
            row["errors"][name] = errors(run(), q, k, v, causal)
            graphs[name] = graph_of(run)
        except RuntimeError as why:  # a backend that does not take this problem
            row["left_out"][name] = str(why).splitlines()[0]
            torch.cuda.synchronize()
    times = measure(graphs, arguments)
    peers = [name for name in graphs if name in BACKENDS]
    best = min(peers, key=lambda name: statistics.median(times[name])) if peers else next(iter(graphs))
    for name, mine in times.items():
        median = statistics.median(mine)
        figure = {"us": median * 1e6, "least_us": min(mine) * 1e6, "most_us": max(mine) * 1e6, "tera_per_s": operations(shape) / median / 1e12}
        figure["to_best"] = statistics.median(b / t for b, t in zip(times[best], mine))
        if "torch" in times:
            figure["to_torch"] = statistics.median(b / t for b, t in zip(times["torch"], mine))
        row["figures"][name] = figure
    row["best"], row["card"] = best, card.state()
    return row


# ---------------------------------------------------------------------------------------------
# Tables

def print_row(row):
    batch, heads, kv_heads, queries, keys, head, causal = row["shape"]
    for name, figure in row["figures"].items():
        print(f"{batch:2}x{heads:2}/{kv_heads:2}x{queries:5}x{keys:5}x{head:3} {'causal' if causal else 'full  '} {name:14} {figure['us']:9.2f} us "
              f"{figure['tera_per_s']:6.1f} T/s  {figure['to_best']:6.3f} {figure.get('to_torch', 0):6.3f}  "
              f"[{figure['least_us']:.2f}, {figure['most_us']:.2f}]  error {row['errors'][name]:.2e}{'  best' if name == row['best'] else ''}",
              flush=True)
    for name, why in row["left_out"].items():
        print("  left out:", name, why[:100], flush=True)


def print_means(rows):
    ratios = {}
    for row in rows:
        for name, figure in row["figures"].items():
            for key in ("to_best", "to_torch"):
                ratios.setdefault((name, key), []).append(figure.get(key, 1))
    for (name, key), values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{name:14} {key:8} geometric mean {mean:.3f} of {len(values)} shapes, least {min(values):.3f}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--kernels", action="append", default=[], help="NAME=FILE.offload; the first is what is checked")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--shapes", default="", help="BATCHxHEADSxKV_HEADSxQUERIESxKEYSxHEADxCAUSAL,...")
    parser.add_argument("--turns", action="store_true", help="also without a workspace: groups take turns")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pause", type=float, default=0.03, help="seconds before each timing")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no shape after this")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    arguments.backends = arguments.backends.split(",")
    arguments.shapes = [tuple(map(int, shape.split("x"))) for shape in arguments.shapes.split(",") if shape] or SHAPES
    return arguments


def main():
    arguments, started = parse_arguments(), time.monotonic()
    random.seed(1)
    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    card, library = Card(), Library(arguments.libraries)
    kernels = {name: library.open(path) for name, path in (text.split("=", 1) for text in arguments.kernels)}
    report = {"command": sys.argv, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "card": card.describe(), "before": card.state(),
              "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "rows": []}
    print({key: report[key] for key in ("date", "card", "before", "torch", "cudnn")}, flush=True)
    for shape in arguments.shapes:
        if time.monotonic() - started > arguments.seconds:
            print("no time for", shape, flush=True)
            continue
        report["rows"].append(run_shape(shape, arguments, library, kernels, card))
        print_row(report["rows"][-1])
        torch.cuda.empty_cache()
    print_means(report["rows"])
    report["after"] = card.state()
    print("after:", report["after"], f" {time.monotonic() - started:.1f} s", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report, file, indent=1)


main()
