# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the code of docs/python.md."""
import os
import re
import shutil
import sys

import pytest

import kdl
import test_model

np = pytest.importorskip("numpy")
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")


def blocks():
    """The code below each heading."""
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"^## (.*)$", file.read(), flags=re.M)
    return {title: re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S) for title, text in zip(parts[1::2], parts[2::2])}


def save(library, path):
    """The library, and PTX for what it has no cubin for."""
    writer = kdl.Writer()
    for image in [*library, *kdl.compile("k.c", text="#include <kdl/kernel.h>\n__gpu_kernel void nothing(void) {}\n", targets="compute_80")]:
        writer.add(image.bytes(), triple=image.triple, arch=image.arch, offload_kind=image.offload_kind,
                   metadata={key: value for key, value in image.metadata.items() if key.startswith("kdl.kernel.")})
    writer.save(path)


@pytest.fixture
def run(library, tmp_path, monkeypatch):
    """Runs the code below a heading, in a folder that has the files it names."""
    if not (shutil.which("clang-22") or shutil.which("clang")):
        pytest.skip("clang not found (Debian: clang-22)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    for folder in ("venv", "thin"):
        os.mkdir(folder)
    for path in ("saxpy.offload", "venv/kernels.offload", "libfoo.so"):
        save(library, path)
    with open("train.py", "w", encoding="utf-8") as file:
        file.write("import kdl; kdl.open('./saxpy.offload').kernel('nothing', 'host')[1]()")
    names = {"kdl": kdl, "np": np, "os": os}

    def execute(title, **more):
        names.update(more)
        for block in blocks()[title]:
            exec(compile(block, f"{PAGE}: {title}", "exec"), names)  # pylint: disable=exec-used
        return names
    return execute


def test_opening_and_launching(run):
    names = run("Opening and explaining")
    assert os.path.exists("thin/libfoo.so")
    if not names["lib"]["saxpy"].device.is_host:
        pytest.skip("the best device has memory of its own, and the arrays are NumPy's")
    n = 4
    arrays = {name: np.ones(n, np.float32) for name in "xyz"}
    names = run("Launching", n=n, queue=kdl.Queue(names["lib"]["saxpy"].device), **arrays)
    assert arrays["y"].tolist() == [10] * n and arrays["z"].tolist() == [4] * n


def test_matrices(run):
    a, b = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    try:
        names = run("Matrices", a=a, b=b, c=np.empty((3, 2), np.float32))
    except kdl.Error as error:
        pytest.skip(str(error))
    assert names["y"].tolist() == names["c"].tolist() == [[4, 4]] * 3


def test_compiled_models(run, tmp_path):
    row = {"name": "main", "symbol": "_mlir_ciface_add", "arguments": [test_model.value("f32[?x?]")] * 2, "results": [test_model.value("f32[?x?]")]}
    test_model.compiled(tmp_path / "model.so", test_model.SOURCE, {"format": 1, "target": "host", "functions": [row]})
    names = run("Compiled models", a=np.ones((2, 3), np.float32), b=np.ones((2, 3), np.float32))
    assert (names["c"] == 2).all() and names["c"].shape == (2, 3)


def test_operators_of_pytorch(run, library):
    torch = pytest.importorskip("torch", reason="PyTorch not found")
    if not hasattr(torch.library, "register_fake"):
        pytest.skip(f"PyTorch {torch.__version__} found, 2.4 needed")
    x = torch.arange(8, dtype=torch.float32)
    names = run("Operators of PyTorch's", torch=torch, x=x, y=torch.ones(8), lib=library)
    assert torch.equal(names["saxpy"](2.0, x, torch.ones(8)), 2 * x + 1)
