# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""many_compressed.py CODE_OBJECT COUNT > FILE: compressed bundles of one code object each, which is followed by
8 MiB that compress well."""
import random
import struct
import sys
import zlib

ID = b"hipv4-amdgcn-amd-amdhsa--gfx90a"
random.seed(1)
noise = random.randbytes(16 * 1024)
image = open(sys.argv[1], "rb").read() + noise * 512
table = struct.pack("<24sQQQQ", b"__CLANG_OFFLOAD_BUNDLE__", 1, 4096, len(image), len(ID)) + ID
bundle = table.ljust(4096, b"\0") + image
packed = zlib.compress(bundle, 1)
ccob = struct.pack("<4sHHQQQ", b"CCOB", 3, 0, 32 + len(packed), len(bundle), 0) + packed
sys.stdout.buffer.write(ccob * int(sys.argv[2]))
