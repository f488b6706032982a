# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zip archives that kdl.open opens: the members that are libraries, as one."""
import contextlib
import io
import os
import subprocess
import sys
import zipfile

import pytest

import kdl

FOLDER = "model/data/aotinductor/model/"


def zipped(members, **options):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.fixture
def package(library):
    """A .pt2 package as AOTInductor writes it for a GPU: the program's code, and a cubin for each kernel."""
    cubins = {image.arch: image.bytes() for image in library if image.kind == "cubin"}
    if not cubins:
        pytest.skip("kdl cc found no ptxas to make cubins with")
    with open(os.path.realpath("/proc/self/exe"), "rb") as file:
        program = file.read()
    return zipped({FOLDER + "cabc.wrapper.so": program, FOLDER + "cabc.wrapper.cpp": "int main() {}", FOLDER + "triton_poi_0.cubin": cubins["sm_80"],
                   FOLDER + "triton_poi_1.cubin": cubins["sm_90"], "model/archive_format": "pt2", "model/byteorder": "little", "model/empty": ""})


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_package_is_one_library(package, library, tmp_path, compression):
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        package = zipped({info.filename: archive.read(info) for info in archive.infolist()}, compression=compression)
    path = tmp_path / "model.pt2"
    path.write_bytes(package)
    for source in (path, str(path), package, bytearray(package)):
        opened = kdl.open(source)
        assert isinstance(opened, kdl.Archive) and isinstance(opened, kdl.Library)
        assert list(opened.members) == [FOLDER + name for name in ("cabc.wrapper.so", "triton_poi_0.cubin", "triton_poi_1.cubin")]
        assert [image.kind for image in opened] == ["object", "cubin", "cubin"]
        assert [image.arch for image in opened][1:] == ["sm_80", "sm_90"]
        assert [image.metadata["member"] for image in opened] == list(opened.members)
        assert set(library.kernels()) <= set(opened.kernels())
        assert opened.explain("saxpy", "h100").chosen.image.arch == "sm_90"
        assert opened.explain("saxpy", "a100").chosen.image.arch == "sm_80"
        assert len(opened.members[FOLDER + "triton_poi_0.cubin"]) == 1
    assert repr(kdl.open(path)) == f"<kdl.Archive {path}: 3 images in 3 members>" and kdl.open(path).path == path


def test_members_keep_their_metadata(library, tmp_path):
    writer = kdl.Writer()
    image = library.image(0)
    writer.add(image.bytes(), triple=image.triple, arch=image.arch, metadata={"kdl.kernel.nothing": image.metadata["kdl.kernel.nothing"]})
    opened = kdl.open(zipped({"a/k.offload": writer.bytes()}))
    assert opened.image(0).metadata["kdl.kernel.nothing"] == image.metadata["kdl.kernel.nothing"]
    opened.kernel("nothing", "host")[1]()


def test_a_name_is_not_looked_for_in_the_current_folder(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pt2").write_bytes(package)
    with pytest.raises(kdl.Error, match="model.pt2"):
        kdl.open("model.pt2")
    assert len(kdl.open("./model.pt2")) == len(kdl.open("model.pt2", search=False)) == 3


def test_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kdl.Error, match="pipe"):
        kdl.open(tmp_path / "pipe")


@pytest.mark.parametrize("members", [{}, {"a.txt": "text"}])
def test_archives_without_libraries(members):
    with pytest.raises(kdl.BadFileError, match="<memory>: found no library among the members"):
        kdl.open(zipped(members))


def test_damaged_archives(package, tmp_path):
    with pytest.raises(kdl.BadFileError, match="cut.pt2: zip archive: "):
        (tmp_path / "cut.pt2").write_bytes(package[:-100])
        kdl.open(tmp_path / "cut.pt2")
    damaged = bytearray(package)
    damaged[package.index(b"model/byteorder") + len(b"model/byteorder")] ^= 0xFF
    with pytest.raises(kdl.BadFileError, match="here: zip archive: Bad CRC"):
        kdl.open(bytes(damaged), name="here")
    with pytest.raises(kdl.BadFileError, match="k.offload"):
        kdl.open(zipped({"k.offload": b"\x10\xff\x10\xad" + bytes(100)}))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_that_are_damaged_anywhere(compression):
    data = zipped({"a.txt": "text" * 100, "d/\u00e9": b"\x7fELF" + bytes(300)}, compression=compression)
    for at in range(4, len(data)):
        for bits in (0xFF, 0x80, 1):
            damaged = bytearray(data)
            damaged[at] ^= bits
            with contextlib.suppress(kdl.Error):
                kdl.open(bytes(damaged))


def test_what_opening_takes(tmp_path):
    """Of members that are no libraries their beginning alone; of shared objects three copies, and one more of an image."""
    size = 64 << 20
    with zipfile.ZipFile(tmp_path / "weights.pt2", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(os.path.realpath("/proc/self/exe"), "p.so")
        archive.writestr("weights", bytes(2 * size))
    with open("/bin/true", "rb") as file:
        program = file.read()
    with zipfile.ZipFile(tmp_path / "libraries.pt2", "w") as archive:
        for i in range(4):
            archive.writestr(f"{i}.so", program + bytes(size // 4))
    taken = ("import kdl, resource, sys; before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; kdl.open(sys.argv[1]);"
             "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)")
    for name, most in (("weights", size), ("libraries", 3 * size + size // 2)):
        out = subprocess.run([sys.executable, "-c", taken, tmp_path / f"{name}.pt2"], check=True, capture_output=True, text=True).stdout
        assert int(out) * 1024 < most


def test_archives_that_are_too_large(monkeypatch, package):
    from kdl import _archive
    monkeypatch.setattr(_archive, "MOST", 1000)
    with pytest.raises(kdl.BadFileError, match="expected at most 1000: kdl.check reads larger archives"):
        kdl.open(package)
