#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kdl diff over real packages in two versions, and checks a sample of its report with the vendors' tools:

    compare-diff.py [--kdl=build/bin/kdl] [--tools=build/cuda-tools/bin] [--folder=build/compare-diff] [--sample=60] [--keep] [PACKAGE...]

Packages come from the Python index (pip download) and from Debian's mirrors, one pair at a time, and are deleted again without --keep. For
each pair it prints what kdl diff counts, then checks kernels drawn from each kind of change, and some without one: registers, stack, group
and local memory with cuobjdump -res-usage or llvm-readobj --notes; parameters with cuobjdump -elf; code with the text of nvdisasm or
llvm-objdump, without addresses; kernels that are gone or new with the kernels that the tools list in the library of the other version.
Exits with 1 where one is not as kdl diff reports it. NVIDIA's tools: scripts/cuda-tools.sh FOLDER."""
import argparse
import glob
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile

PYTHON = [
    ("bitsandbytes", "0.49.2", "0.50.2"),
    ("cupy-cuda12x", "13.6.0", "14.2.0"),
    ("flashinfer-cubin", "0.6.12", "0.6.13"),
    ("nvidia-cublas", "13.7.0.27", "13.8.2.12"),
    ("nvidia-curand-cu12", "10.3.9.90", "10.3.10.19"),
    ("nvidia-cusparse-cu12", "12.5.9.5", "12.5.10.65"),
    ("nvidia-nccl-cu12", "2.31.2", "2.32.3"),
    ("sgl-kernel", "0.3.20", "0.3.21"),
    ("torch", "2.14.1", "2.15.0"),
    ("xformers", "0.0.34", "0.0.35"),
]
DEBIAN = [("librocrand1", "bookworm", "trixie"), ("librocsparse0", "bookworm", "trixie")]
MIRROR = "http://deb.debian.org/debian"

parser = argparse.ArgumentParser()
parser.add_argument("--kdl", default="build/bin/kdl")
parser.add_argument("--tools", default="build/cuda-tools/bin")
parser.add_argument("--folder", default="build/compare-diff")
parser.add_argument("--sample", type=int, default=60)
parser.add_argument("--keep", action="store_true")
parser.add_argument("packages", nargs="*")
options = parser.parse_args()


class Unreadable(Exception):
    """cuobjdump does not read every cubin that the driver loads."""


def run(*command, allowed=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode not in allowed and "does not contain device code" in done.stdout + done.stderr:
        raise Unreadable
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command)}: exited with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


# ---------------------------------------------------------------------------------------------------------------------------------------
# Packages

def fetch_wheel(name, version, folder):
    tags = [f"--platform=manylinux_2_{minor}_x86_64" for minor in (17, 18, 24, 27, 28, 31, 34, 35)] + ["--platform=manylinux2014_x86_64"]
    run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "--python-version=312", *tags, "-d", folder,
        f"{name}=={version}")
    return glob.glob(f"{folder}/*.whl")[0]


def fetch_debian(name, suite, folder):
    with urllib.request.urlopen(f"{MIRROR}/dists/{suite}/main/binary-amd64/Packages.xz") as answer:
        packages = lzma.decompress(answer.read()).decode()
    entry = next(part for part in packages.split("\n\n") if part.startswith(f"Package: {name}\n"))
    path = re.search(r"^Filename: (.*)$", entry, flags=re.M).group(1)
    urllib.request.urlretrieve(f"{MIRROR}/{path}", f"{folder}/package.deb")
    run("dpkg-deb", "-x", f"{folder}/package.deb", f"{folder}/files")
    os.unlink(f"{folder}/package.deb")
    return f"{folder}/files", re.search(r"^Version: (.*)$", entry, flags=re.M).group(1)


class Package:
    """A version of a package: a wheel or a folder. Its libraries are unpacked where a tool needs them."""

    def __init__(self, path, folder):
        self.path, self.folder, self.usage = path, folder, {}
        self.members = zipfile.ZipFile(path) if path.endswith(".whl") else None

    def library(self, shown):
        if not self.members:
            return shown
        member = shown[len(self.path) + 1:]
        out = f"{self.folder}/unpacked/{member}"
        if not os.path.exists(out):
            self.members.extract(member, f"{self.folder}/unpacked")
        return out

    def image(self, kernel):
        path = f"{self.folder}/image"
        run(options.kdl, "extract", self.library(kernel["library"]), f"--image={kernel['image']}", "-o", path)
        return path


