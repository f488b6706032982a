# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching on GPUs, with fake drivers of CUDA and HIP: see tests/fakes. tests/python/package.sh sets them up."""
import ctypes
import os
import struct
import threading
import time
import types

import dlpack
import pytest

import kdl

if "KDL_FAKE_DEVICES" not in os.environ:
    pytest.skip("no fake drivers: KDL_FAKE_DEVICES is not set", allow_module_level=True)


@pytest.fixture(params=["cuda", "hip"])
def gpu(request, gpu_library):
    return Gpu(gpu_library, request.param)


@pytest.fixture
def cuda(gpu_library):
    return Gpu(gpu_library, "cuda")


class Gpu:
    """A kernel, and memory of its device: x is 1, 2, 3, 4, and y zeros."""

    def __init__(self, library, backend, number=0):
        self.device = kdl.device(f"{backend}:{number}")
        self.place = (dlpack.CUDA if backend == "cuda" else dlpack.ROCM, number)
        self.kernel = library.kernel("saxpy", self.device)
        self.x, self.y = kdl.Buffer(self.device, 16), kdl.Buffer(self.device, 16)
        self.x.write(struct.pack("4f", 1, 2, 3, 4))
        self.y.fill(bytes(4))

    def values(self):
        data = bytearray(16)
        self.y.read(data)
        return list(struct.unpack("4f", data))


@pytest.fixture
def capture():
    """Begins the capture of a stream of CUDA's; the returned function ends it and runs the graph."""
    driver = ctypes.CDLL("libcuda.so.1")

    def begin(stream):
        assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 2) == 0

        def end():
            graph, instance = ctypes.c_void_p(), ctypes.c_void_p()
            assert driver.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph)) == 0
            assert driver.cuGraphInstantiateWithFlags(ctypes.byref(instance), graph, ctypes.c_uint64(0)) == 0
            assert driver.cuGraphLaunch(instance, ctypes.c_void_p(stream)) == 0
            driver.cuGraphExecDestroy(instance)
            driver.cuGraphDestroy(graph)
        return end
    return begin


def test_buffers(gpu):
    gpu.kernel[4](2.0, gpu.x, gpu.y, 4)
    gpu.kernel.launch(1.0, gpu.x.address, gpu.y, 4, grid=1, block=4)
    assert gpu.values() == [3, 6, 9, 12]
    assert gpu.kernel.device == gpu.device and not gpu.device.is_host
    assert gpu.device.memory_info()[1] > 0


def test_queues_and_events(gpu):
    queue, start, end = kdl.Queue(gpu.device), kdl.Event(gpu.device), kdl.Event(gpu.device)
    start.record(queue)
    gpu.kernel[4](1.0, gpu.x, gpu.y, 4, queue=queue)
    gpu.kernel[4](1.0, gpu.x, gpu.y, 4, queue=queue.native)
    end.record(queue)
    end.wait(None)
    end.sync()
    assert start.elapsed(end) > 0 and end.query()
    assert gpu.values() == [2, 4, 6, 8]


@pytest.mark.parametrize("is_versioned", [False, True])
def test_dlpack_is_told_the_queue(gpu, is_versioned):
    x = dlpack.ByDlpack(gpu.x.address, gpu.place, is_versioned=is_versioned, offset=8)
    y = dlpack.ByDlpack(gpu.y.address, gpu.place, is_versioned=is_versioned)
    queue = kdl.Queue(gpu.device)
    gpu.kernel[4](1.0, x, y, 4, queue=queue)
    assert gpu.values() == [1, 2, 3, 4]
    assert x.streams == y.streams == [queue.native]
    gpu.kernel[4](1.0, x, y, 4)
    gpu.kernel.sync()
    assert gpu.values() == [2, 4, 6, 8]
    assert x.streams[1] not in (None, queue.native) and x.streams[1] == y.streams[1]


def test_dlpack_is_told_the_default_stream_as_one(cuda):
    x = dlpack.ByDlpack(cuda.x.address, cuda.place)
    cuda.kernel[4](1.0, x, cuda.y, 4, queue=0)
    assert x.streams == [1]


def test_dlpack_follows_the_stream_of_a_later_argument(cuda):
    queue = kdl.Queue(cuda.device)
    x = dlpack.ByDlpack(cuda.x.address, cuda.place)
    cuda.kernel[4](1.0, x, dlpack.ByCudaInterface(cuda.y.address, stream=queue.native), 4)
    assert x.streams == [queue.native]


