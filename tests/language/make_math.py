#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_math.py: writes cases/math/, a file for each function of <kdl/math.h> that is alike for float and double.

The numbers are mpmath's, of the arguments as the type has them (PyPI: mpmath). The limits in units in the last
place are those of OpenCL 1.2 for single precision, and 64 for the gamma functions, where it has none.
"""
import math
import pathlib
import struct

from mpmath import mp, mpf

mp.prec = 400
OUT = pathlib.Path(__file__).resolve().parent / "cases" / "math"
PLAIN = [-2.75, -1.0, -0.3125, 0.0, 0.1, 0.7, 1.5, 20.0]
UNIT = [-1.0, -0.75, -0.1, 0.0, 1e-5, 0.3, 0.9, 1.0]
POSITIVE = [1e-30, 0.001, 0.5, 1.0, 1.1, 2.0, 123.5, 1e30]
ANGLES = [-100.0, -3.0, -0.5, 0.0, 0.75, 1.5707964, 12.0, 100000.0]
TURNS = [-3.25, -0.4, -0.125, 0.0, 0.2, 0.75, 7.1, 1000.3]
SMALL = [-4.0, -1.0, -0.01, 0.0, 0.001, 0.5, 2.0, 4.0]
HALVES = [-2.5, -1.5, -0.4, 0.0, 0.5, 0.6, 1.5, 1048576.25]


def round_away(x):
    return mp.floor(x + mpf(1) / 2) if x >= 0 else mp.ceil(x - mpf(1) / 2)


def trunc(x):
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def fmod(x, y):
    return x - y * trunc(x / y)


def remainder(x, y):
    return x - y * mp.nint(x / y)


def root(x, n):
    return -mp.root(-x, n) if x < 0 else mp.root(x, n)


def next_after(x, y, kind):
    if x == y:
        return y
    if kind == "f64":
        return mpf(math.nextafter(float(x), float(y)))
    bits = struct.unpack("<i", struct.pack("<f", float(x)))[0]
    up = (y > x) == (bits >= 0)
    return mpf(struct.unpack("<f", struct.pack("<i", bits + (1 if up else -1)))[0])


one = {
    "acos": (mp.acos, UNIT, 4), "acosh": (mp.acosh, [1.0, 1.001, 1.5, 2.0, 3.0, 10.0, 1e4, 1e15], 4),
    "acospi": (lambda x: mp.acos(x) / mp.pi, UNIT, 5), "asin": (mp.asin, UNIT, 4), "asinh": (mp.asinh, PLAIN, 4),
    "asinpi": (lambda x: mp.asin(x) / mp.pi, UNIT, 5), "atan": (mp.atan, PLAIN, 5),
    "atanh": (mp.atanh, [-0.99, -0.5, -0.01, 0.0, 1e-6, 0.25, 0.75, 0.999], 5),
    "atanpi": (lambda x: mp.atan(x) / mp.pi, PLAIN, 5), "cbrt": (lambda x: root(x, 3), PLAIN, 2),
    "ceil": (mp.ceil, HALVES, 0), "cos": (mp.cos, ANGLES, 4), "cosh": (mp.cosh, SMALL, 4),
    "cospi": (lambda x: mp.cos(mp.pi * x), TURNS, 4), "erf": (mp.erf, SMALL, 16), "erfc": (mp.erfc, SMALL, 16),
    "exp": (mp.exp, PLAIN, 3), "exp10": (lambda x: mpf(10) ** x, PLAIN, 3), "exp2": (lambda x: mpf(2) ** x, PLAIN, 3),
    "expm1": (mp.expm1, PLAIN, 3), "fabs": (abs, PLAIN, 0), "floor": (mp.floor, HALVES, 0),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), [0.1, 0.5, 1.25, 1.75, 2.5, 4.0, 12.5, 100.0], 64),
    "log": (mp.log, POSITIVE, 3), "log10": (mp.log10, POSITIVE, 3), "log1p": (mp.log1p, [-0.9, -0.1, -1e-4, 0.0, 1e-5, 0.5, 3.0, 1e10], 2),
    "log2": (lambda x: mp.log(x, 2), POSITIVE, 3),
    "logb": (lambda x: mp.floor(mp.log(x, 2)), [0.001, 0.25, 0.75, 1.0, 1.5, 3.0, 1000.0, 1e20], 0),
    "rint": (mp.nint, HALVES, 0), "round": (round_away, HALVES, 0), "rsqrt": (lambda x: 1 / mp.sqrt(x), POSITIVE, 2),
    "sin": (mp.sin, ANGLES, 4), "sinh": (mp.sinh, SMALL, 4), "sinpi": (lambda x: mp.sin(mp.pi * x), TURNS, 4),
    "sqrt": (mp.sqrt, POSITIVE, 3), "tan": (mp.tan, [-100.0, -3.0, -0.5, 0.0, 0.75, 1.25, 12.0, 1000.0], 5),
    "tanh": (mp.tanh, SMALL, 5), "tanpi": (lambda x: mp.tan(mp.pi * x), [-3.25, -0.4, -0.125, 0.0, 0.2, 0.7, 7.1, 100.3], 6),
    "tgamma": (mp.gamma, [0.1, 0.5, 1.0, 1.75, 2.5, 4.0, 7.5, 20.0], 64), "trunc": (trunc, HALVES, 0),
}
A = [-3.0, -0.5, 0.25, 1.0, 2.0, 5.5, 10.0, 1e5]
B = [2.0, 3.0, -1.5, 1.0, 0.5, -2.25, 3.0, 7.0]
two = {
    "atan2": (mp.atan2, A, B, 6), "atan2pi": (lambda y, x: mp.atan2(y, x) / mp.pi, A, B, 6),
    "copysign": (lambda x, y: abs(x) if y >= 0 else -abs(x), A, B, 0), "fdim": (lambda x, y: x - y if x > y else mpf(0), A, B, 0),
    "fmax": (max, A, B, 0), "fmin": (min, A, B, 0), "fmod": (fmod, A, B, 0), "hypot": (mp.hypot, A, B, 4),
    "maxmag": (lambda x, y: x if abs(x) > abs(y) else y, A, B, 0), "minmag": (lambda x, y: x if abs(x) < abs(y) else y, A, B, 0),
    "nextafter": (None, A, B, 0), "pow": (lambda x, y: mp.re(x ** y), [0.5, 1.5, 2.0, 10.0, 3.25, 1e-3, 7.0, -2.0], [2.0, -3.5, 10.0, 0.3, 0.0, 5.0, 1.0, 3.0], 16),
    "powr": (lambda x, y: x ** y, [0.5, 1.5, 2.0, 10.0, 3.25, 1e-3, 7.0, 2.5], [2.0, -3.5, 10.0, 0.3, 1.25, 5.0, 1.0, 3.0], 16),
    "remainder": (remainder, A, B, 0),
}
C = [1.0, -2.0, 0.125, 1e-3, 7.0, 0.5, -30.0, 1.0]
three = {"fma": (lambda x, y, z: x * y + z, A, B, C, 0), "mad": (lambda x, y, z: x * y + z, A, B, C, 4)}
N = [2, 3, -3, 5, 4, 7, -1, 3]
with_int = {
    "ldexp": (lambda x, n: x * mpf(2) ** n, A, 0), "pown": (lambda x, n: x ** n, [-3.0, -0.5, 0.25, 1.0, 2.0, 1.5, 10.0, 100.0], 16),
    "rootn": (lambda x, n: 1 / root(x, -n) if n < 0 else root(x, n), [3.0, -0.5, 0.25, 1.0, 2.0, -5.5, 10.0, 1e5], 16),
}


def stored(value, kind):
    return float(value) if kind == "f64" else struct.unpack("<f", struct.pack("<f", float(value)))[0]


def words(values):
    return [repr(float(mp.nstr(mpf(v), 25))) for v in values]


HEADER = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>
"""
KINDS = (("f32", "float", "f"), ("f64", "double", ""))
INDEX = "  uint32_t i = __gpu_thread_id(0);\n"


