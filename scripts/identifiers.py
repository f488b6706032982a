#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists every identifier and file name of the tree by frequency, for choosing and checking names.

    scripts/identifiers.py [--words] [--static] [--least N] [FOLDER...]

    --words     the words that identifiers are made of (kdl_image_hold: kdl, image, hold)
    --static    static functions whose name is defined in several files, which a search cannot tell apart
    --least N   from N occurrences on; default 2
"""
import argparse
import collections
import os
import re
import subprocess

SUFFIXES = (".c", ".h", ".cpp", ".def")
KEYWORDS = set("""auto bool break case char const continue default do double else enum extern false float for goto if include inline int
long NULL register return short signed sizeof size_t static struct switch true typedef typename uint8_t uint16_t uint32_t uint64_t int32_t
int64_t union unsigned void volatile while define endif ifdef ifndef""".split())


def sources(folders):
    names = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in names if name.endswith(SUFFIXES) and not name.startswith(("tests/golden", "tests/fuzz/corpus"))]


def code(path):
    with open(path, errors="replace") as file:
        text = file.read()
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\'', " ", text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--least", type=int, default=2)
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    counts, places = collections.Counter(), collections.defaultdict(set)
    for path in sources(args.folders):
        text = code(path)
        if args.static:
            for name in set(re.findall(r"^static [^;={}()]*?\b(\w+)\([^;]*?\) \{", text, re.M)):
                counts[name] += 1
                places[name].add(path)
            continue
        found = [name for name in re.findall(r"[A-Za-z_]\w+", text) if name not in KEYWORDS]
        found.append(os.path.basename(path))
        if args.words:
            found = [word.lower() for name in found for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
        for name in found:
            counts[name] += 1
            places[name].add(path)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if count >= args.least:
            print(f"{count:6} {len(places[name]):4} files  {name}")


if __name__ == "__main__":
    main()