def test_cuda_array_interface(cuda, capture):
    x, y = dlpack.ByCudaInterface(cuda.x.address), dlpack.ByCudaInterface(cuda.y.address, stream=None)
    cuda.kernel[4](1.0, x, y, 4)
    cuda.kernel.sync()
    assert cuda.values() == [1, 2, 3, 4]
    queue = kdl.Queue(cuda.device)
    end = capture(queue.native)
    y = dlpack.ByCudaInterface(cuda.y.address, stream=queue.native)
    cuda.kernel[4](1.0, x, y, 4)
    assert cuda.values() == [1, 2, 3, 4]  # it went to the captured stream
    cuda.kernel[4](1.0, x, y, 4, queue=kdl.Queue(cuda.device))
    assert cuda.values() == [2, 4, 6, 8]  # a queue that is named goes first
    end()
    queue.sync()
    assert cuda.values() == [3, 6, 9, 12]


def cupy_array(base, address, dtype="float32", device=0, **changes):
    np = pytest.importorskip("numpy")

    class Array(dlpack.ByCudaInterface):
        data, dtype = None, None
    Array.__module__ = base
    array = Array(address, **changes)
    array.data, array.dtype = types.SimpleNamespace(ptr=address, device_id=device), np.dtype(dtype)
    return array


@pytest.mark.parametrize("base", ["cupy", "cupy._core.core", "cupyx", "mine"])
def test_arrays_of_cupy(cuda, base):
    queue = kdl.Queue(cuda.device)
    x, y = (cupy_array(base, buffer.address, stream=queue.native) for buffer in (cuda.x, cuda.y))
    cuda.kernel[4](1.0, x, y, 4)
    cuda.kernel[4](1.0, x, y, 4, queue=queue)
    queue.sync()
    assert cuda.values() == [2, 4, 6, 8]


@pytest.mark.parametrize("changes, text", [
    ({"dtype": "float64"}, "argument 2: found an array of f64, expected ptr<f32>"),
    ({"dtype": ">f4"}, "argument 2: found an array of the other byte order"),
    ({"device": 1}, "argument 2: the array is in memory of CUDA 1"),
])
def test_arrays_of_cupy_that_are_refused(cuda, changes, text):
    x, y = cupy_array("cupy", cuda.x.address, stream=1), cupy_array("cupy", cuda.y.address, **changes)
    with pytest.raises(TypeError, match=text):
        cuda.kernel[4](1.0, x, y, 4)
    y.data = None  # no longer what CuPy has: by its description
    cuda.kernel[4](1.0, x, y, 4)


@pytest.mark.parametrize("changes, text", [
    ({"typestr": "<f8"}, "argument 1: found an array of f64, expected ptr<f32>"),
    ({"typestr": ">f4"}, "argument 1: found an array of the other byte order"),
    ({"data": ()}, "argument 1: its __cuda_array_interface__ lacks data or typestr"),
    ({"data": ("text", False)}, "argument 1: its __cuda_array_interface__ lacks data or typestr"),
    ({"data": None}, "argument 1: its __cuda_array_interface__ lacks data or typestr"),
    ({"typestr": 5}, "argument 1: its __cuda_array_interface__ lacks data or typestr"),
    ({"stream": "text"}, "argument 1: its __cuda_array_interface__ has 'text' as its stream"),
])
def test_descriptions_that_are_refused(cuda, changes, text):
    with pytest.raises(TypeError, match=text):
        cuda.kernel[4](1.0, dlpack.ByCudaInterface(cuda.x.address, **changes), cuda.y, 4)
    array = dlpack.ByCudaInterface(0)
    array.__cuda_array_interface__ = "no dict"
    with pytest.raises(TypeError, match="argument 1: its __cuda_array_interface__ is no dict"):
        cuda.kernel[4](1.0, array, cuda.y, 4)


