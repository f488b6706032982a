# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences on the host, and on GPUs where they are or where the fake drivers show them."""
import array
import gc
import struct
import threading

import pytest

import kdl

WHERE = ["host"] + [f"{backend}:0" for backend in ("cuda", "hip") if any(device.backend == backend for device in kdl.devices())]


@pytest.fixture(params=WHERE)
def parts(request):
    """A kernel, and buffers of its device: 1, 2, 3, 4, and two of zeros."""
    device = kdl.device(request.param)
    x, y, z = (kdl.Buffer(device, 16) for _ in range(3))
    x.write(struct.pack("4f", 1, 2, 3, 4))
    y.fill(bytes(4))
    z.fill(bytes(4))
    library = request.getfixturevalue("gpu_library" if request.param == "hip:0" else "library")
    return library.kernel("saxpy", device), x, y, z


def values(buffer):
    data = bytearray(16)
    buffer.read(data)
    return list(struct.unpack("4f", data))


def test_what_a_block_gives_is_run_again(parts):
    kernel, x, y, z = parts
    with kdl.Sequence(kernel.device, y=y) as sequence:
        kernel[4](2.0, x, y, 4)
        kernel.launch(1.0, x, y, 4, grid=1, block=4)
    assert values(y) == [0, 0, 0, 0]
    sequence.run()
    sequence.run(y=z)
    sequence.run(y=z)
    assert values(y) == [3, 6, 9, 12] and values(z) == [6, 12, 18, 24]
    info = sequence.info()
    assert (info["nodes"], info["launches"], info["slots"]) == (2, 2, ("y",)) and info["replay"] in ("list", "graph", "launches")


def test_arrays_are_slots(library):
    np = pytest.importorskip("numpy")
    saxpy, n = library.kernel("saxpy", "host"), 4
    x, y, z = np.arange(4, dtype=np.float32), np.zeros(4, np.float32), np.ones(4, np.float32)
    with kdl.Sequence(saxpy.device, y=y) as steps:
        saxpy[n](2.0, x, y, n)
        saxpy[n](1.0, x, y, n)
    assert y.tolist() == [0, 0, 0, 0]
    steps.run()
    steps.run(y=z)
    assert y.tolist() == [0, 3, 6, 9] and z.tolist() == [1, 4, 7, 10]
    others = array.array("f", [0] * 4), memoryview(bytearray(16)).cast("f"), kdl.Buffer("host", 16)
    others[2].fill(0)
    for other in others:
        steps.run(y=other)
    assert list(others[0]) == list(others[1]) == values(others[2]) == [0, 3, 6, 9]
    z.flags.writeable = False
    for wrong, error, text in ((np.zeros(3, np.float32), kdl.BadCallError, "12"), (z, TypeError, "run..: y: found an array that is read-only"),
                               (np.zeros((4, 2), np.float32)[:, 0], TypeError, "not contiguous"), ([1, 2], TypeError, "y: found <class 'list'>")):
        with pytest.raises(error, match=text):
            steps.run(y=wrong)


def test_slots_take_the_elements_of_their_parameters(library, tmp_path):
    np = pytest.importorskip("numpy")
    saxpy = library.kernel("saxpy", "host")
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    with kdl.Sequence("host", x=x, y=y) as steps:
        saxpy[4](1.0, x, y, 4)
    with kdl.Sequence("host", z=y) as nested:
        steps.run(x=x, y=y)
    steps.save(tmp_path / "steps.offload")
    opened = kdl.open(tmp_path / "steps.offload").sequence("host")
    wrong = [(np.full(4, 3.0), "f64"), (np.zeros(4, np.int32), "i32"), (np.zeros(4, "U4"), "16 bytes"), (bytearray(16), "u8"),
             (array.array("d", [0] * 4), "f64"), (memoryview(bytearray(16)), "u8")]
    for array_, found in wrong:
        for run in (lambda: steps.run(y=array_), lambda: opened.run(x=x, y=array_)):
            with pytest.raises(TypeError, match=rf"run\(\): y: found an array of {found}, expected ptr<f32>"):
                run()
        with pytest.raises(TypeError, match=rf"run\(\): z: found an array of {found}, expected ptr<f32>"):
            nested.run(z=array_)
    z = np.zeros(4, np.float32)
    steps.run(y=z)
    opened.run(x=x, y=z)
    nested.run(z=z)
    assert z.tolist() == [3] * 4 and not y.any()


def test_slots_take_the_elements_that_they_were_declared_with(library):
    np = pytest.importorskip("numpy")
    saxpy, place = library.kernel("saxpy", "host"), library.kernel("place", "host")
    room, other = np.zeros(64, np.uint8), np.zeros(64, np.int8)
    x = np.ones(4, np.float32)
    with kdl.Sequence("host", room=room) as steps:
        saxpy[4](1.0, x, room[:16].view(np.float32), 4)
        place[4](room[32:].view(np.int64), 4, 1)
    steps.run()
    steps.run(room=other)
    steps.run(room=other.view(np.float32))
    steps.run(room=other.view(np.uint64))
    assert room[:16].view(np.float32).tolist() == [1] * 4 and other[:16].view(np.float32).tolist() == [3] * 4
    assert other[32:].view(np.int64).tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="found an array of f64, expected ptr<f32>"):
        steps.run(room=other.view(np.float64))


