# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching on the host: arguments of every type, and what is refused."""
import array
import copy
import shutil
import struct
import threading

import pytest

import kdl

np = pytest.importorskip("numpy")


@pytest.fixture
def saxpy(library):
    return library.kernel("saxpy", "host")


def test_saxpy_over_items_and_grids(saxpy):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    saxpy[1000](2.0, x, y, 1000)
    assert (y == 2 * x + 1).all()
    saxpy.launch(np.float32(1), x, y, np.uint32(1000), items=1000)
    assert (y == 3 * x + 1).all()
    saxpy.launch(1, x, y, 1000, grid=4, block=256)
    assert (y == 4 * x + 1).all()
    saxpy[0](2.0, x, y, 1000)
    assert (y == 4 * x + 1).all()
    assert saxpy.info()["signature"] == ["f32", "ptr<f32>", "ptr<f32>", "u32"]
    assert saxpy.info()["kind"] == "object"


def test_every_type(library):
    out = np.zeros(10)
    values = (-128, 255, -32768, 65535, -2**63, 2**64 - 1, 0.1)
    library.kernel("types", "host")[1](*values, struct.pack("iid", -5, 7, 2.5), out)
    assert out.tolist() == [-128, 255, -32768, 65535, -2.0**63, 2.0**64, 0.1, -5, 7, 2.5]


@pytest.mark.parametrize("number", [0, 1, 2**15, 2**30 - 1, 2**30, 2**31 - 1, 2**53, -1, -2**30 + 1, -2**30, -2**53, True, np.int8(-3), np.uint64(2**53)])
def test_integers_of_every_length(library, number):
    out = np.zeros(10)
    library.kernel("types", "host")[1](0, 0, 0, 0, number, abs(int(number)), int(number), bytes(16), out)
    assert (out[4], out[5], out[6]) == (number, abs(int(number)), number)


@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, 1e-300, 3.4e38, float("inf"), float("-inf"), float("nan"), 7, np.float16(0.5), np.float64(-1e30)])
def test_floats(library, saxpy, number):
    y, out = np.zeros(1, np.float32), np.zeros(10)
    saxpy[1](number, np.ones(1, np.float32), y, 1)
    library.kernel("types", "host")[1](0, 0, 0, 0, 0, 0, number, bytes(16), out)
    assert np.array_equal([y[0], out[6]], [np.float32(number), float(number)], equal_nan=True)


@pytest.mark.parametrize("number", [0.0, 1.0, -2.5, 65504.0, 6e-8, 1e-7, 3.14159, 0.1, 2049.0, 2051.0, 5.9e-5, 65519.99,
                                    1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, -(1 + 2**-8 + 2**-40), 3.0e-8, float("inf"), float("-inf")])
def test_halves_round_as_numpy_does(library, number):
    out = np.zeros(2, np.uint16)
    library.kernel("halves", "host")[1](number, number, out)
    assert out[0] == np.float16(number).view(np.uint16)
    assert out[1] == nearest_bfloat16(number)


def nearest_bfloat16(number):
    """By search among its neighbours; ties to even."""
    if not np.isfinite(number):
        return int(np.float32(number).view(np.uint32)) >> 16
    below = int(np.float32(number).view(np.uint32)) >> 16
    values = {bits: float(np.uint32(bits << 16).view(np.float32)) for bits in (below - 1, below, below + 1) if 0 <= bits < 65536}
    return min(values, key=lambda bits: (abs(values[bits] - number), bits & 1))


@pytest.mark.parametrize("number, name", [(65520.0, "f16"), (-1e30, "f16"), (3.4e38, "f16"), (1e39, "f16")])
def test_halves_that_do_not_fit(library, number, name):
    with pytest.raises(OverflowError, match=f"halves: argument 0: .* does not fit {name}"):
        library.kernel("halves", "host")[1](number, 0.0, np.zeros(2, np.uint16))


def test_brain_floats_that_do_not_fit(library):
    with pytest.raises(OverflowError, match="argument 1: 3.4e.38 does not fit bf16"):
        library.kernel("halves", "host")[1](0.0, 3.4e38, np.zeros(2, np.uint16))


def test_two_dimensions(library):
    out = np.full(35, -1, np.int64)
    library.kernel("place", "host")[7, 5](out, 7, 5)
    assert out.tolist() == [1000 * y + x for y in range(5) for x in range(7)]


