# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kdl.check, kdl.thin and kdl.trace: the commands' results, as data and as tables."""
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

import kdl


@pytest.fixture
def path(library, tmp_path):
    """The kernels as a file: images for this CPU, sm_80 and sm_90."""
    writer = kdl.Writer()
    for image in library:
        writer.add(image.bytes(), triple=image.triple, arch=image.arch, offload_kind=image.offload_kind,
                   metadata={key: value for key, value in image.metadata.items() if key.startswith("kdl.kernel.")})
    writer.save(tmp_path / "kernels.offload")
    return tmp_path / "kernels.offload"


def test_check(path, library):
    report = kdl.check(path, device=["a100", kdl.device("mi300x")])
    devices = report["libraries"][0]["devices"]
    assert [one["runs"] for one in devices] == ["native" if library.images[1].kind == "cubin" else "jit", "other"] and devices[0]["kernels"] == 7
    text = str(report)
    assert text.startswith("1 libraries in 1 files, 0 not readable") and "kernels.offload" in text and "7 of 7" in text and "0 of 7" in text
    html = report._repr_html_()
    assert html.count("<tr>") == 3 and "kernels.offload" in html
    assert json.loads(json.dumps(report)) == report


def test_check_shows_the_package_the_reason_and_the_device_as_given(path, tmp_path):
    wheel = tmp_path / "thing-1.5-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, "thing/kernels.offload")
        archive.writestr("thing-1.5.dist-info/METADATA", "Name: thing\nVersion: 1.5\n")
        archive.writestr("thing-1.5.dist-info/RECORD", "thing/kernels.offload,,\nthing-1.5.dist-info/RECORD,,\n")
    report = kdl.check(wheel, device=["t4", "h100", kdl.device("mi300x")])
    lines = str(report).splitlines()
    columns = lines[1].split()
    assert columns[:4] == ["PACKAGE", "LIBRARY", "DEVICE", "RUNS"] and columns[-1] == "WHY"
    assert all(line.startswith("thing 1.5 ") for line in lines[2:]) and report["libraries"][0]["package"] == "thing 1.5"
    t4, h100, mi300x = lines[2:]
    assert " t4 " in t4 and " no " in t4 and "sm_80" in t4.split(" of 7")[-1]
    assert " h100 " in h100 and " yes " in h100 and h100.endswith("-")
    assert " AMD Instinct MI300X " in mi300x and " no " in mi300x and "AMD GPU" in mi300x
    assert all(f"<td>{name}</td>" in report._repr_html_() for name in ("thing 1.5", "t4", "h100"))


def test_check_tells_alternatives_from_libraries_for_other_devices(path, tmp_path):
    if not shutil.which("gcc") or not shutil.which("objcopy"):
        pytest.skip("gcc or objcopy not found")
    folder = tmp_path / "both"
    folder.mkdir()
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "none.so"], check=True)
    for version in (118, 128):
        subprocess.run(["objcopy", "--add-section", f".kdl.offloading={path}", "--set-section-flags", ".kdl.offloading=alloc,readonly,data",
                        tmp_path / "none.so", folder / f"libk_cuda{version}.so"], check=True)
    report = kdl.check(folder, device="h100")
    assert [library["devices"][0]["is_alternative"] for library in report["libraries"]] == [True, False]
    assert ["serves the device better" in line for line in str(report).splitlines()[2:]] == [True, False]


def test_check_runs_nothing(tmp_path, monkeypatch):
    program = tmp_path / "-program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/it-ran\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (program, "-program"):
        assert kdl.check(path, device="h100")["libraries"] == []
    assert not (tmp_path / "it-ran").exists()


def test_check_of_this_machine_and_of_what_is_no_library(path, tmp_path):
    assert all(library["devices"] for library in kdl.check(path)["libraries"])
    (tmp_path / "other.txt").write_text("text")
    assert kdl.check(tmp_path)["libraries"][0]["file"].endswith("kernels.offload")
    (tmp_path / "cut.offload").write_bytes(path.read_bytes()[:300])
    assert kdl.check(tmp_path / "cut.offload")["unreadable"][0]["error"]
    with pytest.raises(FileNotFoundError, match="no-such"):
        kdl.check(tmp_path / "no-such")
    with pytest.raises(kdl.CommandError, match="no-such-gpu"):
        kdl.check(path, device="no-such-gpu")


