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


def test_masked_arrays_are_refused(library, host):
    masked, y = np.ma.masked_array(np.ones(4, np.float32), [True] + [False] * 3), np.zeros(4, np.float32)
    saxpy, buffer = library.kernel("saxpy", host), kdl.Buffer(host, 16)
    with kdl.Sequence(host, y=y) as steps:
        saxpy[4](1.0, y, y, 4)
    for call in (lambda: saxpy[4](1.0, masked, y, 4), lambda: saxpy[4](1.0, y, masked, 4), lambda: buffer.write(masked),
                 lambda: buffer.read(masked), lambda: buffer.fill(masked), lambda: steps.run(y=masked), lambda: kdl.Sequence(host, y=masked),
                 lambda: library.kernel("types", host)[1](0, 0, 0, 0, 0, 0, 0, masked, y)):
        with pytest.raises(TypeError, match="found a masked array, whose mask is not looked at: pass its data or filled"):
            call()
    saxpy[4](1.0, masked.filled(2), y, 4)
    assert y.tolist() == [2, 1, 1, 1]


def test_what_is_wrong_with_a_view_is_told(library, host):
    saxpy, y = library.kernel("saxpy", host), np.zeros(4, np.float32)
    released = memoryview(y)
    released.release()
    with pytest.raises(TypeError, match="argument 2: .*released memoryview"):
        saxpy[4](1.0, y, released, 4)
    with pytest.raises(TypeError, match="argument 2: .*dtype 'M'"):
        saxpy[4](1.0, y, np.zeros(4, "M8[s]").view(np.recarray), 4)
