# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that has references to Python's objects, or a mask, is given to no kernel and no copy."""
import ctypes

import pytest

import kdl

np = pytest.importorskip("numpy")
MIXED = np.dtype([("Other", "f4"), ("object", "O")])
UNTOLD = np.dtype([("time", "M8[s]"), ("object", "O")])


def arrays():
    return [np.array([None] * 4), np.zeros(4, MIXED), np.zeros(4, UNTOLD), np.zeros(4, MIXED).view(np.recarray),
            (ctypes.py_object * 4)(*[None] * 4), memoryview(np.zeros(4, MIXED))]


@pytest.mark.parametrize("number", range(6))
def test_objects_are_refused(library, host, number):
    array, buffer = arrays()[number], kdl.Buffer(host, 64)
    saxpy, y = library.kernel("saxpy", host), np.zeros(4, np.float32)
    with kdl.Sequence(host, y=y) as copies:
        buffer.fill(0)
    for call in (lambda: buffer.write(array), lambda: buffer.read(array), lambda: buffer.fill(array), lambda: copies.run(y=array),
                 lambda: kdl.Sequence(host, y=array), lambda: saxpy[4](1.0, y, array, 4),
                 lambda: library.kernel("types", host)[1](0, 0, 0, 0, 0, 0, 0, array, y)):
        with pytest.raises(TypeError, match="Python objects"):
            call()


def test_other_elements_are_copied(host):
    for array in (np.zeros(4, "M8[s]"), np.zeros(4, [("O", "f4"), ("time", "M8[s]")]), np.zeros(4, [("O", "f4")]), np.zeros(4, "U4"),
                  np.asfortranarray(np.zeros((2, 2)))):
        buffer = kdl.Buffer(host, array.nbytes)
        buffer.write(array)
        buffer.read(array)
