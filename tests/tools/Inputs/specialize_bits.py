# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""specialize_bits.py KERNELS.c TARGET DEVICE WORK: links kernels with and without constants, runs both, and compares all bits of their results."""

import random
import struct
import subprocess
import sys

source, target, device, work = sys.argv[1:5]
ITEMS = 512
FORMATS = {"u32": "<I", "i32": "<i", "u16": "<H", "i64": "<q", "f32": "<f", "f64": "<d"}
# Kernel, the block that is folded, the types of the scalars after its two buffers, and values to draw from.
CASES = [
    ("sum", "64x1x1", ["u32", "f32"], [[3, 8, 17], [1.0, -0.0, 0.3, 0.7]]),
    ("waves", "128x1x1", ["f32", "f32", "i32"], [[2.0, 0.5, 1.7, -3.0], [0.1, 1e-30], [0, 1, 2, 7]]),
    ("root", "32x1x1", ["f64", "i64"], [[2.5, 1e-300, -4.0], [1, 5, -2]]),
    ("shift", "64x1x1", ["u16", "u32", "i32"], [[3, 65535], [7, 256], [-5, 12]]),
    ("scan", "64x1x1", ["u32", "f32"], [[64, 40], [0.7, 1.0]]),
]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def bits(kind, value):
    data = struct.pack(FORMATS[kind], value)
    return "0x" + data[::-1].hex()


def results(image, kernel, block, scalars):
    words = ["kdl", "run", image, kernel, "--device=host", f"--grid={ITEMS // int(block.split('x')[0])}", f"--block={block}",
             f"--arg=buf:f32[{4 * ITEMS}]=@{work}/data", f"--arg=buf:u32[{4 * ITEMS}]=zero", "--dump=arg1"]
    words += [f"--arg={kind}:{value!r}" for kind, value in scalars]
    return run(*words).split("arg1", 1)[1]


def main():
    draw = random.Random(5)
    with open(f"{work}/data", "wb") as file:
        file.write(struct.pack(f"<{4 * ITEMS}f", *(draw.uniform(-4, 4) for _ in range(4 * ITEMS))))
    run("kdl", "cc", source, "--emit=bitcode", f"--targets={target}", "-o", f"{work}/all.offload")
    run("kdl", "extract", f"{work}/all.offload", "-o", f"{work}/all.bc")
    for kernel, block, kinds, values in CASES:
        link = ["kdl-ld", "--protocol=1", f"--caller={work}/all.bc", f"--for={device}", f"--kernel={kernel}"]
        run(*link, f"--output={work}/general.so")
        for _ in range(2):
            scalars = [(kind, draw.choice(among)) for kind, among in zip(kinds, values)]
            folds = [f"--fold={i + 2}={bits(kind, value)}" for i, (kind, value) in enumerate(scalars) if draw.random() < 0.8]
            run(*link, *folds, f"--fold=block={block}", f"--output={work}/folded.so")
            general, folded = (results(f"{work}/{name}.so", kernel, block, scalars) for name in ("general", "folded"))
            if general != folded:
                sys.exit(f"{kernel} {scalars} {folds}: results differ")
    print(f"{target}: {2 * len(CASES)} kernels with equal bits")


main()
