#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs LLVM's own tests of OffloadBinary with kdl in place of LLVM's tools.

    llvm-tests.py BUILD --source=SOURCES [--llvm=PREFIX] [--work=FOLDER]

BUILD is a build of libkdl or its installation. SOURCES is a checkout of LLVM, or its tarball, of the version in PREFIX (/usr/lib/llvm-22): tests of llvm/test about
OffloadBinary, and each of clang/test with a RUN line of llvm-offload-binary or clang-offload-packager. They run twice: with LLVM's tools, and with kdl under these two
names. What passes with LLVM's and not with kdl is a failure, unless DIFFERENT has the reason.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

NAMES = ("llvm-offload-binary", "clang-offload-packager")
FOLDERS = ("llvm/test/tools/llvm-offload-binary/", "llvm/test/ObjectYAML/Offload/", "llvm/test/tools/llvm-objdump/Offloading/")
INPUTS = ("clang/test/Driver/Inputs/hipspv/",)
RUNS = re.compile(r"RUN:.*\b(" + "|".join(NAMES) + r")\b")
# Tests that check something that kdl does otherwise on purpose: docs/cli.md.
DIFFERENT = {"offload-packager.c": "asks for --archive, which kdl does not provide",
             "llvm-offload-binary-malformed.ll": "kdl's message has the place, what was found and what was expected"}

CONFIG = """
import lit.formats, os
config.name = "LLVM"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".test", ".yaml", ".c", ".cpp", ".cu", ".hip"]
config.excludes = ["Inputs"]
config.test_source_root = {root!r}
config.test_exec_root = {out!r}
config.environment["PATH"] = os.pathsep.join({path!r} + [os.environ["PATH"]])
config.available_features.update(["x86-registered-target", "amdgpu-registered-target", "nvptx-registered-target", "spirv-registered-target", "zlib", "zstd",
                                  "system-linux", "x86_64-linux", "lld", "target=x86_64-pc-linux-gnu", "spirv-tools"])
config.substitutions += [("%clang_cc1", "clang -cc1 -nostdsysteminc"), ("%clangxx", "clang++"), (r"%clang\\b", "clang"), ("%python", "python3"), ("%llc", "llc")]
"""


def fail(words):
    sys.exit(f"llvm-tests.py: {words}")


def is_selected(name, read):
    if name.startswith(FOLDERS + INPUTS):
        return True
    return name.startswith("clang/test/") and bool(RUNS.search(read()))


def collect(options):
    """A folder with the tests alone."""
    root = options.work / "tests"
    shutil.rmtree(root, ignore_errors=True)
    if options.source.is_dir():
        for path in sorted((options.source / "clang/test").rglob("*")) + [p for f in FOLDERS for p in sorted((options.source / f).rglob("*"))]:
            name = path.relative_to(options.source).as_posix()
            if path.is_file() and is_selected(name, lambda path=path: path.read_text(errors="replace")):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, root / name)
        return root
    with tarfile.open(options.source) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if not member.isfile() or not name.startswith(FOLDERS + ("clang/test/",)):
                continue
            data = archive.extractfile(member).read()
            if is_selected(name, lambda data=data: data.decode(errors="replace")):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(data)
    return root


def lit(options, root, label, path):
    work = options.work / label
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "lit.site.cfg.py").write_text(CONFIG.format(root=str(root), out=str(work / "out"), path=path))
    names = [p.relative_to(root).as_posix() for p in sorted(root.rglob("*")) if p.is_file() and "Inputs" not in p.parts and p.name != "lit.local.cfg"]
    subprocess.run([str(options.llvm / "bin" / "lit"), "-q", "--no-progress-bar", "--ignore-fail", "-v", "-o", str(work / "results.json"),
                    *(str(work / name) for name in names)], stdout=(work / "log").open("w"), stderr=subprocess.STDOUT, check=False)
    if not (work / "results.json").exists():
        fail(f"lit: see {work}/log")
    return {test["name"].removeprefix("LLVM :: "): test["code"] for test in json.loads((work / "results.json").read_text())["tests"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--llvm", type=pathlib.Path, default=pathlib.Path("/usr/lib/llvm-22"))
    parser.add_argument("--work", type=pathlib.Path)
    options = parser.parse_args()
    options.work = (options.work or options.build / "llvm-tests").resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    kdl = (options.build / "bin" / "kdl").resolve()
    if not kdl.exists():
        fail(f"{kdl}: found no program")
    root = collect(options).resolve()
    links = options.work / "bin"
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir()
    for name in NAMES:
        (links / name).symlink_to(kdl)
    llvm = str(options.llvm / "bin")
    stock = lit(options, root, "stock", [llvm])
    ours = lit(options, root, "kdl", [str(links), llvm])
    worse = 0
    for name, code in sorted(stock.items()):
        if code == "PASS" and ours.get(name) == "PASS":
            continue
        why = DIFFERENT.get(name.rpartition("/")[2], "")
        worse += code == "PASS" and not why
        print(f"  {name}: {code} with LLVM's tools, {ours.get(name)} with kdl" + (f": {why}" if why else ""))
    count = {label: sum(code == "PASS" for code in codes.values()) for label, codes in (("LLVM's tools", stock), ("kdl", ours))}
    print("; ".join(f"{label}: {passed} PASS of {len(stock)}" for label, passed in count.items()))
    sys.exit(1 if worse or not stock else 0)


main()
