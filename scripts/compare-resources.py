#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what kdl ls --kernels --resources prints with what the vendors' tools print of the same files:

    compare-resources.py [--kdl=build/bin/kdl] [--tools=build/cuda-tools/bin] [--sample=N] FILE|FOLDER...

Cubins: registers, stack, group memory, local memory and constant bank of every kernel with cuobjdump -res-usage of the whole file;
registers, barriers and bytes of code with nvdisasm for N cubins of each file. Of cubins that cuobjdump does not find in the file, 10 N are
extracted for it. AMD code objects: numbers with llvm-readobj --notes,
and bytes of code with its symbols. Zebins: every number with the .ze_info that ocloc disasm writes. Prints a row per file or folder and tool, and
differences; exits with 1 where there is one. NVIDIA's tools: scripts/cuda-tools.sh FOLDER."""
import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--kdl", default="build/bin/kdl")
parser.add_argument("--tools", default="build/cuda-tools/bin")
parser.add_argument("--sample", type=int, default=20)
parser.add_argument("files", nargs="+")
options = parser.parse_args()
differences = 0
rows = {}  # of the file or folder: by tool and fields, images, kernels, numbers and differences


def run(*command, allowed=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command)}: exited with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def report(tool, what, images, kernels, numbers, wrong):
    row = rows.setdefault((tool, what), [0, 0, 0, []])
    for i, found in enumerate((images, kernels, numbers, wrong)):
        row[i] += found


def print_rows(file):
    global differences
    for (tool, what), (images, kernels, numbers, wrong) in rows.items():
        differences += len(wrong)
        print(f"| {os.path.basename(file)} | {tool} | {what} | {images:,} | {kernels:,} | {numbers:,} | {len(wrong)} |", flush=True)
        for line in wrong[:10]:
            print(f"    {line}")
    rows.clear()


def kernels_of(image):
    if "resources_error" in image:
        sys.exit(f"image {image['index']}: {image['resources_error']}")
    return image["resources"]


# cuobjdump lists functions that are no kernels, too. Of sections, it reads .nv_fatbin alone, and of some files not even that.
USAGE = {"REG": "vector_registers", "STACK": "stack", "SHARED": "shared", "LOCAL": "local", "CONSTANT[0]": "constant"}


def read_usage(path, arch, theirs):
    name = ""
    for line in run(f"{options.tools}/cuobjdump", "-res-usage", path, allowed=(0, 255)).splitlines():
        if line.startswith("arch = "):
            arch = line[7:].strip()
        elif line.startswith(" Function "):
            name = line[10:].rstrip(":")
        elif line.startswith("  REG:"):
            values = dict(re.findall(r"(\S+?):(\d+)", line))
            theirs[arch, name, tuple(int(values.get(key, 0)) for key in USAGE)] += 1


def compare_usage(images, theirs, tool):
    ours = collections.Counter()
    for image in images:
        for kernel in kernels_of(image):
            ours[image["arch"], kernel["kernel"], tuple(kernel[key] for key in USAGE.values())] += 1
    wrong = [f"ours {key}, {theirs[key]} of {count} there" for key, count in ours.items() if theirs[key] < count]
    names = {key[1] for key in ours}
    wrong += [f"theirs {key}, {ours[key]} of {count} here" for key, count in theirs.items() if key[1] in names and ours[key] < count]
    report(tool, ", ".join(USAGE), len(images), sum(ours.values()), sum(ours.values()) * len(USAGE), wrong)


def compare_cuobjdump(file, images, folder):
    theirs = collections.Counter()
    read_usage(file, images[0]["arch"], theirs)
    listed = [image for image in images if theirs and (" in " not in image["container"] or " in .nv_fatbin" in image["container"])]
    if listed:
        compare_usage(listed, theirs, "cuobjdump")
    known = {image["index"] for image in listed}
    others = [image for image in images if image["index"] not in known]
    others = random.Random(1).sample(others, min(10 * options.sample, len(others)))
    theirs = collections.Counter()
    for image in others:
        path = extract(file, image, folder)
        read_usage(path, image["arch"], theirs)
        os.unlink(path)
    if others:
        compare_usage(others, theirs, "cuobjdump, extracted")