# ---------------------------------------------------------------------------------------------------------------------------------------
# NVIDIA

def read_usage(text):
    """Numbers of cuobjdump -res-usage by architecture and function; several where a library has copies."""
    found, arch, name = {}, "", ""
    for line in text.splitlines():
        if line.startswith("arch = "):
            arch = line[7:].strip()
        elif line.startswith(" Function "):
            name = line[10:].rstrip(":")
        elif line.startswith("  REG:"):
            values = dict(re.findall(r"(\S+?):(\d+)", line))
            found.setdefault((arch, name), set()).add(tuple(int(values.get(key, 0)) for key in ("REG", "STACK", "SHARED", "LOCAL")))
    return found


def cubin_numbers(path, kernel):
    usage = read_usage(run(f"{options.tools}/cuobjdump", "-res-usage", path))
    return dict(zip(("vector_registers", "stack", "shared", "local"), next(iter(next(v for (_, name), v in usage.items() if name == kernel)))))


def cubin_params(path, kernel):
    text = run(f"{options.tools}/cuobjdump", "-elf", path)
    part = text.partition(f"\n.nv.info.{kernel}\n")[2].partition("\n.")[0]
    if not part:
        sys.exit(f"{path}: cuobjdump -elf has no .nv.info.{kernel}")
    return sorted(re.findall(r"Ordinal\s*:\s*(\S+)\s+Offset\s*:\s*(\S+)\s+Size\s*:\s*(\S+)", part))


def cubin_code(path, kernel):
    """The instructions, without encodings, labels of other functions, and addresses in constant bank 4."""
    index = re.search(rf"^\s*(\d+): .* FUNC .* {re.escape(kernel)}$", run("readelf", "-sW", path), flags=re.M)
    text = run(f"{options.tools}/nvdisasm", "-c", "-fun", index.group(1), path)
    lines = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?;)", text, flags=re.M)
    return [re.sub(r"c\[0x4\]\[[^]]*\]", "c[0x4]", re.sub(r"`\(.*?\)", "`", line)) for line in lines]


STORES = re.compile(r"\b(ST|STG|STS|RED|ATOM|ATOMG|ATOMS|SUST|UTMASTG|UBLKCP|UTMALDG|LDG|REDG)\b[.\s]")


def cubin_kernels(package, library, arch):
    if library not in package.usage:  # cuobjdump does not read every library that the driver loads
        package.usage[library] = read_usage(run(f"{options.tools}/cuobjdump", "-res-usage", library, allowed=(0, 1, 255)))
    return {name for found, name in package.usage[library] if found == arch}


# ---------------------------------------------------------------------------------------------------------------------------------------
# AMD

def hsaco_notes(path):
    notes = run("llvm-readobj-22", "--notes", path)
    return {re.search(r"^ {4,}\.name:\s+(\S+)$", part, flags=re.M).group(1).strip("'"): dict(re.findall(r"^\s{4,8}\.(\w+):\s+(\d+)$", part, flags=re.M))
            for part in re.split(r"^  - (?=\.)", notes, flags=re.M)[1:] if re.search(r"^ {4,}\.name:", part, flags=re.M)}


def hsaco_numbers(path, kernel):
    values = hsaco_notes(path)[kernel]
    names = {"vector_registers": "vgpr_count", "scalar_registers": "sgpr_count", "vector_spills": "vgpr_spill_count",
             "scalar_spills": "sgpr_spill_count", "stack": "private_segment_fixed_size", "shared": "group_segment_fixed_size"}
    return {ours: int(values[theirs]) for ours, theirs in names.items() if theirs in values}


def hsaco_params(path, kernel):
    notes = run("llvm-readobj-22", "--notes", path)
    part = next(part for part in re.split(r"^  - (?=\.a)", notes, flags=re.M) if re.search(rf"^ {{4,}}\.name:\s+'?{re.escape(kernel)}'?$", part, flags=re.M))
    return re.findall(r"\.offset:\s+(\d+)\s+\.size:\s+(\d+)\s+\.value_kind:\s+(?!hidden)(\w+)", part)


def hsaco_code(path, kernel):
    text = run("llvm-objdump-22", "-d", "--no-show-raw-insn", "--no-leading-addr", f"--disassemble-symbols={kernel}", path)
    lines = [re.sub(r"\s*(//.*|<.*>)$", "", line.strip()) for line in text.splitlines() if line.startswith("\t")]
    for at, line in enumerate(lines):
        if line.startswith("s_getpc_b64"):  # literals of the next additions are distances
            for near in range(at + 1, min(at + 7, len(lines))):
                if re.match(r"s_addc?(_co(_ci)?)?_u32", lines[near]):
                    lines[near] = re.sub(r"0x[0-9a-f]+$", "ADDRESS", lines[near])
    return lines


