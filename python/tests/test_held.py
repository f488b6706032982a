# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that other code frees or changes while a call uses it, or a sequence has recorded it."""
import array
import gc
import struct
import sys
import threading
import time
import weakref

import pytest

import kdl

np = pytest.importorskip("numpy")


class Acts:
    """An integer that does something when it is asked for its value."""

    def __init__(self, value, act):
        self.value, self.act = value, act

    def __index__(self):
        self.act()
        return self.value


@pytest.fixture
def parts(library):
    """A kernel on the host, and buffers: 1, 2, 3, 4, and zeros."""
    x, y = kdl.Buffer("host", 16), kdl.Buffer("host", 16)
    x.write(struct.pack("4f", 1, 2, 3, 4))
    y.fill(bytes(4))
    return library.kernel("saxpy", "host"), x, y


def values(buffer):
    data = bytearray(16)
    buffer.read(data)
    return list(struct.unpack("4f", data))


class Running:
    """A launch in another thread that goes on until it is let go, and then writes to a buffer."""

    def __init__(self, library, how):
        self.signals, self.buffer, self.errors = np.zeros(2, np.uint32), kdl.Buffer("host", 4), []
        kernel = library.kernel("wait", "host")
        arguments = self.signals, self.buffer
        work = {"launch": lambda: kernel[1](*arguments), "grid": lambda: kernel.launch(*arguments, grid=1, block=1)}
        if how == "prepared":
            work[how] = kernel[1].prepare(*arguments)
        elif how in ("recorded", "slot"):
            with kdl.Sequence("host", **({"y": self.buffer} if how == "slot" else {})) as sequence:
                kernel[1](*arguments)
            work[how] = sequence.run
        self.thread = threading.Thread(target=self.run, args=[work[how]])

    def run(self, work):
        try:
            work()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.errors.append(error)

    def __enter__(self):
        self.thread.start()
        while not self.signals[0] and not self.errors:
            time.sleep(0.001)
        return self

    def __exit__(self, *_):
        self.signals[1] = 1
        self.thread.join()
        assert not self.errors


@pytest.mark.parametrize("how", ["launch", "grid", "prepared", "recorded", "slot"])
def test_a_buffer_is_not_freed_while_another_thread_uses_it(library, how):
    with Running(library, how) as running:
        for _ in range(3):
            with pytest.raises(RuntimeError, match="the buffer is in use"):
                running.buffer.free()
    data = bytearray(4)
    running.buffer.read(data)
    assert struct.unpack("f", data) == (1.0,)
    running.buffer.free()


def test_a_buffer_is_not_freed_by_a_later_argument(parts):
    kernel, x, y = parts
    for call in (kernel[4], kernel[4].prepare):
        with pytest.raises(RuntimeError, match="the buffer is in use"):
            call(1.0, x, y, Acts(4, y.free))
    kernel[4](1.0, x, y, 4)
    assert values(y) == [1, 2, 3, 4]


def test_a_buffer_that_a_prepared_launch_has_is_freed_between_its_calls(parts):
    kernel, x, y = parts
    step = kernel[4].prepare(1.0, x, y, 4)
    step()
    y.free()
    with pytest.raises(TypeError, match="argument 2: the buffer was freed"):
        step()
    x.free()
    with pytest.raises(TypeError, match="argument 1: the buffer was freed"):
        step()


@pytest.mark.parametrize("call", [lambda x, y, free: x.write(bytes(4), offset=free(0)), lambda x, y, free: x.read(bytearray(4), offset=free(0)),
                                  lambda x, y, free: x.fill(0, offset=free(0)), lambda x, y, free: x.fill(0, size=free(4)),
                                  lambda x, y, free: x.copy(y, free(4)), lambda x, y, free: y.copy(x, 4, 0, free(0))])
def test_a_buffer_that_an_argument_of_its_method_freed(parts, call):
    _, x, y = parts
    with pytest.raises(ValueError, match="the buffer was freed"):
        call(x, y, lambda value: Acts(value, x.free))


def test_a_tensor_of_dlpack_is_taken_out_of_its_capsule(parts):
    kernel, _, y = parts
    data = np.ones(4, np.float32)
    if not hasattr(data, "__dlpack__"):
        pytest.skip("NumPy without DLPack")

    class Once:
        """Gives the same capsule each time."""
        capsule = data.__dlpack__()

        def __dlpack__(self, **_):
            return self.capsule
    before = sys.getrefcount(data)
    kernel[4](1.0, Once(), y, 4)
    assert values(y) == [1, 1, 1, 1] and "used_dltensor" in repr(Once.capsule)
    assert sys.getrefcount(data) == before - 1
    with pytest.raises(TypeError, match="argument 1: its __dlpack__ gave no capsule"):
        kernel[4](1.0, Once(), y, 4)


def test_a_library_is_what_the_bytes_were(library):
    image = library.image(0)
    writer = kdl.Writer()
    writer.add(image.bytes(), triple=image.triple, arch=image.arch, metadata={key: value for key, value in image.metadata.items() if key.startswith("kdl.kernel.")})
    for change in (lambda data: data.clear(), lambda data: data.__setitem__(slice(32, None), b"\xff" * (len(data) - 32))):
        data = bytearray(writer.bytes())
        opened = kdl.open(data)
        expected = opened.image(0).metadata, opened.kernels(), opened.image(0).bytes()
        opened = kdl.open(data)
        change(data)
        assert (opened.image(0).metadata, opened.kernels(), opened.image(0).bytes()) == expected
        x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
        opened.kernel("saxpy", "host")[4](1.0, x, y, 4)
        assert y.tolist() == [1, 1, 1, 1]


