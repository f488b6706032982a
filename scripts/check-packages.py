#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the first lines of `kdl check` for real packages, beside the code that each has and what a reader makes of it.

Takes packages from the Python index, one after the other. Of each it prints the answer for several devices, and the architectures of its
images as `kdl ls` lists them. The readings are written by hand in READINGS, each for the version that it names: a newer version gets no
reading. Writes docs/checked-packages.md. Needs pip and unzip, some 4 GB of downloads, of which one is kept at a time (--keep FOLDER keeps
all and takes what is there), and ten minutes.

    scripts/check-packages.py --kdl build/bin/kdl [--keep FOLDER] [NAME...]
"""
import argparse
import collections
import datetime
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

DEVICES = "v100 a100 h200 rtx5090 mi300x".split()
PAGE = os.path.join(os.path.dirname(__file__), "..", "docs", "checked-packages.md")
READINGS = os.path.join(os.path.dirname(__file__), "check-packages.json")  # by package: version, reading
HEAD = """# Packages that `kdl check` was read on

`scripts/check-packages.py` wrote the tables of this page, on {date}: for each package of the Python index the line that
[`kdl check`](cli.md#what-counts) prints for five devices, and the code in it as `kdl ls` lists it (images by kind and architecture). The sentences below a
table are written by hand: whether the answer agrees with the code in the package, and what the rule does not see. Nothing was run on these devices.

"""


def fetch(name, folder):
    found = glob.glob(os.path.join(folder, name, "*.whl"))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", os.path.join(folder, name), name],
                       check=True)
        found = glob.glob(os.path.join(folder, name, "*.whl"))
    return found[0]


def checked(kdl, wheel, *options):
    done = subprocess.run([kdl, "check", wheel, *(f"--device={one}" for one in DEVICES), *options], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{wheel}: kdl check: {done.stderr}")
    return done.stdout


def number(arch):
    found = re.search(r"\d+", arch)
    return (int(found[0]) if found else 0, arch)


def code(kdl, wheel, members):
    """Images of the members, by kind: "cubin sm_75 sm_80"."""
    archs = collections.defaultdict(set)
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        for member in members:
            path = archive.extract(member, folder)
            listed = json.loads(subprocess.run([kdl, "ls", "--json", path], capture_output=True, text=True, check=True).stdout)
            os.remove(path)
            for image in listed["images"]:
                archs[image["image_kind"]].add(str(image["arch"]))
    return "; ".join(f"{kind} {' '.join(sorted(found, key=number))}".strip() for kind, found in sorted(archs.items()))


def section(kdl, name, wheel, readings):
    lines = checked(kdl, wheel).splitlines()
    report = json.loads(checked(kdl, wheel, "--json"))
    version = os.path.basename(wheel).split("-")[1]
    members = sorted({library["member"] for library in report["libraries"]})
    rows = [line for line in lines[2:] if line and not line.startswith("-v ")]
    said = readings.get(name, {})
    out = [f"## {name} {version}", f"{len(members)} {'library' if len(members) == 1 else 'libraries'} with device code. {code(kdl, wheel, members)}.", "",
           "```", *(rows or ["no device code"]), "```", said["reading"] if said.get("version") == version else "Not read in this version.", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kdl", required=True)
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    with open(READINGS) as file:
        readings = json.load(file)
    sections = []
    for name in options.names or readings:
        with tempfile.TemporaryDirectory() as folder:
            sections.append(section(options.kdl, name, fetch(name, options.keep or folder), readings))
        print(sections[-1], flush=True)
    if not options.names:
        with open(PAGE, "w") as page:
            page.write(HEAD.format(date=datetime.date.today()) + "\n".join(sections))


if __name__ == "__main__":
    main()
