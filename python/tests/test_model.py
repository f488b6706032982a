# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kdl.load_model, with models made of C: what `kdl-mlir compile` writes is a shared object with these functions and a description."""
import gc
import json
import os
import shutil
import subprocess
import threading

import pytest

import kdl

np = pytest.importorskip("numpy")

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define MEMREF(name, rank) typedef struct { float *allocated, *aligned; int64_t offset, sizes[rank], strides[rank]; } name
MEMREF(vector, 1);
MEMREF(matrix, 2);
typedef struct { float *allocated, *aligned; int64_t offset; } scalar;

void _mlir_ciface_add(matrix *out, const matrix *a, const matrix *b) {
  int64_t rows = a->sizes[0], columns = a->sizes[1];
  float *data = malloc(rows * columns * sizeof(float));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      data[i * columns + j] = a->aligned[a->offset + i * a->strides[0] + j * a->strides[1]] +
                              b->aligned[b->offset + i * b->strides[0] + j * b->strides[1]];
  *out = (matrix){data, data, 0, {rows, columns}, {columns, 1}};
}
/* A result that is not at the begin of its memory, nor in C's order. */
void _mlir_ciface_turned(matrix *out, const matrix *a) {
  int64_t rows = a->sizes[0], columns = a->sizes[1];
  float *data = malloc((rows * columns + 5) * sizeof(float));
  memcpy(data + 5, a->aligned, rows * columns * sizeof(float));
  *out = (matrix){data, data + 2, 3, {columns, rows}, {1, columns}};
}
/* Where the argument's memory is. */
int64_t _mlir_ciface_address(const matrix *a) { return (int64_t)(a->aligned + a->offset); }
float _mlir_ciface_sum(int64_t a, float b, int32_t c, double d, _Bool e, float f, float g, float h, float i, float j, float k, float l,
                       int64_t m, int64_t n, int64_t o, int64_t p, double q, int8_t r) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r;
}
#define SIX(x) const scalar *x##0, const scalar *x##1, const scalar *x##2, const scalar *x##3, const scalar *x##4, const scalar *x##5
float _mlir_ciface_many(SIX(a), SIX(b), SIX(c), SIX(d)) { return a0->aligned[0] + 2 * b5->aligned[0] + 3 * d5->aligned[0]; }
typedef struct { vector first; int8_t small; double number; scalar last; _Bool truth; } several;
void _mlir_ciface_several(several *out, const vector *a) {
  out->first = *a;
  out->first.allocated = out->first.aligned = malloc(a->sizes[0] * sizeof(float));
  memcpy(out->first.aligned, a->aligned, a->sizes[0] * sizeof(float));
  out->small = -3, out->number = 0.5, out->truth = 1;
  out->last.allocated = out->last.aligned = malloc(sizeof(float)), out->last.offset = 0, *out->last.aligned = a->aligned[0];
}
_Bool _mlir_ciface_not(_Bool a) { return !a; }
int8_t _mlir_ciface_negative(int8_t a) { return -a; }
_Float16 _mlir_ciface_half(_Float16 a) { return a; }
double _mlir_ciface_double(double a) { return a; }
void _mlir_ciface_nothing(void) {}
/* Elements of 2 bytes, and of 1. */
void _mlir_ciface_brain(vector *out, const vector *a) {
  uint16_t *data = malloc(a->sizes[0] * 2);
  memcpy(data, a->aligned, a->sizes[0] * 2);
  *out = (vector){(float *)data, (float *)data, 0, {a->sizes[0]}, {1}};
}
uint8_t _mlir_ciface_byte(uint8_t a, int64_t b) { return a + b; }
int64_t _mlir_ciface_truths(const vector *a) {
  int64_t sum = 0;
  for (int64_t i = 0; i < a->sizes[0]; ++i)
    sum += ((const uint8_t *)a->aligned)[i];
  return sum;
}
int64_t _mlir_ciface_signal(vector *a, vector *b) {
  volatile float *x = a->aligned, *y = b->aligned;
  x[0] = 1;
  while (!y[0])
    ;
  return 7;
}
"""


def value(text):
    """ "f32[4x?]" or "i64", as the description has it."""
    kind, _, shape = text.rstrip("]").partition("[")
    if "[" not in text:
        return {"type": kind}
    return {"type": kind, "shape": [-1 if size == "?" else int(size) for size in shape.split("x") if size]}


def function(name, arguments, results):
    return {"name": name, "symbol": f"_mlir_ciface_{name}", "arguments": [value(one) for one in arguments.split()],
            "results": [value(one) for one in results.split()]}


FUNCTIONS = [
    function("add", "f32[?x?] f32[2x?]", "f32[2x?]"), function("turned", "f32[?x?]", "f32[?x?]"), function("address", "f32[?x?]", "i64"),
    function("sum", "i64 f32 i32 f64 i1 f32 f32 f32 f32 f32 f32 f32 i64 i64 i64 i64 f64 i8", "f32"), function("many", "f32[] " * 24, "f32"),
    function("several", "f32[?]", "f32[?] i8 f64 f32[] i1"), function("not", "i1", "i1"), function("negative", "i8", "i8"),
    function("half", "f16", "f16"), function("double", "f64", "f64"), function("nothing", "", ""), function("brain", "bf16[?]", "bf16[?]"),
    function("truths", "i1[?]", "i64"), function("byte", "ui8 index", "ui8"), function("signal", "f32[1] f32[1]", "i64"),
]


def compiled(path, source, text):
    compiler = shutil.which("clang-22") or shutil.which("clang") or shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler found (Debian: clang-22)")
    if text is not None:
        source += f"const char kdl_model[] = {json.dumps(text if isinstance(text, str) else json.dumps(text))};\n"
    code = path.with_suffix(".c")
    code.write_text(source)
    subprocess.run([compiler, "-O1", "-w", "-fPIC", "-shared", "-fno-strict-aliasing", code, "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(folder):
    return kdl.load_model(compiled(folder / "model.so", SOURCE, {"format": 1, "target": "host", "functions": FUNCTIONS}))


def test_functions_are_attributes(model):
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    for call in (model.add, model["add"]):
        assert np.array_equal(call(a, b), a + b)
    assert list(model) == [row["name"] for row in FUNCTIONS] and model.target == "host" and model.path.endswith("model.so")
    arguments, results = model.functions["add"]
    assert [str(one) for one in arguments + results] == ["f32[?x?]", "f32[2x?]", "f32[2x?]"] and arguments[1].shape == (2, -1)
    assert "add(f32[?x?], f32[2x?]) -> f32[2x?]" in repr(model) and model.add.name == "add"
    assert [str(one) for one in model.functions["not"][0]] == ["i1"]
    with pytest.raises(AttributeError, match="no function subtract: it has add, "):
        model.subtract
    with pytest.raises(TypeError, match="found 15 functions, expected one: call model.add"):
        model(a, b)
    with pytest.raises(KeyError):
        model["subtract"]


def test_a_model_with_one_function_is_called_itself(folder):
    path = compiled(folder / "one.so", SOURCE, {"format": 1, "target": "host", "functions": FUNCTIONS[:1]})
    one, out = kdl.load_model(str(path)), np.empty((2, 2), np.float32)
    assert (one(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32)) == 2).all()
    assert one(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), out=out) is out and (out == 2).all()


def test_arrays_in_c_order_are_not_copied(model):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert model.address(a) == a.ctypes.data and model.address(a[1:]) == a[1:].ctypes.data
    a.flags.writeable = False
    assert model.address(a) == a.ctypes.data
    for other in (a.T, a[:, ::2], a[::-1]):
        assert model.address(other) != other.ctypes.data
        assert np.array_equal(model.add(other[:2], other[:2]), 2 * other[:2])
    odd = np.frombuffer(bytearray(4 * 6 + 1), np.uint8)[1:].view(np.float32).reshape(2, 3)
    odd[...] = 5
    assert model.address(odd) % 4 == 0 and (model.add(odd, odd) == 10).all()


def test_results_own_their_memory(model):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = model.turned(a)
    view = turned[1:]
    assert np.array_equal(turned, a.T) and turned.flags.writeable and turned.strides == (4, 12)
    del turned
    gc.collect()
    assert np.array_equal(view, a.T[1:])
    for rows, columns in ((2, 0), (0, 2), (0, 0)):
        assert model.turned(np.empty((rows, columns), np.float32)).shape == (columns, rows)
    empty = np.empty((2, 0), np.float32)
    assert model.add(empty, empty).shape == (2, 0)


def test_results_take_no_memory_after_they_are_gone(model):
    resource = pytest.importorskip("resource")
    a = np.ones((2, 1 << 17), np.float32)  # 1 MiB
    model.add(a, a)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(500):
        model.add(a, a)
        with pytest.raises(TypeError):
            model.add(a, a, out=5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB


def test_numbers(model):
    numbers = [1, 0.5, -2, 0.25, True, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2, 3, 4, 5, 0.5, -7]
    assert model.sum(*numbers) == sum((place + 1) * number for place, number in enumerate(numbers))
    assert model.sum(*(np.float32(one) if isinstance(one, float) else one for one in numbers)) == model.sum(*numbers)
    assert getattr(model, "not")(False) is True and getattr(model, "not")(np.bool_(True)) is False
    assert model.negative(5) == -5 and model.negative(-128) == -128 and model.double(1e300) == 1e300
    assert [model.half(one) for one in (1.5, -0.25, 6e-8, 65504.0, float("inf"), -0.0)] == [1.5, -0.25, 2.0**-24, 65504.0, float("inf"), 0.0]
    assert model.nothing() is None and model.byte(200, 50) == 250
    assert model.many(*(np.float32(one) for one in range(24))) == 11 * 2 + 3 * 23
    for arguments, error, text in (((300,), OverflowError, "negative: argument 0: 300 does not fit"), ((1.5,), TypeError, "negative: argument 0: found"),
                                   ((np.ones(2),), TypeError, "negative: argument 0: found")):
        with pytest.raises(error, match=text):
            model.negative(*arguments)
    with pytest.raises(TypeError, match="not: argument 0: found 2, expected a truth value"):
        getattr(model, "not")(2)


def test_several_results(model):
    a = np.arange(1, 5, dtype=np.float32)
    first, small, number, last, truth = model.several(a)
    assert np.array_equal(first, a) and small == -3 and number == 0.5 and last.shape == () and last == 1 and truth is True


def test_out(model):
    a, out = np.ones((2, 3), np.float32), np.zeros((2, 6), np.float32)
    place = out[:, ::2]
    assert model.add(a, a, out=place) is place and out.tolist() == [[2, 0, 2, 0, 2, 0]] * 2
    assert model.add(a, a, out=a) is a and (a == 2).all()
    for wrong, text in ((np.zeros((3, 2), np.float32), r"out: found float32 \(3, 2\), expected float32 \(2, 3\)"), (a.astype("f8"), "found float64"),
                        ([1], "out: found <class 'list'>, expected"), ((a, a), "out: found <class 'tuple'>")):
        with pytest.raises(TypeError, match=text):
            model.add(a, a, out=wrong)
    a.flags.writeable = False
    with pytest.raises(TypeError, match="out: found an array that is read-only"):
        model.add(a, a, out=a)
    with pytest.raises(TypeError, match="several: out: found .* expected a tuple of 5 arrays"):
        model.several(np.ones(2, np.float32), out=a)
    with pytest.raises(TypeError, match="out 1: .* expected none: the function returns a number there"):
        model.several(np.ones(2, np.float32), out=(np.empty(2, np.float32),) * 5)


def test_wrong_arguments_name_their_place(model):
    a = np.ones((2, 3), np.float32)
    for arguments, text in (((a,), "add: found 1 arguments, expected 2"), ((a, a, a), "add: found 3 arguments, expected 2"),
                            ((a, a.astype("f8")), r"add: argument 1: found f64\[2x3\], expected f32\[2x\?\]"),
                            ((a, a.astype(">f4")), r"add: argument 1: found >f4\[2x3\]"),
                            ((a[0], a), r"add: argument 0: found f32\[3\], expected f32\[\?x\?\]"),
                            ((a, a.T), r"add: argument 1: found f32\[3x2\], expected f32\[2x\?\]"),
                            ((a, a.tolist()), r"add: argument 1: found <class 'list'>, expected an array of f32\[2x\?\]"),
                            ((a, None), "add: argument 1: found <class 'NoneType'>"), ((a, np.ma.array(a)), "add: argument 1: .*masked"),
                            ((a, np.array([["a"]])), r"add: argument 1: found <U1\[1x1\]"), ((a, np.array([[None]])), "argument 1: found object")):
        with pytest.raises(TypeError, match=text):
            model.add(*arguments)
    with pytest.raises(TypeError, match=r"add\(\) has no argument 'other'"):
        model.add(a, a, other=1)
    with pytest.raises(TypeError, match="several: found 0 arguments"):
        model.several()


def test_truths_and_bfloat16(model):
    assert model.truths(np.array([True, False, True])) == 2
    with pytest.raises(TypeError, match=r"truths: argument 0: found i8\[2\], expected i1\[\?\]"):
        model.truths(np.ones(2, np.int8))
    bits = np.array([0x3f80, 0x4000, 0xc000], np.uint16)
    made = model.brain(bits)
    assert made.view(np.uint16).tolist() == bits.tolist()
    dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes not found")
    assert made.dtype == dtypes.bfloat16 and made.astype(np.float32).tolist() == [1, 2, -2]
    assert np.array_equal(model.brain(made), made) and model.brain(made[::2]).astype(np.float32).tolist() == [1, -2]


class Array:
    """An array of another package."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_packages(model):
    if not hasattr(np, "from_dlpack"):
        pytest.skip("this NumPy has no from_dlpack")
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert model.address(Array(a)) == a.ctypes.data and np.array_equal(model.add(Array(a), a), 2 * a)
    with pytest.raises(TypeError, match=r"add: argument 0: found f64"):
        model.add(Array(a.astype("f8")), a)


