#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws which folder includes which, and checks it against docs/architecture.md.

    scripts/includes.py             every folder of src and tools with its size and what it includes
    scripts/includes.py --check     fails where a folder includes what the table does not allow, where
                                    the table allows what no file includes, and where there is a cycle
    scripts/includes.py --root DIR  the same of another tree

The table is the one under the heading "What may include what": `folder` | `folder` `folder` ...
A row for `src/backends/*` is for each folder below it; what a row allows, it allows by folder.
"""
import argparse
import collections
import fnmatch
import os
import re
import sys

SUFFIXES = (".c", ".h", ".cpp", ".def")
TOPS = ("src", "tools")


def read_tree(root):
    """{folder: (files, lines, {folder: [file that includes it]})}"""
    files = {}
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith(SUFFIXES):
                    path = os.path.relpath(os.path.join(folder, name), root)
                    with open(os.path.join(root, path), errors="replace") as file:
                        files[path] = file.read()
    tree = {}
    for path, text in files.items():
        folder = os.path.dirname(path)
        count, lines, edges = tree.get(folder, (0, 0, collections.defaultdict(list)))
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            target = find(files, folder, included)
            if target and os.path.dirname(target) != folder:
                edges[os.path.dirname(target)].append(path)
        tree[folder] = (count + 1, lines + text.count("\n"), edges)
    return tree


def find(files, folder, included):
    """As the compiler would: beside the file, then in the folders that the build names."""
    program = "/".join(folder.split("/")[:2])
    for start in (folder, program, "tools/kdl", "src", ""):
        path = os.path.normpath(os.path.join(start, included))
        if path in files:
            return path
    return None


def layers(tree):
    """Folders, each after all that it includes; and one cycle, or None."""
    done, active, order = set(), [], []

    def visit(folder):
        if folder in active:
            return active[active.index(folder):] + [folder]
        if folder in done:
            return None
        active.append(folder)
        for other in sorted(tree[folder][2]):
            cycle = visit(other)
            if cycle:
                return cycle
        active.pop()
        done.add(folder)
        order.append(folder)
        return None

    for folder in sorted(tree):
        cycle = visit(folder)
        if cycle:
            return sorted(tree), cycle
    return order, None


def draw(tree):
    order, cycle = layers(tree)
    wide = max(map(len, order))
    for folder in order:
        count, lines, edges = tree[folder]
        print(f"{folder:{wide}} {count:4} files {lines:6} lines  <- " + " ".join(sorted(edges)))
    print(f"cycle: {' -> '.join(cycle)}" if cycle else "no cycle: every folder stands below what it includes")


def read_table(path):
    with open(path) as file:
        text = file.read()
    part = text.partition("## What may include what")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|([^|]*)\|", part, re.M)
    if not rows:
        sys.exit(f"includes: {path}: found no table under 'What may include what'")
    return {folder: re.findall(r"`([^`]+)`", allowed) for folder, allowed in rows}


def check(tree, table):
    wrong = []
    used = set()
    for folder, (_, _, edges) in sorted(tree.items()):
        row = folder if folder in table else next((r for r in table if fnmatch.fnmatch(folder, r)), None)
        if row is None:
            wrong.append(f"{folder}: the table has no row for it")
            continue
        used.add(row)
        for other, files in sorted(edges.items()):
            match = next((a for a in table[row] if fnmatch.fnmatch(other, a)), None)
            if match:
                used.add((row, match))
            else:
                wrong.append(f"{folder}: {sorted(files)[0]} includes a header of {other}, which the table does not allow")
    for row, allowed in table.items():
        if row not in used:
            wrong.append(f"{row}: the table has a row for it, and the tree has no such folder")
        else:
            wrong += [f"{row}: the table allows {a}, which no file includes" for a in allowed if (row, a) not in used]
    cycle = layers(tree)[1]
    if cycle:
        wrong.append("cycle: " + " -> ".join(cycle))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    tree = read_tree(args.root)
    if not args.check:
        return draw(tree)
    wrong = check(tree, read_table(os.path.join(args.root, "docs", "architecture.md")))
    for line in wrong:
        print(f"includes: {line}", file=sys.stderr)
    return 1 if wrong else print(f"includes: {len(tree)} folders include what docs/architecture.md allows")


if __name__ == "__main__":
    sys.exit(main())
