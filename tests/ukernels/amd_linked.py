#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix multiplication for AMD's GPUs with one microkernel: that it is linked, inlined, stays in registers and fits the processor.

    amd_linked.py --kdl-ld=P --llvm=FOLDER --caller=F.bc --ukernels=F.offload --device=hip:gfx942 --tag=mfma --kind=f32_bf16
                  --instruction=REGEX [--kernels=REGEX]

Before linking, the caller calls the microkernel; afterwards the image has the instruction and no call, and neither scratch memory nor spilled
registers. For each kernel it prints registers, group memory and how many waves run at one time on a SIMD.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# What a SIMD has for each lane (gfx9: 64 lanes, later: 32), by LLVM 22, AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule,
# getTotalNumSGPRs, getMaxWavesPerEU). A set of 4 SIMDs shares group memory: a CU on gfx9 (CDNA 2 and 3 instruction set architecture, section
# "LDS": 64 KiB), a WGP of two CUs on gfx11 and gfx12 (RDNA 3 and 4 instruction set architecture: 128 KiB). A group has 64 KiB and 1024
# work-items at most on all of them (AMDGPUUsage).
CDNA = {"vgprs": 512, "vgpr_unit": 8, "sgprs": 800, "waves": 8, "simds": 4, "group_memory": 64 << 10, "lanes": 64}
RDNA = {"vgprs": 1536, "vgpr_unit": 24, "sgprs": 0, "waves": 16, "simds": 4, "group_memory": 128 << 10, "lanes": 32}
LIMITS = {"gfx90a": CDNA, "gfx942": CDNA, "gfx1100": RDNA, "gfx1201": RDNA}
GROUP_BYTES, GROUP_ITEMS = 64 << 10, 1024
TILE_BYTES = 36  # of gpu_tile in matmul/gpu_arguments.h


