#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""turns.py OLD NEW [--turns=N] [-- ARGUMENT...]: two builds, in turns, by a suite of kdl bench (kernels on 1 and all threads by default).

Each turn runs OLD/bin/kdl-bench and NEW/bin/kdl-bench with the same arguments, in an order that changes. For each figure of kdl the least median of
a build's runs counts, since others have the CPUs at times; CPU is the user time of all processes of a run, the least of them. The exit code is 1 where the
geometric mean of new over old is above 1.02."""
import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

DEFAULT = ["kernels", "--threads=1,all", "--peers=", "--blocks=5"]


def run(build, arguments, file):
    """Medians of kdl's figures in ns, and seconds of CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([build / "bin" / "kdl-bench", *arguments, f"--json={file}"], check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    data = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    return {row["name"]: row["median"] for row in data["figures"] if row["name"].endswith("/kdl")}, used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    words, _, arguments = (" ".join(["", *sys.argv[1:], ""])).partition(" -- ")
    options = parser.parse_args(words.split())
    arguments = arguments.split() or DEFAULT
    runs = {"old": [], "new": []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.turns):
            for name in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                runs[name].append(run(getattr(options, name), arguments, os.path.join(folder, "run.json")))
    least = {name: {row: min(figures[row] for figures, _ in found) for row in found[0][0]} for name, found in runs.items()}
    ratios = {row: least["new"][row] / ns for row, ns in least["old"].items() if row in least["new"]}
    for row, ratio in ratios.items():
        print(f"{row:44} old {least['old'][row] / 1e3:10.2f} us, new {least['new'][row] / 1e3:10.2f} us, {ratio:.3f}")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    cpu = {name: min(used for _, used in found) for name, found in runs.items()}
    print(f"geometric mean, new over old: {mean:.3f}; CPU: old {cpu['old']:.2f} s, new {cpu['new']:.2f} s")
    return mean > 1.02


if __name__ == "__main__":
    sys.exit(main())
