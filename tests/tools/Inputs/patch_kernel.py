# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""patch_kernel.py CUBIN OUT KERNEL CHANGE...: writes a copy of a cubin in which one kernel is changed.

registers=N and stack=N change what .nv.info declares of it, code changes its first instruction, exit replaces all its code by EXIT,
params=N changes the size of its last parameter, name=NAME its name (of the same length), note a byte outside of any kernel."""
import struct
import sys

source, target, kernel, *changes = sys.argv[1:]
data = bytearray(open(source, "rb").read())
table, count, names = *struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 60)
headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]


def text(at):
    return data[at:data.index(0, at)].decode()


sections = {text(headers[names][4] + header[0]): header for header in headers}
symbols, strings = sections[".symtab"], headers[sections[".symtab"][6]]
symbol = next(i for i in range(symbols[5] // 24)
              if text(strings[4] + struct.unpack_from("<I", data, symbols[4] + 24 * i)[0]) == kernel
              and data[symbols[4] + 24 * i + 4] & 15 == 2)


def attributes(section):
    at, end = sections[section][4], sections[section][4] + sections[section][5]
    while at < end:
        form, number, size = struct.unpack_from("<BBH", data, at)
        yield form, number, at + 4
        at += 4 + (size if form == 4 else 0)


def declare(wanted, value):
    for form, number, at in attributes(".nv.info"):
        if form == 4 and number in wanted and struct.unpack_from("<I", data, at)[0] == symbol:
            struct.pack_into("<I", data, at + 4, value)


for change in changes:
    what, _, value = change.partition("=")
    code, size = sections[".text." + kernel][4:6]
    if what == "registers":
        declare((0x2f,), int(value))
    elif what == "stack":
        declare((0x11, 0x12), int(value))
    elif what == "code":
        data[code + 4] ^= 1
    elif what == "exit":
        for at in range(code, code + size, 16):
            struct.pack_into("<QQ", data, at, 0x794d, 0x000fea0003800000)
    elif what == "params":
        at = next(at for form, number, at in attributes(".nv.info." + kernel) if form == 4 and number in (0x17, 0x45))
        word = struct.unpack_from("<I", data, at + 8)[0]
        struct.pack_into("<I", data, at + 8, word & 0x3ffff | int(value) << 18)
    elif what == "name":
        assert len(value) == len(kernel)
        data[:] = data.replace(kernel.encode() + b"\0", value.encode() + b"\0")
    elif what == "note":
        data[15] ^= 1
    else:
        sys.exit(f"no change {what}")
open(target, "wb").write(data)
