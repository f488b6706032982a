# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of `kdl check`, `kdl thin` and `kdl trace`, as data that also prints as a table."""
from __future__ import annotations

import html
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, Dict, Union

from . import _kdl
from ._command import CommandError, command_path, run_command
from ._library import printable

Path = Union[str, "os.PathLike[str]"]
Devices = Union[str, _kdl.Device, Iterable[Union[str, _kdl.Device]]]


class Report(Dict[str, Any]):
    """The result of a command of kdl, as in its --json: a dict, which prints as a table, also in notebooks."""

    def __init__(self, data: dict[str, Any], title: str, rows: Iterable[Sequence[Any]]) -> None:
        super().__init__(data)
        self._title = title
        self._rows = [[printable(str(cell)) for cell in row] for row in rows]

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self._rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in self._rows]
        return "\n".join([printable(self._title), *lines])

    def _repr_html_(self) -> str:
        def line(row: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"
        body = "".join(line(row, "td" if number else "th") for number, row in enumerate(self._rows))
        return f"<table><caption>{html.escape(printable(self._title))}</caption>{body}</table>"


def _text(said: Any) -> str:
    """A text of the command: {"hex": ...} if it is not UTF-8."""
    return bytes.fromhex(said["hex"]).decode("utf-8", "backslashreplace") if isinstance(said, dict) else str(said)


def _safe(path: Path) -> str:
    """The path so that it is not an option: `kdl check -- FILE` would run the file."""
    text = os.fspath(path)
    return os.path.join(".", text) if text.startswith("-") else text


def _listed(devices: Devices | None) -> list[str | _kdl.Device]:
    return [devices] if isinstance(devices, (str, _kdl.Device)) else list(devices or [])


def _specs(devices: Devices | None, option: str) -> list[str]:
    return [f"--{option}={one.spec if isinstance(one, _kdl.Device) else one}" for one in _listed(devices)]


def _labels(given: list[str | _kdl.Device], results: list[dict[str, Any]]) -> list[str]:
    """The devices of a library's results, named as they were given."""
    if len(given) == len(results):
        return [one if isinstance(one, str) else one.name or one.label for one in given]
    return [one["device"].split()[0] for one in results]


def _why(result: dict[str, Any]) -> str:
    """Under which condition a library runs on a device, or why kernels of it do not, most of them first."""
    if result["is_alternative"]:
        return "an alternative to it serves the device better"
    said = [_text(result["condition"])] if result["condition"] else []
    if result["conflict"]:
        said.append(f"no version of {_text(result['conflict'])} runs all libraries of its package")
    if result["runtime"] == "too_new":
        said.append("its CUDA runtime is too new for the driver")
    if not result["host_fits"]:
        said.append("it is for x86-64, the device comes with AArch64")
    reasons = sorted(result["missing"], key=lambda one: int(one["kernels"]), reverse=True)
    said += [_text(one["reason"]) + (f"; {_text(one['fix'])}" if one["fix"] else "") for one in reasons[:1]]
    if len(reasons) > 1:
        said.append(f"{len(reasons) - 1} more reasons")
    return "; ".join(said) or "-"


def check(*paths: Path, device: Devices | None = None) -> Report:
    """Which kernels of the libraries in files, folders, wheels and packages run on a device: `kdl check`, as data.

    device: one or several, such as 'a100'; by default those of this machine. report["unreadable"] lists what cannot be read, with the
    reason; a path that does not exist is a FileNotFoundError."""
    for path in paths:
        os.stat(path)
    given = _listed(device)
    found = json.loads(run_command("check", "--json", *_specs(given, "device"), *map(_safe, paths), codes=(0, 1, 3)))
    rows: list[list[Any]] = [["PACKAGE", "LIBRARY", "DEVICE", "RUNS", "KERNELS", "MODULES", "WHY"]]
    for library in found["libraries"]:
        name = _text(library["file"]) + (f":{_text(library['member'])}" if library["member"] else "")
        package = _text(library["package"]) if library["package"] else "-"
        for one, label in zip(library["devices"], _labels(given, library["devices"])):
            rows.append([package, name, label, "-" if one["verdict"] == "empty" else one["verdict"],
                         f"{one['kernels_native'] + one['kernels_jit']} of {one['kernels']}", f"{one['modules_run']} of {one['modules']}", _why(one)])
    return Report(found, f"{len(found['libraries'])} libraries in {found['files']} files, {len(found['unreadable'])} not readable", rows)


def thin(path: Path, *, device: Devices | None = None, output: Path | None = None, in_place: bool = False, keep: Iterable[str] = (),
         strip_to: Iterable[str] = (), keep_ptx: bool = False, sparse: bool = False) -> Report:
    """Keeps the images of a file that devices would select, and reports for each image whether it stays, and why: `kdl thin`, as data.

    Writes the file to output, or replaces it with in_place=True; with neither, writes nothing. keep and strip_to are the
    command's options, such as 'arch=sm_90'."""
    if output is not None and in_place:
        raise ValueError("thin: found both output and in_place, expected one of them")
    where = ["--in-place"] if in_place else ["--dry-run"] if output is None else [f"--output={os.fspath(output)}"]
    options = [*_specs(device, "for"), *(f"--keep={one}" for one in keep), *(f"--strip-to={one}" for one in strip_to),
               *(["--keep-ptx"] if keep_ptx else []), *(["--sparse"] if sparse else [])]
    found = json.loads(run_command("thin", "--json", *where, *options, _safe(path)))
    return Report(found, os.fspath(path), _members(found) if "members" in found else _images(found))


def _images(found: dict[str, Any]) -> Iterable[Sequence[Any]]:
    yield "#", "KIND", "ARCH", "SIZE", "STAYS", "WHY"
    for image in found["images"]:
        arch = _text(image["arch"])
        yield (image["index"], image["image_kind"], arch if len(arch) < 25 else arch[:21] + "...", image["size"],
               "yes" if image["kept"] else "no", _text(image.get("why", "")))


def _members(found: dict[str, Any]) -> Iterable[Sequence[Any]]:
    yield "MEMBER", "SIZE", "BECOMES", "IMAGES", "STAY"
    for member in found["members"]:
        if "left" in member:
            yield _text(member["member"]), _text(member["left"]), "", "", ""
        else:
            kept = member["images_kept"]
            yield _text(member["member"]), member["old_size"], member["new_size"], kept + member["images_gone"], kept


def trace_report(path: Path) -> Report:
    """The time of each phase, kernel and device in a trace, in ns: `kdl trace report`, as data."""
    with tempfile.TemporaryDirectory(prefix="kdl-") as folder:
        tables = os.path.join(folder, "report.json")
        run_command("trace", "report", os.path.abspath(path), f"--json={tables}")
        with open(tables, encoding="utf-8") as file:
            found = json.load(file)
    rows: list[list[Any]] = [["LAYER", "COUNT", "TOTAL NS", "MEDIAN", "P95", "FAILED"]]
    rows += [[layer[key] for key in ("name", "count", "total", "median", "p95", "failed")] for layer in found["layers"]]
    return Report(found, f"{found['command']}: {found['events']} events, {found['dropped']} dropped", rows)


def trace(command: Sequence[Path], *, output: Path | None = None, gpu_time: bool = False) -> Report:
    """Runs a program, traces its launches, and reports the time of each phase, kernel and device: `kdl trace`, as data.

    command: the program and its arguments. output: a file for the trace, for Perfetto. The program shares this one's standard
    output; report["returned"] is its exit code."""
    with tempfile.TemporaryDirectory(prefix="kdl-") as folder:
        path = os.fspath(output) if output is not None else os.path.join(folder, "trace.json")
        if os.path.exists(path):
            os.unlink(path)
        line = [command_path(), "trace", f"--output={path}", *(["--gpu-time"] if gpu_time else []), "--", *(os.fspath(part) for part in command)]
        done = subprocess.run(line, check=False)
        if not os.path.exists(path):
            raise CommandError(f"{line[-len(command)]}: no trace was written; the program returned {done.returncode}")
        report = trace_report(path)
    report["returned"] = done.returncode
    return report
