#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which component includes which, and whether each includes only what it may.

    scripts/includes.py             every component with its files, lines and what it includes
    scripts/includes.py --folders   the same of every folder, each behind what it includes
    scripts/includes.py --check     fails where a file includes what the rule below forbids
    scripts/includes.py --root DIR  the same of another tree

The rule: outside the library, only support and the library's inspect headers are included, beside a
component's own headers and those of the components that it is listed to stand on. Unit tests,
fuzzers, fakes and bench's peers belong to what they test. An inspect header
includes no other header of the library; it may include tables (.def), which are data. The guard of a header is its path. Folders do not include each other's headers in a circle.
"""
import argparse
import collections
import os
import re
import sys

SUFFIXES = (".c", ".h", ".cpp", ".def")
TOPS = ("include", "support", "lib", "ext", "ld", "compiler", "tools", "pack", "cc", "matmul", "mlir", "python", "bench", "examples")
INSPECT = "lib/inspect"

# The components, by folder. Peers call drivers and others as the library does, and belong to it.
COMPONENTS = ("include", "support", "lib", "ext/adaptive/commands", "ext/adaptive", "ext/jit/commands", "ext/jit", "ext/specialize", "ext/trace", "ext/inject", "ld", "compiler/ir", "compiler/text", "compiler/toolchain", "tools/common", "tools/kdl", "pack",
              "cc", "matmul", "mlir",
              "python", "bench", "examples")
OTHERWISE = {"bench/null": "peers", "bench/peers": "peers", "bench/measure": "measure", "mlir/bench": "bench"}

# The components that one stands on, besides support and the inspect headers.
USES = {"ext/specialize": {"lib/hooks.h"}, "ext/jit": {"lib/hooks.h"}, "ext/trace": {"lib/hooks.h"}, "ext/jit/commands": {"ext/jit", "ext/adaptive/commands", "lib/hooks.h", "tools/common"},
        "ext/adaptive": {"lib/hooks.h"}, "ext/adaptive/commands": {"ext/adaptive", "lib/hooks.h", "tools/common"},
        "tools/kdl": {"tools/common", "ext/adaptive/commands", "ext/inject", "ext/jit/commands", "pack", "cc", "compiler/toolchain"}, "pack": {"tools/common"},
        "cc": {"tools/common", "compiler/text", "compiler/toolchain"}, "compiler/text": {"tools/common"}, "compiler/ir": {"tools/common", "compiler/text", "compiler/toolchain"},
        "ld": {"tools/common", "compiler/ir", "compiler/toolchain"}, "bench": {"tools/common", "peers", "measure"}, "measure": {"tools/common"},
        "peers": {"lib", "measure"}, "mlir": {"matmul", "compiler/ir", "compiler/toolchain"}, "python": {"matmul"}}


def component_of(path):
    for folder, component in OTHERWISE.items():
        if path.startswith(folder + "/"):
            return component
    return next(name for name in COMPONENTS if path.startswith(name + "/"))


def read_files(root):
    files = {}
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            if os.path.relpath(folder, root) == "python" and "build" in folders:
                folders.remove("build")  # of pip install ./python
            for name in names:
                if name.endswith(SUFFIXES):
                    path = os.path.relpath(os.path.join(folder, name), root)
                    with open(os.path.join(root, path), errors="replace") as file:
                        files[path] = file.read()
    return files


def find(files, path, included):
    """As the compiler does: in the file's folder, then in the folders that the build names."""
    for start in (os.path.dirname(path), "", "bench", "mlir/lib", "include"):
        found = os.path.normpath(os.path.join(start, included))
        if found in files:
            return found
    return None


def edges_of(files):
    """(file, header) for every include of a header of the tree."""
    for path, text in sorted(files.items()):
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            header = find(files, path, included)
            if header:
                yield path, header


def may_include(path, header):
    own, other = component_of(path), component_of(header)
    if own == other or other in ("support", "include") or header.startswith(INSPECT + "/"):
        return True
    return bool({other, header} & USES.get(own, set()))


def sums(files, name_of):
    """{name: (files, lines, {name: count})}"""
    table = {}
    for path, text in files.items():
        count, lines, _ = table.get(name_of(path), (0, 0, None))
        table[name_of(path)] = (count + 1, lines + text.count("\n"), collections.Counter())
    for path, header in edges_of(files):
        if name_of(path) != name_of(header) and not header.endswith(".def"):
            table[name_of(path)][2][name_of(header)] += 1
    return table


def in_order(table):
    """Names, each after all that it includes; and one circle, or None."""
    done, active, order = set(), [], []

    def visit(name):
        if name in active:
            return active[active.index(name):] + [name]
        if name in done:
            return None
        active.append(name)
        for other in sorted(table[name][2]):
            circle = visit(other)
            if circle:
                return circle
        active.pop()
        done.add(name)
        order.append(name)
        return None

    for name in sorted(table):
        circle = visit(name)
        if circle:
            return sorted(table), circle
    return order, None


def draw(table):
    order, circle = in_order(table)
    wide = max(map(len, order))
    for name in order:
        count, lines, edges = table[name]
        print(f"{name:{wide}} {count:4} files {lines:6} lines  <- " + " ".join(f"{o} ({n})" for o, n in sorted(edges.items())))
    print(f"in a circle: {' -> '.join(circle)}" if circle else "no circle")


def check_inspect(files):
    wrong = []
    for path, text in sorted(files.items()):
        if not path.startswith(INSPECT + "/") or not path.endswith(".h"):
            continue
        for name, header in edges_of({path: text, **files}):
            if name == path and component_of(header) == "lib" and header.endswith(".h"):
                wrong.append(f"{path}: an inspect header includes {header}, of the library")
    return wrong


def check_guards(files):
    """The guard of a header that is not installed is its path, as in LLVM."""
    wrong = []
    for path, text in sorted(files.items()):
        guard = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M)
        expected = "KDL_" + re.sub(r"\W", "_", path).upper()
        if path.endswith(".h") and guard and guard.group(1).endswith("_H") and not path.startswith(("include/", "examples/")) and guard.group(1) != expected:
            wrong.append(f"{path}: found the guard {guard.group(1)}, expected {expected}")
    return wrong


def check(files):
    wrong = [f"{path}: includes {header}, of the component {component_of(header)}" for path, header in edges_of(files) if not may_include(path, header)]
    wrong += check_inspect(files) + check_guards(files)
    source = {p: t for p, t in files.items() if component_of(p) not in ("bench", "examples", "mlir", "python")}
    circle = in_order(sums(source, os.path.dirname))[1]
    if circle:
        wrong.append("in a circle: " + " -> ".join(circle))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folders", action="store_true")
    args = parser.parse_args()
    files = read_files(args.root)
    if not args.check:
        return draw(sums(files, os.path.dirname if args.folders else component_of))
    wrong = check(files)
    for line in wrong:
        print(f"includes: {line}", file=sys.stderr)
    return 1 if wrong else print(f"includes: {len(files)} files, every include as the rule has it")


if __name__ == "__main__":
    sys.exit(main())
