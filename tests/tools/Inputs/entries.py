# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes PTX files: FILE.ptx TARGET KERNEL..., several times."""
import sys

words = sys.argv[1:]
starts = [i for i, word in enumerate(words) if word.endswith(".ptx")] + [len(words)]
for start, end in zip(starts, starts[1:]):
    name, target, *kernels = words[start:end]
    with open(name, "w") as out:
        out.write(f".version 8.8\n.target {target}\n.address_size 64\n")
        out.writelines(f".visible .entry {kernel}() {{ ret; }}\n" for kernel in kernels)
