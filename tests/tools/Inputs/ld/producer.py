# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""producer.py IN OUT: bitcode that says it was written by LLVM 99. Its first record has the
producer's name in six bits a letter, at no particular bit."""

import string
import sys

letters = string.ascii_lowercase + string.ascii_uppercase + string.digits + "._"
data = open(sys.argv[1], "rb").read()
bits = int.from_bytes(data, "little")


def encode(text):
    return sum(letters.index(letter) << 6 * i for i, letter in enumerate(text))


known, new = [encode(f"LLVM{version}") for version in (22, 23, 24)], encode("LLVM99")
for at in range(512):
    old = bits >> at & (1 << 36) - 1
    if old in known:
        bits ^= (old ^ new) << at
        open(sys.argv[2], "wb").write(bits.to_bytes(len(data), "little"))
        sys.exit(0)
sys.exit("found no producer LLVM22, LLVM23 or LLVM24")
