#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded sequences of libkdl next to NVIDIA Warp's graphs and IREE's command buffers, in turns.

    python3 -m venv peers && peers/bin/pip install warp-lang iree-base-compiler iree-base-runtime
    peers/bin/python bench/sequence_peers.py --kdl=build/bin/kdl --device=cpu

A case is N launches that wait for each other, replayed by one call, and a wait. libkdl's come from
`kdl bench sequence`. Warp captures N launches of an empty kernel with one array. IREE compiles a
function of N products of 4x4 matrices, each a dispatch of its own; its modules may be compiled
beforehand (--compile-only) on a machine with the compiler. What is not installed, or does not run
on the device, is left out and named.

Times are nanoseconds per launch: the median of the rounds, and of their fifth and 95th percentile.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

COUNTS = (1, 10, 100, 1000)
DISPATCH = """  %{next} = linalg.matmul ins(%{last}, %b : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>"""


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def time_case(run, count, milliseconds):
    """ns per launch, of as many runs as take that long; the first one is not counted."""
    run()
    start = time.perf_counter_ns()
    run()
    once = max(time.perf_counter_ns() - start, 1)
    repeats = max(1, int(milliseconds * 1e6 / once))
    start = time.perf_counter_ns()
    for _ in range(repeats):
        run()
    return (time.perf_counter_ns() - start) / repeats / count


class Warp:
    name = "warp"

    def __init__(self, options):
        import warp

        warp.config.quiet = True
        warp.init()
        self.warp = warp
        self.version = warp.__version__
        self.device = warp.get_device("cuda:0" if options.device == "cuda" else "cpu")
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        from sequence_peers_warp import nothing

        self.kernel = nothing
        self.array = warp.zeros(64, dtype=float, device=self.device)
        self.launch()

    def launch(self):
        block = {"block_dim": 32} if self.device.is_cuda else {}
        self.warp.launch(self.kernel, dim=1, inputs=[self.array], device=self.device, **block)

    def wait(self):
        if self.device.is_cuda:
            self.warp.synchronize_stream(self.device)

    def cases(self, count):
        warp = self.warp
        kind = {} if self.device.is_cuda else {"apic": True}
        with warp.ScopedCapture(device=self.device, **kind) as capture:
            for _ in range(count):
                self.launch()
        graph = capture.graph

        def replay():
            warp.capture_launch(graph)
            self.wait()

        def launches():
            for _ in range(count):
                self.launch()
            self.wait()

        return {"replay": replay, "launches": launches}


class Iree:
    name = "iree"

    def __init__(self, options):
        import iree.runtime as runtime
        import numpy

        self.runtime = runtime
        self.numpy = numpy
        try:
            from importlib.metadata import version

            self.version = version("iree-base-runtime")
        except Exception:
            self.version = "unknown"
        self.driver = "cuda" if options.device == "cuda" else "local-sync"
        self.modules = options.modules
        self.device = runtime.get_device(self.driver)
        self.instance = runtime.VmInstance()

    def cases(self, count):
        runtime = self.runtime
        with open(module_path(self.modules, self.driver, count), "rb") as file:
            data = file.read()
        hal = runtime.create_hal_module(self.instance, self.device)
        module = runtime.VmModule.copy_buffer(self.instance, data)
        context = runtime.VmContext(self.instance, modules=[hal, module])
        function = runtime.FunctionInvoker(context, self.device, module.lookup_function("f"))
        matrix = runtime.asdevicearray(self.device, self.numpy.eye(4, dtype=self.numpy.float32))
        expected = self.numpy.eye(4, dtype=self.numpy.float32)
        if not (self.numpy.asarray(function(matrix, matrix)) == expected).all():
            raise RuntimeError("IREE's numbers are wrong")

        def replay():
            function(matrix, matrix).to_host()  # which waits

        return {"replay": replay}


def module_path(folder, driver, count):
    return os.path.join(folder, f"sequence-{driver}-{count}.vmfb")


