#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares linalg.matmul compiled by kdl-lower-linalg with libkdl's matmul library and IREE.

    linalg.py BUILD [--iree=BIN] [--blocks=N] [--threads=1,2] [--types=f32,bf16,i8] [--shapes=MxNxK,...] [--weights] [--options=TEXT]

BUILD is a build of libkdl or its installation; BIN the folder of iree-compile and iree-benchmark-module (from PyPI:
iree-base-compiler, iree-base-runtime), which get the same modules, compiled for this CPU with microkernels. With --weights, B is a
constant of the module, and packed beforehand on all sides. TEXT is further options of kdl-lower-linalg."""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

SHAPES = ("512x512x512,1024x1024x1024,2048x2048x2048,1x4096x4096,4x4096x4096,16x4096x4096,1x1024x1024,4x1024x1024,"
          "16x1024x1024,127x129x131,333x555x777,1000x1000x1000,64x3000x200")
RESULT = {"f32": "f32", "bf16": "f32", "f16": "f32", "i8": "i32"}
SIZE = {"f32": 4, "bf16": 2, "f16": 2, "i8": 1}


def body(element, m, n, k):
    """The product on tensors %a and %b."""
    acc = RESULT[element]
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{acc}>"
    return c, [f"  %zero = arith.constant {'0.0' if acc[0] == 'f' else '0'} : {acc}", f"  %empty = tensor.empty() : {c}",
               f"  %start = linalg.fill ins(%zero : {acc}) outs(%empty : {c}) -> {c}",
               f"  %sum = linalg.matmul ins(%a, %b : {a}, {b}) outs(%start : {c}) -> {c}"]


def weights(element, n, k):
    """The bytes of B: numbers from -1 to 1 that differ; equal for equal sizes."""
    numbers = random.Random(n * k)
    size = SIZE[element]
    some = b"".join(
        {"f32": lambda x: struct.pack("<f", x), "bf16": lambda x: struct.pack("<f", x)[2:], "f16": lambda x: struct.pack("<e", x),
         "i8": lambda x: struct.pack("<b", int(127 * x))}[element](numbers.uniform(-1, 1)) for _ in range(4099))
    return (some * (n * k * size // len(some) + 1))[:n * k * size]


def constant(element, n, k):
    return f'  %b = arith.constant dense<"0x{weights(element, n, k).hex()}"> : tensor<{k}x{n}x{element}>'


def in_place(element, m, n, k, has_weights):
    """A function of A, B and C in memory, or of A and C."""
    c, lines = body(element, m, n, k)
    memref = {name: f"memref<{x}x{y}x{e}>" for name, x, y, e in
              (("a", m, k, element), ("b", k, n, element), ("c", m, n, RESULT[element]))}
    if has_weights:
        del memref["b"]
        lines.insert(0, constant(element, n, k))
    return "\n".join([
        f"func.func @{element}_{m}x{n}x{k}({', '.join(f'%{v}m: {t}' for v, t in memref.items())}) attributes {{llvm.emit_c_interface}} {{",
        *(f"  %{v} = bufferization.to_tensor %{v}m restrict : {memref[v]} to tensor{memref[v][6:]}" for v in memref if v != "c"), *lines,
        f"  bufferization.materialize_in_destination %sum in restrict writable %cm : ({c}, {memref['c']}) -> ()", "  return", "}"])


def on_tensors(element, m, n, k, has_weights):
    c, lines = body(element, m, n, k)
    if has_weights:
        lines.insert(0, constant(element, n, k))
    more = "" if has_weights else f", %b: tensor<{k}x{n}x{element}>"
    return "\n".join([f"func.func @main(%a: tensor<{m}x{k}x{element}>{more}) -> {c} {{", *lines, f"  return %sum : {c}", "}"])


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def iree_time(tools, folder, shape, threads, has_weights):
    """Milliseconds that IREE takes for the same product."""
    element, m, n, k = shape
    source, module = folder / "iree.mlir", folder / f"{element}_{m}x{n}x{k}.vmfb"
    if not module.exists():
        source.write_text(on_tensors(*shape, has_weights))
        run(tools / "iree-compile", source, "-o", module, "--iree-hal-target-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=host", "--iree-llvmcpu-enable-ukernels=all", "--iree-opt-data-tiling")
    device = ["--device=local-sync"] if threads == 1 else ["--device=local-task", f"--task_topology_group_count={threads}"]
    made = run(tools / "iree-benchmark-module", f"--module={module}", *device, "--function=main",
               f"--input={m}x{k}x{element}=1", *([] if has_weights else [f"--input={k}x{n}x{element}=1"]),
               "--benchmark_min_time=0.2s", "--benchmark_format=json", capture_output=True, text=True)
    clock = "cpu_time" if threads == 1 else "real_time"  # as in linalg.c
    return min(b[clock] * {"ns": 1e-6, "us": 1e-3, "ms": 1}[b["time_unit"]]
               for b in json.loads(made.stdout[made.stdout.index("{"):])["benchmarks"] if b["run_type"] == "iteration")


def measure(options, tool, folder, shapes, threads):
    """Measures all shapes with so many threads; prints the least ratio and the geometric mean at the end."""
    os.environ["KDL_HOST_THREADS"] = str(threads)
    (folder / "in.mlir").write_text("\n".join(in_place(*shape, options.weights) for shape in shapes))
    run(tool["mlir-opt"], f"--load-dialect-plugin={options.build}/lib/KdlMLIR.so", folder / "in.mlir", "-o",
        folder / "llvm.mlir", "--pass-pipeline=builtin.module(kdl-lower-linalg{target=host no-silent-fallback=true"
        f" threads={int(threads > 1)} {options.options}}})")
    run(options.build / "bin" / "kdl-mlir", "translate", folder / "llvm.mlir", "-o", folder / "linked.ll")
    run(tool["clang"], "-O2", "-fPIC", "-shared", "-Wno-override-module", folder / "linked.ll", "-o", folder / "linalg.so",
        f"-L{options.build}/lib", "-lkdl_mlir_runtime", f"-Wl,-rpath,{options.build.resolve()}/lib")
    print(f"{threads} thread{'s' if threads > 1 else ''}, {options.blocks} blocks" + (", B known before" if options.weights else ""),
          flush=True)
    native, iree = [], []
    for shape in shapes:
        label = "{}_{}x{}x{}".format(*shape)
        if options.weights:
            (folder / label).write_bytes(weights(shape[0], *shape[2:]))
        lines = run(options.build / "bin" / "bench_mlir_linalg", options.blocks, threads,
                    options.build / "lib" / "kdl" / "kdl-matmul.offload", folder / "linalg.so",
                    *([f"--weights={folder}"] if options.weights else []), label, capture_output=True, text=True).stdout.splitlines()
        if shape == shapes[0]:
            print(lines[0] + ("   IREE us, linalg's speed over it" if options.iree else ""))
        native.append(float(lines[1].split()[5]))
        beside = ""
        if options.iree:
            time = 1e3 * iree_time(options.iree, folder, shape, threads, options.weights)
            iree.append(time / float(lines[1].split()[2]))
            beside = f"   {time:10.1f} {iree[-1]:6.2f}"
        print(lines[1] + beside, flush=True)
    for who, ratios in (("native's", native), ("IREE's", iree)):
        if ratios:
            print(f"speed over {who}: at least {min(ratios):.3f}, geometric mean {statistics.geometric_mean(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--iree", type=pathlib.Path)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--types", default="f32,bf16,i8")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--options", default="")
    options = parser.parse_args()
    tool = {name: shutil.which(f"{name}-22") or shutil.which(name) for name in ("mlir-opt", "clang")}
    for name, found in tool.items():
        if not found:
            print(f"skipped: {name} not found")
            sys.exit(77)
    shapes = [(element, *map(int, shape.split("x"))) for element in options.types.split(",")
              for shape in options.shapes.split(",")]
    with tempfile.TemporaryDirectory() as name:
        for threads in map(int, options.threads.split(",")):
            measure(options, tool, pathlib.Path(name), shapes, threads)

main()
