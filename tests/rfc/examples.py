#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a page's ```console blocks, in order, and compares what they print. On a page of HTML these are the <pre> blocks
that begin with a command; they break lines as they have room and leave lines out, and exit codes do not count.

    examples.py PAGE [--images FOLDER] --path BIN:BIN... [--setup COMMAND]

Commands stand behind "$ "; a backslash or an open quote continues one on the next line; the rest is
what it prints, standard error included. "..." stands for the rest of a line, on a line of its own
for any lines. A command that prints "error:" fails, the others do not. They run in a new folder that
holds copies of the images, after the command of --setup.
"""
import argparse
import difflib
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def commands_of(block):
    """(command, expected output) pairs of a block."""
    pairs = []
    lines = iter(block.splitlines(keepends=True))
    for line in lines:
        if not line.startswith("$ "):
            if not pairs:
                sys.exit(f"examples: a block starts with output: {line}")
            pairs[-1][1] += line
            continue
        command = line[2:]
        while command.endswith("\\\n") or command.count("'") % 2:
            command += next(lines)
        pairs.append([command, ""])
    return pairs


def is_as_shown(shown, printed):
    lines = (r"(?:.*\n)*?" if line.strip() == "..." else ".*".join(map(re.escape, line.split("...")))
             for line in shown.splitlines(keepends=True))
    return re.fullmatch("".join(lines), printed)


def words(text):
    return " ".join(text.split())


def is_excerpt(shown, printed):
    parts = (re.escape(words(part)) for line in shown.splitlines() for part in line.split("..."))
    return re.search(".*".join(parts), words(printed))


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".html":
        return [html.unescape(block) + "\n" for block in re.findall(r"<pre>(\$ .*?)</pre>", text, re.DOTALL)]
    return re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--images", type=pathlib.Path)
    parser.add_argument("--path", required=True)
    parser.add_argument("--setup", default="true")
    options = parser.parse_args()
    path = options.path + os.pathsep + os.environ["PATH"]
    pairs = [pair for block in blocks_of(options.page) for pair in commands_of(block)]
    excerpts = options.page.suffix == ".html"
    if not pairs:
        sys.exit(f"examples: no commands in {options.page}")
    # What a command itself made, and variables before it, are no tools.
    tools = {command.split()[0] for command, _ in pairs if not re.match(r"\./|\w+=", command)}
    for tool in sorted(tools - {"kdl"} | {"yaml2obj"}):
        if not shutil.which(tool, path=path):
            print(f"skipped: {tool} not found (Debian: clang-22, lld-22, llvm-22)")
            sys.exit(77)

    with tempfile.TemporaryDirectory() as folder:
        for image in options.images.iterdir() if options.images else ():
            if image.is_file():
                shutil.copy(image, folder)
        environment = {**os.environ, "PATH": path, "LC_ALL": "C"}
        subprocess.run(["bash", "-e", "-c", options.setup], cwd=folder, env=environment, check=True)
        for command, expected in pairs:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, text=True,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            failed = done.returncode != 0
            right = is_excerpt(expected, done.stdout) if excerpts else (
                is_as_shown(expected, done.stdout) and failed == bool(re.search(r'\berror:|: "error"', expected)))
            if not right:
                print(f"examples: exit code {done.returncode} of: {command}", file=sys.stderr)
                sys.stderr.writelines(difflib.unified_diff(
                    expected.splitlines(True), done.stdout.splitlines(True), "page", "command"))
                sys.exit(1)
    print(f"examples: {len(pairs)} commands of {options.page.name}")


main()
