#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention for GPUs with its microkernels: that they are linked, inlined and stay in registers.

    attention_linked.py --kdl-ld=P --llvm-dis=P --caller=F.bc --ukernels=F.offload --device=SPEC [--ptxas=P] [--nvdisasm=P]

Before linking, the caller calls each microkernel; afterwards no call is left, and products are started where they were. ptxas, where there is
one, must report no local memory, no spills and no warning; what it made, read by nvdisasm, must have the products of both matrices, one of
them with an operand in registers.
"""

import argparse
import os
import re
import subprocess
import tempfile

from gpu_linked import GROUP_BYTES, check_ptx, fail, link, run_ptxas

MICROKERNEL = "kdl_uk_gpu_mma_async_f32_bf16"
FUNCTIONS = ("start", "start_held", "hold", "wait", "tile", "group_bytes", "role")
KERNELS = [f"kdl_gpu_attention_bf16_{head}{mask}" for head in (64, 128) for mask in ("", "_causal")]


def check_tiles(args, folder):
    """The kernel that tells the tiles stores constants: the members of attention_tile, for each head."""
    ptx, _ = link(args, ["kdl_gpu_attention_bf16_tiles"], folder)
    with open(ptx, encoding="ascii") as file:
        stored = {int(at or 0): int(value) for at, value in re.findall(r"st\.global\.b32\s+\[%rd\d+(?:\+(\d+))?\], (\d+);", file.read())}
    for i, head in enumerate((64, 128)):
        rows, keys, threads, group_bytes = (stored[16 * i + 4 * j] for j in range(4))
        print(f"head {head}: {rows} queries, {keys} keys, {threads} threads, {group_bytes} bytes of group memory")
        if threads > 1024 or group_bytes > GROUP_BYTES[args.device.split(":")[-1]]:
            fail(f"the tile for heads of {head} is too large for {args.device}")


def check_code(args, ptx, arch, folder):
    """Products of what ptxas makes, for each kernel: all, and those with an operand in registers."""
    cubin = os.path.join(folder, "image.cubin")
    subprocess.run([args.ptxas, "-arch", arch, ptx, "-o", cubin], check=True)
    text = subprocess.run([args.nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout
    for code in re.split(r"^\.text\.", text, flags=re.MULTILINE)[1:]:
        kernel = code[:code.index(":")]
        products = re.findall(r"HGMMA\S+ R\d+, (R\d+|gdesc)", code)
        held = sum(operand != "gdesc" for operand in products)
        if not held or held == len(products) or re.search(r"\b(LDL|STL)\b", code):
            fail(f"{kernel}: {len(products)} HGMMA, {held} with an operand in registers, or local memory")
        print(f"{kernel}: {len(products)} HGMMA, {held} with an operand in registers")


def main():
    parser = argparse.ArgumentParser()
    for name in ("kdl-ld", "llvm-dis", "caller", "ukernels", "device"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ptxas", default="")
    parser.add_argument("--nvdisasm", default="")
    args = parser.parse_args()

    ir = subprocess.run([args.llvm_dis, args.caller, "-o", "-"], capture_output=True, text=True, check=True).stdout
    for function in FUNCTIONS:
        if not re.search(rf"\bcall \w+ @{MICROKERNEL}_{function}\(", ir):
            fail(f"the caller does not call {MICROKERNEL}_{function}")
    with tempfile.TemporaryDirectory() as folder:
        check_tiles(args, folder)
        ptx, report = link(args, KERNELS, folder)
        taken = {m["symbol"]: c["tag"] for m in report["microkernels"] for c in m["candidates"] if c.get("chosen")}
        for function in FUNCTIONS:
            if taken.get(f"{MICROKERNEL}_{function}") != "wgmma":
                fail(f"found {taken}, expected {MICROKERNEL}_{function} with the tag wgmma")
        if not report["calls"]["before"] or report["calls"]["after"]:
            fail(f"found calls {report['calls']}, expected some before and none after")
        with open(ptx, encoding="ascii") as file:
            head, *texts = re.split(r"^\.visible \.entry ", file.read(), flags=re.MULTILINE)
        arch = re.search(r"^\.target (\w+)", head, re.MULTILINE).group(1)
        registers = run_ptxas(args.ptxas, ptx, arch) if args.ptxas else {}
        if sorted(text[:text.index("(")] for text in texts) != sorted(KERNELS):
            fail("found other kernels than those linked")
        for text in texts:
            kernel = text[:text.index("(")]
            count = check_ptx(text, kernel, "wgmma.mma_async")
            print(f"{kernel}: {arch}, {count} wgmma.mma_async, registers: {registers.get(kernel, 'not counted')}")
        if args.ptxas and args.nvdisasm:
            check_code(args, ptx, arch, folder)


main()
