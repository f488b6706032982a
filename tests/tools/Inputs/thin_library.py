#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes lib.c, a library that carries fatbins and bundles as NVIDIA's and AMD's compilers lay them out, and the
files that it includes: thin_library.py GOLDEN [--pad=BYTES] [--no-bundles] [--packed] [--minors] [--odd]: bundles compressed with zlib; fatbins 0
and 1 for sm_80 and sm_86, which in 1 hold other kernels; an image of a kind that nobody knows for sm_100 in each

Of the fatbins, number 2 is for sm_120 alone, number 5 is referred to by code, and number 6 by an exported symbol."""
import hashlib
import random
import struct
import sys
import zlib

golden = sys.argv[1]
options = dict(o[2:].partition("=")[::2] for o in sys.argv[2:])
pad = int(options.get("pad", 40000))
noise = random.Random(1)

KINDS = {"ptx": 1, "cubin": 2, "odd": 0x100}


def image(name):
    with open(golden + "/images/" + name, "rb") as file:
        return file.read()


def entry(kind, arch, data, flags=0):
    data += noise.randbytes(pad + noise.randrange(0, 5000)) if kind == "cubin" else b"\0"
    data += b"\0" * (-len(data) % 8)
    head = struct.pack("<HHIQIIHHIIIQQQ", KINDS[kind], 0x101, 64, len(data), 0, 0, 0, 8, arch, 0, 0, 0x11 | flags, 0, 0)
    return head + data


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


cubin, ptx = image("sm_75.cubin"), image("llvm.ptx")
fatbins = []
for i in range(8):
    if i == 2:
        fatbins.append(fatbin(entry("cubin", 120, cubin)))
        continue
    if i < 2 and "minors" in options:
        fatbins.append(fatbin(entry("cubin", 80, cubin), entry("cubin", 86, image("params.cubin") if i else cubin)))
        continue
    entries = [entry("cubin", arch, cubin) for arch in (75, 80, 90, 100, 120)]
    if i % 2:
        entries.insert(3, entry("cubin", 90, image("sm_90a.cubin"), 1 << 20))
    if "odd" in options:
        entries.append(entry("odd", 100, b"\x7fOdd\0"))
    fatbins.append(fatbin(*entries, entry("ptx", 90, ptx)))

def bundle(*targets):
    """As clang-offload-bundler lays it out with --bundle-align=4096; the host's entry is empty."""
    ids = ["host-x86_64-unknown-linux-gnu-"] + ["hipv4-amdgcn-amd-amdhsa--" + target for target in targets]
    datas = [b""] + [image("gfx90a.hsaco") + noise.randbytes(pad) for _ in targets]
    at = 32 + sum(24 + len(i) for i in ids)
    table, body = b"", b""
    for i, data in zip(ids, datas):
        body += b"\0" * (-(at + len(body)) % 4096)
        table += struct.pack("<QQQ", at + len(body), len(data), len(i)) + i.encode()
        body += data
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids)) + table + body


def pack(data):
    packed = zlib.compress(data)
    digest = hashlib.md5(data, usedforsecurity=False).digest()[:8]
    return struct.pack("<4sHHII", b"CCOB", 2, 0, 24 + len(packed), len(data)) + digest + packed


for i in range(2):
    with open(f"bundle{i}.bin", "wb") as file:
        data = bundle("gfx1100", "gfx90a", "gfx942")
        file.write(pack(data) if "packed" in options else data)

text = '#define FATBIN(n) __asm__(".section .nv_fatbin,\\"a\\"\\n.balign 8\\n.hidden fatbin_" #n "\\n.globl fatbin_" #n ' \
       '"\\nfatbin_" #n ":\\n.incbin \\"fatbin" #n ".bin\\"\\n.text\\n");\n'
wrappers = []
for i, data in enumerate(fatbins):
    with open(f"fatbin{i}.bin", "wb") as file:
        file.write(data)
    text += f"FATBIN({i})\nextern const char fatbin_{i}[];\n"
    wrappers.append(f"{{0x466243b1, 1, fatbin_{i}, 0}}")
if "no-bundles" not in options:
    text += '__asm__(".section .hip_fatbin,\\"a\\"\\n.balign 4096\\n'
    for i in range(2):
        text += f'.balign 4096\\n.hidden bundle_{i}\\n.globl bundle_{i}\\nbundle_{i}:\\n.incbin \\"bundle{i}.bin\\"\\n'
    text += '.text\\n");\nextern const char bundle_0[], bundle_1[];\n'
text += f"""
struct wrapper {{ unsigned magic, version; const void *data; void *names; }};
static const unsigned table[] = {{{", ".join(str(noise.randrange(1 << 32)) + "u" for _ in range(600))}}};
__attribute__((section(".nvFatBinSegment"))) struct wrapper cuda_wrappers[] = {{ {", ".join(wrappers)} }};
const int cuda_count = {len(fatbins)};
const void *by_code(void) {{ return fatbin_5; }}
__asm__(".globl by_symbol\\n.set by_symbol, fatbin_6\\n");
unsigned sum(void) {{ unsigned s = 0; for (int i = 0; i < 600; ++i) s = s * 31 + table[i]; return s; }}
"""
if "no-bundles" not in options:
    text += """
__attribute__((section(".hipFatBinSegment"))) struct wrapper hip_wrappers[] = {{0x48495046, 1, bundle_0, 0}, {0x48495046, 1, bundle_1, 0}};
const int hip_count = 2;
"""
else:
    text += "struct wrapper hip_wrappers[1]; const int hip_count = 0;\n"
with open("lib.c", "w") as file:
    file.write(text)
