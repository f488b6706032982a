# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exps.py FIRST STEP: reads what exps.c wrote, by `kdl run --dump`, and says how far it is from e to the x."""

import math
import re
import struct
import sys

first, step = int(sys.argv[1]), int(sys.argv[2])
found = [float(word) for word in re.search(r"^arg0 = (.*)", sys.stdin.read(), re.M)[1].split()]
worst = 0.0
for i, y in enumerate(found):
    x, = struct.unpack("<f", struct.pack("<I", (first + i // 2 * step) | (i & 1) << 31))
    if not -87.3365402 <= x <= 88.7228394:
        assert y == (0.0 if x < 0 else math.inf), (x, y)
        continue
    right = math.exp(x)
    unit = 2.0 ** (math.frexp(right)[1] - 24)
    worst = max(worst, abs(y - right) / unit)
print(f"{len(found)} values, at most {worst:.2f} units in the last place:", "right" if worst <= 2 else "WRONG")