@pytest.mark.parametrize("part", [0, 1])
def test_parts_of_a_slot_are_parts_of_it_in_each_run(library, part):
    np = pytest.importorskip("numpy")
    saxpy, x = library.kernel("saxpy", "host"), np.ones(4, np.float32)
    y, z = np.zeros(8, np.float32), np.zeros(8, np.float32)
    with kdl.Sequence("host", y=y) as steps:
        saxpy[4](1.0, x, y[4 * part:], 4)
    steps.run(y=z)
    assert z.tolist() == [1 - part] * 4 + [part] * 4 and not y.any()


def test_slots_do_not_overlap(parts):
    kernel, x, y, _ = parts
    with pytest.raises(ValueError, match=r"slot \"b\": its memory is also that of slot 1 \(\"a\"\)"):
        with kdl.Sequence(kernel.device, a=y, b=y):
            pass
    kernel[4](1.0, x, y, 4)  # the queue records no more
    assert values(y) == [1, 2, 3, 4]


def test_parts_of_one_array_are_slots_where_they_do_not_overlap(library):
    np = pytest.importorskip("numpy")
    saxpy, x, y = library.kernel("saxpy", "host"), np.ones(4, np.float32), np.zeros(8, np.float32)
    for second in (y[3:], y[:1], y[3:4], y):
        with pytest.raises(ValueError, match="its memory is also that of slot 1"):
            with kdl.Sequence("host", a=y[:4], b=second):
                pass
    with kdl.Sequence("host", a=y[:4], b=y[4:], empty=y[:0]) as steps:
        saxpy[4](1.0, x, y, 4)
        saxpy[4](2.0, x, y[4:], 4)
    steps.run()
    assert y.tolist() == [1] * 4 + [2] * 4


def test_queues(parts):
    kernel, x, y, _ = parts
    queue, other = kdl.Queue(kernel.device), kdl.Queue(kernel.device)
    with kdl.Sequence(queue) as sequence:
        kernel[4](1.0, x, y, 4, queue=queue)
    sequence.run()
    queue.sync()
    sequence.run(other)
    other.sync()
    assert values(y) == [2, 4, 6, 8]
    with pytest.raises((ValueError, TypeError)):
        sequence.run("text")


def test_a_block_that_raises_keeps_nothing(parts):
    kernel, x, y, _ = parts
    sequence = kdl.Sequence(kernel.device, y=y)
    with pytest.raises(KeyError):
        with sequence:
            kernel[4](1.0, x, y, 4)
            raise KeyError("mine")
    with pytest.raises(ValueError, match="its block failed"):
        sequence.run()
    kernel[4](1.0, x, y, 4)  # the queue records no more
    assert values(y) == [1, 2, 3, 4]


def test_waiting_inside_a_block_is_refused(parts):
    kernel, _, y, _ = parts
    with pytest.raises(kdl.Error):
        with kdl.Sequence(kernel.device):
            values(y)
    assert values(y) == [0, 0, 0, 0]


def test_a_block_records_its_own_thread(parts):
    kernel, x, y, z = parts
    device, prepared, inner = kernel.device, kernel[4].prepare(1.0, x, z, 4), kdl.Sequence(kernel.device)
    with inner:
        z.fill(0)
    event, errors, queue = kdl.Event(device), [], kdl.Queue(device)
    calls = [lambda: kernel[4](1.0, x, z, 4), lambda: kernel.launch(1.0, x, z, 4, grid=1, block=4), prepared, lambda: z.fill(1),
             lambda: z.copy(x, 16), lambda: z.write(bytes(16)), lambda: z.read(bytearray(16)), inner.run, lambda: event.record(None)]

    def others():
        for call in calls:
            try:
                call()
            except RuntimeError as error:
                errors.append(str(error))
        kernel[4](3.0, x, z, 4, queue=queue)  # of its own
        queue.sync()
    with kdl.Sequence(device, y=y) as steps:
        kernel[4](1.0, x, y, 4)
        thread = threading.Thread(target=others)
        thread.start()
        thread.join()
        kernel[4](1.0, x, y, 4)
    assert len(errors) == len(calls) and all("another thread records" in error for error in errors)
    assert steps.info()["nodes"] == 2 and values(z) == [3, 6, 9, 12]
    steps.run()
    assert values(y) == [2, 4, 6, 8]


def test_a_recording_that_is_dropped_ends(parts):
    kernel, x, y, _ = parts

    def generator():
        sequence = kdl.Sequence(kernel.device)
        sequence.__enter__()
        kernel[4](1.0, x, y, 4)
        yield
    next(generator())
    gc.collect()
    kernel[4](1.0, x, y, 4)
    assert values(y) == [1, 2, 3, 4]


