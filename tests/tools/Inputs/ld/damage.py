# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""damage.py COUNT FILE OUT COMMAND...: runs the command COUNT times, each time with FILE damaged in
another way (a fixed seed; '{}' in the command is the damaged file). The command may do, refuse or
die, but it must end, and unless it did its work OUT must not be there. Prints what happened."""

import collections
import os
import random
import subprocess
import sys

count, file, out, *command = sys.argv[1:]
whole = open(file, "rb").read()
damaged = file + ".damaged"
chance = random.Random(1)
ends = collections.Counter()


def damage(data):
    data = bytearray(data)
    how = chance.randrange(4)
    at = chance.randrange(len(data))
    if how == 0:
        return data[:at]
    if how == 1:
        data[at] ^= 1 << chance.randrange(8)
    elif how == 2:
        for _ in range(16):
            data[chance.randrange(len(data))] = chance.randrange(256)
    else:
        other = chance.randrange(len(data))
        data[at:at + 64] = data[other:other + 64]
    return data


for turn in range(int(count)):
    with open(damaged, "wb") as f:
        f.write(damage(whole))
    words = [damaged if word == "{}" else word for word in command]
    done = subprocess.run(words, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        ends["done"] += 1
        os.remove(out)
        continue
    if os.path.exists(out):
        sys.exit(f"turn {turn}: ended with {done.returncode} and left {out}")
    if done.returncode == 1 and b"error: " not in done.stdout:
        sys.exit(f"turn {turn}: refused without a word")
    ends["refused" if done.returncode == 1 else "died"] += 1
print(", ".join(f"{end}: {n}" for end, n in sorted(ends.items())))
