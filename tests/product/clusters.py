#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of docs/clusters.md: blocks that are fenced as sh, in their order.

    clusters.py SOURCE print NAME       those of the block "sh NAME", for the test that has what they need
    clusters.py SOURCE run PREFIX WORK  runs the others, one shell for all, in WORK, with what is installed in PREFIX

Exits with 77 where a program that they call is not installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys


def blocks(source, name):
    page = (pathlib.Path(source) / "docs" / "clusters.md").read_text(encoding="utf-8")
    found = re.findall(rf"^```sh{' ' + name if name else ''}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"docs/clusters.md: found no block of sh {name}")
    return "".join(found)


def run(source, prefix, work):
    for program in ("mpicc", "mpirun", "minisign", "clang-22"):
        if not shutil.which(program):
            print(f"skipped: {program} not found (Debian: libopenmpi-dev, openmpi-bin, minisign, clang-22)")
            sys.exit(77)
    if not os.path.exists(f"{prefix}/bin/kdl-ld"):
        print("skipped: kdl-ld is not built")
        sys.exit(77)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    os.symlink(f"{source}/examples", f"{work}/examples")
    script = f"{work}/page.sh"  # not by standard input, which mpirun takes
    with open(script, "w", encoding="utf-8") as file:
        file.write(blocks(source, ""))
    libraries = next(pathlib.Path(prefix).glob("lib*/**/libkdl.so")).parent
    environment = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}", CPATH=f"{prefix}/include", LIBRARY_PATH=str(libraries),
                       LD_LIBRARY_PATH=str(libraries), KDL_CACHE_DIR=f"{work}/cache", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl="^tcp", KDL_DEVICE="host", HOME=work)
    done = subprocess.run(["bash", "-euxo", "pipefail", script], stdin=subprocess.DEVNULL, env=environment, cwd=work, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    print(done.stdout)
    if done.returncode:
        sys.exit(f"exit status {done.returncode}")
    for fact in ("0 errors, 0 warnings", "arg2 = 2 2 2 2", "512 by 512 on 2 by 2 processes", "0 wrong", "shared   ", "exported ", "lower    "):
        if fact not in done.stdout:
            sys.exit(f"found no '{fact}' in what the commands print")


if __name__ == "__main__":
    if sys.argv[2] == "print":
        print(blocks(sys.argv[1], sys.argv[3]), end="")
    else:
        run(sys.argv[1], sys.argv[3], sys.argv[4])
