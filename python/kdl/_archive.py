# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zip archives with libraries in them: AOTInductor's .pt2 packages, wheels."""
from __future__ import annotations

import builtins
import io
import os
import stat
import typing
import zipfile

from . import _kdl
from ._library import FLAGS, Library, Writer, printable

MOST = 1 << 30  # bytes of all members of an archive
BEGINNING = 1 << 20  # bytes of a member, which tell whether it is a library
STARTS = (b"PK\x03\x04", b"PK\x05\x06")


class Archive(Library):
    """The images of every library in a zip archive, as one library: the key `member` of an image's metadata is its file.

    Shared objects are images for the CPU, as with kdl.open: in a .pt2 package that is the program which launches its kernels."""

    def __init__(self, handle: _kdl.Library, path: typing.Any, members: dict[str, Library]) -> None:
        super().__init__(handle)
        self._path = path
        self.members = members  #: the libraries by the names of their members

    @property
    def path(self) -> str | bytes | os.PathLike[str] | None:
        """What was opened; None for bytes."""
        return typing.cast("str | bytes | os.PathLike[str] | None", self._path)

    def __repr__(self) -> str:
        where = 'in memory' if self.path is None else os.fsdecode(self.path)
        return f"<kdl.Archive {printable(where)}: {len(self)} images in {len(self.members)} members>"


def is_archive(source: typing.Any, flags: int) -> bool:
    """Whether a file or bytes are a zip archive, by the first bytes. A name to search for is not one."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not flags & FLAGS["file"] and os.sep not in os.fsdecode(path):
            return False
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return False
            with builtins.open(path, "rb") as file:
                return file.read(4) in STARTS
        except (OSError, ValueError):
            return False  # opening it will report that
    try:
        return bytes(memoryview(source).cast("B")[:4]) in STARTS
    except TypeError:
        return False


def _bad(name: str, words: str) -> _kdl.Error:
    return _kdl.BadFileError(f"{name}: {words}")


def _is_library(data: bytes, name: str) -> bool:
    """Whether a file may be a library, by its beginning."""
    try:
        _kdl.open_library(data, name, 0)
    except _kdl.BadFileError as error:
        return "format:" not in str(error)
    except _kdl.Error:
        pass
    return True


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> tuple[Library, bytes] | None:
    """A member as a library, and its bytes; None if it is not one."""
    shown = f"{name}:{info.filename}"
    with archive.open(info) as file:
        if not _is_library(file.read(BEGINNING), shown):
            while file.read(BEGINNING):  # checks the member's sum
                pass
            return None
    data = archive.read(info)
    try:
        return Library(_kdl.open_library(data, shown, 0)), data
    except _kdl.BadFileError as error:
        if "format:" in str(error):
            return None
        raise


def _members(source: typing.Any, name: str) -> dict[str, tuple[Library, bytes]]:
    try:
        with zipfile.ZipFile(source if isinstance(source, (str, os.PathLike)) else io.BytesIO(source)) as archive:
            found = [info for info in archive.infolist() if not info.is_dir()]
            total = sum(info.file_size for info in found)
            if total > MOST:
                raise _bad(name, f"found members of {total} bytes, expected at most {MOST}: kdl.check reads larger archives")
            pairs = [(info.filename, _read(archive, info, name)) for info in found]
    except (_kdl.Error, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise _kdl.FileAccessError(f"{name}: cannot read: {error.strerror}") from error
        raise _bad(name, f"zip archive: {error}") from error  # from bzip2
    except Exception as error:  # pylint: disable=broad-exception-caught  # the type depends on the damage
        raise _bad(name, f"zip archive: {error}") from error
    return {member: both for member, both in pairs if both is not None}


def open_archive(source: typing.Any, name: str | None, flags: int) -> Archive:
    """The libraries of a zip archive, as one."""
    shown = name or (os.fspath(source) if isinstance(source, (str, os.PathLike)) else "<memory>")
    members = _members(source, shown)
    writer = Writer(digest=False)
    for member, (library, whole) in members.items():
        for image in library:
            if image.parent is None:
                keys = {key: value for key, value in image.metadata.items() if key not in ("triple", "arch", "member")}
                data = image.bytes()
                writer.add(whole if data == whole else data, triple=image.triple, arch=image.arch, offload_kind=image.offload_kind,
                           metadata={**keys, "member": member})
    if not members:
        raise _bad(shown, "found no library among the members of a zip archive, expected one at least")
    handle = _kdl.open_library(writer.bytes(), shown, flags & ~FLAGS["file"])
    return Archive(handle, source if isinstance(source, (str, os.PathLike)) else None, {member: library for member, (library, _) in members.items()})