def write(name, ulp, inputs, function, integers=None):
    text = HEADER
    for kind, type_name, suffix in KINDS:
        given = [[stored(v, kind) for v in column] for column in inputs]
        rows = list(zip(*given)) if integers is None else [row + (n,) for row, n in zip(zip(*given), integers)]
        if name == "nextafter":
            wanted = [next_after(mpf(a), mpf(b), kind) for a, b in rows]
        else:
            wanted = [function(*(v if isinstance(v, int) else mpf(v) for v in row)) for row in rows]
        arguments = " ".join(f"{kind}[8]={','.join(words(column))}" for column in given)
        if integers is not None:
            arguments += f" i32[8]={','.join(str(n) for n in integers)}"
        count = len(inputs) + (integers is not None)
        names = "xyz"[:len(inputs)] + ("n" if integers is not None else "")
        parameters = ",\n    ".join([f"const __gpu_global {type_name if v != 'n' else 'int'} *{v}" for v in names] +
                               [f"__gpu_global {type_name} *out"])
        text += f"""
// args: {arguments} {kind}[8]
// items: 8
// arg{count}: {' '.join(words(wanted))}
// ulp: {max(ulp, 0) if ulp else 0}
KDL_BLOCK(8)
__gpu_kernel void math_{name}{suffix}(
    {parameters}) {{
{INDEX}  out[i] = {name}{suffix}({', '.join(v + '[i]' for v in names)});
}}
"""
    (OUT / f"{name}.c").write_text(text)


OUT.mkdir(exist_ok=True)
for name, (function, points, ulp) in one.items():
    write(name, ulp, [points], function)
for name, (function, a, b, ulp) in two.items():
    write(name, ulp, [a, b], function)
for name, (function, a, b, c, ulp) in three.items():
    write(name, ulp, [a, b, c], function)
for name, (function, a, ulp) in with_int.items():
    write(name, ulp, [a], function, N)
