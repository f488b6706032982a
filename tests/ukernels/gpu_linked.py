#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix multiplication for GPUs with one microkernel: that it is linked, inlined and stays in registers.

    gpu_linked.py --kdl-ld=P --llvm-dis=P --caller=F.bc --ukernels=F.offload --device=SPEC --tag=TAG
                  --kind=f32_bf16 --instruction=wgmma.mma_async [--ptxas=P]

Before linking, the caller calls the microkernel; afterwards no call is left, and the instruction is there. ptxas, where there is
one, must report no local memory, no spills and no warning: it serialises wgmma where it thinks it must, and says so in one.
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


def check_ptxas(ptxas, ptx, arch, kernel):
    done = subprocess.run([ptxas, "-v", "-arch", arch, ptx, "-o", os.devnull], capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    if done.returncode or "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" not in report:
        fail(f"{kernel}: {report}")
    if re.search(r"warning|C7[0-9]{3}", report, re.IGNORECASE):
        fail(f"{kernel}: {report}")
    return re.search(r"Used (\d+) registers", report).group(1)


def link(args, kernel, folder):
    ptx, report = os.path.join(folder, "image.ptx"), os.path.join(folder, "report.json")
    done = subprocess.run([args.kdl_ld, "--protocol=1", f"--caller={args.caller}", f"--for={args.device}", "--no-builtin",
                           f"--ukernels={args.ukernels}", f"--kernel={kernel}", "--emit=asm", f"--output={ptx}",
                           f"--report={report}"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        fail(f"{kernel}: kdl-ld: {done.stderr}")
    with open(report, encoding="utf-8") as file:
        return ptx, json.load(file)


def main():
    parser = argparse.ArgumentParser()
    for name in ("kdl-ld", "llvm-dis", "caller", "ukernels", "device", "tag", "kind", "instruction"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ptxas", default="")
    args = parser.parse_args()

    ir = subprocess.run([args.llvm_dis, args.caller, "-o", "-"], capture_output=True, text=True, check=True).stdout
    if not re.search(rf"\bcall void @kdl_uk_gpu_mma_{args.kind}\(", ir):
        fail("the caller calls no microkernel")
    kernels = re.findall(rf"define \w+ ptx_kernel void @(kdl_gpu_matmul_{args.kind}_\d\w+)\(", ir)
    if not kernels:
        fail("the caller has no kernels")
    with tempfile.TemporaryDirectory() as folder:
        for kernel in kernels:
            ptx, report = link(args, kernel, folder)
            taken = {m["symbol"]: c["tag"] for m in report["microkernels"] for c in m["candidates"] if c.get("chosen")}
            if taken.get(f"kdl_uk_gpu_mma_{args.kind}") != args.tag:
                fail(f"{kernel}: found {taken}, expected the microkernel with the tag {args.tag}")
            if not report["calls"]["before"] or report["calls"]["after"]:
                fail(f"{kernel}: found calls {report['calls']}, expected some before and none after")
            with open(ptx, encoding="ascii") as file:
                text = file.read()
            if not re.search(r"\bret\b", text) or ".maxntid" not in text and args.instruction not in text:
                print(f"{kernel}: no tile of this size")
                continue
            count = check_ptx(text, kernel, args.instruction)
            arch = re.search(r"^\.target (\w+)", text, re.MULTILINE).group(1)
            registers = check_ptxas(args.ptxas, ptx, arch, kernel) if args.ptxas else "not counted"
            print(f"{kernel}: {arch}, {count} {args.instruction}, registers: {registers}")


main()
