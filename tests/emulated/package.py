# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""package.py LIBRARY: launches by the Python package on the first GPU of HIP's, directly and by a sequence. For
scripts/evidence-amd.sh."""
import struct
import sys

import kdl

COUNT = 100
gpu = kdl.device("hip:0")
print(gpu)
scale = kdl.open(sys.argv[1]).kernel("scale", gpu)
x, y, z = (kdl.Buffer(gpu, 4 * COUNT) for _ in range(3))


def values(buffer):
    data = bytearray(4 * COUNT)
    buffer.read(data)
    return list(struct.unpack(f"{COUNT}f", data))


x.write(struct.pack(f"{COUNT}f", *range(COUNT)))
scale[COUNT](2.0, x, y, COUNT)
assert values(y) == [2.0 * i for i in range(COUNT)], values(y)
with kdl.Sequence(gpu, y=y) as steps:
    scale[COUNT](3.0, x, y, COUNT)
    scale[COUNT](2.0, y, x, COUNT)
for factor, target in ((1, y), (6, z), (36, y)):
    steps.run(y=target)
    assert values(target) == [3.0 * factor * i for i in range(COUNT)], values(target)
print("sequence:", steps.info())
print("right")
