# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""amd_notes.py LIBRARY DIR: compares what `kdl ls --kernels` says of the code objects in a library with what
llvm-readobj reads in them: target, code object version, kernels, their descriptors, parameters and group sizes."""

import json
import pathlib
import re
import subprocess
import sys

library, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fail(arch, words):
    sys.exit(f"{arch}: {words}")


def read_notes(text):
    """The kernels of the note, by name: a list of (size, kind) and the largest group."""
    kernels = {}
    blocks = re.split(r"^  - ", text[text.index("amdhsa.kernels:"):text.index("amdhsa.target:")], flags=re.M)[1:]
    for block in blocks:
        args = []
        for arg in re.findall(r"^ {6}- (.*?)(?=^ {6}- |^ {4}\.)", block, flags=re.M | re.S):
            size = int(re.search(r"\.size: +(\d+)", arg)[1])
            kind = re.search(r"\.value_kind: +(\w+)", arg)[1]
            if not kind.startswith("hidden_"):
                args.append((size, kind))
        name = re.search(r"^ {4}\.name: +(\S+)", block, flags=re.M)[1]
        largest = int(re.search(r"\.max_flat_workgroup_size: +(\d+)", block)[1])
        kernels[name] = (args, largest)
    return kernels


def sizes_of(signature):
    """(size, kind) of each type of a sig."""
    for word in signature.split():
        if word.startswith("ptr<"):
            yield 8, "global_buffer"
        elif word.startswith("bytes<"):
            yield int(word[6:].split(":")[0]), "by_value"
        else:
            yield int(re.search(r"\d+$", word)[0]) // 8, "by_value"


def fields_of(value):
    return dict(field.strip().split("=", 1) for field in value.split(";"))


def product(extent):
    result = 1
    for part in extent.split("x"):
        result *= int(part)
    return result


def compare(image, path):
    arch = image["arch"]
    text = output("llvm-readobj", "--file-headers", "--notes", "--symbols", path)
    target = re.search(r"amdhsa.target: +'?([^'\n]+)", text)[1]
    target = re.split("--|-unknown-", target)[1]  # LLVM 24 writes the second
    if target != arch:
        fail(arch, f"the note is for {target}")
    machine = re.search(r"EF_AMDGPU_MACH_AMDGCN_(\w+)", text)[1].lower().replace("_", "-")
    if machine != arch.split(":")[0]:
        fail(arch, f"the header is for {machine}")
    version = int(re.search(r"ABIVersion: (\d+)", text)[1]) + 2
    if version != (6 if "generic" in arch else 5):
        fail(arch, f"the code object is of version {version}")
    notes = read_notes(text)
    if sorted(notes) != sorted(image["kernels"]):
        fail(arch, f"kdl lists {sorted(image['kernels'])}, the note {sorted(notes)}")
    for name, (args, largest) in notes.items():
        descriptor = re.search(rf"Name: {re.escape(name)}\.kd \(.*?Size: (\d+)", text, flags=re.S)
        if not descriptor or int(descriptor[1]) != 64:
            fail(arch, f"{name}: no kernel descriptor of 64 bytes")
        said = fields_of(image["metadata"]["kdl.kernel." + name])
        expected = list(sizes_of(said["sig"]))
        if len(args) != len(expected):
            fail(arch, f"{name}: kdl says {len(expected)} parameters, the note {len(args)}")
        for i, (mine, theirs) in enumerate(zip(expected, args)):
            if mine[0] != theirs[0]:
                fail(arch, f"{name}: kdl says {mine[0]} bytes for parameter {i}, the note {theirs[0]}")
            if mine[1] != theirs[1]:
                fail(arch, f"{name}: kdl says {mine[1]} for parameter {i}, the note {theirs[1]}")
        if product(said["block"]) > largest:
            fail(arch, f"{name}: kdl says {product(said['block'])} work-items in a group, the note at most {largest}")
    return len(notes)


folder.mkdir(exist_ok=True)
images = json.loads(output("kdl", "ls", "--json", "--kernels", library))["images"]
count = 0
for image in images:
    path = folder / "image.hsaco"
    output("kdl", "extract", library, f"--image={image['index']}", "-o", str(path))
    count += compare(image, str(path))
print(f"{len(images)} code objects, {count} kernels: notes, descriptors and header agree")
