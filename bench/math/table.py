#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""table.py FILE...: the tables of ulp, side by side, with float and double in one row."""
import sys

header, rows = [], {}
for path in sys.argv[1:]:
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in open(path) if line.startswith("|")]
    names = lines[0][1:]
    for line in lines[2:]:
        cells = rows.setdefault(line[0].strip("`"), [])
        cells += ["-"] * (len(header) - len(cells)) + line[1:]
    header += names
print("| | " + " | ".join(header) + " |\n|---|" + "---|" * len(header))
for name, cells in rows.items():
    cells += ["-"] * (len(header) - len(cells))
    if name.startswith("native_"):
        print(f"| `{name}` | " + " | ".join(cells) + " |")
    elif name.endswith("f") and name[:-1] in rows:
        doubles = rows[name[:-1]] + ["-"] * (len(header) - len(rows[name[:-1]]))
        print(f"| `{name[:-1]}` | " + " | ".join(f"{a}, {b}" for a, b in zip(cells, doubles)) + " |")