def hsaco_kernels(package, library, arch):
    if (library, arch) not in package.usage:
        found = package.usage[library, arch] = set()
        for image in json.loads(run(options.kdl, "ls", "--json", library))["images"]:
            if image["image_kind"] == "hsaco" and image["arch"] == arch:
                run(options.kdl, "extract", library, f"--image={image['index']}", "-o", f"{package.folder}/image")
                found.update(hsaco_notes(f"{package.folder}/image"))
    return package.usage[library, arch]


# ---------------------------------------------------------------------------------------------------------------------------------------
# Checks

TOOLS = {"cubin": (cubin_numbers, cubin_params, cubin_code, cubin_kernels), "hsaco": (hsaco_numbers, hsaco_params, hsaco_code, hsaco_kernels)}


def same_libraries(package, shown):
    """Libraries of the package with the file name of one of the other version, up to numbers."""
    def plain(path):
        return re.sub(r"\d+", "#", os.path.basename(path))
    if package.members:
        return [package.library(f"{package.path}!{name}") for name in package.members.namelist() if plain(name) == plain(shown)
                and (os.path.basename(name) == os.path.basename(shown) or ".so." in name)]
    found = [os.path.join(at, name) for at, _, names in os.walk(package.path) for name in names]
    return [path for path in found if plain(path) == plain(shown) and not os.path.islink(path)]


def check_pair(change, old, new):
    """A kernel that both versions have: a list of what is not as reported."""
    kind = change["target"].split()[0]
    numbers, params, code, _ = TOOLS[kind]
    sides, wrong = {}, []
    for name, package in ("old", old), ("new", new):
        path = package.image(change[name])
        kernel = change[name]["kernel"]
        theirs = numbers(path, kernel)
        wrong += [f"{name} {key}: {change[name][key]}, there {value}" for key, value in theirs.items() if change[name][key] != value]
        sides[name] = theirs, params(path, kernel), code(path, kernel)
    is_other = sides["old"][2] != sides["new"][2]
    if is_other != ("code" in change["changes"]):
        wrong.append(f"code: the disassembly {'differs' if is_other else 'is equal'}")
    if (sides["old"][1] != sides["new"][1]) != ("signature" in change["changes"]):
        wrong.append(f"signature: {sides['old'][1]} {sides['new'][1]}")
    for what in ("stack", "shared"):
        if (sides["new"][0][what] > sides["old"][0][what]) != (what in change["changes"]):
            wrong.append(f"{what}: {sides['old'][0][what]}, {sides['new'][0][what]}")
    if "hollow" in change["changes"] and any(STORES.search(line) for line in sides["new"][2]):
        wrong.append("hollow: its code has a store or a load")
    return wrong


def check_alone(change, old, new):
    """A kernel that one version has for the target: the tools find it there, and nowhere in the other."""
    kind, arch = change["target"].split()
    side, here, there = ("old", old, new) if "old" in change else ("new", new, old)
    path = here.image(change[side])
    wrong = [f"{side} {key}: {change[side][key]}, there {value}" for key, value in TOOLS[kind][0](path, change["kernel"]).items()
             if change[side][key] != value]
    if set(change["changes"]) & {"hollow"} and kind == "cubin" and any(STORES.search(line) for line in cubin_code(path, change["kernel"])):
        wrong.append("hollow: its code has a store or a load")
    if not set(change["changes"]) & {"removed", "lost", "added", "gained"}:
        return wrong
    for library in same_libraries(there, change[side]["library"]):
        names = {re.sub(r"[0-9a-f]{8,}", "#", name) for name in TOOLS[kind][3](there, library, arch)}
        if re.sub(r"[0-9a-f]{8,}", "#", change["kernel"]) in names:
            wrong.append(f"it is in {library}, too")
    return wrong


def is_checked(change):
    kind, _, arch = change["target"].partition(" ")
    return kind == "hsaco" or (kind == "cubin" and int(re.sub(r"\D", "", arch)) >= 75)  # nvdisasm knows no earlier ones