def test_what_is_refused(parts):
    kernel, x, y, _ = parts
    for wrong, text in ((b"text", "y: found an array"), (None, "y: found <class 'NoneType'>, expected a kdl.Buffer or an array"),
                        (y.address, "y: found <class 'int'>, expected a kdl.Buffer or an array"), ("text", "y: found <class 'str'>")):
        with pytest.raises(TypeError, match=text):
            kdl.Sequence(kernel.device, y=wrong)
    with pytest.raises(ValueError, match="more than 32 slots"):
        kdl.Sequence(kernel.device, **{f"b{number}": y for number in range(33)})
    with pytest.raises(TypeError):
        kdl.Sequence()
    sequence = kdl.Sequence(kernel.device, y=y)
    with pytest.raises(ValueError, match="not recorded yet"):
        sequence.run()
    with sequence:
        with pytest.raises(ValueError, match="recorded once"):
            sequence.__enter__()
        with pytest.raises(kdl.Error):
            kdl.Sequence(kernel.device).__enter__()
        kernel[4](1.0, x, y, 4)
    with pytest.raises(ValueError, match="not being recorded"):
        sequence.__exit__(None, None, None)
    with pytest.raises(TypeError, match="no slot 'z'"):
        sequence.run(z=y)
    with pytest.raises(TypeError, match="y: found <class 'int'>"):
        sequence.run(y=5)
    with pytest.raises(kdl.BadCallError):
        sequence.run(y=kdl.Buffer(kernel.device, 4))
    with pytest.raises(ValueError, match="y: the buffer was freed"):
        freed = kdl.Buffer(kernel.device, 16)
        freed.free()
        sequence.run(y=freed)
    sequence.run()
    assert values(y) == [1, 2, 3, 4]


def test_a_file_is_opened_for_a_device(parts, tmp_path):
    kernel, x, y, z = parts
    with kdl.Sequence(kernel.device, x=x, y=y) as sequence:
        kernel[4](2.0, x, y, 4)
        kernel[4](1.0, x, y, 4)
    sequence.save(tmp_path / "steps.offload", name="steps")
    library = kdl.open(tmp_path / "steps.offload")
    assert library.image(0).kind == "sequence" and library.image(0).metadata["kdl.sequence"] == "steps"
    again = library.sequence(kernel.device, name="steps")
    assert again.info()["slots"] == ("x", "y") and again.info()["launches"] == 2
    del library
    again.run(x=x, y=z)
    kernel.sync()
    assert values(z) == [3, 6, 9, 12]
    with pytest.raises(TypeError, match="run..: the slot 'y' is missing: expected a kdl.Buffer or an array for each of x, y"):
        again.run(x=x)
    with pytest.raises(TypeError, match="run..: y: found <class 'NoneType'>, expected a kdl.Buffer or an array"):
        again.run(x=x, y=None)


def record(launch, device, **slots):
    with kdl.Sequence(device, **slots) as sequence:
        launch()
    return sequence


@pytest.mark.parametrize("how", ["opened", "launched", "prepared", "nested"])
def test_the_bytes_of_a_library_are_kept(parts, tmp_path, how):
    kernel, x, y, _ = parts
    device, slots = kernel.device, {"x": x, "y": y}
    record(lambda: kernel[4](2.0, x, y, 4), device, **slots).save(tmp_path / "steps.offload")
    data = bytearray((tmp_path / "steps.offload").read_bytes())
    library = kdl.open(data)
    launcher = library.kernel("saxpy", device)[4]
    if how == "opened":
        sequence = library.sequence(device)
    elif how == "prepared":
        sequence = record(launcher.prepare(2.0, x, y, 4), device, **slots)
    else:
        sequence = record(lambda: launcher(2.0, x, y, 4), device, **slots)
    if how == "nested":
        sequence = record(sequence.run, device, **slots)
    del library, launcher
    gc.collect()
    data.clear()
    sequence.save(tmp_path / "again.offload")
    assert kdl.open(tmp_path / "again.offload").sequence(device).info()["launches"] == 1


def test_what_cannot_be_saved_or_opened(parts, tmp_path):
    kernel, x, y, _ = parts
    with kdl.Sequence(kernel.device, y=y) as sequence:
        kernel[4](2.0, x, y, 4)
    with pytest.raises(kdl.UnsupportedError, match="node 0: launch of saxpy: argument 1: found the address of memory"):
        sequence.save(tmp_path / "steps.offload")
    with pytest.raises(ValueError, match="not recorded yet"):
        kdl.Sequence(kernel.device).save(tmp_path / "steps.offload")
    with kdl.Sequence(kernel.device, x=x, y=y) as sequence:
        kernel[4](2.0, x, y, 4)
    sequence.save(tmp_path / "alone.offload", alone=True)
    library = kdl.open(tmp_path / "alone.offload")
    with pytest.raises(kdl.NoMatchError, match="kernel saxpy"):
        library.sequence(kernel.device)
    with pytest.raises(TypeError):
        kdl.Sequence.open("text")