def compile_modules(options, driver):
    target = (["--iree-hal-target-device=cuda", f"--iree-cuda-target={options.arch}"]
              if driver == "cuda" else
              ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
               "--iree-llvmcpu-target-cpu=host"])
    compiler = os.path.join(os.path.dirname(sys.executable), "iree-compile")
    for count in COUNTS:
        lines = ["func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {",
                 "  %c0 = arith.constant 0.0 : f32", "  %empty = tensor.empty() : tensor<4x4xf32>",
                 "  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x4xf32>)"
                 " -> tensor<4x4xf32>"]
        last = "a"
        for i in range(count):
            lines.append(DISPATCH.format(next=f"v{i}", last=last))
            last = f"v{i}"
        lines += [f"  return %{last} : tensor<4x4xf32>", "}"]
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as source:
            source.write("\n".join(lines))
            source.flush()
            subprocess.run([compiler, source.name, *target, "--iree-opt-level=O2",
                            "-o", module_path(options.modules, driver, count)], check=True)


def measure_kdl(options, rounds):
    """{case: [ns of each round]}: each figure's median is a round of `kdl bench sequence`."""
    prefix = "sequence/cuda" if options.device == "cuda" else "sequence/host"
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            path = os.path.join(folder, "results.json")
            subprocess.run([options.kdl, *options.kdl_words, "sequence", "--blocks=6",
                            f"--json={path}"], check=True, stdout=subprocess.DEVNULL)
            with open(path) as file:
                results = json.load(file)
            for figure in results["figures"]:
                name = figure["name"]
                if name.startswith(prefix + "/"):
                    found.setdefault(name[len(prefix) + 1:], []).append(figure["median"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kdl", default="kdl", help="the command, or kdl-bench")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--milliseconds", type=float, default=20, help="of one case in one round")
    parser.add_argument("--arch", default="sm_90", help="for IREE's modules on CUDA")
    parser.add_argument("--modules", help="folder of IREE's modules; default: compiled now")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.kdl_words = [] if os.path.basename(options.kdl) == "kdl-bench" else ["bench"]
    driver = "cuda" if options.device == "cuda" else "local-sync"
    folder = tempfile.TemporaryDirectory()
    is_given = options.modules and not options.compile_only
    options.modules = options.modules or folder.name
    if not is_given:
        try:
            compile_modules(options, driver)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"iree left out: its compiler: {error}")
    if options.compile_only:
        return 0

    peers = {}
    for peer in (Warp, Iree):
        try:
            peers[peer.name] = peer(options)
        except Exception as error:  # whatever a library raises where it is not installed or useful
            print(f"{peer.name} left out: {type(error).__name__}: {error}")
    cases = {}
    for name, peer in peers.items():
        for count in COUNTS:
            try:
                for case, run in peer.cases(count).items():
                    cases[f"{name}/{count} launches/{case}"] = (run, count)
            except Exception as error:
                print(f"{name}/{count} launches left out: {type(error).__name__}: {error}")
    figures = {}
    for _ in range(options.rounds):
        for case, (run, count) in cases.items():
            figures.setdefault(case, []).append(time_case(run, count, options.milliseconds))
        for case, values in measure_kdl(options, 1).items():
            figures.setdefault(f"kdl/{case}", []).extend(values)
    print(f"device {options.device}, {options.rounds} rounds; "
          + ", ".join(f"{name} {peer.version}" for name, peer in peers.items()))
    print(f"{'NS PER LAUNCH':72} {'MEDIAN':>10} {'P5':>10} {'P95':>10}")
    for case, values in figures.items():
        print(f"{case:72} {statistics.median(values):10.1f} {quantile(values, 0.05):10.1f} "
              f"{quantile(values, 0.95):10.1f}")
    for count in COUNTS:
        own = figures.get(f"kdl/{count} launches/replay")
        for name in peers:
            other = figures.get(f"{name}/{count} launches/replay")
            if own and other:
                ratios = [a / b for a, b in zip(own, other)]
                print(f"replay of {count} launches, libkdl to {name}: "
                      f"{statistics.median(ratios):.4f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"device": options.device, "figures": figures}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
