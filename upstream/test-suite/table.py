#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""table.py NAME=FILE...: the medians of the real times in JSON files of OffloadDispatch, as a table with a column for each."""
import json
import sys

columns = [argument.split("=", 1) for argument in sys.argv[1:]]
times = {name: {row["run_name"].split("/real_time")[0]: row["real_time"] for row in json.load(open(file))["benchmarks"] if row.get("aggregate_name") == "median"}
         for name, file in columns}
rows = list(dict.fromkeys(row for column in times.values() for row in column))


def text(nanoseconds):
    return f"{nanoseconds / 1000:.3g} µs" if nanoseconds >= 1000 else f"{nanoseconds:.3g} ns"


print("| | " + " | ".join(times) + " |\n|---|" + "---|" * len(times))
for row in rows:
    print(f"| `{row}` | " + " | ".join(text(column[row]) if row in column else "-" for column in times.values()) + " |")
