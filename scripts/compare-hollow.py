#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares which kernels libkdl calls hollow with the disassembly of NVIDIA's and LLVM's tools:

    compare-hollow.py [--kdl=build/bin/kdl] [--tools=build/cuda-tools/bin] [--sample=N] FILE...

Takes up to N kernels of the files that kdl ls --resources shows with an effect of nothing or stops, and N others, each of them from
images with such a kernel where there are any. A kernel does something in this script's eyes where its disassembly has a store, an
atomic, a load from memory, a barrier, a copy, a loop, or a call other than of vprintf and __assertfail. Prints false hollow ones, of which
there must be none (exit code 1), and misses, which name what was not recognised."""
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
parser.add_argument("--sample", type=int, default=100)
parser.add_argument("files", nargs="+")
options = parser.parse_args()

# By the text of the disassembly, not by numbers.
NVIDIA = re.compile(r"^(ST(?!L\b)|ATOM|RED|SU|LD(?!C|CU|L\b)|BAR|MEMBAR|ERRBAR|CCTL|UBLK|UTMA|SYNCS|NANOSLEEP|TEX|TLD|PMTRIG|ACQBULK|ELECT|HMMA|IMMA|WGMMA|UTC)")
AMD = re.compile(r"^(s_(?!endpgm|nop|trap|waitcnt|mov|add|sub|addc|movk|inst_prefetch|clause|delay_alu|code_end|setprio|version|lshl|and|or)|flat_|global_|buffer_|ds_|scratch_|image_|v_mfma|v_wmma)")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exited with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def nvidia_effects(path, kernels):
    calls = collections.defaultdict(set)
    symbols = dict(re.findall(r"^\s*(\d+):.*?\s(\S+)$", run("readelf", "-sW", path), flags=re.M))
    numbers = ",".join(number for number, name in symbols.items() if name in kernels)
    text = run(f"{options.tools}/nvdisasm", "-fun", numbers, path)
    graph = bytes.fromhex("".join(re.findall(r"^  0x\w+ ((?:\w{8} ?){1,4})", run("readelf", "-x", ".nv.callgraph", path), flags=re.M)).replace(" ", ""))
    for at in range(0, len(graph) - 7, 8):
        caller, callee = (int.from_bytes(graph[at + k:at + k + 4], "little") for k in (0, 4))
        if callee < 0xfffffff0:
            calls[symbols[str(caller)]].add(symbols[str(callee)])
    found = {}
    for part in re.split(r"^\s*\.section\s+", text, flags=re.M)[1:]:
        if not part.startswith(".text."):
            continue
        name, labels, why = part[6:].split(",")[0].strip('"'), {}, []
        lines = part.splitlines()
        for number, line in enumerate(lines):
            if label := re.match(r"^(\.L_x_\d+):", line):
                labels[label.group(1)] = number
            code = re.match(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*)", line)
            if not code:
                continue
            operation = code.group(1).rstrip(";")
            if NVIDIA.match(operation):
                why.append(operation)
            if operation.startswith("CALL") and not calls[name] <= {"vprintf", "__assertfail"}:
                why.append(f"{operation} {calls[name]}")
            if operation.startswith("CALL") and ("REL" in operation or not calls[name]):
                why.append(operation)
            target = re.search(r"`\((\.L_x_\d+)\)", code.group(2))
            if operation.startswith("BRA") and target and target.group(1) in labels:
                between = [x for x in lines[labels[target.group(1)]:number] if re.match(r"^\s*/\*[0-9a-f]{4,}\*/", x)]
                if between:  # not a branch to itself
                    why.append("loop")
        found[name] = why
    return found


def amd_effects(path, kernels):
    objdump = next(filter(shutil.which, ("llvm-objdump-22", "llvm-objdump")))
    found, name = {}, None
    for line in run(objdump, "-d", path).splitlines():
        if head := re.match(r"^[0-9a-f]+ <(.*)>:", line):
            name = head.group(1)
            found[name] = []
        elif name and (code := re.match(r"^\s+([a-z]\w+)", line)) and AMD.match(code.group(1)):
            found[name].append(code.group(1))
    return found


hollow, others, effects_of = [], [], {"cubin": nvidia_effects, "hsaco": amd_effects}
for file in options.files:
    for image in json.loads(run(options.kdl, "ls", "--kernels", "--resources", "--json", file))["images"]:
        if image["image_kind"] not in effects_of or (image["image_kind"] == "cubin" and int(re.sub(r"\D", "", image["arch"])) < 75):
            continue
        for kernel in image.get("resources", []):
            (hollow if kernel["effect"] in ("nothing", "stops") else others).append((file, image["index"], image["image_kind"], kernel["kernel"], kernel["effect"], image["arch"]))
choice = random.Random(7)
by_image = collections.defaultdict(lambda: ([], []))
for item in hollow:
    by_image[item[:2]][0].append(item)
for item in others:
    by_image[item[:2]][1].append(item)
mine = [[], []]
order = sorted(by_image)
choice.shuffle(order)
for images in ([i for i in order if by_image[i][0]], order):  # those with hollow kernels first
    for image in images:
        for k in (0, 1):
            room = min(6, options.sample - len(mine[k]), len(by_image[image][k]))
            if room > 0 and (k == 1 or images is not order):
                mine[k] += choice.sample(by_image[image][k], room)
mine = list(dict.fromkeys(mine[0] + mine[1]))
wanted = collections.defaultdict(set)
for item in mine:
    wanted[item[:2]].add(item[3])
false, missed, right = [], [], collections.Counter()
with tempfile.TemporaryDirectory() as folder:
    cache = {}
    for file, index, kind, kernel, effect, arch in sorted(mine):
        if (file, index) not in cache:
            run(options.kdl, "extract", file, f"--image={index}", "-o", f"{folder}/image")
            cache = {(file, index): effects_of[kind](f"{folder}/image", wanted[file, index])}
            os.unlink(f"{folder}/image")
        why = cache[file, index].get(kernel)
        if why is None:
            sys.exit(f"{file}: image {index}: the disassembly has no {kernel}")
        is_hollow = effect in ("nothing", "stops")
        if is_hollow and why:
            false.append(f"{os.path.basename(file)} {index} {arch} {kernel}: {effect}, but it has {why[:4]}")
        elif not is_hollow and not why:
            missed.append(f"{os.path.basename(file)} {index} {arch} {kernel}")
        else:
            right[effect, arch] += 1
print(f"found {len(hollow):,} hollow and {len(others):,} other kernels; compared {len(mine):,}: {sum(right.values()):,} equal, {len(false)} false, {len(missed)} missed")
for (effect, arch), count in sorted(right.items()):
    print(f"  {arch} {effect}: {count}")
for line in false:
    print(f"false: {line}")
for line in missed:
    print(f"missed: {line}")
sys.exit(1 if false else 0)
