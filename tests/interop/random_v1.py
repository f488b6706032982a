#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random files written by `kdl pack`, against LLVM's own writers and readers.

For each file of 1 to 4 images with random kinds, keys, values and bytes:
  1. `kdl pack` equals `yaml2obj` byte for byte;
  2. `kdl pack`, with the keys in the order llvm-offload-binary's hash map gave them, equals
     llvm-offload-binary byte for byte;
  3. obj2yaml and llvm-offload-binary read the same kinds, keys, values and bytes back out of ours.

    random_v1.py --kdl build/bin/kdl --llvm /usr/lib/llvm-22/bin --count 2000 --seed 1
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

EXTENSIONS = {"o": ("IMG_Object", 1), "bc": ("IMG_Bitcode", 2), "cubin": ("IMG_Cubin", 3),
              "fatbin": ("IMG_Fatbinary", 4), "s": ("IMG_PTX", 5), "bin": ("0x0", 0)}
OFFLOAD_KINDS = {"openmp": ("OFK_OpenMP", 1), "cuda": ("OFK_Cuda", 2), "hip": ("OFK_HIP", 4)}
TRIPLES = ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa", "spirv64-unknown-unknown",
           "x86_64-unknown-linux-gnu", "a", "cuda"]
ARCHS = ["sm_90", "sm_90a", "gfx90a:sramecc+:xnack-", "generic", "", "gfx942", "x86-64-v4", "90"]
# Tails of one another, so that the string table shares them.
VALUES = ["", "a", "cuda", "da", "nvidia-cuda", "tensor_core_nv+bf16", "10", "0", "üñí", "x" * 300]
LETTERS = "abcdefghijklmnopqrstuvwxyz_.0123456789"


def random_image(rng):
    image = {"extension": rng.choice(list(EXTENSIONS)), "kind": rng.choice(list(OFFLOAD_KINDS)),
             "pairs": [("triple", rng.choice(TRIPLES))]}
    if rng.random() < 0.9:
        image["pairs"].append(("arch", rng.choice(ARCHS)))
    for _ in range(rng.choice([0, 0, 1, 2, 3, 8, 20])):
        key = "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 12)))
        if key in ("file", "kind", "image_kind") or key in dict(image["pairs"]):
            continue
        image["pairs"].append((key, rng.choice(VALUES)))
    rng.shuffle(image["pairs"])
    image["bytes"] = rng.randbytes(rng.choice([1, 2, 3, 7, 8, 9, 100, 4096, rng.randint(1, 3000)]))
    return image


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode:
        raise AssertionError(f"{command} exited {result.returncode}: {result.stderr.decode()}")
    return result.stdout.decode()


def image_argument(path, image, pairs):
    fields = [f"file={path}", f"kind={image['kind']}"] + [f"{key}={value}" for key, value in pairs]
    return "--image=" + ",".join(fields)


def yaml_of(images):
    lines = ["--- !Offload", "Members:"]
    for image in images:
        lines += [f"  - ImageKind: {EXTENSIONS[image['extension']][0]}",
                  f"    OffloadKind: {OFFLOAD_KINDS[image['kind']][0]}", "    Flags: 0", "    String:"]
        for key, value in image["pairs"]:
            lines += [f"      - Key: {json.dumps(key)}",
                      f"        Value: {json.dumps(value, ensure_ascii=False)}"]
        lines.append(f"    Content: '{image['bytes'].hex()}'")
    return "\n".join(lines) + "\n"


def parse_v1(data):
    """The images of concatenated version 1 binaries, read independently of libkdl."""
    images, start = [], 0
    while start < len(data):
        magic, version, size, entry, _ = struct.unpack_from("<4sIQQQ", data, start)
        assert (magic, version) == (b"\x10\xff\x10\xad", 1), (magic, version)
        kind, offload, _, strings, count, at, length = struct.unpack_from("<HHIQQQQ", data, start + entry)
        text = lambda offset: data[start + offset:data.index(0, start + offset)].decode()
        pairs = [tuple(text(offset) for offset in struct.unpack_from("<QQ", data, start + strings + 16 * i))
                 for i in range(count)]
        images.append((kind, offload, pairs, data[start + at:start + at + length]))
        start += size
    return images


