#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py KDL LAUNCHER WORK ROUTE TARGET: the language's conformance suite for one target.

Compiles the cases of each folder below cases/ in one call of kdl cc, and runs them by LAUNCHER on the
first device of ROUTE ("host", "opencl", "cuda"); "none" compiles only. TARGET@DEVICE links the images for
a device, as portable@h200. README.md describes cases.
"""
import fnmatch
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = re.compile(r"__gpu_kernel\s+void\s+(\w+)\s*\(")
KEYS = ("args", "items", "grid", "block", "ulp", "apart", "shared", "not", "only", "flags")
SIZES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4,
         "i64": 8, "u64": 8, "f64": 8}
CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "f16": "e", "i32": "i", "u32": "I", "f32": "f",
         "i64": "q", "u64": "Q", "f64": "d"}


class Case:
    def __init__(self, path, line, keys, name):
        self.path, self.line, self.keys, self.name = path, line, keys, name

    def fail(self, words):
        sys.exit(f"{self.path}:{self.line}: {self.name}: {words}")

    def runs_on(self, target):
        matches = lambda key: any(fnmatch.fnmatch(target, p) for p in self.keys.get(key, "").split())
        return not matches("not") and ("only" not in self.keys or matches("only"))


def read_cases(path):
    """A case is a block of // lines with "args:", up to the next kernel."""
    cases, keys, first = [], {}, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        comment = re.match(r"// (arg\d+|\w+): *(.*)", line)
        if comment and (comment[1] in KEYS or comment[1].startswith("arg")):
            first = first or number
            keys[comment[1]] = (keys.get(comment[1], "") + " " + comment[2]).strip()
        kernel = KERNEL.search(line)
        if kernel and "args" in keys:
            cases.append(Case(path, first, keys, kernel[1]))
        if kernel:
            keys, first = {}, 0
    if not cases:
        sys.exit(f"{path}: found no case, expected lines '// args: ...' before a kernel")
    return cases


def numbers(case, text, count):
    if text == "iota":
        return [str(i) for i in range(count)]
    values = text.replace(",", " ").split()
    if len(values) == 1:
        values *= count
    if len(values) != count:
        case.fail(f"found {len(values)} values in '{text[:60]}', expected 1 or {count}")
    return values


def pack(case, text):
    """A structure by value, "{f32=1,u32=2}": its bytes, laid out as C does."""
    data, most = b"", 1
    for member in text[1:-1].split(","):
        kind, value = member.split("=")
        size = SIZES[kind]
        most = max(most, size)
        data += b"\0" * (-len(data) % size)
        data += struct.pack("<" + CODES[kind], float(value) if kind[0] == "f" else int(value, 0))
    return data + b"\0" * (-len(data) % most)


def write_argument(case, out, text):
    buffer = re.fullmatch(r"(b?[fiu]\d+)\[(\d+)\](?:=(.*))?", text)
    if buffer:
        count = int(buffer[2])
        print("buffer", buffer[1], count, *numbers(case, buffer[3] or "0", count), file=out)
    elif text.startswith("{"):
        data = pack(case, text)
        print("bytes u8", len(data), *data, file=out)
    elif re.fullmatch(r"b?[fiu]\d+=.+", text):
        kind, value = text.split("=")
        print("value", kind, 1, value, file=out)
    else:
        case.fail(f"args: found '{text}', expected TYPE[COUNT]=VALUES, TYPE=VALUE or {{TYPE=VALUE,...}}")


def extent(case, text):
    sizes = text.replace(",", " ").replace("x", " ").split()
    return sizes + ["1"] * (3 - len(sizes))


def write_case(case, library, out):
    keys = case.keys
    print("case", f"{case.path.parent.name}/{case.name}", case.name, library, file=out)
    for key in ("items", "grid", "block", "shared"):
        if key in keys:
            print(key, *extent(case, keys[key]), file=out)
    if not keys.keys() & {"items", "grid"}:
        case.fail("found neither 'items:' nor 'grid:'")
    arguments = re.findall(r"\{[^}]*\}|\S+", keys["args"])
    for argument in arguments:
        write_argument(case, out, argument)
    wants = sorted(key for key in keys if re.fullmatch(r"arg\d+", key))
    if not wants:
        case.fail("found no 'argN:', expected what a buffer holds behind the launch")
    for key in wants:
        index = int(key[3:])
        buffer = re.match(r"(b?[fiu]\d+)\[(\d+)\]", arguments[index]) if index < len(arguments) else None
        if not buffer:
            case.fail(f"{key} is no buffer")
        values = numbers(case, keys[key], int(buffer[2]))
        print("want", index, keys.get("ulp", "0"), keys.get("apart", "0"), *values, file=out)
    print("end", file=out)


def compile_cases(kdl, target, cases, source, library, flags=()):
    target, _, device = target.partition("@")
    source.write_text("".join(f'#include "{path}"\n' for path in dict.fromkeys(c.path for c in cases)))
    result = subprocess.run([kdl, "cc", source, f"--targets={target}", "-Wall", "-Wextra", "-Werror", *flags,
                             "-o", library], capture_output=True, text=True)
    if device and result.returncode == 0:
        result = subprocess.run([kdl, "link", library, f"--for={device}", "-o", library], capture_output=True, text=True)
    return result


def main():
    kdl, launcher, work, route, target = sys.argv[1:6]
    if not shutil.which(os.environ.get("KDL_CLANG", "clang-22")):
        print("skipped: clang-22 not found (Debian: clang-22)")
        sys.exit(77)
    work = pathlib.Path(work)
    work.mkdir(parents=True, exist_ok=True)
    table = work / "cases.txt"
    failed, count = 0, 0
    only = sys.argv[6:]
    with table.open("w") as out:
        groups = {}
        for path in sorted((HERE / "cases").glob("*/*.c*")):
            for case in read_cases(path):
                if case.runs_on(target) and (not only or any(fnmatch.fnmatch(case.name, o) for o in only)):
                    groups.setdefault((path.parent.name, path.suffix, case.keys.get("flags", "")), []).append(case)
        names = {}
        for number, ((folder, suffix, flags), cases) in enumerate(groups.items()):
            source = work / f"{folder}-{number}{suffix}"
            library = work / f"{folder}-{number}.offload"
            result = compile_cases(kdl, target, cases, source, library, flags.split())
            if result.returncode != 0:
                print(result.stderr, end="")
                failed += 1
                continue
            if result.stderr:
                print(result.stderr, end="")
            for case in cases:
                if case.name in names:
                    case.fail(f"is also in {names[case.name]}")
                names[case.name] = case.path
                write_case(case, library, out)
                count += 1
    if failed:
        sys.exit(f"{failed} folders of cases failed to compile for {target}")
    print(f"{count} cases compiled for {target}")
    if route != "none":
        sys.exit(subprocess.run([launcher, table, route]).returncode)


main()
