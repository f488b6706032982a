#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One matrix multiplication with one microkernel: that it is linked and inlined, and is right.

    linked.py --kdl-ld=P --llvm-dis=P --caller=F.bc --ukernels=F.offload --device=SPEC --tag=TAG
              --kind=f32_bf16 --test=matmul_test [--needs=cpu_flag,...] [--emulator=qemu...] [--scalar]
              [--llvm-objdump=P --loop=INSTRUCTION --sums=N]

Before linking, the caller calls the microkernel; afterwards no trace of the call is left; the image
that was taken is the one with the tag; what comes out gives the right numbers; and without the
microkernel nothing comes out at all, so that the numbers cannot be another's. In the machine code for
AArch64, a step of the largest tile has the instruction once for each of N registers of sums, and stores
none.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile


def fail(text):
    sys.exit(f"FAILED: {text}")


def link(args, *more):
    return subprocess.run([args.kdl_ld, "--protocol=1", f"--caller={args.caller}",
                           f"--for={args.device}", "--no-builtin", *more],
                          capture_output=True, text=True, check=False)


def lacks(needs):
    """What this CPU lacks of the flags that /proc/cpuinfo knows."""
    if not needs:
        return []
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = re.search(r"^flags\s*:(.*)$", file.read(), re.MULTILINE)
    return [n for n in needs.split(",") if not flags or n not in flags.group(1).split()]


def innermost_loops(text):
    """Of a disassembly, the instructions from where a branch goes back to, up to the branch."""
    lines = re.findall(r"^\s*([0-9a-f]+):\s+(\S+)[ \t]*(.*)$", text, re.MULTILINE)
    places = {int(address, 16): i for i, (address, _, _) in enumerate(lines)}
    since = 0  # the last branch, before which no innermost loop begins
    for i, (_, name, operands) in enumerate(lines):
        if not re.match(r"b$|b\.|cbn?z|tbn?z|ret", name):
            continue
        to = re.search(r"0x([0-9a-f]+)", operands)
        begin = places.get(int(to.group(1), 16), i + 1) if to else i + 1
        if since <= begin <= i:
            yield [f"{n} {o}" for _, n, o in lines[begin:i + 1]]
        since = i + 1


def check_loop(args, image):
    code = subprocess.run([args.llvm_objdump, "--disassemble", "--no-show-raw-insn", image],
                          capture_output=True, text=True, check=True).stdout
    loops = [(sum(line.startswith(args.loop) for line in loop), loop) for loop in innermost_loops(code)]
    most = max((count for count, _ in loops), default=0)
    if most != args.sums:
        fail(f"expected a loop with {args.sums} times '{args.loop}', found {most}")
    for count, loop in loops:
        # What is left of an odd K is found by divisions, and may be stored.
        if any(line.startswith("udiv") for line in loop):
            continue
        if count == most and any(re.match(r"st\w+ (\{ )?[zqv]\d", line) for line in loop):
            fail("a step of the largest tile stores vectors: " + "; ".join(loop))


def main():
    parser = argparse.ArgumentParser()
    for name in ("kdl-ld", "llvm-dis", "caller", "ukernels", "device", "tag", "kind", "test"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--needs", default="")
    parser.add_argument("--emulator", default="")
    parser.add_argument("--scalar", action="store_true", help="the CPU has no registers for the sums")
    parser.add_argument("--llvm-objdump")
    parser.add_argument("--loop", default="")
    parser.add_argument("--sums", type=int)
    args = parser.parse_args()

    before = subprocess.run([args.llvm_dis, args.caller, "-o", "-"], capture_output=True, text=True,
                            check=True).stdout
    if not re.search(r"\bcall void @kdl_uk_mma_\w+\(", before):
        fail("the caller calls no microkernel")

    with tempfile.TemporaryDirectory() as folder:
        image, report = os.path.join(folder, "image.so"), os.path.join(folder, "report.json")
        done = link(args, f"--ukernels={args.ukernels}", f"--output={image}", f"--report={report}")
        if done.returncode:
            fail(f"kdl-ld: {done.stderr}")
        with open(report, encoding="utf-8") as file:
            said = json.load(file)
        taken = {m["symbol"]: [c["tag"] for c in m["candidates"] if c["chosen"]]
                 for m in said["microkernels"]}
        blocks = [tags for symbol, tags in taken.items() if symbol.endswith("_block")]
        others = [tags for symbol, tags in taken.items() if not symbol.endswith("_block")]
        if others != [[args.tag], [args.tag]]:
            fail(f"expected {args.tag} for the microkernel and its tile, found {taken}")
        # Only registers that are tiles have blocks of their own, and only they use one.
        wanted = "amx" if args.tag == "amx" else "generic"
        if blocks != ([[wanted]] if args.kind in ("f32_bf16", "s32_s8") else []):
            fail(f"expected {wanted} for blocks, found {taken}")
        if said["calls"]["before"] < 2 or said["calls"]["after"] != 0:
            fail(f"calls: {said['calls']}")
        after = os.path.join(folder, "after.ll")
        done = link(args, f"--ukernels={args.ukernels}", "--emit=ir", f"--output={after}")
        with open(after, encoding="utf-8") as file:
            code = file.read()
        if "@kdl_uk_" in code:
            fail("the microkernel is still there after linking")
        tiles = re.search(r"^define [^\n]*@run_tile\(.*?^}", code, re.MULTILINE | re.DOTALL)
        block = re.search(r"^define [^\n]*@run_tile_block\(.*?^}", code, re.MULTILINE | re.DOTALL)
        if args.tag == "amx":
            if tiles or not block or "@llvm.x86.tdp" not in block.group(0):
                fail("the blocks are not of tiles")
        elif not args.scalar and (block or not tiles or "alloca" in tiles.group(0)):
            fail("the sums of a tile are not in registers")

        if args.loop:
            check_loop(args, image)

        done = link(args, f"--output={image}.without")
        if done.returncode != 1 or "kdl_uk_mma_" not in done.stderr:
            fail(f"without the microkernel: exit status {done.returncode}, {done.stderr}")
        if os.path.exists(image + ".without"):
            fail("without the microkernel: an image was written")

        missing = lacks(args.needs)
        if missing:
            print(f"SKIPPED: linked, but not run: this CPU lacks {' '.join(missing)}")
            sys.exit(77)
        few = ["--few"] if args.emulator else []
        ran = subprocess.run([*shlex.split(args.emulator), args.test, args.kind, image, *few],
                             capture_output=True, text=True, check=False)
        print(ran.stdout, ran.stderr, sep="", end="")
        if ran.returncode or "0 wrong" not in ran.stdout:
            fail(f"{args.test}: exit status {ran.returncode}")


if __name__ == "__main__":
    main()
