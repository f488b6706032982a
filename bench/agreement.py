# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""agreement.py RUN.json RUN.json ...: whether runs of the same `kdl bench` agree within the intervals that they
print. Every figure of every run is held against the same figure of every other run: do their intervals meet?
Of 95% intervals of one and the same median hardly any pair lies apart; how many do is what is told, and which.
"""
import argparse
import itertools
import json
import sys


def meet(one, other):
    return one["low"] <= other["high"] and other["low"] <= one["high"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="RUN.json")
    parser.add_argument("--least", type=float, metavar="PERCENT",
                        help="return 1 where fewer of the pairs meet than this")
    options = parser.parse_args()
    if len(options.runs) < 2:
        parser.error("found 1 run, expected two or more")
    runs = []
    for path in options.runs:
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file))
    for path, run in zip(options.runs, runs):
        if run.get("schema") != "kdl-bench-1" or run["suite"] != runs[0]["suite"]:
            sys.exit(f"agreement.py: {path}: found another schema or suite than kdl-bench-1, {runs[0]['suite']}")
    machines = [run["machine"] for run in runs]
    print(f"{len(runs)} runs of kdl bench {runs[0]['suite']}")
    print("others had " + ", ".join("?" if m.get("others") is None else f"{m['others']:.1%}" for m in machines) +
          " of the CPUs meanwhile")
    tables = [{figure["name"]: figure for figure in run["figures"]} for run in runs]
    names = [name for name in tables[0] if all(name in table for table in tables)]
    pairs = met = held = 0
    apart = []
    for name in names:
        figures = [table[name] for table in tables]
        together = list(itertools.combinations(figures, 2))
        well = sum(meet(one, other) for one, other in together)
        pairs += len(together)
        met += well
        held += sum(one["low"] <= other["median"] <= one["high"] for one, other in together)
        if well < len(together):
            apart.append((len(together) - well, name, figures))
    print(f"{len(names)} figures, {pairs} pairs: the intervals of {met} meet ({met / max(pairs, 1):.1%}); "
          f"{held} hold the other's median ({held / max(pairs, 1):.1%})")
    for count, name, figures in sorted(apart, key=lambda row: (-row[0], row[1])):
        medians = " ".join(f"{figure['median']:.6g}" for figure in figures)
        print(f"  {count} apart: {name}: medians {medians} ns")
    return 1 if options.least is not None and met < pairs * options.least / 100 else 0


if __name__ == "__main__":
    sys.exit(main())
