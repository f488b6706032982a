#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts lines of code by component: neither blank nor comment alone, of the files that git tracks.

    scripts/lines.py [FOLDER]
"""
import pathlib
import re
import subprocess
import sys

# What a component is made of; the first that a path begins with counts.
COMPONENTS = (("core", ("lib/", "include/", "support/")), ("extensions", ("ext/",)),
              ("linker and microkernels", ("ld/", "compiler/", "matmul/")), ("compiler driver and packaging", ("cc/", "pack/")),
              ("command", ("tools/",)), ("Python", ("python/",)), ("MLIR", ("mlir/", "upstream/")),
              ("benchmarks", ("bench/",)), ("examples", ("examples/",)), ("tests", ("tests/",)),
              ("scripts and build", ("scripts/", "cmake/", ".ci/", "Makefile", "CMakeLists.txt", "CMakePresets.json")))
LINE_COMMENTS = {".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#", ".td": "//", ".mlir": "//", ".test": "#"}
C_LIKE = (".c", ".h", ".cpp", ".cc", ".cu", ".inc", ".def")


def code_lines(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in C_LIKE:
        # Strings first, so that what looks like a comment in them stays.
        text = re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*',
                      lambda found: found[0] if found[0][0] == '"' else "\n" * found[0].count("\n"), text, flags=re.DOTALL)
        return sum(bool(line.strip()) for line in text.splitlines())
    mark = LINE_COMMENTS[path.suffix]
    return sum(bool(line.strip()) and not line.strip().startswith(mark) for line in text.splitlines())


def is_code(path):
    if path.suffix == ".txt":
        return path.name == "CMakeLists.txt"
    return path.suffix in C_LIKE or path.suffix in LINE_COMMENTS


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    tracked = subprocess.run(["git", "-C", str(root), "ls-files"], check=True, capture_output=True, text=True).stdout
    sums = {name: [0, 0] for name, _ in COMPONENTS}
    for name in tracked.splitlines():
        component = next((title for title, starts in COMPONENTS if name.startswith(starts)), None)
        path = root / name
        if component and is_code(path) and path.is_file():
            sums[component][0] += 1
            sums[component][1] += code_lines(path)
    print(f"{'COMPONENT':32}{'FILES':>8}{'LINES':>10}")
    for name, (files, lines) in sums.items():
        print(f"{name:32}{files:8,}{lines:10,}")
    print(f"{'all':32}{sum(f for f, _ in sums.values()):8,}{sum(n for _, n in sums.values()):10,}")


if __name__ == "__main__":
    main()