def yaml_members(text):
    """What obj2yaml printed, as (kind, offload, pairs, bytes)."""
    kinds = dict(list(EXTENSIONS.values()) + [("IMG_None", 0)])
    offloads = dict(OFFLOAD_KINDS.values())
    unquote = lambda s: json.loads(s) if s.startswith('"') else s.strip("'").replace("''", "'")
    members = []
    for line in text.splitlines():
        match = re.match(r"^ +(?:- )?(\w+): *(.*)$", line)
        if not match:
            continue
        field, value = match.groups()
        if field == "ImageKind":
            members.append([kinds[value], None, [], b""])
        elif field == "OffloadKind":
            members[-1][1] = offloads[value]
        elif field == "Key":
            members[-1][2].append([unquote(value), ""])
        elif field == "Value":
            members[-1][2][-1][1] = unquote(value)
        elif field == "Content":
            members[-1][3] = bytes.fromhex(value.strip("'"))
    return [(kind, offload, [tuple(pair) for pair in pairs], data) for kind, offload, pairs, data in members]


def check(seed, kdl, llvm):
    rng = random.Random(seed)
    images = [random_image(rng) for _ in range(rng.randint(1, 4))]
    expected = [(EXTENSIONS[i["extension"]][1], OFFLOAD_KINDS[i["kind"]][1], i["pairs"], i["bytes"]) for i in images]
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        paths = []
        for number, image in enumerate(images):
            paths.append(at(f"in{number}.{image['extension']}"))
            open(paths[-1], "wb").write(image["bytes"])
        read = lambda name: open(at(name), "rb").read()

        run([kdl, "pack", "-o", at("ours")] + [image_argument(p, i, i["pairs"]) for p, i in zip(paths, images)])
        open(at("in.yaml"), "w").write(yaml_of(images))
        run([f"{llvm}/yaml2obj", at("in.yaml"), "-o", at("yaml2obj")])
        assert read("ours") == read("yaml2obj"), "kdl pack differs from yaml2obj"

        run([f"{llvm}/llvm-offload-binary", "-o", at("llvm")] +
            [image_argument(p, i, i["pairs"]) for p, i in zip(paths, images)])
        hashed = [pairs for _, _, pairs, _ in parse_v1(read("llvm"))]
        run([kdl, "pack", "-o", at("hashed")] + [image_argument(p, i, k) for p, i, k in zip(paths, images, hashed)])
        assert read("hashed") == read("llvm"), "kdl pack differs from llvm-offload-binary"

        assert yaml_members(run([f"{llvm}/obj2yaml", at("ours")])) == expected, "obj2yaml reads something else"
        first = images[0]
        pairs = dict(first["pairs"])
        run([f"{llvm}/llvm-offload-binary", at("ours"),
             f"--image=file={at('back')},kind={first['kind']},triple={pairs['triple']}"
             + (f",arch={pairs['arch']}" if pairs.get("arch") else "")])
        assert read("back") in [i["bytes"] for i in images], "llvm-offload-binary extracts something else"

        listed = json.loads(run([kdl, "ls", "--json", at("llvm")]))["images"]
        names = {name: number for name, (_, number) in OFFLOAD_KINDS.items()}
        assert [names[i["offload_kind"]] for i in listed] == [e[1] for e in expected]
        assert [i["metadata"] for i in listed] == [dict(e[2]) for e in expected], "kdl ls reads something else"
        assert [i["size"] for i in listed] == [len(e[3]) for e in expected]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kdl", required=True)
    parser.add_argument("--llvm", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        seeds = range(arguments.seed, arguments.seed + arguments.count)
        jobs = {pool.submit(check, seed, arguments.kdl, arguments.llvm): seed for seed in seeds}
        for job in concurrent.futures.as_completed(jobs):
            if job.exception():
                failed += 1
                print(f"seed {jobs[job]}: {job.exception()}")
    print(f"{arguments.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
