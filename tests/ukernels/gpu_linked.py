#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix multiplication for GPUs with one microkernel: that it is linked, inlined and stays in registers.

    gpu_linked.py --kdl-ld=P --llvm-dis=P --caller=F.bc --ukernels=F.offload --device=SPEC --tag=TAG
                  --kind=f32_bf16 --instruction=wgmma.mma_async [--ptxas=P] [--kernels=REGEX]

Before linking, the caller calls the microkernel; afterwards no call is left, and the instruction is there. Tiles fit the
device. ptxas, where there is one, must report no local memory, no spills and no warning: it serialises wgmma where it thinks it must, and warns then.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def fail(text):
    sys.exit(f"FAILED: {text}")


def check_ptx(text, kernel, instruction):
    count = len(re.findall(re.escape(instruction), text))
    if not count:
        fail(f"{kernel}: no {instruction}")
    if re.search(r"^\s*call", text, re.MULTILINE) or ".local" in text:
        fail(f"{kernel}: a call or local memory")
    if not re.search(r"^\.maxntid", text, re.MULTILINE):
        fail(f"{kernel}: no launch bounds")
    return count


def run_ptxas(ptxas, ptx, arch):
    """The registers of each kernel."""
    done = subprocess.run([ptxas, "-v", "-arch", arch, ptx, "-o", os.devnull], capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    if done.returncode or re.search(r"warning|C7[0-9]{3}", report, re.IGNORECASE):
        fail(report)
    spills = [line for line in report.splitlines() if "stack frame" in line and line.strip() !=
              "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"]
    if spills:
        fail(report)
    return dict(re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", report, re.DOTALL))


# The most group memory of a group, in bytes.
GROUP_BYTES = {"sm_80": 166912, "sm_86": 101376, "sm_87": 166912, "sm_89": 101376, "sm_90": 232448, "sm_100": 232448, "sm_120": 101376}


def check_tiles(args, folder):
    """The kernel that tells the tiles stores constants: the members of gpu_tile, for each size."""
    ptx, _ = link(args, [f"kdl_gpu_matmul_{args.kind}_tiles"], folder)
    with open(ptx, encoding="ascii") as file:
        stored = {int(at or 0): int(value) for at, value in re.findall(r"st\.global\.b32\s+\[%rd\d+(?:\+(\d+))?\], (\d+);", file.read())}
    tiles = [[stored[at + 4 * i] for i in range(9)] for at in range(0, max(stored), 36) if stored[at]]
    if not tiles:
        fail("found no tiles")
    for rows, columns, _, threads, stage_bytes, other_bytes, _, stages, _ in tiles:
        group_bytes = stages * stage_bytes + other_bytes
        print(f"{rows}x{columns}: {threads} threads, {group_bytes} bytes of group memory")
        if threads > 1024 or group_bytes > GROUP_BYTES[args.device.split(":")[-1]]:
            fail(f"a tile of {rows}x{columns} is too large for {args.device}")


def link(args, kernels, folder):
    ptx, report = os.path.join(folder, "image.ptx"), os.path.join(folder, "report.json")
    done = subprocess.run([args.kdl_ld, "--protocol=1", f"--caller={args.caller}", f"--for={args.device}", "--no-builtin",
                           f"--ukernels={args.ukernels}", "--emit=asm", f"--output={ptx}", f"--report={report}",
                           *(f"--kernel={kernel}" for kernel in kernels)],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        fail(f"kdl-ld: {done.stderr}")
    with open(report, encoding="utf-8") as file:
        return ptx, json.load(file)


def main():
    parser = argparse.ArgumentParser()
    for name in ("kdl-ld", "llvm-dis", "caller", "ukernels", "device", "tag", "kind", "instruction"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ptxas", default="")
    parser.add_argument("--kernels", default="[0-9]n|0n_plain", help="a regular expression of what their names end with")
    args = parser.parse_args()

    ir = subprocess.run([args.llvm_dis, args.caller, "-o", "-"], capture_output=True, text=True, check=True).stdout
    if not re.search(rf"\bcall void @kdl_uk_gpu_mma_{args.kind}\(", ir):
        fail("the caller calls no microkernel")
    kernels = re.findall(rf"define \w+ ptx_kernel void @(kdl_gpu_matmul_{args.kind}_(?:{args.kernels}))\(", ir)
    if not kernels:
        fail("the caller has no kernels")
    with tempfile.TemporaryDirectory() as folder:
        check_tiles(args, folder)
        ptx, report = link(args, kernels, folder)
        taken = {m["symbol"]: c["tag"] for m in report["microkernels"] for c in m["candidates"] if c.get("chosen")}
        if taken.get(f"kdl_uk_gpu_mma_{args.kind}") != args.tag:
            fail(f"found {taken}, expected the microkernel with the tag {args.tag}")
        if not report["calls"]["before"] or report["calls"]["after"]:
            fail(f"found calls {report['calls']}, expected some before and none after")
        with open(ptx, encoding="ascii") as file:
            head, *texts = re.split(r"^\.visible \.entry ", file.read(), flags=re.MULTILINE)
        arch = re.search(r"^\.target (\w+)", head, re.MULTILINE).group(1)
        registers = run_ptxas(args.ptxas, ptx, arch) if args.ptxas else {}
        found = 0
        for text in texts:
            kernel = text[:text.index("(")]
            if args.instruction not in text and ".maxntid" not in text:
                continue  # no tile of this size, or no bulk copies
            count = check_ptx(text, kernel, args.instruction)
            found += 1
            print(f"{kernel}: {arch}, {count} {args.instruction}, registers: {registers.get(kernel, 'not counted')}")
        if found < 2:
            fail(f"found {found} kernels with code, expected two at least")


if __name__ == "__main__":
    main()
