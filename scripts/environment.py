#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds environment variables that are read without a row in support/system/environment.def, and rows that nothing reads.

    scripts/environment.py [TREE]   fails with a line for each

C and C++ of the product read a variable by its constant, kdl_environment(KDL_VARIABLE_PTXAS), and call getenv nowhere but in PLACES. Tests,
benchmarks and examples may call getenv; each KDL_ name in their strings is a row. So is each name that Python reads in the package and its
setup, and each KDL_ name that other Python reads.
"""
import os
import re
import sys

TABLE = "support/system/environment.def"
PRODUCT = ("include", "support", "lib", "ext", "ld", "compiler", "cc", "pack", "tools", "matmul", "mlir", "python")
OTHERS = ("tests", "bench", "examples", "scripts")
NOT_PRODUCT = ("mlir/test/", "mlir/bench/", "python/tests/", "python/build/")
C_FILES, PYTHON_FILES = (".c", ".h", ".cpp", ".cu"), (".py",)

# Where getenv is called, and why.
PLACES = {
    "support/system/variables.c": "kdl_environment",
    "lib/backends/common/services.c": "plug-ins have variables of their own",
    "matmul/division.h": "the MLIR plugin decides by it, too",
}
# Strings that name no variable: macros of kernels, a flag, and options of CMake.
OTHER_NAMES = {"KDL_BLOCK", "KDL_OPEN_GLOBAL", "KDL_SUBGROUP", "KDL_TILE", "KDL_WITH_LZ4", "KDL_WITH_ZLIB", "KDL_WITH_ZSTD"}

ROW = re.compile(r"^(OURS|THEIRS)\((\w+), (\w+),|^KDL_TEST_VARIABLE_ROW\(\"(\w+)\"", re.M)
CONSTANT = re.compile(r"\bKDL_VARIABLE_(?!(?:GROUP|ROW|COUNT|RULE_[A-Z_]+)\b)([A-Z0-9_]+)\b")
GETENV = re.compile(r"\b(?:(?:secure_)?getenv|GetEnv)\s*\(\s*(?:\"(\w+)\")?")
STRING = re.compile(r"\"(KDL_[A-Z0-9_]+)[=\"]")
# A place of a tool, "$CUDA_HOME/bin/ptxas": support/system/tool_search.h.
PLACE = re.compile(r"\"\$(\w+)/")
ENVIRON = re.compile(r"\b(?:os\.)?(?:environ(?:\.get|\.pop|\.setdefault)?\s*[\[(]|getenv\()\s*f?(?:[\"'](\w+)[\"'])?")
IN_ENVIRON = re.compile(r"[\"'](\w+)[\"'] (?:not )?in os\.environ")


def files(root, tops, suffixes):
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(suffixes):
                    with open(os.path.join(root, path), errors="replace", encoding="utf-8") as file:
                        yield path, file.read()


def is_product(path):
    return path.startswith(tuple(f"{top}/" for top in PRODUCT)) and not path.startswith(NOT_PRODUCT)


class Table:
    """The rows, and who was seen to read them."""

    def __init__(self, root):
        with open(os.path.join(root, TABLE), encoding="utf-8") as file:
            rows = ROW.findall(file.read())
        self.constants = {id_: f"KDL_{id_}" if whose == "OURS" else id_ for whose, id_, _, _ in rows if id_}
        self.tested = {test for *_, test in rows if test}
        self.names = set(self.constants.values()) | self.tested
        self.read = set()
        self.wrong = []

    def note(self, path, text, at, name):
        """A variable that is read at a place of a file."""
        if name in self.names:
            self.read.add(name)
        else:
            self.wrong.append(f"{path}:{text.count(chr(10), 0, at) + 1}: {name} has no row in {TABLE}")

    def refuse(self, path, text, at, what):
        self.wrong.append(f"{path}:{text.count(chr(10), 0, at) + 1}: {what}")


def read_c(table, path, text):
    if path.startswith("support/system/variables."):
        return
    product = is_product(path)
    for match in CONSTANT.finditer(text):
        if match[1] not in table.constants:
            table.refuse(path, text, match.start(), f"{match[0]} has no row in {TABLE}")
        elif not path.startswith("tests/"):
            table.read.add(table.constants[match[1]])
    for match in GETENV.finditer(text):
        if product and path not in PLACES:
            table.refuse(path, text, match.start(), "getenv: read it as kdl_environment(KDL_VARIABLE_...) does")
        elif match[1] and (match[1].startswith("KDL_") or path in PLACES):
            table.note(path, text, match.start(), match[1])
    for match in PLACE.finditer(text):
        if product:
            table.note(path, text, match.start(), match[1])
    for match in STRING.finditer(text):
        if match[1] in table.names or match[1] in OTHER_NAMES:
            table.read.update({match[1]} & table.tested)
        else:
            table.refuse(path, text, match.start(), f"{match[1]} has no row in {TABLE}")


def read_python(table, path, text):
    for match in [*ENVIRON.finditer(text), *IN_ENVIRON.finditer(text)]:
        if match[1] and (is_product(path) or match[1].startswith("KDL_")):
            table.note(path, text, match.start(), match[1])
        elif not match[1] and is_product(path):
            table.refuse(path, text, match.start(), "a variable without its name in the call")


def check(root):
    table = Table(root)
    for path, text in files(root, PRODUCT + OTHERS, C_FILES):
        if not path.startswith("python/build/"):
            read_c(table, path, text)
    for path, text in files(root, PRODUCT + OTHERS, PYTHON_FILES):
        if not path.startswith("python/build/"):
            read_python(table, path, text)
    table.wrong += [f"{TABLE}: nothing reads {name}" for name in sorted(table.names - table.read)]
    return sorted(set(table.wrong)), len(table.names)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    wrong, count = check(root)
    for line in wrong:
        print(f"environment: {line}", file=sys.stderr)
    if not wrong:
        print(f"environment: {count} rows, each read, and every variable that is read has one")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