def test_tensors(model):
    torch = pytest.importorskip("torch", reason="PyTorch not found")
    a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    assert model.address(a) == a.data_ptr() and model.address(a[1:]) == a[1:].data_ptr()
    assert np.array_equal(model.add(a.T[:2], a.T[:2]), 2 * a.T[:2].numpy()) and model.truths(torch.tensor([True, True])) == 2
    out = torch.empty(2, 4)
    assert model.add(a[:2], a[1:].numpy(), out=out) is out and torch.equal(out, a[:2] + a[1:])
    brain = torch.tensor([1, 2, -2], dtype=torch.bfloat16)
    assert model.brain(brain).view(np.uint16).tolist() == [0x3f80, 0x4000, 0xc000]
    assert model.brain(brain, out=torch.empty(3, dtype=torch.bfloat16)).tolist() == [1, 2, -2]
    view = torch.complex(a, a).conj().imag
    assert view.is_neg() and np.array_equal(model.add(view[:2], a[:2]), np.zeros((2, 4)))
    for wrong, text in ((a.double(), r"found f64\[3x4\], expected f32\[\?x\?\]"), (torch.empty(3, 4, device="meta"), "argument 0: .*device meta"),
                        (a.clone().requires_grad_(), "argument 0: .*requires a gradient"), (a.to_sparse(), "argument 0: .*sparse"),
                        (a[0], r"found f32\[4\]"), (brain, r"found bf16\[3\]")):
        with pytest.raises(TypeError, match=text):
            model.address(wrong)


