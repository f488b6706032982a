#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes files beside LIB that differ from it in one thing which keeps them from being thinned: thin_odd.py LIB"""
import struct
import sys

with open(sys.argv[1], "rb") as file:
    good = file.read()
table, = struct.unpack_from("<Q", good, 32)
count, = struct.unpack_from("<H", good, 56)
headers = [table + 56 * i for i in range(count)]
loads = [at for at in headers if struct.unpack_from("<I", good, at)[0] == 1]
dynamic = next(at for at in headers if struct.unpack_from("<I", good, at)[0] == 2)


def write(name, *changes, data=good):
    data = bytearray(data)
    for form, at, value in changes:
        struct.pack_into(form, data, at, value)
    with open(name + ".so", "wb") as file:
        file.write(data)


write("sections", ("<Q", 40, 0), ("<H", 60, 0), ("<H", 62, 0))
write("overlap", ("<Q", loads[1] + 40, 1 << 30))
write("align", ("<Q", loads[3] + 48, 1 << 62))
write("power", ("<Q", loads[0] + 48, 0x1001))
write("beyond", ("<Q", loads[3] + 32, 1 << 20), ("<Q", loads[3] + 40, 1 << 20))
offset, = struct.unpack_from("<Q", good, dynamic + 8)
write("prelinked", ("<Q", offset, 0x6ffffdf5))
write("signed", data=good + b"~Module signature appended~\n")
write("class", ("<B", 4, 1))
write("cut", data=good[:len(good) // 2])
