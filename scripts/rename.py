#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renames identifiers and files of the tree by a table.

    scripts/rename.py [--check] TABLE...

A table has one row per line, words separated by blanks, "#" begins a comment:

    global OLD NEW           the word OLD in every text file: code, comments, documents, build files
    code   OLD NEW [PATH...] the identifier OLD in C and C++ code below PATH (everywhere without one), not in comments and literals
    static OLD NEW PATH...   the same, but not as a member (x.OLD, x->OLD): for functions and variables of one file
    member OLD NEW [PATH...] the same, but only as a member (x.OLD, x->OLD, .OLD =) and where a struct declares it
    file   OLD NEW           a file or a folder moves, with every path to it in includes, build files and documents

All rows are applied at once: "a b" and "b c" in one table do not turn a into c. A NEW that is in use already is an error.
--check reads the tables, says what collides and changes nothing. Run it on a clean tree, then format and build.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

CODE = (".c", ".h", ".cpp", ".def", ".inc", ".td")
TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[ \t]*include[^\n]*|[A-Za-z_]\w*|.', re.S | re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
KEPT = ("upstream/", "bench/results/", "tests/golden/", "tests/fuzz/corpus/", "docs/decisions/", "scripts/renames")


def tracked():
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in names if name and not name.startswith(KEPT) and os.path.isfile(name) and not os.path.islink(name)]


def read_text(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


class Table:
    """The rows: what is to be replaced in which files."""

    def __init__(self):
        self.everywhere, self.files, self.problems = {}, {}, []
        self.scoped = collections.defaultdict(dict)  # (kind, old) -> {path: new}

    def read(self, path):
        for number, line in enumerate(open(path), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            kind, old, new, *paths = words + ["", ""] if len(words) < 3 else words
            where = f"{path}:{number}"
            if kind == "global" and not paths:
                self.put(self.everywhere, old, new, where)
            elif kind == "file" and not paths:
                self.put(self.files, old, new, where)
            elif kind in ("code", "member") or kind == "static" and paths:
                for place in paths or [""]:
                    self.put(self.scoped[kind, old], place, new, where)
            else:
                self.problems.append(f"{where}: expected a row of global, code, static, member or file: {line.strip()}")

    def put(self, rows, old, new, where):
        if rows.setdefault(old, new) != new:
            self.problems.append(f"{where}: {old} is renamed twice: {rows[old]}, {new}")

    def scoped_name(self, kind, name, path):
        """The new name by the row with the longest path that holds this file; rows of one kind."""
        rows = self.scoped.get((kind, name), {})
        held = [place for place in rows if not place or path == place or path.startswith(place.rstrip("/") + "/")]
        return rows[max(held, key=len)] if held else None


def rename_code(text, path, table):
    """Identifiers of C and C++; whether one is a member is known by what stands before it, or by the struct around it."""
    tokens = TOKENS.findall(text)
    out, last, structs = [], "", []
    for index, token in enumerate(tokens):
        if token == "{":
            before = "".join(tokens[max(0, index - 60):index]).rstrip()
            structs.append(bool(re.search(r"\b(struct|union)(\s+\w+)?$", before)))
        elif token == "}" and structs:
            structs.pop()
        new = None
        if WORD.fullmatch(token):
            member = last in (".", "->") or bool(structs and structs[-1])
            new = table.scoped_name("member" if member else "static", token, path) or table.scoped_name("code", token, path)
        out.append(new or token)
        if not token.isspace() and not token.startswith(("/*", "//")):
            last = "->" if token == ">" and out[-2:-1] == ["-"] else token
    return "".join(out)


def rename_paths(text, path, files):
    for old, new in files.items():
        names = [(old, new)]
        folder = os.path.dirname(path)
        if path.endswith(("CMakeLists.txt", ".cmake", ".md", ".py", ".sh")):
            while folder:
                if old.startswith(folder + "/") and new.startswith(folder + "/"):
                    names.append((old[len(folder) + 1:], new[len(folder) + 1:]))
                    break
                folder = os.path.dirname(folder)
        for was, becomes in names:
            text = re.sub(rf"(?:(?<![\w./-])|(?<=\.\./)|(?<=}}/)){re.escape(was)}(?![\w-]|\.\w)", becomes, text)
    return text


def check(table, texts):
    """New names that are in use already, and old ones that are not in use."""
    used, by_file = collections.Counter(), {}
    for path, text in texts.items():
        words = WORD.findall(text)
        by_file[path] = set(words)
        if path.endswith(CODE):
            used.update(set(words))
    for old, new in table.everywhere.items():
        if not used[old] and not any(old in words for words in by_file.values()):
            table.problems.append(f"global {old}: not in use")
        if used[new] and new not in table.everywhere:
            table.problems.append(f"global {old}: {new} is in use already")
    for (kind, old), rows in table.scoped.items():
        for place, new in rows.items():
            held = [path for path in texts if path.endswith(CODE) and (not place or path == place or path.startswith(place.rstrip("/") + "/"))]
            if not any(old in by_file[path] for path in held):
                table.problems.append(f"{kind} {old} {place}: not in use there")
            if any(new in by_file[path] and (kind, new) not in table.scoped for path in held) and kind != "member":
                table.problems.append(f"{kind} {old} {place}: {new} is in use there already")
    for old, new in table.files.items():
        if not os.path.exists(old):
            table.problems.append(f"file {old}: there is none")
        if os.path.exists(new):
            table.problems.append(f"file {old}: {new} is there already")
    return table.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("tables", nargs="+")
    args = parser.parse_args()
    table = Table()
    for path in args.tables:
        table.read(path)
    texts = {path: text for path in tracked() if (text := read_text(path)) is not None}
    problems = check(table, texts)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    if args.check:
        return 0
    everywhere = re.compile(r"\b(" + "|".join(map(re.escape, sorted(table.everywhere, key=len, reverse=True))) + r")\b") if table.everywhere else None
    changed = 0
    for path, text in texts.items():
        new = rename_code(text, path, table) if path.endswith(CODE) and table.scoped else text
        if everywhere:
            new = everywhere.sub(lambda match: table.everywhere[match[1]], new)
        if table.files:
            new = rename_paths(new, path, table.files)
        if new != text:
            changed += 1
            with open(path, "w") as file:
                file.write(new)
    for old, new in table.files.items():
        os.makedirs(os.path.dirname(new) or ".", exist_ok=True)
        subprocess.run(["git", "mv", old, new], check=True)
    print(f"{changed} files changed, {len(table.files)} moved")
    return 0


if __name__ == "__main__":
    sys.exit(main())