def test_exchange(cuda, capture):
    x, y = (dlpack.ByExchange(buffer.address, cuda.place) for buffer in (cuda.x, cuda.y))
    queue = kdl.Queue(cuda.device)
    dlpack.ByExchange.stream = queue.native
    end = capture(queue.native)
    cuda.kernel[4](1.0, x, y, 4)
    cuda.kernel[4](1.0, x, y, 4, queue=None)  # as if it were not named
    assert cuda.values() == [0, 0, 0, 0]
    end()
    queue.sync()
    assert cuda.values() == [2, 4, 6, 8]
    dlpack.ByExchange.fails = True
    with pytest.raises(TypeError, match="argument 1: found <class 'dlpack.ByExchange'>"):
        cuda.kernel[4](1.0, x, y, 4)
    dlpack.ByExchange.fails = False
    with pytest.raises(TypeError, match="argument 1: found an array of bf16, expected ptr<f32>"):
        cuda.kernel[4](1.0, dlpack.ByExchange(cuda.x.address, cuda.place, "bf16"), y, 4)


def test_prepared_follows_the_current_stream(cuda, capture):
    x, y = (dlpack.ByExchange(buffer.address, cuda.place) for buffer in (cuda.x, cuda.y))
    dlpack.ByExchange.stream = 0
    again = cuda.kernel[4].prepare(1.0, x, y, 4)
    again()
    queue = kdl.Queue(cuda.device)
    end = capture(queue.native)
    again()
    kdl.Queue(cuda.device, native=0).sync()
    assert cuda.values() == [2, 4, 6, 8]
    dlpack.ByExchange.stream = queue.native
    again()  # which is captured
    assert cuda.values() == [2, 4, 6, 8]
    end()
    queue.sync()
    assert cuda.values() == [3, 6, 9, 12]
    dlpack.ByExchange.stream = 0


@pytest.mark.parametrize("name", ["queue", "handle", "interface"])
def test_prepared_for_a_queue(cuda, capture, name):
    queue = kdl.Queue(cuda.device)
    array = dlpack.ByCudaInterface(cuda.x.address, stream=queue.native)
    again = (cuda.kernel[4].prepare(1.0, array, cuda.y, 4) if name == "interface" else
             cuda.kernel[4].prepare(1.0, cuda.x, cuda.y, 4, queue=queue if name == "queue" else queue.native))
    others = [kdl.Queue(cuda.device) for _ in range(100)]  # more than are kept
    for other in others:
        cuda.kernel[4](0.0, cuda.x, cuda.y, 4, queue=other.native)
        other.sync()
    end = capture(queue.native)
    again()
    assert cuda.values() == [0, 0, 0, 0]
    end()
    queue.sync()
    assert cuda.values() == [1, 2, 3, 4]


def test_arrays_without_memory(cuda):
    array = dlpack.ByExchange(0, cuda.place)
    for shape, is_refused in (((2, 3), True), ((), True), ((2, 0), False)):
        array.tensor.dimensions, array.tensor.shape = len(shape), (ctypes.c_int64 * len(shape))(*shape)
        if is_refused:
            with pytest.raises(TypeError, match="argument 1: the array has no memory"):
                cuda.kernel[4](1.0, array, cuda.y, 0)
        else:
            cuda.kernel[0](1.0, array, cuda.y, 0)


def test_streams_are_asked_for_once_and_only_where_no_queue_is_named(cuda):
    x, y = (dlpack.ByExchange(buffer.address, cuda.place) for buffer in (cuda.x, cuda.y))
    dlpack.ByExchange.stream = 0
    before, queue = dlpack.ByExchange.asked, kdl.Queue(cuda.device)
    cuda.kernel[4](1.0, x, y, 4)
    assert dlpack.ByExchange.asked == before + 1
    cuda.kernel[4](1.0, x, y, 4, queue=queue)
    cuda.kernel.launch(1.0, x, y, 4, items=4, queue=queue)
    assert dlpack.ByExchange.asked == before + 1
    queue.sync()
    assert cuda.values() == [3, 6, 9, 12]


def test_tensors_of_rocm_call_themselves_cuda(gpu_library):
    hip = Gpu(gpu_library, "hip")
    dlpack.ByExchange.stream = 0
    x, y = (dlpack.ByExchange(buffer.address, (dlpack.CUDA, 0)) for buffer in (hip.x, hip.y))
    hip.kernel[4](1.0, x, y, 4)
    assert hip.values() == [1, 2, 3, 4]