def test_other_threads_run_in_between(model):
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    made = []
    thread = threading.Thread(target=lambda: made.append(model.signal(x, y)))
    thread.start()
    while not x[0]:
        pass
    y[0] = 1
    thread.join()
    assert made == [7]


def described(folder, text, source="void _mlir_ciface_f(void) {}\n"):
    described.count += 1
    return compiled(folder / f"wrong{described.count}.so", source, text)


described.count = 0


def test_what_is_no_model(folder):
    text, archive = folder / "text.so", folder / "short.so"
    text.write_text("hello")
    archive.write_bytes(b"\x7fELF")
    for path in (text, archive):
        with pytest.raises(kdl.BadFileError, match=r"\.so: found another format, expected a shared object"):
            kdl.load_model(path)
    with pytest.raises(kdl.FileAccessError, match="cannot read: No such file"):
        kdl.load_model(folder / "none.so")
    with pytest.raises(kdl.FileAccessError, match="cannot read: Is a directory"):
        kdl.load_model(folder)
    with pytest.raises(kdl.BadFileError, match="has no symbol kdl_model"):
        kdl.load_model(described(folder, None))
    cut = folder / "cut.so"
    cut.write_bytes(described(folder, None).read_bytes()[:200])
    with pytest.raises(kdl.BadFileError, match="cannot be loaded: "):
        kdl.load_model(cut)


