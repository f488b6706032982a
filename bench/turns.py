#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""turns.py OLD NEW IMAGE [--turns=N] [--threads=1,2]: loops and launches on the host by two builds, in turns.

OLD and NEW are trees with a build below build/; IMAGE is a host image with a kernel `nothing` (build/tests/images/nothing.so). Each turn does the same
amount of work with both, in an order that changes, in processes of their own. The least of the turns counts, and the CPU time more than the time that passed where
others use the machine."""
import argparse
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LOOPS = ((50, 3000), (200, 2000), (800, 1000), (3200, 300), (12800, 80))
LAUNCHES = ((1, 20000), (16, 20000), (64, 10000), (256, 5000), (1024, 2000), (4096, 1000), (65536, 100))


def cases(image, threads):
    for count in threads:
        for far, times in LOOPS:
            yield count, ("loop", far, times, 0)
            yield count, ("loop", far, times // 4, 200)
        for groups, times in LAUNCHES:
            yield count, (image, groups, times, 0)


def compile_program(tree, out):
    subprocess.run(["cc", "-O2", "-DNDEBUG", "-D_GNU_SOURCE", f"-I{tree}/include", HERE / "turns.c", f"{tree}/build/lib/libkdl.a", "-lm", "-lpthread", "-ldl",
                    "-o", out], check=True)


def run(program, threads, words):
    environment = dict(os.environ, KDL_HOST_THREADS=str(threads))
    done = subprocess.run([program, *map(str, words)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("image")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    rows = list(cases(options.image, list(map(int, options.threads.split(",")))))
    found = {(row, name): [] for row in rows for name in ("old", "new")}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("old", "new"):
            compile_program(getattr(options, name), f"{folder}/{name}")
        for turn in range(options.turns):
            for row in rows:
                for name in ("old", "new")[::1 if turn % 2 else -1]:
                    found[row, name].append(run(f"{folder}/{name}", *row))
    print(f"{'THREADS':8}{'WHAT':30}{'OLD':>10}{'NEW':>10}{'RATIO':>7}{'MEDIANS':>8}{'CPU OLD':>10}{'CPU NEW':>10}{'RATIO':>7}")
    logarithms = []
    for row in rows:
        wall, cpu = ({name: [times[i] for times in found[row, name]] for name in ("old", "new")} for i in (0, 1))
        least = [min(times[name]) for times in (wall, cpu) for name in ("old", "new")]
        median = statistics.median(wall["new"]) / statistics.median(wall["old"])
        what = f"loop to {row[1][1]}" if row[1][0] == "loop" else f"{row[1][1]} groups"
        print(f"{row[0]:<8}{what + (', pauses' if row[1][3] else ''):30}{least[0]:10.2f}{least[1]:10.2f}{least[1] / least[0]:7.2f}{median:8.2f}"
              f"{least[2]:10.2f}{least[3]:10.2f}{least[3] / least[2]:7.2f}")
        logarithms.append((math.log(least[1] / least[0]), math.log(least[3] / least[2])))
    means = [math.exp(statistics.mean(column)) for column in zip(*logarithms)]
    print(f"geometric mean, new over old: time {means[0]:.3f}, CPU time {means[1]:.3f}")


if __name__ == "__main__":
    main()
