# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opening, images, explaining, writing."""
import concurrent.futures
import os
import pathlib

import pytest

import kdl


def test_images_and_kernels(library):
    assert len(library) == 3
    gpu = library.images[1].kind
    assert gpu in ("cubin", "ptx")  # without ptxas, PTX is what kdl cc makes
    assert [image.kind for image in library] == ["object", gpu, gpu]
    assert library.images[2].arch == "sm_90"
    assert {"saxpy", "types", "place"} <= set(library.kernels())
    assert library.image(1).metadata["kdl.kernel.saxpy"].startswith("sig=f32 ptr<f32> ptr<f32> u32")
    assert library.image(0).bytes()[:4] == b"\x7fELF"
    table = library._repr_html_()
    assert table.count("<tr>") == 4 and "<th>kind</th>" in table and "<td>sm_90</td>" in table


def test_explains_for_devices_that_are_not_here(library):
    said = library.explain("saxpy", "h200")
    assert said.chosen.image.arch == "sm_90" and said.chosen.fit == ("exact" if said.chosen.image.kind == "cubin" else "driver IR")
    assert "sm_90" in str(said) and "<table>" in said._repr_html_()
    said = library.explain("saxpy", "v100")
    assert said.chosen is None
    assert any(reason.code for verdict in said for reason in verdict.reasons)
    assert "chosen: none" in str(said)
    with pytest.raises(kdl.BadCallError):
        library.explain("saxpy", "no such device")


@pytest.mark.parametrize("device", ["h200", "v100", "mi300x"])
def test_a_misspelt_kernel_is_not_explained(library, device):
    with pytest.raises(kdl.NoMatchError, match="'saxpi'; did you mean 'saxpy'"):
        library.explain("saxpi", device)


def test_names_of_kernels_are_members(library):
    assert "saxpy" in library and "no such kernel" not in library
    assert library.image(0) in library and 3 not in library


def test_writer_round_trip(library, tmp_path):
    writer = kdl.Writer()
    for image in library:
        writer.add(image.bytes(), triple=image.triple, arch=image.arch, offload_kind=image.offload_kind,
                   metadata={"kdl.kernel.saxpy": image.metadata["kdl.kernel.saxpy"], "note": "by a test"})
    writer.save(tmp_path / "again.offload")
    again = kdl.open(tmp_path / "again.offload")
    assert [image.bytes() for image in again] == [image.bytes() for image in library]
    assert all(image.metadata["note"] == "by a test" for image in again)
    assert list(tmp_path.iterdir()) == [tmp_path / "again.offload"]
    assert kdl.open(writer.bytes()).kernels() == ["saxpy"]


def test_a_file_is_saved_whole_and_keeps_its_mode(library, tmp_path):
    writer = kdl.Writer()
    writer.add(library.image(0).bytes(), triple="x86_64-unknown-linux-gnu", arch="x86-64")
    path = tmp_path / "saved.offload"
    path.write_bytes(b"old")
    path.chmod(0o640)
    left = tmp_path / f"saved.offload.{os.getpid()}.tmp"  # as of a process that was killed and had this one's number
    left.write_bytes(b"not ours")
    writer.save(path)
    assert path.read_bytes() == writer.bytes() and path.stat().st_mode & 0o777 == 0o640 and left.read_bytes() == b"not ours"
    with pytest.raises(kdl.FileAccessError, match="no-such"):
        writer.save(tmp_path / "no-such" / "file")


def test_threads_save_the_same_file(library, tmp_path):
    writer = kdl.Writer()
    writer.add(library.image(0).bytes(), triple="x86_64-unknown-linux-gnu", arch="x86-64")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(writer.save, tmp_path / "saved.offload") for _ in range(200)]:
            done.result()
    assert list(tmp_path.iterdir()) == [tmp_path / "saved.offload"]


def test_errors_are_exceptions_with_what_libkdl_said(library, tmp_path):
    with pytest.raises(kdl.FileAccessError, match="no/such/file: cannot open") as caught:
        kdl.open("/no/such/file")
    assert isinstance(caught.value, kdl.Error) and isinstance(caught.value, OSError) and caught.value.status == 5
    damaged = tmp_path / "damaged.offload"
    damaged.write_bytes(bytes(library.image(0).bytes())[:20])
    with pytest.raises(kdl.BadFileError):
        kdl.open(damaged).kernels()
    with pytest.raises(kdl.NoMatchError, match="no image holds the kernel 'nope'"):
        library["nope"]
    with pytest.raises(ValueError, match="expected a device of this machine"):
        library.kernel("saxpy", "cuda:sm_90")
    with pytest.raises(ValueError, match="policy"):
        library.kernel("saxpy", policy="worst")
    with pytest.raises(TypeError):
        kdl.open(3.5)


def test_names_that_are_no_utf8(library, tmp_path):
    path = pathlib.Path(str(tmp_path)) / "name-\udcff.offload"
    with pytest.raises(kdl.FileAccessError, match=r"name-\\xff"):
        kdl.open(path)
    writer = kdl.Writer()
    writer.add(library.image(0).bytes(), triple="x86_64-unknown-linux-gnu", arch="x86-64")
    path.write_bytes(writer.bytes())
    assert len(kdl.open(path)) == 1


def test_kernels_of_files_whose_names_are_no_utf8(library, tmp_path):
    path = pathlib.Path(str(tmp_path)) / "kernels-\udcff.offload"
    writer = kdl.Writer()
    image = library.image(0)
    writer.add(image.bytes(), triple=image.triple, arch=image.arch, metadata={"kdl.kernel.nothing": image.metadata["kdl.kernel.nothing"]})
    path.write_bytes(writer.bytes())
    assert kdl.open(path)["nothing"].info()["library"] == str(path)


def test_what_the_writer_refuses():
    with pytest.raises(ValueError, match="format: found 'v9', expected one of v1, v2"):
        kdl.Writer("v9")
    writer = kdl.Writer()
    with pytest.raises(TypeError):
        writer.add(5, triple="x", arch="y")
    writer.add(b"bytes", triple="x", arch="y", offload_kind=70000)
    with pytest.raises(ValueError, match="offload_kind: found 70000"):
        writer.bytes()


def test_constants_that_are_no_pairs(library):
    class Odd:
        def items(self):
            return [["name", 1]]
    for wrong in (Odd(), {5: 1}):
        with pytest.raises(TypeError, match="constants: found .*, expected a name and its value"):
            library.kernel("saxpy", "host", constants=wrong)


def test_devices(host):
    assert host.is_host and host.is_here and host.backend == "host" and host in kdl.devices()
    assert host == kdl.device("host") and hash(host) == hash(kdl.device("host"))
    away = kdl.device("mi300x")
    assert not away.is_here and away.arch.startswith("gfx942") and away != host
    assert "gfx942" in repr(away) and away.device_class == "discrete"
    assert kdl.device(away.spec) == away
    assert kdl.refresh() == 0


def test_a_library_in_bytes_outlives_its_name(library):
    writer = kdl.Writer()
    writer.add(library.image(0).bytes(), triple=library.image(0).triple, arch=library.image(0).arch,
               metadata={"kdl.kernel.nothing": library.image(0).metadata["kdl.kernel.nothing"]})
    data = bytearray(writer.bytes())
    kernel = kdl.open(data)["nothing"]
    data.clear()
    kernel[1]()


@pytest.mark.parametrize("key", [0, -1, slice(0, 1), None])
def test_what_is_no_name_leads_to_names_and_images(library, key):
    with pytest.raises(TypeError, match=r"found .*, expected the name of a kernel, such as 'saxpy'.*image\("):
        library[key]
