# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory over many launches, the end of the interpreter, fork, and other interpreters."""
import gc
import os
import resource
import subprocess
import sys
import textwrap
import weakref

import pytest

import kdl

np = pytest.importorskip("numpy")
COUNT = int(os.environ.get("KDL_PYTHON_LAUNCHES", "100000"))


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_launches_take_no_memory(library):
    kernel = library.kernel("saxpy", "host")
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    refused, prepared = np.zeros(4), kernel[4].prepare(1.0, x, y, 4)

    def some(count):
        for _ in range(count):
            kernel[4](1.0, x, y, 4)
            kernel.launch(1.0, x, y, 4, items=4)
            prepared()
        for _ in range(count // 10):
            kernel[4].prepare(1.0, x, y, 4)
        for _ in range(count // 10):
            with pytest.raises(TypeError):
                kernel[4](1.0, x, refused, 4)
    some(COUNT // 10)
    before = resident(), sys.getrefcount(x), sys.getrefcount(kernel)
    some(COUNT)
    assert resident() - before[0] < 2 << 20
    assert (sys.getrefcount(x), sys.getrefcount(kernel)) == before[1:]


def run(text, **environment):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def test_free_threaded_interpreters_are_told():
    ran = run("import sys; sys.abiflags = 't'; import kdl")
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("ImportError: libkdl: this Python is free-threaded, and has no stable ABI")


def test_interpreter_ends_with_objects_alive_in_any_order(library, tmp_path):
    writer = kdl.Writer()
    image = library.image(0)
    writer.add(image.bytes(), triple=image.triple, arch=image.arch, metadata=dict(list(image.metadata.items())[2:]))
    writer.save(tmp_path / "k.offload")
    done = run(f"""
        import kdl, sys, builtins, atexit, threading, numpy as np
        lib = kdl.open({str(tmp_path / "k.offload")!r}); kernel = lib["nothing"]; kernel[1]()
        buffer = kdl.Buffer("host", 64); queue = kdl.Queue("host"); event = kdl.Event("host")
        builtins.keep = [kernel, buffer, queue, event, lib, kernel[3]]
        sys.modules["zzz"] = buffer
        atexit.register(lambda: (kernel[1](), buffer.fill(b"x")))
        class Late:
            def __del__(self): kernel[1]()
        late = Late(); late.own = late
        threading.Thread(target=lambda: [kernel[1]() for _ in range(100000)], daemon=True).start()
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_fork_keeps_host_kernels(library):
    kernel = library.kernel("saxpy", "host")
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    kernel[4](1.0, x, y, 4)
    child = os.fork()
    if child == 0:
        kernel[4](1.0, x, y, 4)
        os._exit(0 if y.tolist() == [2, 2, 2, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert y.tolist() == [1, 1, 1, 1]


def test_other_interpreters_are_refused():
    done = run("""
        import kdl
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        other = interpreters.create()
        try:
            failed = interpreters.run_string(other, "import kdl")
            print("refused" if failed is not None else "imported")
        except Exception as error:
            print("refused")
    """)
    assert done.stdout == "refused\n", done.stderr


def test_command_of_the_package():
    assert "kdl" in kdl.run_command("--version")
    with pytest.raises(kdl.CommandError, match="no-such-file"):
        kdl.run_command("ls", "no-such-file")


def test_cycles_through_prepared_launches_are_collected(library):
    class Array:
        """An array that holds a launch of its own."""
        def __init__(self, kernel):
            self.data = np.ones(4, np.float32)
            self.step = kernel[4].prepare(1.0, self, self, 4)

        def __buffer__(self, flags):
            return memoryview(self.data)

        def __dlpack__(self, **options):
            return self.data.__dlpack__(**options)
    if not hasattr(np.ndarray, "__dlpack__"):
        pytest.skip("NumPy without DLPack")
    array = Array(library.kernel("saxpy", "host"))
    array.step()
    assert array.data.tolist() == [2, 2, 2, 2]
    seen = weakref.ref(array)
    del array
    gc.collect()
    assert seen() is None


def test_a_buffer_is_not_freed_while_another_thread_copies_it():
    done = run("""
        import kdl, threading
        size, refused, data = 64 << 20, 0, bytes(64 << 20)
        for _ in range(200):
            buffer, begins = kdl.Buffer("host", size), threading.Event()
            def work():
                begins.set()
                for _ in range(3):
                    try:
                        buffer.write(data)
                    except ValueError:  # it was freed between two copies
                        return
            thread = threading.Thread(target=work)
            thread.start()
            begins.wait()
            try:
                for _ in range(1000):
                    buffer.free()
            except RuntimeError as error:
                assert "in use" in str(error), error
                refused += 1
            thread.join()
            if refused == 5:
                break
        buffer.free()
        print(refused)
        """)
    assert done.returncode == 0 and done.stdout == "5\n", done
