# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kdl.matmul and packed matrices, against products in float64, and which microkernels computed them."""
import os
import resource
import subprocess
import sys
import threading
import tracemalloc

import pytest

import kdl

np = pytest.importorskip("numpy")
try:
    kdl.matmul(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
except (kdl.Error, OSError) as missing:
    pytest.skip(f"the library kdl-matmul cannot be used: {missing}", allow_module_level=True)

RANDOM = np.random.default_rng(1)
SHAPES = [(1, 1, 1), (3, 5, 7), (1, 200, 300), (64, 8, 96), (33, 65, 129), (150, 260, 2100), (1, 1000, 3)]


def bits_of(values):
    """float32 as the bits of bfloat16, rounded to nearest."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def values_of(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def operand(name, shape):
    if name == "int8":
        return RANDOM.integers(-128, 128, shape, np.int8)
    values = RANDOM.standard_normal(shape).astype(np.float32)
    return bits_of(values) if name == "bfloat16" else values.astype(name)


def exact(name, a, b):
    """The product in float64, and how far sums in float32 may be from it."""
    if name == "bfloat16":
        a, b = values_of(a), values_of(b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    size = abs(a) @ abs(b)
    return a @ b, 0 if name == "int8" else size * a.shape[-1] * 2.0 ** -24 + 1e-30


def check(name, result, a, b):
    expected, error = exact(name, a, b)
    assert result.dtype == (np.int32 if name == "int8" else np.float32) and result.shape == expected.shape
    assert (abs(result - expected) <= error).all()


@pytest.mark.parametrize("m, n, k", SHAPES)
@pytest.mark.parametrize("name", ["float32", "float16", "int8", "bfloat16"])
def test_products(name, m, n, k):
    bits = "bfloat16" if name == "bfloat16" else None
    a, b = operand(name, (m, k)), operand(name, (k, n))
    check(name, kdl.matmul(a, b, bits=bits), a, b)
    packed = kdl.PackedMatrix(b, bits=bits)
    assert packed.shape == (k, n) and packed.dtype == name and repr(packed) == f"<kdl.PackedMatrix {k} by {n} of {name}>"
    check(name, kdl.matmul(a, packed), a, b)
    check(name, a @ packed, a, b)
    check(name, kdl.matmul(a, packed, threads=1), a, b)


def microkernel(name):
    """The microkernel that the product of a type is linked with, by the image that runs."""
    library = kdl.matmul_library()
    kernel = library.kernel(f"kdl_matmul_{name}", "host")
    metadata = library.image(kernel.info()["image"]).metadata
    linked = [value for key, value in metadata.items() if key.startswith("kdl.linked.kdl_uk_mma") and not key.endswith("_tile")]
    return linked[0].split()[-1].rstrip(")") if linked else None


@pytest.mark.parametrize("name, best", [
    ("f32_f32", ["avx512", "avx2"]), ("s32_s8", ["amx", "avx512vnni", "avx2"]), ("f32_bf16", ["amx", "avx512bf16", "avx512", "avx2"]),
    ("f32_f16", ["avx512"]),
])
def test_the_best_microkernel_of_this_cpu_runs(name, best):
    """By the features that the CPU has, and by the image that was loaded."""
    host = kdl.device("host")
    if not host.arch.startswith("x86-64"):
        pytest.skip("for x86-64")
    linked = microkernel(name)
    if linked is None:
        pytest.skip("kdl-matmul is bitcode here, and is linked when it is launched")
    level, *features = host.arch.split("+")
    has = {"amx": "amx_tile" in features and ("amx_bf16" if "bf16" in name else "amx_int8") in features, "avx512": level == "x86-64-v4",
           "avx512vnni": "avx512_vnni" in features, "avx512bf16": "avx512_bf16" in features, "avx2": level in ("x86-64-v3", "x86-64-v4")}
    assert linked == next((one for one in best if has[one]), "generic")


def test_strides_are_taken_as_they_are():
    a, b = operand("float32", (40, 60)), operand("float32", (60, 50))
    for left, right in ((a[::2], b), (a[:, ::-1], b[::-1]), (a.T[:50].T, b.T[:, :50].T), (a[::-3, 5:45], b[5:45, ::7]),
                        (np.asfortranarray(a), np.asfortranarray(b))):
        check("float32", kdl.matmul(left, right), left, right)
        check("float32", left @ kdl.PackedMatrix(right), left, right)
    fields = np.zeros((8, 8), [("tag", "i1"), ("value", "f4")])
    fields["value"] = operand("float32", (8, 8))
    assert fields["value"].strides[1] == 5
    check("float32", kdl.matmul(fields["value"], fields["value"]), fields["value"], fields["value"])


def test_dimensions_are_those_of_numpy():
    a, b, v = operand("float32", (3, 4, 5)), operand("float32", (5, 6)), operand("float32", (5,))
    for left, right in ((a, b), (v, b), (a, v), (v, v), (a[0], v), (a.transpose(1, 0, 2), b)):
        result = kdl.matmul(left, right)
        assert np.shape(result) == np.shape(left @ right)
        assert np.allclose(result, left @ right, rtol=1e-4, atol=1e-5)
    assert kdl.matmul(a, kdl.PackedMatrix(b)).shape == (3, 4, 6)


@pytest.mark.parametrize("m, n, k", [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0)])
def test_matrices_without_elements(m, n, k):
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    for right in (b, kdl.PackedMatrix(b)):
        result = kdl.matmul(a, right)
        assert result.shape == (m, n) and (result == 0).all()
    out = np.full((m, n), 7, np.float32)
    assert (kdl.matmul(a, b, out) == 0).all() and (out == 0).all()


def test_out():
    a, b = operand("float32", (30, 30)), operand("float32", (30, 30))
    wide = np.full((30, 90), -5, np.float32)
    out = wide[:, 30:60]
    assert kdl.matmul(a, b, out) is out
    check("float32", out, a, b)
    assert (wide[:, :30] == -5).all() and (wide[:, 60:] == -5).all()
    same = a.copy()
    kdl.matmul(same, b, same)  # the result in an operand
    check("float32", same, a, b)
    for places in ((slice(0, 30), slice(15, 45)), (slice(0, 30), slice(29, None, -1)), (slice(44, 14, -1), slice(0, 30))):
        for is_left in (True, False):
            memory = np.zeros((60, 30), np.float32)
            memory[places[0]] = a if is_left else b
            left, right = (memory[places[0]], b) if is_left else (a, memory[places[0]])
            kdl.matmul(left, right, memory[places[1]])
            check("float32", memory[places[1]], a, b)
    stack, target = operand("float32", (4, 5, 30)), np.empty((5, 4, 30), np.float32).transpose(1, 0, 2)
    assert kdl.matmul(stack, b, target) is target
    assert np.array_equal(target, kdl.matmul(stack, b))


def bfloat16(array):
    return array.view(pytest.importorskip("ml_dtypes").bfloat16)


OUT = {
    "float32": lambda a, b, h, out: kdl.matmul(a, b, out),
    "bits": lambda a, b, h, out: kdl.matmul(h, h, out, bits="bfloat16"),
    "ml_dtypes": lambda a, b, h, out: kdl.matmul(bfloat16(h), bfloat16(h), out),
    "ml_dtypes, packed": lambda a, b, h, out: kdl.matmul(bfloat16(h), kdl.PackedMatrix(bfloat16(h)), out),
    "ml_dtypes, a stack": lambda a, b, h, out: kdl.matmul(bfloat16(h.reshape(2, 128, 256)), bfloat16(h), out.reshape(2, 128, 256)),
    "a stack": lambda a, b, h, out: kdl.matmul(a.reshape(4, 64, 256), b, out.reshape(4, 64, 256)),
    "vectors": lambda a, b, h, out: [kdl.matmul(row, b, into) for row, into in zip(a, out)],
}


@pytest.mark.parametrize("way", OUT)
def test_out_is_written_without_a_copy(way):
    """Python's allocations while a product is computed: none of the result's size."""
    a, b, h = operand("float32", (256, 256)), operand("float32", (256, 256)), operand("bfloat16", (256, 256))
    out = np.empty((256, 256), np.float32)
    OUT[way](a, b, h, out)  # imports what it needs
    out[:] = np.nan
    tracemalloc.start()
    try:
        OUT[way](a, b, h, out)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < out.nbytes // 4
    check(*(("float32", out, a, b) if way in ("float32", "a stack", "vectors") else ("bfloat16", out, h, h)))


def test_products_reuse_the_memory_that_they_pack_into():
    """By the pages that are touched for the first time: 64 MiB of b, packed, are 16384."""
    a, b = np.ones((256, 4096), np.float32), np.ones((4096, 4096), np.float32)
    out = np.empty((256, 4096), np.float32)
    kdl.matmul(a, b, out)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kdl.matmul(a, b, out)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 4096
    assert (out == 4096).all()


@pytest.mark.parametrize("call, error, text", [
    (lambda f, d: kdl.matmul(d, d), TypeError, "found elements of float64, expected bfloat16, int8, float32, float16"),
    (lambda f, d: kdl.matmul(f, f.astype(np.float16)), TypeError, "found float32 and float16"),
    (lambda f, d: kdl.matmul(f.astype(">f4"), f), TypeError, "byte order"),
    (lambda f, d: kdl.matmul(f, f[:2]), ValueError, "a has 3 columns, b has 2 rows"),
    (lambda f, d: kdl.matmul(f, kdl.PackedMatrix(f[:2])), ValueError, "a has 3 columns, b has 2 rows"),
    (lambda f, d: kdl.matmul(f, kdl.PackedMatrix(f.astype(np.int8))), TypeError, "found float32 and int8"),
    (lambda f, d: kdl.matmul(f, f[None]), ValueError, "found 2 and 3 dimensions"),
    (lambda f, d: kdl.matmul(np.float32(1), f), ValueError, "found 0 and 2 dimensions"),
    (lambda f, d: kdl.matmul(f, f, np.empty((3, 4), np.float32)), ValueError, r"out: found float32 \(3, 4\), expected an array of float32 \(3, 3\)"),
    (lambda f, d: kdl.matmul(f, f, d), ValueError, "out: found float64"),
    (lambda f, d: kdl.matmul(f, f, [1]), ValueError, "out: found <class 'list'>"),
    (lambda f, d: kdl.matmul(f, f, np.broadcast_to(f[0], (3, 3))), ValueError, "out: found an array that is read-only"),
    (lambda f, d: kdl.matmul("text", f), TypeError, "found elements of"),
    (lambda f, d: kdl.PackedMatrix(f[0]), ValueError, "b: found 1 dimensions, expected 2"),
    (lambda f, d: kdl.PackedMatrix(d), TypeError, "found elements of float64"),
])
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones((3, 3), np.float32), np.ones((3, 3)))


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a, b = operand("bfloat16", (20, 40)), operand("bfloat16", (40, 30))
    left, right = a.view(ml_dtypes.bfloat16), b.view(ml_dtypes.bfloat16)
    check("bfloat16", kdl.matmul(left, right), a, b)
    check("bfloat16", left @ kdl.PackedMatrix(right), a, b)


@pytest.mark.parametrize("threads", [0, 2, 10**6, 2**31, 2**32 + 1, 2**70])
def test_any_number_of_threads(threads):
    a = np.ones((300, 300), np.float32)
    assert (kdl.matmul(a, a, threads=threads) == 300).all()


def test_numbers_of_threads_that_are_refused():
    a = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match="threads: found -1"):
        kdl.matmul(a, a, threads=-1)
    with pytest.raises(TypeError):
        kdl.matmul(a, a, threads=1.5)


def test_threads_share_a_packed_matrix():
    a, b = [operand("float32", (50, 300)) for _ in range(6)], operand("float32", (300, 200))
    packed, results = kdl.PackedMatrix(b), {}

    def work(number):
        for _ in range(10):
            results[number] = kdl.matmul(a[number], packed)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in results.items():
        check("float32", result, a[number], b)


def test_fork():
    a = operand("float32", (300, 300))
    before = kdl.matmul(a, a)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(kdl.matmul(a, a), before) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_interpreter_ends_with_packed_matrices_alive():
    done = subprocess.run([sys.executable, "-c", "import kdl, builtins, numpy as np; a = np.ones((9, 9), np.float32)\n"
                           "builtins.keep = kdl.PackedMatrix(a); print((a @ builtins.keep)[0, 0])"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9.0\n", "")


def test_products_are_not_recorded():
    a, b = np.ones((8, 8), np.float32), np.ones((8, 8), np.float32)
    with kdl.Sequence("host") as sequence:
        with pytest.raises(ValueError, match="recorded"):
            kdl.matmul(a, b)
        with pytest.raises(ValueError, match="recorded"):
            kdl.PackedMatrix(b)
    assert sequence.info()["nodes"] == 0
    assert kdl.matmul(a, b)[0, 0] == 8


def test_masked_arrays_are_refused():
    a, masked = np.ones((2, 2), np.float32), np.ma.masked_array(np.ones((2, 2), np.float32), [[True, False], [False, False]])
    for call in (lambda: kdl.matmul(masked, a), lambda: kdl.matmul(a, masked), lambda: kdl.PackedMatrix(masked)):
        with pytest.raises(TypeError, match="matmul: found a masked array"):
            call()


# Few rows and columns and a long K, which is divided among two threads.
DIVIDED = """
import hashlib, kdl, numpy as np
random = np.random.default_rng(2)
for name in ("int8", "float32"):
    a, b = (random.integers(-128, 128, shape).astype(name) / (1 if name == "int8" else 7) for shape in ((4, 300000), (300000, 8)))
    print(*(hashlib.sha256(kdl.matmul(a.astype(name), b.astype(name), threads=n).tobytes()).hexdigest() for n in (1, 2)))
"""


@pytest.mark.skipif(kdl.device("host").units < 2, reason="one CPU")
@pytest.mark.parametrize("whole_k", ["0", "1"])
def test_threads_change_no_integers_and_no_other_numbers_with_a_whole_k(whole_k):
    done = subprocess.run([sys.executable, "-c", DIVIDED], capture_output=True, text=True, check=True,
                          env=dict(os.environ, KDL_HOST_THREADS="2", KDL_MATMUL_WHOLE_K=whole_k))
    integers, floats = (len(set(line.split())) for line in done.stdout.splitlines())
    assert (integers, floats) == (1, 1 if whole_k == "1" else 2)
