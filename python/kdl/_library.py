# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries, their images, and explanations of selections."""
from __future__ import annotations

import builtins
import dataclasses
import html
import os
import typing
from collections.abc import Iterable, Iterator, Mapping

from . import _kdl

FLAGS = {"file": 1, "global": 2, "no_host": 4}


@dataclasses.dataclass(frozen=True)
class Image:
    """One image of a library: one compiled variant of its kernels."""
    index: int
    kind: str  #: 'cubin', 'hsaco', 'spirv', 'object', ... as `kdl ls` names them
    triple: str
    arch: str
    offload_kind: int  #: LLVM's bits: 1 OpenMP, 2 CUDA, 4 HIP, 8 SYCL
    container: str
    offset: int
    size: int  #: in bytes, inflated
    stored: int  #: in bytes, in the file
    module: int
    parent: int | None
    problem: str
    metadata: dict[str, str]
    library: "Library" = dataclasses.field(repr=False, compare=False)

    def bytes(self) -> builtins.bytes:
        """The image itself."""
        return self.library._handle.image_bytes(self.index)

    def kernels(self) -> list[str]:
        """The names of its kernels."""
        return self.library._handle.image_kernels(self.index)


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why an image does not run: a code for programs, a text for users, and a remedy."""
    code: str
    words: str
    fix: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result for one image on a device."""
    image: Image
    place: int
    chosen: bool
    eligible: bool
    rank: int
    priority: int
    device: str
    fit: str
    reasons: tuple[Reason, ...]


