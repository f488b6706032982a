# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors and operators of PyTorch's, on the CPU and on CUDA where it is there."""
import pytest

import kdl

torch = pytest.importorskip("torch", reason="PyTorch not found")
if not hasattr(torch.library, "register_fake"):
    pytest.skip(f"PyTorch {torch.__version__} found, 2.4 needed", allow_module_level=True)
kt = pytest.importorskip("kdl.torch")
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.fixture(params=DEVICES)
def tensors(request):
    return torch.arange(1000, dtype=torch.float32, device=request.param), torch.ones(1000, device=request.param)


def functional(library, name="saxpy", **changes):
    return kt.op(f"kdl_test::{name}", library, "saxpy", **{
        "schema": "(float a, Tensor x, Tensor y) -> Tensor", "outputs": lambda a, x, y: y.clone(),
        "arguments": lambda out, a, x, y: (a, x, out, x.numel()), "items": lambda out, a, x, y: x.numel(), **changes})


@pytest.fixture(scope="module")
def saxpy(library):
    return functional(library)


@pytest.fixture(scope="module")
def saxpy_(library):
    return functional(library, "saxpy_", schema="(float a, Tensor x, Tensor(a!) y) -> ()", outputs=None,
                      arguments=lambda a, x, y: (a, x, y, x.numel()), items=lambda a, x, y: x.numel())


def test_launch_with_tensors(library, tensors):
    x, y = tensors
    kernel = library.kernel("saxpy", "host" if x.device.type == "cpu" else "cuda:0")
    kernel[1000](2.0, x, y, 1000)
    assert torch.equal(y, 2 * x + 1)
    with pytest.raises(TypeError, match="argument 1: found an array of f64, expected ptr<f32>"):
        kernel[1000](2.0, x.double(), y, 1000)
    for other in (torch.empty(1000, device="meta"), x.to_sparse()):  # in PyTorch's words, and without the frames of its C++
        with pytest.raises(TypeError, match="^saxpy: argument 1: [^\n]*$"):
            kernel[1000](2.0, other, y, 1000)


def test_tensors_of_every_kind(library, tensors):
    x, y = tensors
    kernel = library.kernel("saxpy", "host" if x.device.type == "cpu" else "cuda:0")
    same = [x, torch.nn.Parameter(x.clone()), (x.clone().requires_grad_() * 1), x.as_subclass(type("Sub", (torch.Tensor,), {})),
            x.view(10, 100).T, torch.inference_mode()(x.clone)()]
    for one in same:
        kernel[1000](1.0, one, y, 1000)
    assert torch.equal(y, 6 * x + 1)
    kernel[1000](1.0, x[:0], y, 0)
    kernel[1](torch.tensor(2.0), x, y, torch.tensor(1))
    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(1000, device=x.device)
    freed = x.clone()
    freed.untyped_storage().resize_(0)
    for one, text in ((fake, "no memory"), (freed, "no memory"), (x.to(torch.bfloat16), "array of bf16"), (x > 1, "array of u8"),
                      (x.to(torch.complex64), "array of 8 bytes"), (x.to_sparse(), None)):
        with pytest.raises((TypeError, RuntimeError, BufferError, NotImplementedError), match=text):
            kernel[1000](1.0, one, y, 1000)


def test_op(saxpy, saxpy_, tensors):
    x, y = tensors
    assert torch.equal(saxpy(2.0, x, y), 2 * x + 1) and torch.equal(y, torch.ones_like(y))
    saxpy_(2.0, x, y)
    assert torch.equal(y, 2 * x + 1)


def test_op_is_what_pytorch_expects(saxpy, saxpy_, tensors):
    x, y = tensors
    torch.library.opcheck(saxpy.default, (2.0, x, y))
    torch.library.opcheck(saxpy_.default, (2.0, x, y))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_op_is_compiled(saxpy, saxpy_, tensors, backend):
    x, y = tensors

    def program(x, y):
        z = saxpy(3.0, x * 2, y).relu()
        saxpy_(1.0, x, z)
        return z + 1
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    assert torch.equal(compiled(x, y), 7 * x + 2)
    assert torch.equal(compiled(x[:500].clone(), y[:500].clone()), 7 * x[:500] + 2)


def test_op_is_exported(saxpy, tensors):
    class Module(torch.nn.Module):
        def forward(self, x, y):
            return saxpy(2.0, x, y)
    exported = torch.export.export(Module(), tensors)
    assert "kdl_test.saxpy" in str(exported.graph)
    assert torch.equal(exported.module()(*tensors), 2 * tensors[0] + 1)


def test_op_in_a_graph_of_cuda(saxpy_, tensors):
    x, y = tensors
    if x.device.type == "cpu":
        pytest.skip("no CUDA device")
    saxpy_(1.0, x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        saxpy_(1.0, x, y)
    before = y.clone()
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, before + 2 * x)


def test_what_is_refused(library, saxpy):
    with pytest.raises(ValueError, match="expected 'namespace::name'"):
        functional(library, "two::names")
    with pytest.raises(ValueError, match="returns tensors needs outputs"):
        functional(library, "without", outputs=None)
    with pytest.raises(ValueError, match="returns nothing has no outputs"):
        functional(library, "with_outputs", schema="(Tensor(a!) y) -> ()")
    x = torch.zeros(8)[::2]
    with pytest.raises(ValueError, match="argument 1 of the kernel: found a tensor of shape"):
        saxpy(1.0, x, torch.zeros(4))
    with pytest.raises(kdl.NoMatchError):
        functional(kdl.open(only_sm_80(library)), "elsewhere")(1.0, torch.zeros(4), torch.zeros(4))


def only_sm_80(library):
    writer, image = kdl.Writer(), library.image(1)
    writer.add(image.bytes(), triple=image.triple, arch=image.arch, offload_kind=image.offload_kind)
    return writer.bytes()


@pytest.mark.parametrize("contiguous", [False, True])
def test_tensors_whose_memory_has_other_values(library, tensors, contiguous):
    _, y = tensors
    kernel = library.kernel("saxpy", "host" if y.device.type == "cpu" else "cuda:0")
    number = torch.full((4,), 1 + 2j, dtype=torch.complex64, device=y.device)
    negative = number[0].conj().imag.view(1) if contiguous else number.conj().imag
    assert negative.is_neg() and negative.is_contiguous() == contiguous
    with pytest.raises(TypeError, match="^saxpy: argument 1: found a tensor whose negative bit is set: pass tensor.resolve_neg()"):
        kernel[1](1.0, negative, y, 1)
    kernel[1](1.0, negative.resolve_neg(), y, 1)
    assert y[0] == -1
    with pytest.raises(TypeError, match="argument 1: found a tensor whose conjugate bit is set: pass tensor.resolve_conj()"):
        kernel[1](1.0, number.conj(), y, 1)


def test_tensors_are_slots_of_sequences(library, tensors):
    x, y = tensors
    z = torch.zeros_like(y)
    kernel = library.kernel("saxpy", "host" if x.device.type == "cpu" else "cuda:0")
    with kdl.Sequence(kernel.device, y=y) as steps:
        kernel[1000](2.0, x, y, 1000)
        kernel[1000](1.0, x, y, 1000)
    assert torch.equal(y, torch.ones_like(y))
    steps.run()
    steps.run(y=z)
    assert torch.equal(y, 3 * x + 1) and torch.equal(z, 3 * x)