def test_streams_of_other_packages(cuda):
    class Stream:
        def __init__(self, queue):
            self.queue = queue

        def __cuda_stream__(self):
            return (0, self.queue.native)
    queue = kdl.Queue(cuda.device)
    cuda.kernel[4](1.0, cuda.x, cuda.y, 4, queue=Stream(queue))
    cuda.kernel[4](1.0, cuda.x, cuda.y, 4, queue=types.SimpleNamespace(cuda_stream=queue.native))
    cuda.kernel[4](1.0, cuda.x, cuda.y, 4, queue=kdl.Queue(cuda.device, native=queue))
    queue.sync()
    assert cuda.values() == [3, 6, 9, 12]
    assert queue.__cuda_stream__() == (0, queue.native)
    for wrong in (types.SimpleNamespace(cuda_stream="text"), types.SimpleNamespace(__cuda_stream__=lambda: 5)):
        with pytest.raises(TypeError):
            cuda.kernel[4](1.0, cuda.x, cuda.y, 4, queue=wrong)


def test_more_streams_than_are_kept(cuda):
    queues = [kdl.Queue(cuda.device) for _ in range(200)]
    for queue in queues:
        cuda.kernel[4](1.0, cuda.x, cuda.y, 4, queue=queue.native)
    for queue in queues:
        queue.sync()
    assert cuda.values() == [200, 400, 600, 800]


def test_memory_elsewhere_is_refused(gpu, gpu_library):
    host = kdl.Buffer("host", 16)
    with pytest.raises(TypeError, match="argument 1: the buffer belongs to host:.*, the kernel runs on " + gpu.device.backend):
        gpu.kernel[4](1.0, host, gpu.y, 4)
    with pytest.raises(TypeError, match="argument 2: found an array in the host's memory.*kdl.Buffer"):
        gpu.kernel[4](1.0, gpu.x, bytearray(16), 4)
    for place, text in (((gpu.place[0], 7), " 7"), ((dlpack.CPU, 0), "the host's memory")):
        array = dlpack.ByDlpack(gpu.x.address, place)
        with pytest.raises(TypeError, match="argument 1: the array is in memory of .*" + text):
            gpu.kernel[4](1.0, array, gpu.y, 4)
        assert array.streams == []  # it was not even asked
    with pytest.raises(ValueError, match="queue: it belongs to host:"):
        gpu.kernel[4](1.0, gpu.x, gpu.y, 4, queue=kdl.Queue("host"))
    other = Gpu(gpu_library, "cuda", 1)
    with pytest.raises(TypeError, match="argument 1: the buffer belongs to"):
        gpu.kernel[4](1.0, other.x, gpu.y, 4)
    with pytest.raises(TypeError, match="argument 1: the array is in memory of CUDA"):
        gpu_library.kernel("saxpy", "host")[4](1.0, dlpack.ByCudaInterface(gpu.x.address), None, 4)


def test_capsules_that_are_refused(gpu):
    array = dlpack.ByDlpack(gpu.x.address, gpu.place)
    array.name = b"used_dltensor"
    with pytest.raises(TypeError, match="argument 1: its __dlpack__ gave no capsule"):
        gpu.kernel[4](1.0, array, gpu.y, 4)
    with pytest.raises(TypeError, match="argument 1: found an array of i32, expected ptr<f32>"):
        gpu.kernel[4](1.0, dlpack.ByDlpack(gpu.x.address, gpu.place, "i32"), gpu.y, 4)
    array = dlpack.ByDlpack(gpu.x.address, gpu.place)
    array.place = "elsewhere"
    with pytest.raises(TypeError, match="argument 1: its __dlpack_device__ gave 'elsewhere'"):
        gpu.kernel[4](1.0, array, gpu.y, 4)


def test_arrays_on_the_host_by_dlpack(gpu_library):
    x, y = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_float * 4)()
    arrays = [dlpack.ByDlpack(ctypes.addressof(data), (dlpack.CPU, 0)) for data in (x, y)]
    gpu_library.kernel("saxpy", "host")[4](2.0, *arrays, 4)
    assert list(y) == [2, 4, 6, 8] and arrays[0].streams == [None]


def test_a_tensor_of_an_older_pytorch(gpu_library):
    class Older:
        """What PyTorch had before DLPack's exchange."""
        dtype = "torch.float32"

        def __init__(self, data, where):
            self.data, self.device = data, types.SimpleNamespace(type=where)

        def data_ptr(self):
            return ctypes.addressof(self.data)

        def get_device(self):
            return 0 if self.device.type == "xpu" else -1
    x, y = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_float * 4)()
    kernel = gpu_library.kernel("saxpy", "host")
    kernel[4](2.0, Older(x, "cpu"), Older(y, "cpu"), 4)
    assert list(y) == [2, 4, 6, 8]
    for where in ("meta", "xpu"):
        with pytest.raises(TypeError, match=f"argument 1: the tensor is on the device {where}"):
            kernel[4](2.0, Older(x, where), Older(y, "cpu"), 4)