def extract(file, image, folder):
    path = f"{folder}/image{image['index']}"
    run(options.kdl, "extract", file, f"--image={image['index']}", "-o", path)
    return path


# Registers and barriers are flags of the code's section, or attributes of other sections.
def read_nvdisasm(text):
    code, registers, barriers = {}, {}, {}
    for part in re.split(r"^\s*\.section\s+", text, flags=re.M)[1:]:
        section = part.split(",")[0].strip('"')
        if section.startswith(".text."):
            name = section[6:]
            code[name] = max((int(n, 16) for n in re.findall(r"^\s*/\*([0-9a-f]{4,})\*/", part, flags=re.M)), default=-16) + 16
            if found := re.search(r"SHI_REGISTERS=(\d+)", part):
                registers[name] = int(found.group(1))
            if found := re.search(r"SHF_BARRIERS=(\d+)", part):
                barriers[name] = int(found.group(1))
        elif section == ".nv.info":
            for item in part.split("nvinfo : ")[1:]:
                if found := re.match(r"EIATTR_REGCOUNT.*?index@\((.*?)\)\s.*?\.word\s+0x([0-9a-f]+)", item, flags=re.S):
                    registers[found.group(1)] = int(found.group(2), 16)
        elif section.startswith(".nv.info."):
            if found := re.search(r"EIATTR_NUM_BARRIERS.*?\.byte\s+0x02, 0x4c\n\s+/\*\w+\*/\s+\.byte\s+0x(\w+)", part, flags=re.S):
                barriers[section[9:]] = int(found.group(1), 16)
    return {"code_bytes": code, "vector_registers": registers, "barriers": barriers}


def compare_nvdisasm(file, images, folder):
    wrong, kernels, numbers = [], 0, 0
    images = [image for image in images if int(re.sub(r"\D", "", image["arch"])) >= 75]  # nvdisasm knows no earlier ones
    images = random.Random(1).sample(images, min(options.sample, len(images)))
    for image in images:
        path = extract(file, image, folder)
        found = read_nvdisasm(run(f"{options.tools}/nvdisasm", path))
        os.unlink(path)
        for kernel in kernels_of(image):
            name = kernel["kernel"]
            want = {"barriers": found["barriers"].get(name, 0)} | {key: values[name] for key, values in found.items() if name in values}
            kernels, numbers = kernels + 1, numbers + len(want)
            wrong += [f"{image['index']} {name}: {key} {kernel[key]}, there {value}" for key, value in want.items() if kernel[key] != value]
    report("nvdisasm", "code, registers, barriers", len(images), kernels, numbers, wrong)


def compare_readobj(file, images, folder):
    readobj = next(filter(shutil.which, ("llvm-readobj-22", "llvm-readobj")), None)
    fields = {
        ".vgpr_count": "vector_registers", ".sgpr_count": "scalar_registers", ".agpr_count": "accumulator_registers",
        ".vgpr_spill_count": "vector_spills", ".sgpr_spill_count": "scalar_spills", ".private_segment_fixed_size": "stack",
        ".group_segment_fixed_size": "shared", ".max_flat_workgroup_size": "max_block", ".wavefront_size": "subgroup",
    }
    wrong, kernels, numbers = [], 0, 0
    for image in images:
        path = extract(file, image, folder)
        text = run(readobj, "--notes", path)
        sizes = dict(re.findall(r"Name: (\S+) \(\d+\)\n\s+Value: \S+\n\s+Size: (\d+)\n\s+Binding: \S+ \S+\n\s+Type: Function", run(readobj, "--symbols", path)))
        os.unlink(path)
        found = {}
        for part in re.split(r"^  - (?=\.)", text, flags=re.M)[1:]:
            part = "    " + part
            values = dict(re.findall(r"^    (\.\w+):\s+(\S+)$", part, flags=re.M))
            args = re.split(r"^      - ", part, flags=re.M)[1:]
            given = [a for a in args if ".value_kind:" in a and not re.search(r"\.value_kind:\s+hidden_", a)]
            ends = [int(re.search(r"\.offset:\s+(\d+)", a).group(1)) + int(re.search(r"\.size:\s+(\d+)", a).group(1)) for a in given]
            found[values[".name"].strip("'")] = (values, len(given), max(ends, default=0))
        for kernel in kernels_of(image):
            kernels += 1
            values, params, end = found.get(kernel["kernel"], ({}, None, None))
            want = {ours: int(values[key]) if key in values else None for key, ours in fields.items()}
            want |= {"params": params, "param_bytes": end, "code_bytes": int(sizes.get(kernel["kernel"], -1))}
            numbers += len(want)
            wrong += [f"{image['index']} {kernel['kernel']}: {key} {kernel[key]}, there {value}" for key, value in want.items() if kernel[key] != value]
    report("llvm-readobj", "all", len(images), kernels, numbers, wrong)