def printable(text: str) -> str:
    """The text so that it cannot control a terminal: names in files may be anything."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class Explanation(typing.List[Verdict]):
    """The verdicts of all images, in rank order; prints as a table, also in notebooks."""

    def __init__(self, verdicts: Iterable[Verdict], kernel: str | None, device: str) -> None:
        super().__init__(verdicts)
        self.kernel = kernel
        self.device = device

    @property
    def chosen(self) -> Verdict | None:
        """The verdict of the selected image, or None."""
        return next((verdict for verdict in self if verdict.chosen), None)

    def _title(self) -> str:
        return printable(f"{self.kernel or 'every kernel'} on {self.device}")

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for verdict in self:
            mark = "*" if verdict.chosen else ""
            said = verdict.fit if verdict.eligible else "; ".join(reason.words for reason in verdict.reasons)
            arch = verdict.image.arch
            arch = arch if len(arch) < 25 else arch[:21] + "..."
            yield mark, str(verdict.image.index), verdict.image.kind, printable(arch), printable(said)

    def _end(self) -> str:
        if self.chosen:
            return f"chosen: image {self.chosen.image.index}, fits as {self.chosen.fit}"
        fixes = [reason.fix for verdict in self for reason in verdict.reasons if reason.fix]
        return "chosen: none" + (f"; fix: {fixes[0]}" if fixes else "")

    def __str__(self) -> str:
        rows = [("", "#", "KIND", "ARCH", "FITS AS, OR WHY NOT"), *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip() for row in rows]
        return "\n".join([self._title(), *lines, printable(self._end())])

    def _repr_html_(self) -> str:
        def cells(row: tuple[str, ...], tag: str) -> str:
            return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in self._rows())
        head = cells(("", "#", "kind", "arch", "fits as, or why not"), "th")
        title, end = html.escape(self._title()), html.escape(printable(self._end()))
        return f"<table><caption>{title}</caption><tr>{head}</tr>{body}</table><p>{end}</p>"


class Library:
    """A library of kernels: see kdl.open. len() counts its images, iteration gives them, library["name"] is the kernel of that name for
    the best device of this machine, and `"name" in library` whether an image lists it."""

    def __init__(self, handle: _kdl.Library) -> None:
        self._handle = handle

    @property
    def path(self) -> str | bytes | os.PathLike[str] | None:
        """What was opened; None for bytes."""
        return self._handle.path

    def __len__(self) -> int:
        return len(self._handle)

    def __iter__(self) -> Iterator[Image]:
        return (self.image(index) for index in range(len(self)))

    def __getitem__(self, name: str) -> _kdl.Kernel:
        if not isinstance(name, str):
            example = next(iter(self.kernels()), "saxpy")
            raise TypeError(f"library[...]: found {name!r}, expected the name of a kernel, such as {example!r}; library.image(0) is its first image")
        return self._handle[name]

    def __contains__(self, thing: object) -> bool:
        return thing in self.kernels() if isinstance(thing, str) else any(thing == image for image in self)

    def __repr__(self) -> str:
        where = 'in memory' if self.path is None else os.fsdecode(self.path)
        return f"<kdl.Library {printable(where)}: {len(self)} images>"

    def _repr_html_(self) -> str:
        rows = [("#", "kind", "triple", "arch", "bytes"), *((str(one.index), one.kind, one.triple, one.arch, str(one.size)) for one in self)]
        lines = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for row, tag in zip(rows, ["th"] + ["td"] * len(self))]
        return f"<table><caption>{html.escape(repr(self))}</caption>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"

    def image(self, index: int) -> Image:
        """One image, by its number."""
        return Image(**self._handle.image(index), library=self)

    @property
    def images(self) -> list[Image]:
        """Every image."""
        return list(self)

    def sequence(self, device: str | _kdl.Device | None = None, *, name: str | None = None,
                 kernels: "Library | None" = None) -> _kdl.Sequence:
        """The sequence that Sequence.save wrote, for a device, or the best one for its first kernel. run() must name each of its slots.
        kernels is a library with the kernels that the file does not contain; name selects one of several sequences."""
        return _kdl.Sequence.open(self._handle, device, name, None if kernels is None else kernels._handle)

    def kernels(self) -> list[str]:
        """The names of all kernels, of every image that lists them."""
        names: dict[str, None] = {}
        for index in range(len(self)):
            try:
                names.update(dict.fromkeys(self._handle.image_kernels(index)))
            except _kdl.UnsupportedError:
                pass
        return list(names)

    def kernel(self, name: str, device: str | _kdl.Device | None = None, *, policy: str | None = None, tag: str | None = None,
               constants: Mapping[str, typing.Any] | None = None) -> _kdl.Kernel:
        """The kernel for a device, by default the best one of this machine. It is loaded at its first launch.

        policy: 'best', 'first' or 'capability'; tag: a variant_tag to prefer; constants: values for specialization constants,
        as a dict, for linking images in bitcode."""
        return self._handle.kernel(name, device, policy, tag, constants)

    def explain(self, kernel: str | None = None, device: str | _kdl.Device = "0", *, policy: str | None = None,
                tag: str | None = None) -> Explanation:
        """Which image runs on a device, and why the others do not: an Explanation. This machine need not have the device:
        'h200', 'mi300x', 'cuda:sm_90'. NoMatchError if no image has the kernel."""
        found = device if isinstance(device, _kdl.Device) else _kdl.device(device)
        verdicts = []
        for said in self._handle.explain_data(kernel, found, policy, tag):
            said["image"] = self.image(said["image"])
            said["reasons"] = tuple(Reason(*reason) for reason in said["reasons"])
            verdicts.append(Verdict(**said))
        return Explanation(verdicts, kernel, found.name or found.label)


def open(source: typing.Any, *, name: str | None = None, search: bool = True, shared: bool = False,  # pylint: disable=redefined-builtin
         host: bool = True) -> Library:
    """Opens a library: a path, or bytes that hold one. A zip archive, such as AOTInductor's .pt2 package or a wheel, is opened as one
    library of all images in it: a kdl.Archive.

    A name without a '/' is searched for in KDL_LIBRARY_PATH and among the libraries installed with libkdl, unless search is False
    or the source is a pathlib.Path. shared lets kernels be found without naming the library; without host, no code of the
    library runs in this process. name is for messages."""
    flags = (0 if search and isinstance(source, (str, bytes)) else FLAGS["file"]) | (FLAGS["global"] if shared else 0)
    flags |= 0 if host else FLAGS["no_host"]
    from . import _archive  # it imports this module
    if _archive.is_archive(source, flags):
        return _archive.open_archive(source, name, flags)
    return Library(_kdl.open_library(source, name, flags))


class Writer:
    """Builds an OffloadBinary.

        writer = kdl.Writer()
        writer.add(cubin, triple="nvptx64-nvidia-cuda", arch="sm_90", offload_kind=2)
        writer.save("kernels.offload")
    """

    FORMATS = {"v1": 1, "v2": 2, "v3": 3, "v3-zstd": 0x103, "v3-zlib": 0x203}

    def __init__(self, format: str = "v1", digest: bool = True) -> None:  # pylint: disable=redefined-builtin
        if format not in self.FORMATS:
            raise ValueError(f"format: found {format!r}, expected one of {', '.join(self.FORMATS)}")
        self._format = self.FORMATS[format]
        self._digest = digest
        self._images: list[tuple[builtins.bytes, dict[str, str], int, int]] = []

    def add(self, image: typing.Any, *, triple: str, arch: str, offload_kind: int = 0, metadata: Mapping[str, str] | None = None) -> None:
        """Adds an image. metadata: further keys of docs/metadata.md."""
        data = image if isinstance(image, builtins.bytes) else memoryview(image).tobytes()
        pairs = {"triple": triple, "arch": arch, **(metadata or {})}
        self._images.append((data, pairs, offload_kind, _kdl.declared_kind(data)))

    def bytes(self) -> builtins.bytes:
        """The file."""
        return _kdl.pack(self._images, self._format, self._digest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file atomically; a replaced file keeps its mode."""
        _kdl.save(self._images, self._format, self._digest, os.fspath(path))