def test_what_is_read_only_for_a_pointer_to_const(saxpy):
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    x.flags.writeable = False
    for one in (x, memoryview(x), memoryview(bytes(x)).cast("f")):
        saxpy[3](1.0, one, y, 3)
        saxpy[3].prepare(1.0, one, y, 3)()
    assert y.tolist() == [6, 6, 6]
    with pytest.raises(TypeError, match="argument 2: found an array that is read-only"):
        saxpy[3](1.0, y, x, 3)


def test_other_arrays_of_the_host(saxpy):
    x, y = array.array("f", [1, 2, 3]), bytearray(struct.pack("3f", 1, 1, 1))
    saxpy[3](1.0, x, memoryview(y).cast("f"), 3)
    assert struct.unpack("3f", y) == (2, 3, 4)
    z = np.zeros(3, np.float32)
    saxpy[3](1.0, x, z.ctypes.data, 3)
    assert z.tolist() == [1, 2, 3]


def test_many_arrays_by_the_buffer_protocol(library):
    arrays = [array.array("f", [-1]) for _ in range(20)]
    library.kernel("many", "host")[1](*arrays, 5.5)
    assert [values[0] for values in arrays] == [5.5, *range(1, 20)]
    arrays[3].append(1)  # no view is left behind


def test_buffers(saxpy, host):
    x, y = kdl.Buffer(host, 12), kdl.Buffer(host, 12)
    x.write(np.array([1, 2, 3], np.float32))
    y.fill(struct.pack("f", 1.0))
    saxpy[3](10.0, x, y, 3)
    out = np.zeros(3, np.float32)
    y.read(out)
    assert out.tolist() == [11, 21, 31]
    x.copy(y, 8, offset=4)
    x.read(out)
    assert out.tolist() == [1, 11, 21]
    with pytest.raises(kdl.BadCallError):
        y.write(bytes(13))
    y.free()
    with pytest.raises(TypeError, match="argument 2: the buffer was freed"):
        saxpy[3](10.0, x, y, 3)
    with pytest.raises(ValueError, match="freed"):
        y.read(out)


@pytest.mark.parametrize("arguments, error, text", [
    ((1.0, "xf64", "y", 4), TypeError, "argument 1: found an array of f64, expected ptr<f32>"),
    ((1.0, "xi32", "y", 4), TypeError, "argument 1: found an array of i32, expected ptr<f32>"),
    ((1.0, "x", "y", -1), OverflowError, "argument 3: -1 does not fit u32"),
    ((1.0, "x", "y", 2**32), OverflowError, "argument 3: 4294967296 does not fit u32"),
    ((1.0, "x", "y", 1.5), TypeError, "argument 3: found <class 'float'>, expected u32"),
    ((1e300, "x", "y", 4), OverflowError, "argument 0: 1e.300 does not fit f32"),
    (("text", "x", "y", 4), TypeError, "argument 0: found <class 'str'>, expected f32"),
    ((1.0, "text", "y", 4), TypeError, "argument 1: found <class 'str'>, expected ptr<f32>"),
    ((2**2000, "x", "y", 4), OverflowError, "argument 0: 1[0-9]* does not fit f32"),
    ((1.0, "strided", "y", 4), TypeError, r"argument 1: found an array that is not contiguous: pass numpy.ascontiguousarray\(array\)$"),
    ((1.0, "backwards", "y", 4), TypeError, "argument 1: found an array that is not contiguous"),
    ((1.0, "spread", "y", 4), TypeError, "argument 1: found an array that is not contiguous"),
    ((1.0, "y", "spread", 4), TypeError, "argument 2: found an array that is read-only"),
    ((1.0, "y", "strided", 4), TypeError, r"argument 2: .* not contiguous: pass numpy.ascontiguousarray\(array\), which .* results"),
    ((1.0, "y", "readonly", 4), TypeError, "argument 2: found an array that is read-only.*: pass a copy$"),
    ((1.0, "y", b"bytes", 4), TypeError, "argument 2: found an array that is read-only"),
    ((1.0, b"bytes", "y", 4), TypeError, "argument 1: found an array of u8, expected ptr<f32>"),
    ((1.0, "objects", "y", 4), TypeError, "argument 1: found an array of Python objects"),
    ((1.0, "letters", "y", 4), TypeError, "argument 1: found an array of 4 bytes, expected ptr<f32>"),
    ((1.0, "complex", "y", 4), TypeError, "argument 1: found an array of 8 bytes, expected ptr<f32>"),
    ((1.0, "swapped", "y", 4), TypeError, "argument 1: found an array of the other byte order"),
    ((1.0, "x", "y"), TypeError, "found 3 arguments, expected 4"),
    ((1.0, "x", "y", 4, 5), TypeError, "found 5 arguments, expected 4"),
])
def test_what_is_refused_names_the_argument(saxpy, arguments, error, text):
    readonly = np.zeros(4, np.float32)
    readonly.flags.writeable = False
    named = {"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32), "xf64": np.zeros(4), "xi32": np.zeros(4, np.int32),
             "strided": np.zeros(8, np.float32)[::2], "readonly": readonly, "swapped": np.zeros(4, ">f4"),
             "backwards": np.zeros(4, np.float32)[::-1], "spread": np.broadcast_to(np.float32(1), 4), "objects": np.zeros(4, object),
             "letters": np.zeros(4, "U1"), "complex": np.zeros(4, np.complex64)}
    given = [named.get(value, value) if isinstance(value, str) else value for value in arguments]
    with pytest.raises(error, match="saxpy: " + text):
        saxpy[4](*given)


