# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""short_of_memory.py LIBRARY: what Python's programs do with libkdl, each allocation failing in turn: the library's and the extension's,
then Python's own. Each gives what it gives with enough memory, or raises a MemoryError; and done again, it works.

LIBRARY has saxpy for the host and for others. The extension is built by run.sh, with fail_allocation.c and fail_python.c."""
import array
import atexit
import ctypes
import os
import shutil
import signal
import struct
import sys
import tempfile
import types

import kdl

module = ctypes.PyDLL(kdl._kdl.__file__)


class Failure(ctypes.Structure):
    """kdl_failure of fail_allocation.h."""
    _fields_ = [("first", ctypes.c_int), ("where", ctypes.c_int), ("at", ctypes.c_uint), ("onwards", ctypes.c_bool),
                ("place", ctypes.c_uint64), ("callers", ctypes.c_uint), ("fd", ctypes.c_int)]


class Library:
    """Allocations of libkdl and of the extension."""
    name = "the library's"

    def __init__(self):
        self.told = os.memfd_create("told")

    def arm(self, at):
        os.ftruncate(self.told, 0)
        module.kdl_fail_allocation(ctypes.byref(Failure(first=os.getpid(), at=at, fd=self.told)))

    def reached(self):
        module.kdl_fail_allocation(ctypes.byref(Failure(first=os.getpid(), fd=self.told)))
        return os.fstat(self.told).st_size > 0


class Python:
    """Allocations of Python's. Where Python 3.13 has no memory for a function it frees what is still used, and crashes by itself
    (PyFunction_NewWithQualName; 3.11 does not): that size, with the header of the collector, is spared from 3.12 on."""
    name = "Python's"
    spared = types.FunctionType.__basicsize__ + 16 if sys.version_info >= (3, 12) else 0

    def arm(self, at):
        module.kdl_fail_python(ctypes.c_ulong(at), ctypes.c_size_t(self.spared))

    def reached(self):
        return module.kdl_fail_python(ctypes.c_ulong(0), ctypes.c_size_t(0)) != 0


path = sys.argv[1]
with open(path, "rb") as opened:
    image_bytes = opened.read()
work = tempfile.mkdtemp()
atexit.register(shutil.rmtree, work, ignore_errors=True)
floats = struct.pack("4f", 1, 2, 3, 4)


def list_images():
    library = kdl.open(path, search=False)
    return [(image.kind, image.arch, sorted(image.metadata), image.kernels(), len(image.bytes())) for image in library.images]


def open_bytes():
    return [image.arch for kind in (bytes, bytearray) for image in kdl.open(kind(image_bytes)).images]


def explain():
    library = kdl.open(path, search=False)
    return str(library.explain("saxpy", "h200")) + str(library.explain(None, "host:x86-64"))


def list_devices():
    return [(device.backend, device.name, device.spec) for device in kdl.devices()] + [kdl.device("mi300x").spec]


def launch():
    saxpy = kdl.open(path, search=False).kernel("saxpy", "host")
    x, y = array.array("f", [1, 2, 3, 4]), array.array("f", [1, 1, 1, 1])
    saxpy[4](2.0, x, y, 4)
    saxpy.launch(1.0, x, y, 4, items=4)
    prepared = saxpy[4].prepare(1.0, x, y, 4)
    prepared()
    return y.tolist(), saxpy.info()["signature"]


def buffers():
    device = kdl.device("host")
    queue, event = kdl.Queue(device), kdl.Event(device)
    x, y = kdl.Buffer(device, 16), kdl.Buffer(device, 16)
    x.write(floats, queue=queue)
    y.copy(x, 16, queue=queue)
    event.record(queue)
    event.sync()
    queue.sync()
    data = bytearray(16)
    y.read(data)
    return bytes(data)


def sequences():
    library = kdl.open(path, search=False)
    device = kdl.device("host")
    saxpy = library.kernel("saxpy", device)
    x, y = kdl.Buffer(device, 16), kdl.Buffer(device, 16)
    x.write(floats)
    y.fill(bytes(4))
    with kdl.Sequence(device, y=y) as sequence:
        saxpy[4](2.0, x, y, 4)
    sequence.run()
    sequence.run(y=y)
    data = bytearray(16)
    y.read(data)
    return bytes(data), sequence.info()["nodes"]


def recorded_arrays():
    saxpy = kdl.open(path, search=False).kernel("saxpy", "host")
    x, y, z = array.array("f", [1, 2, 3, 4]), array.array("f", [0] * 4), kdl.Buffer("host", 16)
    event, step = kdl.Event("host"), saxpy[4].prepare(1.0, x, z, 4)
    with kdl.Sequence("host", y=y) as inner:
        saxpy[4](2.0, x, y, 4)
    with kdl.Sequence("host", y=y) as sequence:
        z.fill(0)
        step()
        inner.run(y=y)
        event.record(None)
        saxpy[4](1.0, z, y, 4)
    sequence.run()
    return y.tolist(), sequence.info()["nodes"]


def write():
    writer = kdl.Writer("v2")
    writer.add(image_bytes, triple="x86_64-unknown-linux-gnu", arch="x86-64", metadata={"a": "b"})
    made = os.path.join(work, "made")
    writer.save(made)
    with open(made, "rb") as file:
        data = file.read()
    return data, sorted(os.listdir(work))


def tagged():
    """The image that KDL_VARIANT_TAG names."""
    writer = kdl.Writer()
    image = next(one for one in kdl.open(path, search=False).images if one.kind == "object")
    for tag in "first", "second":
        metadata = {**image.metadata, "variant_tag": tag}
        triple, arch = metadata.pop("triple"), metadata.pop("arch")
        writer.add(image.bytes(), triple=triple, arch=arch, metadata=metadata)
    verdicts = kdl.open(writer.bytes())._handle.explain_data("saxpy", "host")
    return [verdict["image"] for verdict in verdicts if verdict["chosen"]]


def refused():
    try:
        kdl.open(path, search=False).kernel("no such kernel", "host")
    except kdl.NoMatchError as error:
        return str(error), error.status
    return "found"


def attempt(what):
    """The result, None for a MemoryError, or a text that begins with "raised"."""
    try:
        return what()
    except MemoryError:
        return None
    except SystemError as error:  # the interpreter's own, where it has no memory for a frame
        return None if str(error) == "error return without exception set" else f"raised {error}"
    except BaseException as error:  # pylint: disable=broad-except
        return f"raised {type(error).__name__}: {error}"


def attempt_short(what, whose, at):
    """The same with an allocation failing, and whether one did."""
    result = None
    try:
        whose.arm(at)
        result = attempt(what)
    except MemoryError:
        pass
    while True:
        try:
            return result, whose.reached()
        except (MemoryError, ctypes.ArgumentError):  # what ctypes makes of one
            pass


def try_at(what, whose, at, whole):
    """In a process of its own: 0 where no allocation was left to fail, 1 where all is well, else 2."""
    result, reached = attempt_short(what, whose, at)
    if result is not None and result != whole:
        print(f"{what.__name__}, allocation {at} of {whose.name}: found {result!r:.300}, expected {whole!r:.300} or a MemoryError")
        return 2
    again = attempt(what)
    if again != whole:
        print(f"{what.__name__}, after allocation {at} of {whose.name}: found {again!r:.300}, expected {whole!r:.300}")
        return 2
    return 1 if reached else 0


def all_of(what, whose):
    whole = attempt(what)
    problems = at = 0
    if whole is None or isinstance(whole, str) and whole.startswith("raised"):
        print(f"{what.__name__}: with enough memory: {whole}")
        return 1
    while problems < 20 and at < 20000:
        at += 1
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            code = 2
            try:
                code = try_at(what, whose, at, whole)
                sys.stdout.flush()
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            break
        if status != 1:
            problems += 1
            print(f"{what.__name__}, allocation {at} of {whose.name}: ended with {status}")
    print(f"{what.__name__}: {at - 1} allocations of {whose.name} failed, {problems} problems")
    return problems


found = 0
for owner in Library(), Python():
    for use in list_images, open_bytes, explain, list_devices, launch, buffers, sequences, recorded_arrays, write, tagged, refused:
        found += all_of(use, owner)
sys.exit(1 if found else 0)
