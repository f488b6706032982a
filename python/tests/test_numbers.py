# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers as arguments: rounded once, whatever type they have."""
import decimal
import fractions

import pytest

import kdl

np = pytest.importorskip("numpy")


def single(library, number):
    y = np.zeros(1, np.float32)
    library.kernel("saxpy", "host")[1](number, np.ones(1, np.float32), y, 1)
    return float(y[0])


def half_and_brain(library, half, brain):
    out = np.zeros(2, np.uint16)
    library.kernel("halves", "host")[1](half, brain, out)
    return int(out[0]), int(out[1])


def test_integers_and_fractions_are_rounded_once(library):
    step = 2**36  # a half of the last place of a float there; a double has places of 2**8
    for kind in (int, np.int64, fractions.Fraction, decimal.Decimal):
        for sign in (1, -1):
            assert single(library, kind(sign * (2**60 + step))) == sign * 2.0**60  # to even
            assert single(library, kind(sign * (2**60 + step + 1))) == sign * (2.0**60 + 2 * step)
            assert single(library, kind(sign * (2**60 + 3 * step - 1))) == sign * (2.0**60 + 2 * step)
            assert single(library, kind(sign * (2**60 + 3 * step))) == sign * (2.0**60 + 4 * step)
    for kind in (int, fractions.Fraction):
        assert single(library, kind(2**128 - 2**103 - 1)) == 2.0**128 - 2.0**104
        with pytest.raises(OverflowError, match="does not fit f32"):
            single(library, kind(2**128 - 2**103))


def test_halves_are_rounded_once(library):
    tiny = fractions.Fraction(1, 2**80)
    for off, half, brain in ((0, 0x3c00, 0x3f80), (tiny, 0x3c01, 0x3f81), (-tiny, 0x3c00, 0x3f80)):
        assert half_and_brain(library, 1 + fractions.Fraction(1, 2**11) + off, 1 + fractions.Fraction(1, 2**8) + off) == (half, brain)
    assert half_and_brain(library, 2**11 + 1, 2**60 + 2**52 + 1) == (0x6800, 0x5d81)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is a double here")
def test_long_doubles_are_rounded_once(library):
    middle, tiny = np.longdouble(1) + np.longdouble(2) ** -24, np.longdouble(2) ** -62
    assert single(library, middle) == 1 and single(library, middle - tiny) == 1
    assert single(library, middle + tiny) == 1 + 2.0**-23
    assert single(library, np.longdouble("inf")) == float("inf") and np.isnan(single(library, np.longdouble("nan")))
    for kernel, arguments in (("saxpy", (np.longdouble("1e4000"), None, None, 0)), ("types", (0,) * 6 + (np.longdouble("1e4000"), bytes(16), None))):
        with pytest.raises(OverflowError, match="does not fit f"):
            library.kernel(kernel, "host")[1](*arguments)


def test_an_object_that_is_only_a_float(library):
    class Number:
        def __init__(self, error=None):
            self.error = error

        def __float__(self):
            return 0.1

        def __lt__(self, other):
            raise self.error
    assert single(library, Number(TypeError())) == np.float32(0.1)
    with pytest.raises(KeyboardInterrupt):
        single(library, Number(KeyboardInterrupt()))


def test_truth_values_of_numpy_are_numbers(library):
    out, place = np.zeros(2, np.int64), library.kernel("place", "host")
    for value in (True, np.True_):
        out[:] = 7
        place[1](out, value, np.True_)
        assert out.tolist() == [0, 7]
    assert single(library, np.True_) == 1
    place[1](out, np.False_, 1)
    with pytest.raises(TypeError, match="argument 1: found <class 'numpy.ndarray'>, expected u32"):
        place[1](out, np.ones(1, bool), 1)