def test_names_that_are_no_utf8(path, tmp_path):
    odd = tmp_path / "odd"
    odd.mkdir()
    shutil.copy(path, odd / "k-\udcff.offload")
    report = kdl.check(odd, device="a100")
    assert report["libraries"][0]["file"]["hex"].endswith(b"k-\xff.offload".hex()) and r"k-\xff.offload" in str(report)
    assert "sm_90" in str(kdl.thin(odd / "k-\udcff.offload", device="h100"))


def test_names_do_not_control_the_terminal(path, tmp_path):
    name = "\x1b]0;owned\x07\x9b31m\u202e"
    wheel = tmp_path / "thing-1.5-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, f"{name}.offload")
    report = kdl.check(wheel, device="a100")
    assert name in report["libraries"][0]["member"]
    for text in (str(report), str(kdl.thin(wheel, device="a100")), report._repr_html_(), str(kdl.open(path).explain("saxpy", "a100"))):
        assert all(one.isprintable() for one in text.replace("\n", ""))
    odd = tmp_path / f"{name}.offload"
    shutil.copy(path, odd)
    said = kdl.open(odd).explain("saxpy", "a100")
    said.kernel = name
    assert str(said).startswith(r"\x1b]0;owned\x07\x9b31m\u202e on ") and r"\u202e" in said._repr_html_() and r"\x1b" in repr(kdl.open(odd))


def test_names_do_not_depend_on_the_locale(path, tmp_path):
    folder = tmp_path / "\u00e9\u00e8"
    folder.mkdir()
    shutil.copy(path, folder)
    program = "import kdl, sys; print(ascii(kdl.check(sys.argv[1], device='a100')['libraries'][0]['file']))"
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, encoding="ascii", check=True,
                          env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert done.stdout.strip().endswith(r"/\xe9\xe8/kernels.offload'")


def test_thin_says_what_stays_and_why(path):
    before = path.read_bytes()
    report = kdl.thin(path, device="h100")
    kept = [image["arch"] for image in report["images"] if image["kept"]]
    assert kept == ["sm_90"] and all(image["why"] for image in report["images"])
    assert path.read_bytes() == before and report["output"] is None
    assert "h100 chooses it" in str(report) and "h100 chooses it" in report._repr_html_()


def test_thin_writes(path, tmp_path):
    kdl.thin(path, device=["h100", "a100"], output=tmp_path / "thin.offload")
    assert sorted(image.arch for image in kdl.open(tmp_path / "thin.offload")) == ["sm_80", "sm_90"]
    kdl.thin(path, device="h100", keep=["arch=sm_80"], in_place=True)
    assert sorted(image.arch for image in kdl.open(path)) == ["sm_80", "sm_90"]
    kdl.thin(path, device="h100", in_place=True)
    with pytest.raises(ValueError, match="both output and in_place"):
        kdl.thin(path, device="h100", output=path, in_place=True)
    with pytest.raises(kdl.CommandError, match="none of 1 images fits"):
        kdl.thin(path, device="mi300x")


def test_thin_of_an_archive(path, tmp_path):
    with zipfile.ZipFile(tmp_path / "p-1-py3-none-any.whl", "w") as archive:
        archive.write(path, "p/kernels.offload")
        archive.writestr("p/__init__.py", "")
        archive.writestr("p-1.dist-info/RECORD", "p/kernels.offload,,\np/__init__.py,,\np-1.dist-info/RECORD,,\n")
    report = kdl.thin(tmp_path / "p-1-py3-none-any.whl", device="h100")
    assert "p/kernels.offload" in str(report) and report["members"]


def test_trace(path, tmp_path):
    program = f"import kdl; k = kdl.open({str(path)!r}).kernel('nothing', 'host'); [k[1]() for _ in range(5)]; raise SystemExit(3)"
    report = kdl.trace([sys.executable, "-c", program], output=tmp_path / "trace.json")
    assert report["returned"] == 3
    launches = [layer for layer in report["layers"] if layer["name"] == "launch"]
    assert launches[0]["count"] == 5 and [kernel["name"] for kernel in report["kernels"]] == ["nothing"]
    assert "launch" in str(report) and "<td>launch</td>" in report._repr_html_()
    assert kdl.trace_report(tmp_path / "trace.json")["kernels"] == report["kernels"]
    with pytest.raises(kdl.CommandError, match="no trace was written; the program returned 0"):
        kdl.trace([sys.executable, "-c", "pass"])
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(kdl.CommandError, match="bad.json"):
        kdl.trace_report(tmp_path / "bad.json")
