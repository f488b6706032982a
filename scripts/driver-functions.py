#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists every driver function that libkdl calls, and on which library each has been called.

    scripts/driver-functions.py             writes docs/driver-functions.md
    scripts/driver-functions.py --check     fails where the page is not what would be written
    scripts/driver-functions.py --gather FOLDER BACKEND 'column: NAME' 'library: ...' 'machine: ...' 'commands: ...'
                                            prints what the recorder (tests/functions/recorder.c) noted in FOLDER as a file for bench/results/functions
    scripts/driver-functions.py --gather FOLDER
                                            prints the functions of every backend, and fails for one that the tables do not have

The functions are the rows of symbols.def and extensions.def in the folders of the backends, by which libkdl looks them up; that nothing
in lib/backends looks up others is checked. Where they were called is told by bench/results/functions/*.txt, each of which is a column.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = "docs/driver-functions.md"
with open(os.path.join(ROOT, "lib/device/backends.def")) as table:
    BACKENDS = dict(re.findall(r'KDL_BACKEND_ROW\(\w+, (\w+), \.api = "([^"]+)"', table.read()))
del BACKENDS["host"]  # it has no driver
NEEDS = {"LIST": "listing", "LIST_OPTIONAL": "listing, where it is there", "REQUIRED": "launching", "OPTIONAL": "launching, where it is there",
         "LAZY": "sequences, where it is there"}
HEADS = ("backend", "column", "library", "machine", "libkdl", "commands")
FAKE = "fake"
# Why a function is called on few libraries.
REASONS = {
    "cuDeviceGetUuid": "drivers before CUDA 11.4",
    "cuLaunchCooperativeKernel": "drivers before CUDA 11.6",
    "cuMemcpyPeerAsync": "two GPUs",
    "clCreateProgramWithILKHR": "SPIR-V on OpenCL before 2.1",
}


def fail(words):
    sys.exit(f"driver-functions.py: {words}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def tables():
    """{backend: {function: what needs it}}, in the order of the tables."""
    found = {}
    for backend in BACKENDS:
        rows = {}
        for file in ("symbols.def", "extensions.def"):
            path = f"lib/backends/{backend}/{file}"
            if not os.path.exists(os.path.join(ROOT, path)):
                continue
            text = without_comments(read(path))
            matches = re.findall(r"KDL_(?:DRIVER|CUDA)_SYMBOL\(\s*(\w+|\"\w+\"),\s*\w+,\s*(\w+),", text)
            if len(matches) != len(re.findall(r"^KDL_\w+_SYMBOL\(", text, re.M)) or not matches:
                fail(f"{path}: not every row can be read")
            for need, name in matches:
                rows[name] = f"`{need[1:-1]}`" if need.startswith('"') else NEEDS[need]
        found[backend] = rows
    check_sources()
    return found


def check_sources():
    """Functions come by the tables alone: one call of dlsym for drivers, and no header of a vendor."""
    for path in glob.glob(os.path.join(ROOT, "lib/backends/**/*.[ch]"), recursive=True):
        name = os.path.relpath(path, ROOT)
        text = without_comments(read(name))
        if re.search(r"\bdlv?sym\s*\(", text) and name not in ("lib/backends/common/driver.c", "lib/backends/host/image.c"):
            fail(f"{name} calls dlsym: drivers' functions are looked up by the tables")
        included = re.search(r'#\s*include\s*[<"](cuda|hip/|level_zero/|CL/)', text)
        if included:
            fail(f"{name} includes a vendor's header")


def bare(name):
    return re.sub(r"_v\d+$", "", name)


def row_of(rows, name):
    """The row of a function, which cuGetProcAddress knows without its version."""
    if name in rows:
        return name
    return next((row for row in rows if bare(row) == name), None)


# ------------------------------------------------------------------------------------------------
# What the recorder noted

def called(folder, every):
    """The functions that libkdl called, of all processes. A program that has libkdl linked in may look up functions itself too: there, the
    places count that look up several functions, and none that the tables do not have."""
    found, lookups = set(), {}
    for path in glob.glob(os.path.join(folder, "**", "*.functions"), recursive=True):
        with open(path, "rb") as file:
            for line in file.read().replace(b"\0", b"").decode(errors="replace").splitlines():
                name, rest = line[1:].split(" ", 1)
                lookups.setdefault((os.path.basename(path), rest.rsplit(" ", 1)[1]), []).append((name, line.startswith("*")))
    with_library = {process for process, asker in lookups if asker.startswith("libkdl.so")}
    for (process, asker), names in lookups.items():
        if process in with_library and not asker.startswith("libkdl.so"):
            continue
        known = [any(row_of(rows, name) for rows in every.values()) for name, _ in names]
        if asker.startswith("libkdl.so") or (all(known) and len(known) > 4):
            found.update(name for name, was_called in names if was_called)
    return found


