#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the functions of the tree, and the files they are defined in, that five common ways through it
touch. Each way runs once under valgrind's callgrind, in a build without optimisation, so that every
function is called.

    scripts/walks.py                 this tree
    scripts/walks.py --root DIR      another
    scripts/walks.py --files         also which files, with the number of functions

Subprocesses are not followed: of bitcode, the part before and after kdl-ld is counted. Functions are those
of support, lib, ext, include, tools, pack, cc, compiler and mlir/runtime in the program and libkdl; those of the fake drivers are not.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("support/", "lib/", "ext/", "include/", "tools/", "pack/", "cc/", "compiler/", "mlir/runtime/")
TARGETS = ("kdl", "kdl_shared", "kdl_mlir_runtime", "fake_whole_cuda", "fake_kdl_ld", "test_image_mark3")
KEY = "kdl.kernel.mark=sig=ptr<u32> u32; block=256x1x1"
PTX = """.version 7.8
.target sm_80
.address_size 64
.visible .entry mark(.param .u64 out, .param .u32 count) { ret; }
"""


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"walks: {' '.join(command)}\n{done.stdout}")
    return done.stdout


def build(root):
    folder = os.path.join(root, "build", "walks")
    toolchain = os.path.join(root, "cmake", "compiler.cmake")
    run(["cmake", "-S", root, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DKDL_BUILD_BENCH=OFF",
         "-DKDL_WERROR=OFF"] + ([f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"] if os.path.exists(toolchain) else []))
    run(["ninja", "-C", folder, *TARGETS])
    includes = [f"-I{root}/include", f"-I{root}/mlir/runtime"]
    libraries = [f"-L{folder}/lib", f"-Wl,-rpath,{folder}/lib"]
    for name, options in (("walk", []), ("walk_mlir", ["-DWALK_MLIR", "-lkdl_mlir_runtime"])):
        run(["cc", "-std=gnu17", "-g", "-O0", *includes, "-o", f"{folder}/{name}", f"{HERE}/walk.c", *libraries,
             *options, "-lkdl"])
    return folder


def touched(root, command, environment, work):
    """{(file, function)} of the tree that the command ran."""
    out = os.path.join(work, "callgrind")
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-strings=no", *command],
        env={**os.environ, **environment}, cwd=work)
    found = set()
    place = {"ob": "", "fl": ""}
    with open(out) as file:
        for line in file:
            match = re.match(r"(ob|fl|fn)=(.*)", line)
            if not match:
                continue
            kind, value = match.groups()
            if kind != "fn":
                place[kind] = value
                continue
            path = os.path.relpath(place["fl"], root) if os.path.isabs(place["fl"]) else place["fl"]
            if path.startswith(PARTS) and "/fakes/" not in place["ob"]:
                found.add((path, re.sub(r"'\d+$", "", value)))
    return found


def prepare(folder, work):
    """The libraries of the walks: for the host, for CUDA, as bitcode."""
    kdl = os.path.join(folder, "bin", "kdl")
    with open(os.path.join(work, "mark.ptx"), "w") as file:
        file.write(PTX)
    with open(os.path.join(work, "mark.bc"), "wb") as file:
        file.write(b"BC\xc0\xde no real bitcode: the linker is a fake")
    rows = {"host": (f"{folder}/tests/images/mark3.so", "x86_64-unknown-linux-gnu", "x86-64"),
            "cuda": ("mark.ptx", "nvptx64-nvidia-cuda", "sm_80"),
            "bitcode": ("mark.bc", "x86_64-unknown-linux-gnu", "x86-64")}
    for name, (path, triple, arch) in rows.items():
        run([kdl, "pack", "-o", name, f"--image=file={path},triple={triple},arch={arch},{KEY}"], cwd=work)


def walks(folder):
    kdl, walk = os.path.join(folder, "bin", "kdl"), os.path.join(folder, "walk")
    fakes = {"LD_LIBRARY_PATH": f"{folder}/fakes/whole",
             "KDL_FAKE_DEVICES": "cuda:sm_90 driver=13.0 memory=1GiB max_block=1024 shared=64KiB units=1"}
    linker = {"KDL_LD": f"{folder}/fakes/linker/kdl-ld", "KDL_FAKE_LD_IMAGE": f"{folder}/tests/images/mark3.so"}
    return (("kdl ls", [kdl, "ls", "host"], {}),
            ("open, sym, launch: host", [walk, "./host", "host"], {}),
            ("open, sym, launch: CUDA", [walk, "./cuda", "cuda"], fakes),
            ("bitcode, linked and launched", [walk, "./bitcode", "host"], linker),
            ("kdl explain", [kdl, "explain", "cuda", "mark", "--device=h200"], {}),
            ("launch by MLIR's runtime: host", [walk + "_mlir", "./host", "host"], {}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(HERE, ".."))
    parser.add_argument("--files", action="store_true")
    args = parser.parse_args()
    root = os.path.realpath(args.root)
    folder = build(root)
    with tempfile.TemporaryDirectory() as work:
        os.environ["KDL_CACHE_DIR"] = os.path.join(work, "cache")
        prepare(folder, work)
        print(f"{'':32} functions  files")
        for name, command, environment in walks(folder):
            found = touched(root, command, environment, work)
            files = collections.Counter(path for path, _ in found)
            print(f"{name:32} {len(found):9} {len(files):6}")
            if args.files:
                print("".join(f"    {count:4} {path}\n" for path, count in sorted(files.items())), end="")


if __name__ == "__main__":
    main()