def draw(report, count):
    """Kernels of each kind of change in turn."""
    by_change = {}
    for change in filter(is_checked, report["changes"]):
        for name in change["changes"]:
            by_change.setdefault(name, []).append(change)
    chance, drawn = random.Random(1), []
    for pool in by_change.values():
        chance.shuffle(pool)
    while len(drawn) < count and any(by_change.values()):
        for name, pool in by_change.items():
            if pool and len(drawn) < count:
                change = pool.pop()
                if change not in drawn:
                    drawn.append(change)
    return drawn


def draw_equal(report, old, new, count):
    """Kernels without a change: those of an image of the new version that the report does not name, by their name in the old one."""
    named = {(change["kernel"], change["target"]) for change in report["changes"]}
    chance, found = random.Random(2), []
    for shown in {change["new"]["library"]: change["old"]["library"] for change in report["changes"] if "old" in change and "new" in change}.items():
        ours, theirs = (json.loads(run(options.kdl, "ls", "-k", "-r", "--json", package.library(path)))["images"]
                        for package, path in ((new, shown[0]), (old, shown[1])))
        before = {(kernel["kernel"], image["image_kind"], image["arch"]): (image, kernel) for image in theirs for kernel in image.get("resources", [])
                  if image["image_kind"] in TOOLS and "relfatbin" not in image["container"]}
        pool = [(image, kernel) for image in ours for kernel in image.get("resources", []) if "relfatbin" not in image["container"]
                and (kernel["kernel"], f"{image['image_kind']} {image['arch']}") not in named and (kernel["kernel"], image["image_kind"], image["arch"]) in before
                and is_checked({"target": f"{image['image_kind']} {image['arch']}"})]
        for image, kernel in chance.sample(pool, min(count, len(pool))):
            was = before[kernel["kernel"], image["image_kind"], image["arch"]]
            found.append({"kernel": kernel["kernel"], "target": f"{image['image_kind']} {image['arch']}", "changes": [],
                          "old": {**was[1], "library": shown[1], "image": was[0]["index"]}, "new": {**kernel, "library": shown[0], "image": image["index"]}})
    return chance.sample(found, min(count, len(found)))


checked = bad = 0


def compare(name, old_path, new_path, folder, versions, count):
    global checked, bad
    start = time.time()
    text = run(options.kdl, "diff", old_path, new_path, "--json")
    seconds = time.time() - start
    report = json.loads(text)
    with open(f"{options.folder}/{name}.json", "w") as out:
        json.dump({key: value for key, value in report.items() if key != "changes"}, out, indent=1)
    totals = ", ".join(f"{key} {value:,}" for key, value in report["totals"].items() if value)
    print(f"| {name} | {versions[0]} | {versions[1]} | {sum(t['old'] for t in report['targets']):,} | {sum(t['new'] for t in report['targets']):,} | {totals} | {seconds:.1f} s |", flush=True)
    old, new = Package(old_path, f"{folder}/old"), Package(new_path, f"{folder}/new")
    sample = draw(report, count) + draw_equal(report, old, new, max(1, count // 3))
    for change in sample:
        try:
            wrong = check_pair(change, old, new) if "old" in change and "new" in change else check_alone(change, old, new)
        except Unreadable:
            print(f"    not read by cuobjdump: {change['target']} {change['kernel'][:100]}", flush=True)
            continue
        checked += 1
        bad += bool(wrong)
        print(f"    {'as reported' if not wrong else 'NOT AS REPORTED'}: {change['target']} {change['kernel'][:100]}: {', '.join(change['changes']) or 'no change'}"
              + "".join(f"\n        {line}" for line in wrong), flush=True)


os.makedirs(options.folder, exist_ok=True)
chosen = [pair for pair in PYTHON + DEBIAN if not options.packages or pair[0] in options.packages]
print("| package | old | new | kernels by target | | changes | time |\n|---|---|---|---|---|---|---|")
for pair in chosen:
    folder = f"{options.folder}/{pair[0]}"
    paths, versions = [], []
    for side, version in ("old", pair[1]), ("new", pair[2]):
        where = f"{folder}/{side}"
        os.makedirs(where, exist_ok=True)
        if pair in PYTHON:
            paths.append((glob.glob(f"{where}/*.whl") or [None])[0] or fetch_wheel(pair[0], version, where))
            versions.append(version)
        else:
            path, found = fetch_debian(pair[0], version, where)
            paths.append(path)
            versions.append(f"{found} ({version})")
    compare(pair[0], *paths, folder, versions, max(1, options.sample // len(chosen)))
    if not options.keep:
        shutil.rmtree(folder)
print(f"\n{checked} kernels checked with the vendors' tools, {bad} not as reported")
sys.exit(1 if bad else 0)