def test_descriptions_that_are_refused(folder):
    row = {"name": "f", "symbol": "_mlir_ciface_f", "arguments": [], "results": []}

    def model_of(**fields):
        return {"format": 1, "target": "host", "functions": [{**row, **fields}]}
    for text, error, said in (
            ("{", kdl.BadFileError, "kdl_model: "), ("[]", kdl.BadFileError, "kdl_model: "), ({"format": 1}, kdl.BadFileError, "found no 'target'"),
            ({"format": 0, "target": "", "functions": []}, kdl.BadFileError, "found the format 0"),
            ({"format": 2, "something": []}, kdl.UnsupportedError, "found a model of format 2, expected 1 at most: it needs a newer libkdl"),
            (model_of(arguments=[{"type": "c64"}]), kdl.UnsupportedError, "found the type c64"),
            (model_of(arguments=[{"type": "f32", "shape": ["4"]}]), kdl.BadFileError, "found the shape"),
            (model_of(arguments=[{"type": "f32", "shape": [-2]}]), kdl.BadFileError, "found the shape"),
            (model_of(arguments=5), kdl.BadFileError, "kdl_model: "), (model_of(arguments=[{"type": "i64"}] * 600), kdl.UnsupportedError, "found 600 arguments"),
            (model_of(symbol="g"), kdl.BadFileError, "f: found no symbol g")):
        with pytest.raises(error, match=said):
            kdl.load_model(described(folder, text))
    assert kdl.load_model(described(folder, model_of()))() is None


