# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of threads on the CPU. How many a process has is read once, so each case has a process; threads of the pool are known by their
names, and one that did not run does not exist."""
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kdl

PRELUDE = """
import glob, os, sys, threading
import numpy as np
import kdl

def workers():
    names = [open(path).read().strip() for path in glob.glob("/proc/self/task/*/comm")]
    return sum(name.startswith("kdl-worker-") for name in names)

library = kdl.open(sys.argv[1], search=False)
saxpy = library.kernel("saxpy", "host")
n = 1 << 22
x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
groups = n // 256

def by_grid(**keys):
    for _ in range(20):
        saxpy.launch(1.0, x, y, n, grid=groups, block=256, **keys)

def by_items(**keys):
    for _ in range(20):
        saxpy[n](1.0, x, y, n, **keys)

def product(**keys):
    a = np.ones((512, 512), np.float32)
    for _ in range(5):
        assert (kdl.matmul(a, a, **keys) == 512).all()
"""


@pytest.fixture(scope="session")
def kernels_file(library, tmp_path_factory):
    path = tmp_path_factory.mktemp("threads") / "kernels.offload"
    writer = kdl.Writer()
    for image in library:
        writer.add(image.bytes(), triple=image.triple, arch=image.arch, metadata=image.metadata)
    writer.save(path)
    return path


def run(kernels_file, body, **environment):
    variables = {key: value for key, value in os.environ.items() if key not in ("KDL_HOST_THREADS", "OMP_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(body), str(kernels_file)], env=dict(variables, **environment), check=True,
                   timeout=120)


def test_launches_have_limits(kernels_file):
    run(kernels_file, """
        by_grid(threads=1)
        assert workers() == 0
        by_grid(threads=2)
        assert workers() == 1
        prepared = saxpy.prepare(1.0, x, y, n, grid=groups, block=256, threads=3)
        for _ in range(20):
            prepared()
        assert workers() == 2
        by_grid()
        assert workers() == 3
        """, KDL_HOST_THREADS="4")


def test_queues_have_limits(kernels_file):
    run(kernels_file, """
        by_items(queue=kdl.Queue("host", threads=1))
        assert workers() == 0
        by_items(queue=kdl.Queue("host", threads=2))
        assert workers() == 1
        by_grid(queue=kdl.Queue("host", threads=2), threads=3)
        assert workers() == 2
        by_items(queue=kdl.Queue("host", threads=10**30))
        assert workers() == 3
        """, KDL_HOST_THREADS="4")


def test_a_thread_has_its_limit(kernels_file):
    run(kernels_file, """
        assert kdl.thread_count() == 4 and kdl.limit_threads(1) is None
        by_items(), by_grid(), product()
        assert workers() == 0 and kdl.thread_count() == 1
        assert kdl.limit_threads(2) == 1
        by_items(), by_grid(), product()
        assert workers() == 1
        assert kdl.limit_threads(None) == 2 and kdl.thread_count() == 4
        by_items()
        assert workers() == 3
        """, KDL_HOST_THREADS="4")


def test_products_have_limits(kernels_file):
    run(kernels_file, """
        product(threads=1)
        assert workers() == 0
        product(threads=2)
        assert workers() <= 1
        """, KDL_HOST_THREADS="4")


def test_products_look_at_the_variable_of_openmp(kernels_file):
    run(kernels_file, """
        product(), by_items()
        assert workers() == 0 and kdl.thread_count() == 1
        """, OMP_NUM_THREADS="1")


@pytest.mark.parametrize("threads", [0, -1, -10**30])
def test_numbers_that_are_refused(library, threads):
    saxpy = library.kernel("saxpy", "host")
    x = np.zeros(4, np.float32)
    for call in (lambda: kdl.Queue("host", threads=threads), lambda: kdl.limit_threads(threads),
                 lambda: saxpy.launch(1.0, x, x.copy(), 4, grid=1, block=4, threads=threads)):
        with pytest.raises(ValueError, match=f"threads: found {threads}, expected a number from 1 on"):
            call()


def test_other_types_are_refused(library):
    saxpy = library.kernel("saxpy", "host")
    x = np.zeros(4, np.float32)
    with pytest.raises(TypeError):
        kdl.Queue("host", threads=1.5)
    with pytest.raises(TypeError, match="threads go with grid, not with items"):
        saxpy.launch(1.0, x, x.copy(), 4, items=4, threads=1)