@pytest.mark.parametrize("make", [
    lambda: np.float32(5).reshape(()), lambda: np.full((2, 2), 5, np.float32, order="F"), lambda: np.full(4, 5, np.float32).view(np.recarray),
    lambda: np.full(4, 5, np.float32).view(type("Sub", (np.ndarray,), {}))])
def test_arrays_of_every_shape_and_class(saxpy, make):
    x = np.array(make(), copy=True, subok=True)
    y = np.zeros(x.size, np.float32)
    saxpy[x.size](2.0, x, y, x.size)
    assert (y == 10).all()
    saxpy[4](2.0, np.empty(0, np.float32), np.empty((3, 0), np.float32), 0)


def test_errors_of_an_argument_are_raised_as_they_are(saxpy):
    class Broken:
        def __index__(self):
            raise ZeroDivisionError("mine")
        __float__ = __index__
    x = np.zeros(4, np.float32)
    for arguments in ((1.0, x, x, Broken()), (Broken(), x, x, 4)):
        with pytest.raises(ZeroDivisionError, match="mine"):
            saxpy[4](*arguments)


def test_shapes_that_are_refused(saxpy):
    for call, text in [(lambda: saxpy.launch(), "either items or grid"), (lambda: saxpy.launch(items=1, grid=1), "either items or grid"),
                       (lambda: saxpy.launch(items=1, block=8), "go with grid"), (lambda: saxpy.launch(items=1, nonsense=8), "nonsense"),
                       (lambda: saxpy[1](stream=3), "stream"), (lambda: saxpy[1.5], "items: found <class 'float'>, expected an integer"),
                       (lambda: saxpy[1:2], "items: found <class 'slice'>, expected an integer")]:
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(ValueError, match="1 to 3"):
        saxpy[1, 2, 3, 4]
    with pytest.raises(OverflowError, match="items: found -1, expected 0 to 18446744073709551615"):
        saxpy[-1]
    with pytest.raises(kdl.BadCallError, match="^saxpy: 9223372036854775808 work-items in direction 0"):
        saxpy[2**63](1.0, None, None, 0)
    with pytest.raises(OverflowError, match="grid"):
        saxpy.launch(grid=2**32)


@pytest.mark.parametrize("call, text", [
    (lambda kernel: kernel(1.0, None, None, 0), r"saxpy\[items\]\(.*saxpy.launch\(.*grid="),
    (lambda kernel: kernel(1.0, grid=1), r"saxpy\[items\]\(.*saxpy.launch\(.*grid="),
    (lambda kernel: kernel[19](1.0, None, None, 0, shared=64), r"shared.*saxpy.launch\(\.\.\., grid=19, shared=64\), where grid counts groups$"),
    (lambda kernel: kernel[4, 2](1.0, None, None, 0, threads=1), r"threads.*saxpy.launch\(\.\.\., grid=\(4, 2, 1\), threads=1\), where grid counts groups$"),
    (lambda kernel: kernel[4].prepare(1.0, None, None, 0, block=64), r"block.*saxpy.prepare\(\.\.\., grid=4, block=64\), where grid counts groups$"),
    (lambda kernel: kernel[4](1.0, None, None, 0, grid=64), r"grid.*saxpy.launch\(\.\.\., grid=64\)$"),
    (lambda kernel: kernel[4](1.0, None, None, 0, nonsense=64), "nonsense.*queue"),
])
def test_messages_lead_to_the_call_that_works(saxpy, call, text):
    with pytest.raises(TypeError, match=text):
        call(saxpy)


