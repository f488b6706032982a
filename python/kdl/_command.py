# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `kdl`, which the package includes: for functions that the command has and the library has not."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence

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


def main() -> None:
    """The console script `kdl`."""
    path = command_path()
    os.execv(path, [path, *sys.argv[1:]])


def main_linker() -> None:
    """The console script `kdl-ld`, in packages built with KDL_WITH_LD=1."""
    path = os.path.join(os.path.dirname(__file__), "bin", "kdl-ld")
    os.execv(path, [path, *sys.argv[1:]])
