#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples bench_flame by perf, where this machine allows it, and sums its stacks by library.

    bench/flame/perf.py BUILD LIBRARY IMAGE --device=opencl --peers=kdl,opencl -o FLAME.json

Neighbouring functions of one shared object are one frame, named by the object and the first of them. Times are CPU
time for each run of a mode. FLAME.json is as run.py's.
"""
import os
import re
import subprocess
import tempfile
import time

from run import argument_parser, fold, write_results

MODES = {"run_cold": "cold", "run_load": "warm"}
FREQUENCY = 1999


def frame_name(symbol, path, in_libkdl):
    """The object, as people name it. libkdl is part of the program, from the first call of it on."""
    if "kernel" in path or "vdso" in path:
        return "the kernel"
    name = os.path.basename(path).strip("()")
    if name == "bench_flame":
        return "libkdl" if in_libkdl or symbol.startswith("kdl_") and not symbol.startswith("kdl_peer") else "program"
    return re.split(r"[-.]", name)[0] if not name.startswith("ld-") else "libc"


def stacks(text):
    """(mode, [(object, symbol)...]) of each sample, the outermost frame first."""
    for sample in text.split("\n\n"):
        frames = re.findall(r"^\s+[0-9a-f]+ (.*) \((.*)\)$", sample, re.MULTILINE)[::-1]
        symbols = [symbol for symbol, _ in frames]
        start = next((i for i, symbol in enumerate(symbols) if symbol in MODES), None)
        if start is None:
            continue
        below = [(symbol, path) for symbol, path in frames[start + 1:] if symbol not in ("run_step", "run_steps", "get_result")]
        yield MODES[symbols[start]], below


def collapse(frames):
    names = []
    for symbol, path in frames:
        where = frame_name(symbol, path, any(name == "libkdl" for name, _ in names))
        if not names or names[-1][0] != where:
            names.append((where, symbol))
    return [where if symbol == "[unknown]" or where == "the kernel" else f"{where}: {symbol.split('@')[0]}" for where, symbol in names]


def add(tree, names, ns):
    tree["ns"] += ns
    node = tree
    for name in names[:8]:
        child = next((each for each in node["children"] if each["name"] == name), None)
        if not child:
            child = {"name": name, "ns": 0, "count": 1, "children": []}
            node["children"].append(child)
        child["ns"] += ns
        node = child


def sort(node, least):
    node["ns"] = round(node["ns"])
    node["children"] = sorted((sort(child, least) for child in node["children"] if child["ns"] >= least), key=lambda each: -each["ns"])
    return node


def main():
    args = argument_parser(__doc__.splitlines()[0], "opencl", "kdl,opencl", processes=5, loads=20).parse_args()
    peers, folded = [], []
    for peer in args.peers:
        program = [f"{args.build}/bin/bench_flame", peer, args.device, args.library, args.image, str(args.loads), "0"]
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL)  # fills caches of compiled programs
        trees = {mode: {"ns": 0, "children": []} for mode in ("cold", "warm")}
        runs = {"cold": args.processes, "warm": args.processes * args.loads}
        for _ in range(args.processes):
            with tempfile.TemporaryDirectory() as folder:
                data = f"{folder}/perf.data"
                subprocess.run(["perf", "record", "-q", "-F", str(FREQUENCY), "--call-graph", "dwarf,32768", "-o", data,
                                *program], check=True, stdout=subprocess.DEVNULL)
                text = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym,dso"], check=True,
                                      capture_output=True, text=True).stdout
            for mode, frames in stacks(text):
                add(trees[mode], collapse(frames), 1e9 / FREQUENCY / runs[mode])
        row = {"name": peer, "modes": {}}
        for mode, tree in trees.items():
            row["modes"][mode] = {"runs": runs[mode], "tree": sort(tree, tree["ns"] * 0.004)}
            fold(tree, [peer, mode], folded)
        peers.append(row)
    result = {"schema": "kdl-flame-1", "date": time.strftime("%Y-%m-%d", time.gmtime()), "hardware": args.hardware,
              "device": args.device, "processes": args.processes, "sampled": FREQUENCY, "device_ns": None, "peers": peers}
    write_results(args, result, folded)


if __name__ == "__main__":
    main()