def compare_ocloc(file, images, folder):
    wrong, kernels, numbers = [], 0, 0
    for image in images:
        path = extract(file, image, folder)
        dump = f"{folder}/dump"
        os.mkdir(dump)
        run("ocloc", "disasm", "-file", path, "-dump", dump)
        with open(f"{dump}/.ze_info", encoding="utf-8") as source:
            text = re.search(r"^kernels:\n((?: .*\n)*)", source.read(), flags=re.M).group(1)
        sections = dict(re.findall(r"\] (?:\.text\.)(\S+)\s+PROGBITS\s+\S+ \S+ ([0-9a-f]+)", run("readelf", "-SW", path)))
        shutil.rmtree(dump)
        os.unlink(path)
        found = {}
        for part in re.split(r"^  - (?=name:)", text, flags=re.M)[1:]:
            values = dict(re.findall(r"^ {6}(\w+):\s+(\S+)$", part, flags=re.M))
            buffers = re.search(r"^ {4}per_thread_memory_buffers:\n((?: {6}.*\n)*)", part, flags=re.M)
            used = [0, 0]
            for item in re.split(r"^ {6}- ", buffers.group(1) if buffers else "", flags=re.M)[1:]:
                used[0 if "spill_fill_space" in item else 1] += int(re.search(r"size:\s+(\d+)", item).group(1))
            used = [int(values.get("spill_size", used[0])), int(values.get("private_size", used[1] // int(values["simd_size"])))]
            found[re.match(r"name:\s+(\S+)", part).group(1).strip("'")] = (values, *used)
        for kernel in kernels_of(image):
            kernels += 1
            values, spills, stack = found.get(kernel["kernel"], ({}, 0, 0))
            want = {
                "vector_registers": int(values.get("grf_count", -1)), "subgroup": int(values.get("simd_size", -1)),
                "shared": int(values.get("slm_size", 0)), "barriers": int(values.get("barrier_count", 0)),
                "code_bytes": int(sections.get(kernel["kernel"], "0"), 16),
                "spill_bytes": spills, "stack": stack,
            }
            numbers += len(want)
            wrong += [f"{image['index']} {kernel['kernel']}: {key} {kernel[key]}, there {value}" for key, value in want.items() if kernel[key] != value]
    report("ocloc", "registers, SIMD, SLM, barriers, spills, stack, code", len(images), kernels, numbers, wrong)


def compare(file):
    listing = json.loads(run(options.kdl, "ls", "--kernels", "--resources", "--json", file))
    by_kind = collections.defaultdict(list)
    for image in listing["images"]:
        by_kind[image["image_kind"]].append(image)
    with tempfile.TemporaryDirectory() as folder:
        if by_kind["cubin"]:
            compare_cuobjdump(file, by_kind["cubin"], folder)
            compare_nvdisasm(file, by_kind["cubin"], folder)
        if by_kind["hsaco"]:
            compare_readobj(file, by_kind["hsaco"], folder)
        if by_kind["zebin"]:
            compare_ocloc(file, by_kind["zebin"], folder)


print("| file | tool | fields | images | kernels | numbers | differences |\n|---|---|---|---|---|---|---|")
for given in options.files:
    inner = sorted(os.path.join(folder, name) for folder, _, names in os.walk(given) for name in names)
    for file in [name for name in inner if name.endswith((".cubin", ".hsaco", ".co", ".zebin", ".so"))] if inner else [given]:
        compare(file)
    print_rows(given)
sys.exit(1 if differences else 0)
