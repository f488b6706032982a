# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kdl.matmul of the arrays of other packages: the result is an array of the same package."""
import tracemalloc

import pytest

import kdl

np = pytest.importorskip("numpy")
try:
    kdl.matmul(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
except (kdl.Error, OSError) as missing:
    pytest.skip(f"the library kdl-matmul cannot be used: {missing}", allow_module_level=True)


class Array:
    """An array of another package, by the array API of Python: from_dlpack of its module makes one."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array

    @staticmethod
    def from_dlpack(array):
        return Array(np.from_dlpack(array))

    def __array_namespace__(self, api_version=None):
        return Array


def test_packages_with_the_array_api_get_their_arrays():
    a, b = np.full((3, 4), 2, np.float32), np.ones((4, 5), np.float32)
    for left, right in ((Array(a), Array(b)), (Array(a), b), (a, Array(b)), (Array(a), kdl.PackedMatrix(Array(b)))):
        result = kdl.matmul(left, right)
        assert type(result) is Array and np.array_equal(result.array, a @ b)
    assert type(kdl.matmul(a, kdl.PackedMatrix(Array(b)))) is np.ndarray
    c = np.empty((3, 5), np.float32)
    assert kdl.matmul(Array(a), Array(b), c) is c and (c == 8).all()


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch not found")


TYPES = ["float32", "float16", "bfloat16", "int8"]


def operands(torch, name):
    torch.manual_seed(1)
    return [(torch.randn(shape) * 8).to(getattr(torch, name)) for shape in ((70, 90), (90, 50))]


@pytest.mark.parametrize("name", TYPES)
def test_tensors_give_tensors(torch, name):
    a, b = operands(torch, name)
    expected, kind = a.double() @ b.double(), torch.int32 if name == "int8" else torch.float32
    weights = kdl.PackedMatrix(b)
    for result in (kdl.matmul(a, b), kdl.matmul(a, weights), a @ weights, kdl.matmul(a, b.T.contiguous().T), kdl.matmul(a, b, threads=1)):
        assert isinstance(result, torch.Tensor) and result.dtype == kind and torch.allclose(result.double(), expected, rtol=1e-4, atol=1e-3)
    out = torch.empty(70, 50, dtype=kind)
    assert kdl.matmul(a, weights, out=out) is out and torch.allclose(out.double(), expected, rtol=1e-4, atol=1e-3)
    stack = kdl.matmul(a.view(7, 10, 90), b)
    assert stack.shape == (7, 10, 50) and torch.equal(stack.view(70, 50), kdl.matmul(a, b))
    assert kdl.matmul(a[0], b[:, 0]).shape == ()


@pytest.mark.parametrize("name", TYPES)
def test_tensors_are_written_in_place(torch, name):
    """Nothing of the result's size is allocated by NumPy."""
    a, b = (torch.ones(256, 256, dtype=getattr(torch, name)) for _ in range(2))
    out = torch.zeros(256, 256, dtype=torch.int32 if name == "int8" else torch.float32)
    kdl.matmul(a, b, out)
    tracemalloc.start()
    try:
        kdl.matmul(a, b, out)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 100_000 and (out == 256).all()


def test_tensors_beside_arrays_of_numpy(torch):
    a, b = np.ones((3, 4), np.float32), torch.ones(4, 5)
    assert isinstance(kdl.matmul(a, b), torch.Tensor) and isinstance(kdl.matmul(torch.from_numpy(a), b.numpy()), torch.Tensor)
    assert type(kdl.matmul(a, kdl.PackedMatrix(b))) is np.ndarray
    out = np.empty((3, 5), np.float32)
    assert kdl.matmul(a, b, out) is out and (out == 4).all()
    target = torch.empty(3, 5)
    assert kdl.matmul(a, b.numpy(), target) is target and (target == 4).all()


def test_gradients_are_not_dropped(torch):
    a, weights = torch.ones(2, 2), torch.nn.Parameter(torch.ones(2, 2))
    for call in (lambda: kdl.matmul(a, weights), lambda: kdl.matmul(weights, a), lambda: kdl.matmul(a, a, weights)):
        with pytest.raises(TypeError, match=r"requires a gradient.*detach\(\)"):
            call()
    with torch.no_grad():
        assert (kdl.matmul(a, weights) == 2).all()
    assert (kdl.matmul(a, kdl.PackedMatrix(weights.detach())) == 2).all()


def test_tensors_that_are_refused(torch):
    a = torch.ones(2, 2)
    for other, text in ((torch.ones(2, 2, device="meta"), "device meta"), (a.double(), "float64"), (a.to(torch.complex64), "complex64"),
                        (a.to_sparse(), "sparse")):
        with pytest.raises(TypeError, match=f"matmul: .*{text}"):
            kdl.matmul(a, other)
    with pytest.raises(ValueError, match="matmul: out: "):
        kdl.matmul(a, a, a.double())
    view = torch.complex(a, a).conj().imag
    assert view.is_neg() and (kdl.matmul(a, view) == -2).all()
