#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kdl-matmul.offload next to IREE on the same shapes, in turns.

    python3 -m venv iree && iree/bin/pip install iree-base-compiler iree-base-runtime
    bench/matmul_iree.py --iree=iree/bin --kdl=build/bin/kdl --json=iree.json

IREE compiles the function C = A W for this CPU, with W a constant that it packs when the module is
loaded, as libkdl packs weights beforehand; both ways that it has of using microkernels are
compiled, and the faster one counts. A round runs IREE's own benchmark program and then
`kdl bench matmul`; ratios are per round.
"""

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

SHAPES = ("64x64x64 96x96x96 128x128x128 192x192x192 256x256x256 384x384x384 512x512x512 768x768x768 "
          "1024x1024x1024 1536x1536x1536 2048x2048x2048 1x4096x4096 2x4096x4096 4x4096x4096 "
          "8x4096x4096 16x4096x4096 81x19x41 127x129x131 457x330x512 1000x4x512 4x1000x512")
# MLIR's names of operands and result, bytes of an operand, some values of W.
TYPES = {
    "bf16": ("bf16", "f32", 2, ("803f", "0040", "80bf", "0000")),
    "s8": ("i8", "i32", 1, ("01", "02", "ff", "00")),
    "f32": ("f32", "f32", 4, ("0000803f", "00000040", "000080bf", "00000000")),
}
MICROKERNELS = {
    "mmt4d": ["--iree-llvmcpu-enable-ukernels=mmt4d"],
    "inner_tiled": ["--iree-llvmcpu-enable-llvm-ukernels=inner_tiled"],
}
FUNCTION = """
util.global private @w = dense_resource<w> : tensor<{k}x{n}x{operand}>
func.func @f(%a: tensor<{m}x{k}x{operand}>) -> tensor<{m}x{n}x{result}> {{
  %w = util.global.load @w : tensor<{k}x{n}x{operand}>
  %zero = arith.constant {zero} : {result}
  %empty = tensor.empty() : tensor<{m}x{n}x{result}>
  %start = linalg.fill ins(%zero : {result}) outs(%empty : tensor<{m}x{n}x{result}>)
      -> tensor<{m}x{n}x{result}>
  %c = linalg.matmul
      ins(%a, %w : tensor<{m}x{k}x{operand}>, tensor<{k}x{n}x{operand}>)
      outs(%start : tensor<{m}x{n}x{result}>) -> tensor<{m}x{n}x{result}>
  return %c : tensor<{m}x{n}x{result}>
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x{alignment}{bytes}" }} }}
#-}}
"""


def compile_function(iree, folder, kind, shape, flags):
    module = os.path.join(folder, "f.vmfb")
    if os.path.exists(module):
        return module
    m, n, k = shape
    operand, result, size, values = TYPES[kind]
    weights = "".join(values[(i * 7 + i // 13) % len(values)] for i in range(n * k))
    text = FUNCTION.format(m=m, n=n, k=k, operand=operand, result=result, bytes=weights,
                           zero="0" if kind == "s8" else "0.0",
                           alignment=size.to_bytes(4, "little").hex())
    source, part = os.path.join(folder, "f.mlir"), module + ".part"
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run([os.path.join(iree, "iree-compile"), "--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling", *flags, source,
                    "-o", part], check=True)
    os.remove(source)
    os.rename(part, module)
    return module


def run_iree(iree, module, kind, shape, threads):
    m, _, k = shape
    device = ["--device=local-sync"] if threads == 1 else [
        "--device=local-task", f"--task_topology_group_count={threads}"]
    out = subprocess.run([os.path.join(iree, "iree-benchmark-module"), f"--module={module}",
                          *device, "--function=f", f"--input={m}x{k}x{TYPES[kind][0]}=1",
                          "--benchmark_format=json", "--benchmark_min_time=0.2s"],
                         check=True, capture_output=True, text=True).stdout
    row = json.loads(out)["benchmarks"][0]
    return row["real_time"] * {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[row["time_unit"]]


def run_kdl(args, kind, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kdl.json")
        subprocess.run([args.kdl, "bench", "matmul", f"--types={kind}", "--blocks=9",
                        f"--shapes={text}", f"--threads={args.threads}", "--weights=packed",
                        "--peers=", f"--json={path}"], check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)["figures"]
    return next(f["median"] for f in figures if f["name"].endswith("/kdl")) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iree", required=True, help="folder of iree-compile")
    parser.add_argument("--kdl", required=True, help="kdl, with kdl-matmul.offload in its library")
    parser.add_argument("--keep", help="a folder where IREE's modules are kept and looked for")
    parser.add_argument("--compile", action="store_true", help="only compile, into --keep")
    parser.add_argument("--json", help="where to write the ratios, for matmul_plot.py")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--types", default="bf16,s8,f32")
    parser.add_argument("--shapes", default=SHAPES.replace(" ", ","))
    args = parser.parse_args()
    version = subprocess.run([os.path.join(args.iree, "iree-compile"), "--version"], check=True,
                             capture_output=True, text=True).stdout
    print(re.search(r"IREE compiler version .*", version).group(0))
    print("ratio: IREE's time over ours, median of the rounds with the least and the most")
    ratios, rows = [], []
    temporary = tempfile.TemporaryDirectory()
    for kind, text in itertools.product(args.types.split(","), args.shapes.split(",")):
        shape = tuple(map(int, text.split("x")))
        best = None
        for name, flags in MICROKERNELS.items():
            folder = os.path.join(args.keep or temporary.name, f"{kind}-{text}-{name}")
            os.makedirs(folder, exist_ok=True)
            module = compile_function(args.iree, folder, kind, shape, flags)
            if args.compile:
                continue
            time = run_iree(args.iree, module, kind, shape, args.threads)
            if best is None or time < best[0]:
                best = (time, name, module)
        if args.compile:
            continue
        rounds = [(run_iree(args.iree, best[2], kind, shape, args.threads),
                   run_kdl(args, kind, text)) for _ in range(args.rounds)]
        each = sorted(iree / kdl for iree, kdl in rounds)
        ratios.append(statistics.median(each))
        rows.append({"type": kind, "shape": text, "microkernels": best[1], "ratio": ratios[-1],
                     "low": each[0], "high": each[-1],
                     "kdl_us": statistics.median(r[1] for r in rounds),
                     "iree_us": statistics.median(r[0] for r in rounds)})
        print(f"{kind:4} {text:16} kdl {statistics.median(r[1] for r in rounds):10.1f} us  "
              f"IREE ({best[1]}) {statistics.median(r[0] for r in rounds):10.1f} us  "
              f"ratio {ratios[-1]:6.2f} [{each[0]:.2f} {each[-1]:.2f}]", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"threads": args.threads, "rounds": args.rounds, "rows": rows}, file, indent=1)
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    sys.exit(main())