def test_objects_that_only_the_package_makes(saxpy, library):
    for kind in (kdl.Kernel, kdl.Device, type(saxpy[1]), type(library._handle)):
        with pytest.raises(TypeError, match="has no constructor"):
            kind()
        with pytest.raises(TypeError):
            kind.__new__(kind)
    for thing in (saxpy, saxpy[1], kdl.device("host"), kdl.Buffer("host", 4), kdl.Queue("host")):
        with pytest.raises(TypeError):
            copy.copy(thing)


@pytest.mark.parametrize("count", [-1, 2**64, 2**64 + 16])
def test_sizes_beyond_what_an_address_reaches(host, count):
    with pytest.raises(OverflowError):
        kdl.Buffer(host, count)
    buffer = kdl.Buffer(host, 16)
    for call in (lambda: buffer.write(b"x", offset=count), lambda: buffer.read(bytearray(1), count), lambda: buffer.copy(buffer, count),
                 lambda: buffer.fill(b"x", size=count)):
        with pytest.raises(OverflowError):
            call()


def test_threads(library):
    def work(number):
        kernel = library.kernel("saxpy", "host")
        x, y = np.full(64, number, np.float32), np.zeros(64, np.float32)
        for _ in range(500):
            kernel[64](1.0, x, y, 64)
        results[number] = (y == 500 * number).all()
    results = {}
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: True for number in range(8)}


def test_queues_and_events(saxpy, host):
    queue, start, end = kdl.Queue(host), kdl.Event(host), kdl.Event(host)
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    start.record(queue)
    saxpy[4](1.0, x, y, 4, queue=queue)
    end.record(queue)
    end.sync()
    assert end.query() and start.elapsed(end) >= 0
    queue.sync()
    assert y.tolist() == [1, 1, 1, 1]
    with pytest.raises(TypeError, match="queue"):
        saxpy[4](1.0, x, y, 4, queue="default")


