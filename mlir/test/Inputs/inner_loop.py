#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""inner_loop.py OBJECT FUNCTION INSTRUCTION: the innermost loop of a function that contains an instruction.

Prints how often the loop has it and each other instruction, sorted. Fails if there is no such
loop, and if the loop calls, stores a vector, or loads one from the stack: accumulators in registers
do neither. Code for x86-64 and AArch64; of the latter, the registers must be those of SVE.
"""

import collections
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*(?:(?:#|//).*)?$")
VECTOR = re.compile(r"%[xyz]mm\d+|\b[zqv]\d+")
# In code for the largest tile, x86's stores are: source, address.
STORE = re.compile(r"^%[xyz]mm\d+, -?\w*\(%")
ARM_STORE = re.compile(r"st")
STACK = re.compile(r"\(%r[sb]p|\[(sp|x29)\b")
NEON = re.compile(r"\bv\d+\.")


def read_function(path, name):
    text = subprocess.run(["llvm-objdump", "-d", "--no-show-raw-insn", f"--disassemble-symbols={name}", path],
                          check=True, capture_output=True, text=True).stdout
    found = [LINE.match(line) for line in text.splitlines()]
    return [(int(m[1], 16), m[2], m[3]) for m in found if m]


def inner_loops(code):
    """The code between a backward jump and its target, without another such jump."""
    ends = []
    for place, (address, mnemonic, operands) in enumerate(code):
        target = re.search(r"(?:^|, )0x([0-9a-f]+)", operands)
        if re.match(r"j|b\.|b$|cbn?z|tbn?z", mnemonic) and target and int(target[1], 16) <= address:
            ends.append((int(target[1], 16), place))
    for start, place in ends:
        body = [line for line in code[:place + 1] if line[0] >= start]
        if not any(code[other][0] >= start and other < place and begin >= start
                   for begin, other in ends):
            yield body


def main():
    path, name, wanted = sys.argv[1:]
    code = read_function(path, name)
    if not code:
        sys.exit(f"{path}: found no function {name}")
    loops = [loop for loop in inner_loops(code) if any(wanted == line[1] for line in loop)]
    if not loops:
        sys.exit(f"{path}, {name}: found no loop with {wanted}")
    loop = max(loops, key=lambda body: sum(wanted == line[1] for line in body))
    for address, mnemonic, operands in loop:
        if mnemonic.startswith("call") or mnemonic in ("bl", "blr"):
            sys.exit(f"{path}, {name}: {address:x}: the loop calls: {operands}")
        if mnemonic == wanted and NEON.search(operands):
            sys.exit(f"{path}, {name}: {address:x}: NEON: {mnemonic} {operands}")
        if VECTOR.search(operands) and (STORE.match(operands) or ARM_STORE.match(mnemonic) or
                                        STACK.search(operands)):
            sys.exit(f"{path}, {name}: {address:x}: the loop goes through memory: "
                     f"{mnemonic} {operands}")
    counts = collections.Counter(line[1] for line in loop)
    for mnemonic in sorted(counts):
        print(mnemonic, counts[mnemonic])


if __name__ == "__main__":
    main()
