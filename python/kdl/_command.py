# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `kdl`, which the package includes: for functions that the command has and the library has not."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from . import _kdl
from ._library import Library
from ._library import open as open_library


class CommandError(_kdl.Error):
    """The command failed; str() is its message."""


def _own(name: str) -> str | None:
    """A program of the package, if it has it."""
    path = os.path.join(os.path.dirname(__file__), "bin", name)
    return path if os.access(path, os.X_OK) else None


# libkdl finds its linker by KDL_LD.
_linker = _own("kdl-ld")
if _linker:
    os.environ.setdefault("KDL_LD", _linker)


def command_path() -> str:
    """The command's file: the package's own, else the one on PATH."""
    found = _own("kdl") or shutil.which("kdl")
    if not found:
        raise _kdl.UnsupportedError("the command kdl is neither in this package nor on PATH")
    return found


def run_command(*arguments: str | os.PathLike[str], codes: Sequence[int] = (0,)) -> str:
    """Runs the command and returns its output as text; CommandError if its exit code is not in `codes`."""
    done = subprocess.run([command_path(), *(os.fspath(argument) for argument in arguments)], capture_output=True, encoding="utf-8",
                          errors="backslashreplace", check=False, stdin=subprocess.DEVNULL)
    if done.returncode not in codes:
        raise CommandError(done.stderr.strip() or f"kdl {arguments[0]} ended with {done.returncode}")
    return done.stdout


def compile(source: str | os.PathLike[str], *, targets: str | Iterable[str] = "native",  # pylint: disable=redefined-builtin
            options: Iterable[str] = (), text: str | None = None) -> Library:
    """Compiles a kernel in C or C++ with `kdl cc` and opens the result. Needs clang.

    source: a file; with text, the name of the text in messages. targets: as `kdl cc --targets`, joined by commas or a list."""
    joined = targets if isinstance(targets, str) else ",".join(targets)
    with tempfile.TemporaryDirectory(prefix="kdl-") as folder:
        path = os.fspath(source)
        if text is not None:
            path = os.path.join(folder, os.path.basename(path) or "kernel.c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        result = os.path.join(folder, "kernels.offload")
        run_command("cc", path, f"--targets={joined}", "-o", result, *options)
        with open(result, "rb") as file:
            return open_library(file.read(), name=os.path.basename(path))


def tune(path: str | os.PathLike[str], kernel: str, shapes: Iterable[Sequence[int]], *, items: str, arguments: Iterable[str],
         device: str | None = None, output: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """Measures the variants of a kernel ahead of time with `kdl tune`; returns what was measured, one dict per class of problems.

    shapes: numbers for the parameters that the kernel's field `shape` names; items and arguments: as `kdl tune --items` and `--arg`, in
    which these names stand for their numbers; output: a copy of the library that carries the times."""
    words = [f"--shapes={','.join('x'.join(str(number) for number in shape) for shape in shapes)}", f"--items={items}",
             *(f"--arg={argument}" for argument in arguments)]
    if device is not None:
        words.append(f"--device={device}")
    if output is not None:
        words += ["-o", os.fspath(output)]
    run_command("tune", path, kernel, *words)
    explain = ["--policy=adaptive", "--json", *([f"--device={device}"] if device is not None else [])]
    measured: list[dict[str, Any]] = json.loads(run_command("explain", path, kernel, *explain))["measured"]
    return measured


def main() -> None:
    """The console script `kdl`."""
    path = command_path()
    os.execv(path, [path, *sys.argv[1:]])


def main_linker() -> None:
    """The console script `kdl-ld`, in packages built with KDL_WITH_LD=1."""
    path = os.path.join(os.path.dirname(__file__), "bin", "kdl-ld")
    os.execv(path, [path, *sys.argv[1:]])