def gather(folder, backend, heads):
    every = tables()
    found = called(folder, every)
    if not found:
        fail(f"{folder} holds no record of a call")
    if backend:
        if backend not in every:
            fail(f"no backend {backend}; there are {' '.join(every)}")
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
        for head in [f"backend: {backend}", *heads, *([f"libkdl: {commit}"] if commit else [])]:
            print("#", head)
    known = {}
    for of, rows in every.items():
        for name in found:
            row = row_of(rows, name)
            if row:
                known[name] = (of, row)
    strange = sorted(found - set(known))
    if strange:
        fail(f"called, and not in the tables of lib/backends: {' '.join(strange)}")
    for of, rows in every.items():
        if backend in (None, of):
            names = {row for group, row in known.values() if group == of}
            print("".join(f"{row}\n" for row in rows if row in names), end="")


# ------------------------------------------------------------------------------------------------
# The page

def evidence(every):
    """[(heads, functions)]"""
    files = []
    for path in sorted(glob.glob(os.path.join(ROOT, "bench/results/functions/*.txt"))):
        name = os.path.relpath(path, ROOT)
        lines = read(name).splitlines()
        heads = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
        missing = [head for head in HEADS if head not in heads]
        if missing or heads["backend"] not in every:
            fail(f"{name}: its head lacks {' '.join(missing) or 'a known backend'}")
        functions = [line for line in lines if line and not line.startswith("#")]
        strange = [f for f in functions if f not in every[heads["backend"]]]
        if strange:
            fail(f"{name} has functions that libkdl does not call any more: {' '.join(strange)}; record it again")
        files.append(({**heads, "file": os.path.basename(name)}, set(functions)))
    return sorted(files, key=lambda entry: (entry[0]["column"] == FAKE, entry[0]["file"]))


def sentence(words, functions):
    named = [f"`{f}`" + (f" (for {REASONS[f]})" if f in REASONS else "") for f in functions]
    return f"{words}: {', '.join(named) or 'none'}.\n"


def page(every, files):
    total = sum(map(len, every.values()))
    out = [f"""# Driver functions

Every function of a driver that libkdl calls, {total} in all, and on which library each has been called so far. `scripts/driver-functions.py`
writes this page from the tables by which the backends look functions up (`lib/backends/*/symbols.def`) and from what was recorded
(`bench/results/functions/*.txt`); `docs.driver_functions` fails where the page is another, and `conformance.functions_are_listed` where libkdl calls
what the tables do not have.

A call is recorded where it happens: `tests/functions/recorder.c` is loaded before the program and gives libkdl stubs that mark the function
and jump to it. `scripts/record-functions.sh BUILD` records what can be on a machine. By hand, for a column of its own:

```
mkdir calls && KDL_FUNCTIONS_RECORD=$PWD/calls LD_PRELOAD=$PWD/build/lib/librecorder.so PROGRAM
scripts/driver-functions.py --gather calls hip 'column: ...' 'library: ...' 'machine: ...' 'commands: ...' >bench/results/functions/NAME.txt
scripts/driver-functions.py
```
With OpenCL and Level Zero, the library is a loader, and the column says what is behind it. What the runtime library for MLIR looks up besides
(`mlir/runtime/driver_calls.c`) is not libkdl's and not listed.
"""]
    for backend, rows in every.items():
        mine = [(h, f) for h, f in files if h["backend"] == backend]
        real = [f for h, f in mine if h["column"] != FAKE]
        faked = [f for h, f in mine if h["column"] == FAKE]
        out.append(f"\n## {BACKENDS[backend]}\n")
        for heads, functions in mine:
            out.append(f"- **{heads['column']}**, {len(functions)} of {len(rows)}: {heads['library']}; {heads['machine']}; "
                       f"{heads['commands']} ([record](../bench/results/functions/{heads['file']}))\n")
        out.append("\n" if mine else "")
        on_real = set().union(*real)
        on_fake = set().union(*faked)
        out.append(sentence("On no real library", [f for f in rows if f not in on_real and f in on_fake]))
        out.append("\n" + sentence("Nowhere, not on a fake either", [f for f in rows if f not in on_real and f not in on_fake]))
        out.append(f"\n| function | for |{''.join(' ' + h['column'] + ' |' for h, _ in mine)}\n|---|---|{'---|' * len(mine)}\n")
        for name, need in rows.items():
            out.append(f"| `{name}` | {need} |{''.join(' yes |' if name in f else ' |' for _, f in mine)}\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--gather", metavar="FOLDER")
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_args()
    if arguments.gather:
        return gather(arguments.gather, arguments.rest[0] if arguments.rest else None, arguments.rest[1:])
    every = tables()
    text = page(every, evidence(every))
    if not arguments.check:
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
    elif not os.path.exists(os.path.join(ROOT, PAGE)) or read(PAGE) != text:
        fail(f"{PAGE} is not what the tables and records say: run scripts/driver-functions.py")
    else:
        print(f"{sum(map(len, every.values()))} functions, as the page says")
    return None


if __name__ == "__main__":
    main()