def test_a_cpu_without_the_features_is_told(folder):
    device, levels = kdl.device("host"), ("x86-64-v4+amx_fp8+amx_bf16", "armv9-a+sme")
    if device.arch.startswith("x86-64") and "amx_fp8" in f"{device.arch}{device.features}":
        pytest.skip("this CPU has them")
    text = {"format": 1, "target": levels[not device.arch.startswith("x86-64")], "functions": []}
    with pytest.raises(kdl.NoMatchError, match=r"\.so: built for .* which the device lacks"):
        kdl.load_model(described(folder, text))


def test_a_library_that_is_missing_is_named(folder):
    library = compiled(folder / "libother.so", "int other(void) { return 1; }\n", None)
    path = folder / "needs.so"
    code = folder / "needs.c"
    code.write_text('int other(void);\nint _mlir_ciface_f(void) { return other(); }\n')
    subprocess.run([shutil.which("clang-22") or shutil.which("clang") or shutil.which("gcc") or shutil.which("cc"), "-fPIC", "-shared", code, "-o", path,
                    f"-L{folder}", "-lother"], check=True)
    os.remove(library)
    with pytest.raises(kdl.NoMatchError, match=r"needs the library libother.so, which is not found: put its folder into LD_LIBRARY_PATH"):
        kdl.load_model(path)


def test_what_mlir_compiles(folder):
    """A model of `kdl-mlir compile`, where that is built."""
    tool = os.environ.get("KDL_TEST_MLIR") or shutil.which("kdl-mlir")
    if not tool or subprocess.run([tool, "compile", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("kdl-mlir compile not found")
    source, path = folder / "linear.mlir", folder / "linear.so"
    source.write_text("""func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x4xf32>) outs(%start : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
""")
    subprocess.run([tool, "compile", source, "-o", path, "--target=native"], check=True)
    x, w = np.random.default_rng(1).random((5, 8), np.float32), np.ones((8, 4), np.float32)
    assert np.allclose(kdl.load_model(path).main(x, w), x @ w)