def fail(text):
    sys.exit(f"FAILED: {text}")


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        fail(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def link(args, kernels, emit, folder):
    file, report = os.path.join(folder, emit), os.path.join(folder, "report.json")
    output(args.kdl_ld, "--protocol=1", f"--caller={args.caller}", f"--for={args.device}", "--no-builtin", f"--ukernels={args.ukernels}",
           f"--emit={emit}", f"--output={file}", f"--report={report}", *(f"--kernel={kernel}" for kernel in kernels))
    with open(report, encoding="utf-8") as opened:
        return file, json.load(opened)


def words_of(what):
    """The words of a constant of LLVM's IR: i32 1, i64 1, <2 x i32> <i32 1, i32 2>, <2 x i32> splat (i32 1), <2 x i32> zeroinitializer."""
    count = int(re.match(r"<(\d+) x", what).group(1)) if what.startswith("<") else 1
    numbers = re.findall(r"\bi(32|64) (\d+)", what) or [("64" if "i64" in what else "32", "0")]
    numbers = numbers * (count // len(numbers))
    return [int(value) >> shift & 0xffffffff for bits, value in numbers for shift in range(0, int(bits), 32)]


def tiles_of(args, folder):
    """The kernel that writes the tiles stores constants: [rows, columns, depth, work-items, bytes of a stage, other bytes, ..., stages, ...]."""
    file, _ = link(args, [f"kdl_gpu_matmul_{args.kind}_tiles"], "ir", folder)
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    offsets = {name: int(offset) for name, offset in re.findall(r"(%[\w.]+) = getelementptr inbounds nuw i8, ptr addrspace\(1\) %0, i64 (\d+)", text)}
    stored = {}
    for what, name in re.findall(r"store (.*), ptr addrspace\(1\) (%[\w.]+),", text):
        for i, value in enumerate(words_of(what)):
            stored[offsets.get(name, 0) + 4 * i] = value
    return [[stored.get(at + 4 * i, 0) for i in range(TILE_BYTES // 4)] for at in range(0, max(stored), TILE_BYTES) if stored.get(at)]


def kernels_of(notes):
    """The metadata of each kernel of an image."""
    found = {}
    for text in notes.split("- .args:")[1:] if "- .args:" in notes else []:
        values = dict(re.findall(r"^    \.(\w+): +(\S+)$", text, re.MULTILINE))
        found[values["name"]] = values
    # On gfx9 the list of a kernel begins with its accumulation registers.
    for text in re.split(r"^  - \.agpr_count: +", notes, flags=re.MULTILINE)[1:]:
        values = dict(re.findall(r"^    \.(\w+): +(\S+)$", text, re.MULTILINE))
        found[values["name"]] = values | {"agpr_count": text.split()[0]}
    return found


def round_up(number, unit):
    return (number + unit - 1) // unit * unit


def waves_of_simd(limits, vgprs, sgprs, items, group_bytes):
    """How many waves of such groups run at one time on a SIMD."""
    waves = min(limits["waves"], limits["vgprs"] // round_up(vgprs, limits["vgpr_unit"]))
    if limits["sgprs"]:
        waves = min(waves, limits["sgprs"] // round_up(sgprs, 16))
    of_group = items // limits["lanes"]
    groups = min(waves * limits["simds"] // of_group, limits["group_memory"] // group_bytes)
    return groups, groups * of_group / limits["simds"]


def check_kernel(name, code, values, tile, limits, instruction):
    rows, columns, _, items, stage_bytes, other_bytes, _, stages, _ = tile
    group_bytes = stages * stage_bytes + other_bytes
    count = len(re.findall(rf"^\s*{instruction}\b", code, re.MULTILINE))
    if not count:
        fail(f"{name}: no {instruction}")
    if re.search(r"\bs_(swappc|setpc|call)_b64|\bscratch_", code):
        fail(f"{name}: a call, or scratch memory")
    for key in ("private_segment_fixed_size", "vgpr_spill_count", "sgpr_spill_count"):
        if values[key] != "0":
            fail(f"{name}: found {key} {values[key]}, expected 0")
    if int(values["max_flat_workgroup_size"]) != items or items > GROUP_ITEMS or int(values["wavefront_size"]) != limits["lanes"]:
        fail(f"{name}: found {values}, expected groups of {items}")
    vgprs, sgprs = int(values["vgpr_count"]), int(values["sgpr_count"])
    groups, waves = waves_of_simd(limits, vgprs, sgprs, items, group_bytes)
    if group_bytes > GROUP_BYTES or groups < 1:
        fail(f"{name}: {group_bytes} bytes of group memory and {vgprs} vector registers do not fit")
    print(f"{name}: {rows}x{columns}, {items} work-items, {count} {instruction}, {vgprs} VGPRs (AGPRs of them: {values.get('agpr_count', 'none')}), "
          f"{sgprs} SGPRs, {group_bytes} bytes of group memory, groups at a time: {groups}, waves of a SIMD: {waves:g}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("kdl-ld", "llvm", "caller", "ukernels", "device", "tag", "kind", "instruction"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--kernels", default="[0-9]n", help="a regular expression of what their names end with")
    args = parser.parse_args()
    limits = LIMITS[args.device.split(":")[-1]]

    ir = output(os.path.join(args.llvm, "llvm-dis"), args.caller, "-o", "-")
    if not re.search(rf"\bcall void @kdl_uk_gpu_mma_{args.kind}\(", ir):
        fail("the caller calls no microkernel")
    kernels = re.findall(rf"define \w+ amdgpu_kernel void @(kdl_gpu_matmul_{args.kind}_(?:{args.kernels}))\(", ir)
    if not kernels:
        fail("the caller has no kernels")
    with tempfile.TemporaryDirectory() as folder:
        tiles = tiles_of(args, folder)
        image, report = link(args, kernels, "image", folder)
        taken = {m["symbol"]: c["tag"] for m in report["microkernels"] for c in m["candidates"] if c.get("chosen")}
        if taken.get(f"kdl_uk_gpu_mma_{args.kind}") != args.tag:
            fail(f"found {taken}, expected the microkernel with the tag {args.tag}")
        if not report["calls"]["before"] or report["calls"]["after"]:
            fail(f"found calls {report['calls']}, expected some before and none after")
        print(f"calls of microkernels: {report['calls']['before']} before, {report['calls']['after']} after")
        notes = kernels_of(output(os.path.join(args.llvm, "llvm-readobj"), "--notes", image))
        code = dict(re.findall(r"^[0-9a-f]+ <(\w+)>:\n(.*?)(?=^[0-9a-f]+ <|\Z)",
                               output(os.path.join(args.llvm, "llvm-objdump"), "-d", "--no-show-raw-insn", image), re.MULTILINE | re.DOTALL))
    if len(tiles) < 2:
        fail(f"found {len(tiles)} tiles, expected two at least")
    for name in kernels:
        size = int(re.search(r"_(\d)\w+$", name).group(1))
        check_kernel(name, code[name], notes[name], tiles[size], limits, args.instruction)


main()
