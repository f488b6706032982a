# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""whole_groups.py FILE: launches the kernels of cc/whole_groups.c over 256 work-items, with bounds around those of groups."""
import subprocess
import sys

EXPECTED = {"below": lambda i, n: i + 1 if i < n else 0, "above": lambda i, n: i + 1 if i >= n else 0, "added": lambda i, n: (n - i % 64) % 2**32}
BOUNDS = (0, 1, 63, 64, 65, 127, 128, 200, 255, 256, 257, 2**31, 2**32 - 1)

for kernel, value in EXPECTED.items():
    for n in BOUNDS:
        done = subprocess.run(["kdl", "run", sys.argv[1], kernel, "--items=256", "--device=host", "--arg=buf:u32[256]", f"--arg=u32:{n}", "--dump=arg0"],
                              stdout=subprocess.PIPE, text=True, check=True)
        found = list(map(int, done.stdout.splitlines()[-1].split(" = ")[1].split()))
        assert found == [value(i, n) for i in range(256)], (kernel, n, found)
print(len(EXPECTED) * len(BOUNDS), "launches are right")
