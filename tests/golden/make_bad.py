#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes tests/golden/bad from the good files: each is one good file with one thing wrong.

    make_bad.py [--probe PROGRAM]

With --probe the messages of the program are written to bad/EXPECTED, to be read before they are committed; tests/golden/probe.c
is such a program.
"""
import argparse
import os
import shutil
import struct
import subprocess
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
BAD = os.path.join(HERE, "bad")
U64 = 2**64 - 1


def good(name):
    return bytearray(open(os.path.join(HERE, name), "rb").read())


def put(data, offset, value, width=8):
    data[offset:offset + width] = (value % 2**(8 * width)).to_bytes(width, "little")
    return data


def cut(name, *sizes):
    return {f"cut_{size:03}": good(name)[:size] for size in sizes}


def offload_v1():
    name = "offload/v1_one.offload"
    files = cut(name, 1, 4, 8, 16, 24, 31, 32, 40, 48, 56, 64, 72, 80, 88, 104, 120, 144, 160, 167)
    fields = {"version": (4, 4), "size": (8, 8), "entry_offset": (16, 8), "entry_size": (24, 8), "string_offset": (40, 8),
              "num_strings": (48, 8), "image_offset": (56, 8), "image_size": (64, 8), "key_offset": (72, 8), "value_offset": (80, 8)}
    for field, (offset, width) in fields.items():
        files[f"{field}_max"] = put(good(name), offset, U64, width)
    files["version_0"] = put(good(name), 4, 0, 4)
    files["size_0"] = put(good(name), 8, 0)
    files["size_wraps"] = put(good(name), 8, U64 - 7)
    files["entry_in_header"] = put(good(name), 16, 8)
    files["strings_wrap"] = put(good(name), 48, 2**60 + 1)
    files["image_is_header"] = put(put(good(name), 56, 0), 64, 168)
    files["image_over_entry"] = put(good(name), 56, 40)
    files["image_over_map"] = put(good(name), 56, 80)
    files["string_without_end"] = put(good(name)[:150] + b"x" * 18, 80, 160)
    files["trailing_text"] = good(name) + b"trailing text, 16"
    return files


def offload_v2():
    name = "offload/v2_three.offload"
    files = cut(name, 32, 72, 112, 152, 160, 200, 320, 500, 535)
    files["count_max"] = put(good(name), 24, U64)
    files["count_wraps"] = put(good(name), 24, U64 // 40 + 2)
    files["images_overlap"] = put(good(name), 32 + 40 + 24, 0x1f8)
    files["value_size_max"] = put(good(name), 168, U64)
    files["value_offset_max"] = put(good(name), 160, U64)
    return files


def offload_v3():
    name = "offload/v3_zlib.offload"
    files = cut(name, 32, 36, 40, 41, 100, 250)
    files["inflated_max"] = put(good(name), 32, U64)
    files["inflated_small"] = put(good(name), 32, 39)
    files["entries_offset"] = put(good(name), 16, 48)
    files["not_a_stream"] = good(name)[:40] + b"\x78\x9cnot a deflate stream" + good(name)[64:]
    # A gigabyte of 0xff: whatever it is read as points beyond every end.
    packer = zlib.compressobj(9)
    stream = b"".join(packer.compress(b"\xff" * (1 << 20)) for _ in range(64)) + packer.flush()
    header = struct.pack("<4sIQQQQ", b"\x10\xff\x10\xad", 3, 40 + len(stream), 40, 1, 1 << 30)
    files["bomb"] = header + stream
    return files


def elf():
    base = bytearray(open(os.path.join(HERE, "../fuzz/corpus/fuzz_elf/clang_embedded.o"), "rb").read())
    table, = struct.unpack_from("<Q", base, 40)
    count, names = struct.unpack_from("<HH", base, 60)
    index = next(i for i in range(count) if struct.unpack_from("<I", base, table + i * 64 + 4)[0] == 0x6FFF4C0B)
    section = table + index * 64
    fresh = lambda: bytearray(base)
    files = {f"cut_{size:04}": base[:size] for size in (16, 40, 52, 60, 63, 64, 200, len(base) - 1)}
    files["class"] = put(fresh(), 4, 7, 1)
    files["table_max"] = put(fresh(), 40, U64)
    files["table_wraps"] = put(fresh(), 40, U64 - 63)
    files["entry_size_0"] = put(fresh(), 58, 0, 2)
    files["count_max"] = put(fresh(), 60, 0xFFFF, 2)
    files["names_index"] = put(fresh(), 62, 0xFF00, 2)
    files["section_offset_max"] = put(fresh(), section + 24, U64)
    files["section_size_max"] = put(fresh(), section + 32, U64)
    files["sections_overlap"] = fresh()
    put(files["sections_overlap"], table + 2 * 64 + 4, 0x6FFF4C0B, 4)
    for field in (24, 32):
        value, = struct.unpack_from("<Q", base, section + field)
        put(files["sections_overlap"], table + 2 * 64 + field, value)
    return files


def archive():
    base = bytearray(open(os.path.join(HERE, "../fuzz/corpus/fuzz_archive/gnu.a"), "rb").read())
    fresh = lambda: bytearray(base)
    files = {f"cut_{size:03}": base[:size] for size in (9, 40, 67, 68, 100, len(base) - 1)}
    files["size_text"] = fresh()[:56] + b"12x4      " + fresh()[66:]
    files["size_large"] = fresh()[:56] + b"9999999999" + fresh()[66:]
    files["no_end_mark"] = put(fresh(), 66, 0, 2)
    files["thin"] = b"!<thin>\n" + fresh()[8:]
    inner = bytes(good("offload/v1_one.offload"))
    for _ in range(5):
        inner = b"!<arch>\n" + b"%-16s%-12d%-6d%-6d%-8d%-10d`\n" % (b"in/", 0, 0, 0, 644, len(inner)) + inner
    files["deep"] = inner
    return files


def bundle():
    name = "bundle/plain.hipfb"
    files = cut(name, 24, 28, 32, 40, 56, 60, 90)
    files["count_max"] = put(good(name), 24, U64)
    second = 56 + struct.unpack_from("<Q", good(name), 48)[0]  # the first is the empty host entry
    files["offset_max"] = put(good(name), second, U64)
    files["size_max"] = put(good(name), second + 8, U64)
    files["id_max"] = put(good(name), second + 16, U64)
    return files


def ccob():
    name = "bundle/v3.ccob"
    files = cut(name, 4, 8, 16, 24, 32, 60)
    files["version"] = put(good(name), 4, 9, 2)
    files["method"] = put(good(name), 6, 9, 2)
    files["total_max"] = put(good(name), 8, U64)
    files["total_small"] = put(good(name), 8, 31)
    files["inflated_max"] = put(good(name), 16, U64)
    files["inflated_0"] = put(good(name), 16, 0)
    files["damaged"] = good(name)[:40] + b"\xff" * 20 + good(name)[60:]
    # 64 MiB of blanks said to be 32 GiB.
    stream = zlib.compress(b" " * (1 << 26), 9)
    files["bomb"] = struct.pack("<4sHHQQQ", b"CCOB", 3, 0, 32 + len(stream), 1 << 35, 0) + stream
    return files


def fatbin():
    name = "fatbin/zstd.fatbin"
    files = cut(name, 4, 8, 15, 16, 20, 40, 79)
    files["size_max"] = put(good(name), 8, U64)
    files["header_size"] = put(good(name), 6, 4, 2)
    files["entry_header_max"] = put(good(name), 16 + 4, 0xFFFFFFFF, 4)
    files["entry_header_0"] = put(good(name), 16 + 4, 0, 4)
    files["payload_max"] = put(good(name), 16 + 8, U64)
    files["compressed_max"] = put(good(name), 16 + 16, 0xFFFFFFFF, 4)
    files["inflated_max"] = put(good(name), 16 + 56, U64)
    files["name_max"] = put(put(good(name), 16 + 32, 0xFFFFFFF0, 4), 16 + 36, 0xFFFFFFFF, 4)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", help="a program that prints NAME, status and message for each file it is given")
    arguments = parser.parse_args()
    shutil.rmtree(BAD, ignore_errors=True)
    os.mkdir(BAD)
    names = []
    for maker in (offload_v1, offload_v2, offload_v3, elf, archive, bundle, ccob, fatbin):
        for name, data in maker().items():
            names.append(f"{maker.__name__}.{name}")
            open(os.path.join(BAD, names[-1]), "wb").write(data)
    if arguments.probe:
        out = subprocess.run([arguments.probe] + names, cwd=BAD, stdout=subprocess.PIPE, check=True).stdout
        open(os.path.join(BAD, "EXPECTED"), "wb").write(out)


if __name__ == "__main__":
    main()
