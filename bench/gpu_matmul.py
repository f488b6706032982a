#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_matmul.py [--candidate=FILE.py[:NAME=VALUE...]]...: products of matrices on an NVIDIA GPU, next to cuBLASLt and Triton.

All run in one process on random normal numbers. Clocks are left as they are, and noted. Results are compared first, those of the
very code that is timed, with float64 and with cuBLASLt's. Launches are recorded as a graph and replayed, so that no language's launch
counts, and take turns among sets of operands that fill the second cache twice (--same: one set). Two modes:
  burst  a pause, one graph to warm up, one timed: clocks are high
  hot    one after the other without a pause: large products run at the power limit
A round runs everything once in shuffled order. Medians over the rounds, with the smallest and the largest; ratios are those of the rounds.

cuBLASLt is there twice: "first" is what its heuristics put first, "best" the fastest of the first 8, each timed before. Ratios are to the
faster one. Triton's tile is chosen likewise. fp8 is summed as the instruction does it in all of them (cuBLASLt's fast accumulation).

A candidate is a Python file with offers(problem, options) -> {name: run}, run(set, stream) launching set `set` of problem.sets on the
stream: a kernel can be timed before a library has it. It may leave out problems that it cannot compute. What run.note says is printed.
"""
import argparse
import importlib.util
import json
import math
import random
import statistics
import sys
import time

import torch

from gpu import cublaslt, problem as problems
from gpu.card import Card

GRAPH_SECONDS = 1e-3  # what a graph of small products takes, about
MOST_LAUNCHES = 64


# ---------------------------------------------------------------------------------------------
# Graphs

class Graph:
    """`launches` launches of run, the sets in turn."""

    def __init__(self, run, sets, launches):
        self.launches, self.graph = launches, torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.graph(self.graph, stream=stream):
            for i in range(launches):
                run(i % sets, stream.cuda_stream)
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def replay(self):
        self.graph.replay()

    def seconds(self):
        """Of one launch."""
        self.start.record()
        self.graph.replay()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end) / 1e3 / self.launches


def graph_of(run, problem):
    """A graph of about GRAPH_SECONDS, and of 4 launches at least."""
    for i in range(len(problem.sets)):
        run(i, torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    few = Graph(run, len(problem.sets), 4)
    few.replay()
    launches = max(4, min(MOST_LAUNCHES, int(GRAPH_SECONDS / few.seconds())))
    return few if launches == 4 else Graph(run, len(problem.sets), launches)


def fastest(runs, problem):
    """(index, graph) of the fastest; what fails to run is left out."""
    graphs = {}
    for i, run in enumerate(runs):
        try:
            graphs[i] = graph_of(run, problem)
        except Exception as why:  # an algorithm or a tile that this device refuses
            print(f"  {problem.type} {problem.shape}: offer {i} is left out: {str(why)[:120]}", file=sys.stderr)
            torch.cuda.synchronize()
    times = {i: [] for i in graphs}
    for _ in range(3):
        for i in random.sample(list(graphs), len(graphs)):
            times[i].append(graphs[i].seconds())
    best = min(graphs, key=lambda i: statistics.median(times[i]))
    return best, graphs[best]


# ---------------------------------------------------------------------------------------------
# Contestants

def load_candidate(text):
    path, *options = text.split(":")
    spec = importlib.util.spec_from_file_location("candidate_" + str(abs(hash(path))), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, dict(option.split("=", 1) for option in options)


def contestants(problem, arguments, library, candidates):
    """{name: (run, graph)}"""
    found = {}
    offers = library.offers(problem, 8)
    found["cublaslt-first"] = (offers[0], graph_of(offers[0], problem))
    best, graph = fastest(offers, problem)
    found["cublaslt-best"] = (offers[best], graph)
    notes = {"cublaslt_offers": len(offers), "cublaslt_best": best}
    if problem.type in arguments.triton:
        from gpu import triton_matmul
        runs = triton_matmul.offers(problem)
        best, graph = fastest(runs, problem)
        found["triton"], notes["triton_tile"] = (runs[best], graph), triton_matmul.TILES[best]
    for module, options in candidates:
        for name, run in module.offers(problem, options).items():
            found[name] = (run, graph_of(run, problem))
            notes[name] = getattr(run, "note", None)
    return found, notes


def check_results(problem, found, row):
    exact = problems.reference(problem)
    peer = None
    for name, (run, _) in found.items():
        error, equal, is_right = problems.judge(problem, run, exact, peer)
        row["results"][name] = {"largest_error": error, "equal_to_cublaslt_first": equal, "right": is_right}
        if peer is None:
            peer = problem.sets[0][2].clone()
    row["largest_element"] = exact.abs().max().item()


# ---------------------------------------------------------------------------------------------
# Rounds

def measure(found, mode, arguments):
    """Seconds of each, round by round."""
    times = {name: [] for name in found}
    if mode == "hot":
        until = time.monotonic() + arguments.heat
        while time.monotonic() < until:
            for _, graph in found.values():
                graph.replay()
            torch.cuda.synchronize()
    for _ in range(arguments.rounds):
        for name in random.sample(list(found), len(found)):
            graph = found[name][1]
            if mode == "burst":
                torch.cuda.synchronize()
                time.sleep(arguments.pause)
            graph.replay()
            times[name].append(graph.seconds())
    return times


def summarise(problem, times):
    out = {}
    base = min((times[name] for name in ("cublaslt-first", "cublaslt-best")), key=statistics.median)  # the search may have been misled
    for name, mine in times.items():
        median = statistics.median(mine)
        out[name] = {"us": median * 1e6, "least_us": min(mine) * 1e6, "most_us": max(mine) * 1e6, "tera_per_s": problem.operations / median / 1e12,
                     "to_best": statistics.median(b / t for b, t in zip(base, mine))}
    return out


def run_shape(kind, shape, arguments, library, candidates, card):
    problem = problems.make(kind, shape, arguments.same)
    found, notes = contestants(problem, arguments, library, candidates)
    row = {"type": kind, "shape": shape, "sets": len(problem.sets), "results": {}, **notes}
    if not arguments.unchecked:
        check_results(problem, found, row)
    for mode in arguments.modes:
        row[mode] = summarise(problem, measure(found, mode, arguments))
        row[mode + "_card"] = card.state()
    return row


# ---------------------------------------------------------------------------------------------
# Tables

def print_row(row, modes):
    for mode in modes:
        for name, figure in row[mode].items():
            result = row["results"].get(name, {})
            judged = f"error {result['largest_error']:.3g} equal {result['equal_to_cublaslt_first']:.5f}" if result else ""
            print(f"{row['type']:5} {row['shape']:18} {mode:6} {name:18} {figure['us']:9.2f} us  {figure['tera_per_s']:7.1f} T/s  "
                  f"{figure['to_best']:6.3f}  [{figure['least_us']:.2f}, {figure['most_us']:.2f}]  {judged}  {row.get(name) or ''}"
                  f"{'' if result.get('right', True) else '  WRONG'}", flush=True)


def print_means(rows, modes):
    """Geometric means over the shapes, by type, mode and name."""
    for kind in dict.fromkeys(row["type"] for row in rows):
        for mode in modes:
            ratios = {}
            for row in (row for row in rows if row["type"] == kind):
                for name, figure in row[mode].items():
                    ratios.setdefault(name, []).append(figure["to_best"])
            for name, values in ratios.items():
                mean = math.exp(sum(map(math.log, values)) / len(values))
                print(f"{kind:5} {mode:6} {name:18} geometric mean {mean:.3f} of {len(values)} shapes, least {min(values):.3f}", flush=True)


def save(report, path):
    if path:
        with open(path, "w") as file:
            json.dump(report, file, indent=1)


def run_once(kind, shape, library, candidates):
    """Two launches of each, for a profiler: the second finds its code loaded."""
    problem = problems.make(kind, shape, True)
    found = {"cublaslt-first": library.offers(problem, 1)[0]}
    for module, options in candidates:
        found |= module.offers(problem, options)
    for name, run in found.items():
        print(kind, shape, name, getattr(run, "note", None) or "", flush=True)
        for _ in range(2):
            run(0, torch.cuda.current_stream().cuda_stream)
            torch.cuda.synchronize()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidate", action="append", default=[])
    parser.add_argument("--types", default="bf16,f16,s8,fp8")
    parser.add_argument("--shapes", default=",".join(problems.SHAPES))
    parser.add_argument("--modes", default="burst,hot")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pause", type=float, default=0.06, help="seconds before a burst")
    parser.add_argument("--heat", type=float, default=0.3, help="seconds of work before the hot rounds")
    parser.add_argument("--triton", default="bf16,f16", help="types for which Triton is timed")
    parser.add_argument("--same", action="store_true", help="one set of operands")
    parser.add_argument("--unchecked", action="store_true", help="compare no results")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no shape after this")
    parser.add_argument("--once", action="store_true", help="launch all twice and time nothing: for ncu --clock-control none")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    for name in ("types", "shapes", "modes", "triton"):
        setattr(arguments, name, [x for x in getattr(arguments, name).split(",") if x])
    return arguments


def main():
    arguments = parse_arguments()
    started = time.monotonic()
    random.seed(1)
    torch.manual_seed(1)
    card, library = Card(), cublaslt.CublasLt()
    candidates = [load_candidate(text) for text in arguments.candidate]
    if arguments.once:
        for kind in arguments.types:
            for shape in arguments.shapes:
                run_once(kind, shape, library, candidates)
        return
    report = {"command": sys.argv, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "card": card.describe(), "before": card.state(),
              "torch": torch.__version__, "cublaslt": library.version(), "rows": [], "skipped": []}
    print({key: report[key] for key in ("card", "before", "torch", "cublaslt")}, flush=True)
    for kind in arguments.types:
        for shape in arguments.shapes:
            if time.monotonic() - started > arguments.seconds:
                report["skipped"].append(f"{kind} {shape}: no time")
                continue
            try:
                row = run_shape(kind, shape, arguments, library, candidates, card)
            except RuntimeError as why:
                report["skipped"].append(f"{kind} {shape}: {why}")
                print(f"{kind} {shape}: skipped: {why}", flush=True)
                continue
            report["rows"].append(row)
            print_row(row, arguments.modes)
            save(report, arguments.json)
            torch.cuda.empty_cache()
    print_means(report["rows"], arguments.modes)
    report["after"] = card.state()
    print("skipped:", len(report["skipped"]), " after:", report["after"], f" {time.monotonic() - started:.1f} s", flush=True)
    save(report, arguments.json)
    wrong = [f"{row['type']} {row['shape']} {name}" for row in report["rows"] for name, r in row["results"].items() if not r["right"]]
    if wrong:
        sys.exit("wrong: " + ", ".join(wrong))


main()