def test_prepared(saxpy, host):
    y = np.zeros(4, np.float32)
    again = saxpy[4].prepare(2.0, np.ones(4, np.float32), y, 4)  # which keeps what it needs
    for count in range(1, 4):
        again()
        assert y.tolist() == [2.0 * count] * 4
    saxpy.prepare(1.0, y, y, 4, grid=1, block=256, queue=kdl.Queue(host))()
    assert y.tolist() == [12.0] * 4
    threads = [threading.Thread(target=saxpy[1].prepare(1.0, np.ones(1, np.float32), y[i:], 1)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert y.tolist() == [13.0] * 4
    with pytest.raises(TypeError, match="saxpy: a prepared launch takes no arguments"):
        again(1)
    with pytest.raises(TypeError, match="saxpy: a prepared launch takes no arguments"):
        again(queue=None)
    with pytest.raises(TypeError, match="saxpy: argument 1: found <class 'str'>"):
        saxpy[4].prepare(2.0, "x", y, 4)
    with pytest.raises(TypeError, match="has no constructor"):
        type(again)()


def test_prepared_with_buffers(saxpy, host):
    x, y, out = kdl.Buffer(host, 16), kdl.Buffer(host, 16), np.zeros(4, np.float32)
    x.write(np.ones(4, np.float32))
    y.fill(bytes(4))
    again = saxpy[4].prepare(2.0, x, y, 4)
    again()
    with kdl.Sequence(host) as steps:
        again()
    steps.run()
    y.read(out)
    assert out.tolist() == [4.0] * 4
    memory = bytearray(16)
    held = saxpy[4].prepare(2.0, memoryview(memory).cast("f"), y, 4)
    with pytest.raises(BufferError):
        memory.append(1)
    del held
    memory.append(1)
    x.free()
    with pytest.raises(TypeError, match="saxpy: argument 1: the buffer was freed"):
        again()


def test_fill():
    buffer, data = kdl.Buffer("host", 16), bytearray(16)
    for pattern, expected in ((0, bytes(16)), (255, b"\xff" * 16), (b"\1\2", b"\1\2" * 8), (np.float32(1), struct.pack("4f", 1, 1, 1, 1)), (bytes(range(16)), bytes(range(16)))):
        buffer.fill(pattern)
        buffer.read(data)
        assert data == expected
    for wrong, error, text in ((256, OverflowError, "found 256, expected bytes, or one as 0 to 255"), (-1, OverflowError, "found -1"), (2**80, OverflowError, "expected bytes"),
                               (0.5, TypeError, "found <class 'float'>, expected bytes"), ("text", TypeError, "found <class 'str'>"), (bytes(3), kdl.BadCallError, "3"),
                               (bytes(17), kdl.BadCallError, "17"), (b"", kdl.BadCallError, "")):
        with pytest.raises(error, match=text):
            buffer.fill(wrong)


def test_work_items_are_rounded_up_to_whole_groups(saxpy):
    x, y = np.ones(300, np.float32), np.zeros(300, np.float32)
    saxpy[5](1.0, x, y, 300)
    assert saxpy.info()["block"][0] in (0, 256) and y.tolist() == [1] * 256 + [0] * 44


def test_the_variant_of_a_launch(tmp_path, host):
    """Where images have conditions, variant() gives the kernel of the image that a launch uses."""
    if not shutil.which("clang-22") and not shutil.which("clang"):
        pytest.skip("clang not found (Debian: clang-22)")
    text = "#include <kdl/kernel.h>\n__gpu_kernel void mark(__gpu_global uint32_t *out, uint32_t n) { if (n) out[0] = MARK; }\n"
    small = tmp_path / "small.c"
    small.write_text(text.replace("MARK", "1"))
    made = kdl.compile("mark.c", text=text.replace("MARK", "2"), options=[f"--variant=when=n<=16,tag=small:{small}"])
    kernel, out = made.kernel("mark", host), np.zeros(1, np.uint32)
    assert kernel.variant(out, 16, items=1).info()["image"] == 0
    assert kernel.variant(out, 17, grid=1).info()["image"] == 1
    variant = kernel.variant(out, 3, items=1)
    variant[1](out, 1000)
    assert out[0] == 1
    kernel[1](out, 1000)
    assert out[0] == 2
    assert variant.variant(out, 1000, items=1) is variant
    with pytest.raises(TypeError):
        kernel.variant(out, 3)


def test_tuning_ahead_of_time(tmp_path, monkeypatch):
    """kdl.tune measures, and the policy adaptive then uses the fastest variant."""
    if not shutil.which("clang-22") and not shutil.which("clang"):
        pytest.skip("clang not found (Debian: clang-22)")
    monkeypatch.setenv("KDL_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "work.c"
    source.write_text("#include <kdl/kernel.h>\n#ifndef WORK\n#define WORK 30\n#endif\n"
                      "__gpu_kernel void work(__gpu_global uint32_t *out, uint32_t n) {\n"
                      "  volatile uint32_t value = n;\n  for (int i = 0; i < WORK * 100; ++i)\n    value = value * 3 + 1;\n"
                      "  out[0] = WORK;\n}\n")
    made = tmp_path / "work.offload"
    kdl.run_command("cc", source, f"--variant=tag=fast,define=WORK=1:{source}", "--field=shape=n", "--field=effects=idempotent", "--targets=native",
                    "-o", made)
    measured = kdl.tune(made, "work", [(100,), (3,)], items="1", arguments=["buf:u32[n]", "u32:n"], device="host", output=tmp_path / "tuned.offload")
    assert [(one["decided"], one["chosen"]) for one in measured] == [(True, 1), (True, 1)]
    monkeypatch.setenv("KDL_CACHE_DIR", str(tmp_path / "other"))
    out = np.zeros(100, np.uint32)
    kdl.open(str(tmp_path / "tuned.offload")).kernel("work", "host", policy="adaptive")[1](out, 100)
    assert out[0] == 1
    with pytest.raises(ValueError):
        kdl.open(str(made)).kernel("work", "host", policy="quickest")
