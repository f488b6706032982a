# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what AMD kernels do in group memory is waited for before every barrier.

    lds_waits.py OBJDUMP CODE_OBJECT...

Follows every path through the machine code, also around loops, with what may be under way: an
instruction on group memory begins something, a wait for all of them ends it, and a barrier must
find nothing. Prints one line for each code object; exits with 1 where a barrier finds something.
"""

import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^\t(\S+)(.*?)\s*// ([0-9A-F]+):((?: [0-9A-F]{8})+)(?: <(\S+?)(?:\+0x([0-9a-f]+))?>)?$")
# Lanes of a wave exchange values by these, and no memory is touched.
EXCHANGES = re.compile(r"ds_(b?permute|swizzle|nop)")
ENDS = ("s_endpgm", "s_branch", "s_setpc_b64", "s_trap")


def touches_group_memory(name):
    return (name.startswith("ds_") and not EXCHANGES.match(name)) or name.startswith("flat_")


def waits(name, operands):
    """Whether nothing on group memory is under way behind it."""
    if name == "s_waitcnt":
        return "lgkmcnt(0)" in operands or operands.strip() in ("0", "0x0")
    if name == "s_waitcnt_lgkmcnt":
        return operands.strip() in ("null, 0x0", "null, 0")
    return name in ("s_wait_dscnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt") and operands.strip() in ("0x0", "0")


def is_barrier(name):
    """gfx12 tells the others in one instruction, and waits for them in the next."""
    return name == "s_barrier" or name.startswith("s_barrier_signal")


def read(objdump, path):
    """Instructions by their address: name, operands, where it may jump, the next one."""
    text = subprocess.run([objdump, "-d", path], check=True, capture_output=True, text=True).stdout
    starts = {name: int(at, 16) for at, name in re.findall(r"^([0-9a-f]+) <(\S+)>:$", text, re.M)}
    code = {}
    for line in text.splitlines():
        match = INSTRUCTION.match(line)
        if not match:
            continue
        name, operands, at, words, symbol, offset = match.groups()
        at = int(at, 16)
        jump = starts[symbol] + int(offset or "0", 16) if symbol and name.startswith(("s_branch", "s_cbranch")) else None
        code[at] = [name, operands, jump, at + 4 * len(words.split())]
    return starts, code


def check(objdump, path):
    starts, code = read(objdump, path)
    barriers = [at for at, row in code.items() if is_barrier(row[0])]
    found, seen = {}, set()
    todo = [(at, None) for at in starts.values() if at in code]
    while todo:
        at, pending = todo.pop()
        if (at, pending is not None) in seen or at not in code:
            continue
        seen.add((at, pending is not None))
        name, operands, jump, following = code[at]
        if is_barrier(name) and pending is not None:
            found[at] = pending
        if touches_group_memory(name):
            pending = at
        elif waits(name, operands):
            pending = None
        if jump is not None:
            todo.append((jump, pending))
        if not name.startswith(ENDS):
            todo.append((following, pending))
    for at, pending in sorted(found.items()):
        print(f"{path}: {code[at][0]} at {at:#x}: {code[pending][0]} at {pending:#x} may be under way")
    print(f"{path}: {len(barriers)} barriers, {len(found)} too early")
    return not found


def main():
    objdump, *paths = sys.argv[1:]
    sys.exit(0 if all([check(objdump, path) for path in paths]) else 1)


main()