@pytest.mark.parametrize("function, code, call", [
    ("Launch*", 719, lambda gpu: gpu.kernel[4](1.0, gpu.x, gpu.y, 4)),
    ("Alloc*", 2, lambda gpu: kdl.Buffer(gpu.device, 64)),
])
def test_errors_of_drivers(cuda, monkeypatch, function, code, call):
    names = {"Launch*": "cuLaunchKernel:1+:719;cuLaunchKernelEx:1+:719", "Alloc*": "cuMemAlloc_v2:1+:2"}
    monkeypatch.setenv("KDL_FAKE_FAIL", names[function])
    with pytest.raises(kdl.DeviceError if code == 719 else kdl.Error) as caught:
        call(cuda)
    assert caught.value.code == code and caught.value.status != 0
    assert str(caught.value)
    monkeypatch.delenv("KDL_FAKE_FAIL")
    cuda.kernel[4](1.0, cuda.x, cuda.y, 4)
    assert cuda.values() == [1, 2, 3, 4]


def test_threads_with_queues_of_their_own(gpu):
    results = {}

    def work(number):
        mine, queue = kdl.Buffer(gpu.device, 16), kdl.Queue(gpu.device)
        mine.fill(bytes(4), queue=queue)
        for _ in range(200):
            gpu.kernel[4](1.0, gpu.x, mine, 4, queue=queue)
        data = bytearray(16)
        mine.read(data, queue=queue)
        results[number] = struct.unpack("4f", data)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results.values()) == {(200, 400, 600, 800)} and len(results) == 6


def test_a_queue_that_a_thread_works_on_stays(cuda, monkeypatch, tmp_path):
    driver, graph = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    streams = [kdl.Queue(cuda.device) for _ in range(130)]  # twice as many as are remembered
    faults, data, problems = tmp_path / "faults", bytearray(16), []
    faults.write_text("")
    monkeypatch.setenv("KDL_FAKE_FAIL", f"@{faults}")

    def read():
        try:
            cuda.x.read(data, queue=streams[0].native)
        except kdl.Error as error:
            problems.append(str(error))
    for stream in streams[1:]:  # which may not be waited for
        assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(stream.native), 2) == 0
    faults.write_text("cuMemcpyDtoHAsync_v2:1:sleep=500")
    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(0.2)
    for stream in streams[1:]:
        cuda.kernel[4](0.0, cuda.x, cuda.y, 4, queue=stream.native)
    thread.join()
    faults.write_text("")
    for stream in streams[1:]:
        assert driver.cuStreamEndCapture(ctypes.c_void_p(stream.native), ctypes.byref(graph)) == 0
        driver.cuGraphDestroy(graph)
    assert problems == [] and struct.unpack("4f", data) == (1, 2, 3, 4)


def test_a_kernel_without_a_signature(cuda, gpu_library):
    image = next(one for one in gpu_library if one.triple.startswith("nvptx"))
    writer = kdl.Writer()
    writer.add(image.bytes(), triple=image.triple, arch=image.arch, offload_kind=image.offload_kind)
    kernel = kdl.open(writer.bytes()).kernel("saxpy", cuda.device)
    if image.kind != "cubin":
        pytest.skip("kdl cc found no ptxas to make cubins with")
    assert kernel.info()["signature"] == ["4 bytes of any type", "8 bytes of any type", "8 bytes of any type", "4 bytes of any type"]
    kernel[4](2.0, cuda.x, cuda.y, 4)
    kernel.sync()
    assert cuda.values() == [2, 4, 6, 8]
    with pytest.raises(TypeError, match="argument 0: found <class 'kdl._kdl.Buffer'>, expected 4 bytes"):
        kernel[4](cuda.x, cuda.x, cuda.y, 4)
    with pytest.raises(TypeError, match="argument 1: found an array, expected 8 bytes of any type|host's memory"):
        kernel[4](2.0, memoryview(bytearray(16)), cuda.y, 4)


class Sized(dlpack.ByExchange):
    """A tensor with a size."""
    nbytes = 16