# Sequences

def record(launch, device="host", **slots):
    with kdl.Sequence(device, **slots) as sequence:
        launch()
    return sequence


@pytest.mark.parametrize("how", ["launched", "prepared", "nested", "slot"])
def test_a_sequence_holds_the_arrays_that_it_recorded(parts, how):
    kernel, _, y = parts
    x = array.array("f", [1, 2, 3, 4])
    seen = np.ones(4, np.float32)
    gone = weakref.ref(seen)
    if how == "prepared":
        first, second = kernel[4].prepare(1.0, x, y, 4), kernel[4].prepare(1.0, seen, y, 4)
        sequence = record(lambda: (first(), second()))
        del first, second
    else:
        slots = {"x": x} if how == "slot" else {}
        sequence = record(lambda: (kernel[4](1.0, x, y, 4), kernel[4](1.0, seen, y, 4)), **slots)
    if how == "nested":
        sequence = record(sequence.run)
    del seen
    gc.collect()
    with pytest.raises(BufferError):
        x.append(5)
    assert gone() is not None
    sequence.run()
    assert values(y) == [2, 3, 4, 5]
    del sequence
    gc.collect()
    x.append(5)
    assert gone() is None


@pytest.mark.parametrize("how", ["launched", "prepared", "nested", "filled", "copied"])
def test_a_sequence_holds_the_buffers_that_it_recorded(parts, how):
    kernel, x, y = parts
    work = {"filled": lambda: y.fill(b"\0\0\x80\x3f"), "copied": lambda: y.copy(x, 16),
            "prepared": kernel[4].prepare(1.0, x, y, 4)}.get(how, lambda: kernel[4](1.0, x, y, 4))
    before = sys.getrefcount(y)
    sequence = record(work)
    if how == "nested":
        sequence = record(sequence.run)
    assert sys.getrefcount(y) > before or how == "prepared"
    sequence.run()
    assert values(y) == ([1, 1, 1, 1] if how == "filled" else [1, 2, 3, 4])
    y.free()
    with pytest.raises(ValueError, match="a buffer that was recorded was freed"):
        sequence.run()


def test_a_slot_may_be_freed_that_a_run_binds_anew(parts):
    kernel, x, y = parts
    z = kdl.Buffer("host", 16)
    z.fill(bytes(4))
    sequence = record(lambda: kernel[4](1.0, x, y, 4), y=y)
    y.free()
    sequence.run(y=z)
    assert values(z) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="y: the buffer was freed"):
        sequence.run()


def test_a_sequence_holds_its_events(parts):
    kernel, x, y = parts

    def work():
        event = kdl.Event("host")
        event.record(None)
        kernel[4](1.0, x, y, 4)
    sequence = record(work)
    events = [kdl.Event("host") for _ in range(50)]  # where one was that is no more
    sequence.run()
    assert values(y) == [1, 2, 3, 4] and sequence.info()["nodes"] == 2
    del events


def test_what_waits_is_not_recorded(parts):
    kernel, x, y = parts
    data = bytearray(16)

    def work():
        for call in (x.write, x.read):
            with pytest.raises(kdl.Error):
                call(data)
        kernel[4](1.0, x, y, 4)
    sequence = record(work)
    assert sequence.info()["nodes"] == 1
    data.clear()
    sequence.run()
    assert values(y) == [1, 2, 3, 4]


def test_a_block_that_failed_holds_nothing(parts):
    kernel, _, y = parts
    x = array.array("f", [1, 2, 3, 4])
    with pytest.raises(KeyError):
        with kdl.Sequence("host") as sequence:
            kernel[4](1.0, x, y, 4)
            raise KeyError("mine")
    x.append(5)
    with pytest.raises(ValueError, match="its block failed"):
        sequence.run()


def test_a_recording_begins_when_others_have_left_the_queue(library):
    entered, leave, sequence = threading.Event(), threading.Event(), kdl.Sequence("host")

    def enter():
        with sequence:
            entered.set()
            leave.wait()
    with Running(library, "launch") as running:
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.05)
        with kdl.Sequence(kdl.Queue("host")):  # another queue is another matter
            pass
        running.signals[1] = 1
        assert entered.wait()
        leave.set()
        thread.join()
    assert sequence.info()["nodes"] == 0


def test_cycles_through_sequences_are_collected(parts):
    kernel, _, y = parts

    class Array:
        """An array that holds a sequence of its own."""
        def __init__(self):
            self.data = np.ones(4, np.float32)

        def __dlpack__(self, **options):
            return self.data.__dlpack__(**options)
    one = Array()
    if not hasattr(one.data, "__dlpack__"):
        pytest.skip("NumPy without DLPack")
    one.steps = record(lambda: kernel[4](1.0, one, y, 4))
    one.steps.run()
    assert values(y) == [1, 1, 1, 1]
    seen = weakref.ref(one)
    del one
    gc.collect()
    assert seen() is None


def test_images_that_are_removed_while_they_are_written(library):
    for write in ("bytes", lambda writer: writer.save("/dev/null/no")):
        writer, data = kdl.Writer(), library.image(0).bytes()
        for _ in range(3):
            writer.add(data[:], triple="x86_64-unknown-linux-gnu", arch="x86-64", offload_kind=Acts(0, writer._images.clear))
        try:
            assert len(writer.bytes() if write == "bytes" else write(writer)) > 3 * len(data)
        except kdl.Error:
            assert write != "bytes"
        assert not writer._images
