#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds who prints text from files by printf: it could control the terminal. cli_text_printf, cli_text_print and tables
(tools/common/text.h) escape it, as do cli_error, cli_warning and cli_note.

Text from files is what has a length (%.*s), and %s of a member of a struct, but for members that are the command's own words.
"""
import pathlib
import re
import sys

FOLDERS = ["tools", "pack", "ext", "bench/tool"]
PRINTF = re.compile(r"(?<![A-Za-z_])(?:printf\(|fprintf\((?:stdout|stderr),)")
MEMBER = re.compile(r"^\**\s*&?[A-Za-z_][\w\[\]]*(?:(?:->|\.)[\w\[\]+]+)*(?:->|\.)(\w+)$")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

# The command's own words: the file, and the argument.
OWN = {
    ("tools/kdl/trace/trace_text.c", "lines[i].title"),
    ("tools/kdl/verify/cmd_verify.c", "levels[level].name"),
}
PRINTER = "tools/common/text.c"
GENERATOR = "tools/kdl/describe/"  # writes pages and completions from the table of commands


def calls(text):
    """The position and the arguments of each call."""
    for match in PRINTF.finditer(text):
        depth, at, start, args = 1, text.index("(", match.start()) + 1, match.end(), []
        while depth:
            string = STRING.match(text, at)
            if string:
                at = string.end()
                continue
            depth += text[at] in "([{"
            depth -= text[at] in ")]}"
            if not depth or (depth == 1 and text[at] == "," and at >= start):
                args.append(text[start:at].strip())
                start = at + 1
            at += 1
        yield match.start(), args


def foreign(args):
    """The arguments that may be text from files."""
    form = "".join(STRING.findall(args[0])) if args else ""
    places = re.findall(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t)?([A-Za-z%])", re.sub(r'"PRI\w+"', "u", form))
    at = 1
    for width, precision, kind in places:
        at += (width == "*") + (precision == "*")
        if kind == "%":
            continue
        if kind == "s" and at < len(args):
            member = MEMBER.match(re.sub(r"\s+", "", args[at]))
            if precision == "*" or member:
                yield re.sub(r"\s+", " ", args[at])
        at += 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found, used = 0, set()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")):
            name = path.relative_to(root).as_posix()
            if name == PRINTER or name.startswith(GENERATOR):
                continue
            text = re.sub(r'"\s*PRI\w+\s*"?', lambda m: "u" + "\n" * m[0].count("\n"), path.read_text())
            for at, args in calls(text):
                for argument in foreign(args):
                    if (name, argument) in OWN:
                        used.add((name, argument))
                        continue
                    found += 1
                    print(f"{name}:{text.count(chr(10), 0, at) + 1}: printf of {argument}")
    for name, argument in sorted(OWN - used):
        found += 1
        print(f"{name}: {argument} is not printed any more")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