def test_sequences_of_tensors_run_on_the_current_stream(cuda, capture):
    x, y = Sized(cuda.x.address, cuda.place), Sized(cuda.y.address, cuda.place)
    z = kdl.Buffer(cuda.device, 16)
    z.fill(0)
    with kdl.Sequence(cuda.device, y=y) as steps:
        cuda.kernel[4](2.0, x, y, 4)
        cuda.kernel[4].prepare(1.0, x, y, 4)()
    assert steps.info()["launches"] == 2 and cuda.values() == [0, 0, 0, 0]
    queue = kdl.Queue(cuda.device)
    dlpack.ByExchange.stream = queue.native
    try:
        for run, expected in ((steps.run, [3, 6, 9, 12]), (lambda: steps.run(y=Sized(cuda.y.address, cuda.place)), [6, 12, 18, 24])):
            end = capture(queue.native)  # what goes there is not done yet
            run()
            kdl.Queue(cuda.device).sync()
            before = cuda.values()
            end()
            queue.sync()
            assert before != expected and cuda.values() == expected
        other = kdl.Queue(cuda.device)
        steps.run(other, y=z)
        other.sync()
    finally:
        dlpack.ByExchange.stream = 0
    data = bytearray(16)
    z.read(data)
    assert struct.unpack("4f", data) == (3, 6, 9, 12)
    with pytest.raises(TypeError, match="y: found <class 'dlpack.ByExchange'> without a size"):
        steps.run(y=dlpack.ByExchange(cuda.y.address, cuda.place))


def test_a_queue_around_a_stream_records_what_its_tensors_bring(cuda):
    stream = kdl.Queue(cuda.device)
    queue = kdl.Queue(cuda.device, native=stream)
    x, y = dlpack.ByCudaInterface(cuda.x.address), dlpack.ByCudaInterface(cuda.y.address, stream=stream.native)
    with kdl.Sequence(queue) as steps:
        cuda.kernel[4](1.0, x, y, 4)
    assert steps.info()["launches"] == 1 and cuda.values() == [0, 0, 0, 0]
    steps.run()
    queue.sync()
    assert cuda.values() == [1, 2, 3, 4]


def test_other_threads_with_tensors_are_not_recorded(cuda):
    x, y = Sized(cuda.x.address, cuda.place), Sized(cuda.y.address, cuda.place)
    queue = kdl.Queue(cuda.device)
    dlpack.ByExchange.stream = queue.native
    try:
        with kdl.Sequence(cuda.device) as steps:
            thread = threading.Thread(target=lambda: cuda.kernel[4](1.0, x, y, 4))
            thread.start()
            thread.join()
        queue.sync()
    finally:
        dlpack.ByExchange.stream = 0
    assert steps.info()["launches"] == 0 and cuda.values() == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", [dlpack.ByDlpack, Sized])
def test_slots_of_other_devices_are_refused(cuda, kind):
    elsewhere = kind(cuda.y.address, (cuda.place[0], 1))
    with pytest.raises(TypeError, match="Sequence..: y: the array is in memory of CUDA 1"):
        kdl.Sequence(cuda.device, y=elsewhere)


def test_a_buffer_is_not_freed_by_the_object_of_a_queue(cuda):
    class Stream:
        def __cuda_stream__(self):
            cuda.y.free()
            return 0, 0
    with pytest.raises(RuntimeError, match="in use"):
        cuda.kernel[4](1.0, cuda.x, cuda.y, 4, queue=Stream())
    for call in (lambda: cuda.y.fill(0, queue=Stream()), lambda: cuda.x.copy(cuda.y, 16, queue=Stream())):
        y = cuda.y
        with pytest.raises(ValueError, match="the buffer was freed"):
            call()
        cuda.y = kdl.Buffer(cuda.device, 16)
        assert y is not cuda.y


def test_a_tensor_with_its_negative_bit_is_refused(cuda):
    class Signed(dlpack.ByExchange):
        negative = conjugate = False

        def is_neg(self):
            return self.negative

        def is_conj(self):
            return self.conjugate
    x = Signed(cuda.x.address, cuda.place)
    for _ in range(2):
        cuda.kernel[4](1.0, x, cuda.y, 4)
        x.negative = True
        with pytest.raises(TypeError, match="argument 1: found a tensor whose negative bit is set: pass tensor.resolve_neg()"):
            cuda.kernel[4](1.0, x, cuda.y, 4)
        x.negative = False
