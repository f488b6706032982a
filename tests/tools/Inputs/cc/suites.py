# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""suites.py IMAGE: runs the kernels of suites.c, compiled for this CPU, and compares with what plain code gives."""
import cmath
import ctypes
import random
import sys

R = random.Random(7)
F, I, U = ctypes.c_float, ctypes.c_int32, ctypes.c_uint32


class Group(ctypes.Structure):
    _fields_ = [("size", U), ("group", U * 3), ("group_count", U * 3), ("block", U * 3), ("tile", U * 3),
                ("shared_size", U), ("shared", ctypes.c_void_p), ("error", ctypes.POINTER(ctypes.c_char_p))]


def launch(name, grid, block, *args):
    function = getattr(image, name)
    function.restype = None
    held = [ctypes.c_void_p(ctypes.addressof(a)) if isinstance(a, ctypes.Array) else a for a in args]
    pointers = (ctypes.c_void_p * len(held))(*[ctypes.addressof(h) for h in held])
    error = ctypes.c_char_p(None)
    group = Group(ctypes.sizeof(Group), (0, 0, 0), grid, block, block, 0, None, ctypes.pointer(error))
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                group.group[:] = (x, y, z)
                function(ctypes.byref(group), pointers)
    if error.value:
        fail(name, error.value.decode())


wrong = []


def fail(name, words):
    wrong.append(name)
    print(f"{name}: {words}")


def compare(name, found, want, apart=0.0):
    for i, (f, w) in enumerate(zip(found, want)):
        if abs(f - w) > apart * (1 + abs(w)):
            return fail(name, f"at {i} found {f}, expected {w}")
    print(f"{name}: right")


def floats(values):
    return (F * len(values))(*values)


def ints(values):
    return (I * len(values))(*values)


def randoms(n):
    return list(floats([R.uniform(0.5, 2.0) for _ in range(n)]))


def pathfinder():
    n, rows = 200, 5
    wall, costs = [R.randrange(10) for _ in range(rows * n)], [R.randrange(10) for _ in range(n)]
    found = ints([0] * n)
    launch("pathfinder", ((n + 53) // 54, 1, 1), (64, 1, 1), ints(wall), ints(costs), found, I(n))
    for r in range(rows):
        costs = [min(costs[max(c - 1, 0):c + 2]) + wall[r * n + c] for c in range(n)]
    compare("pathfinder", found, costs)


def needle():
    n, penalty = 17, 10
    like = [R.randrange(-8, 12) for _ in range(n * n)]
    table = [[-penalty * (i + j) if not i or not j else 0 for j in range(n)] for i in range(n)]
    found = ints(sum(table, []))
    launch("needle", (1, 1, 1), (16, 1, 1), ints(like), found, I(n), I(penalty))
    for i in range(1, n):
        for j in range(1, n):
            table[i][j] = max(table[i - 1][j - 1] + like[i * n + j], table[i][j - 1] - penalty,
                              table[i - 1][j] - penalty)
    compare("needle", found, sum(table, []))


def lud():
    n = 16
    a = [[v + (n if i == j else 0) for j, v in enumerate(randoms(n))] for i in range(n)]
    found = floats(sum(a, []))
    launch("lud", (1, 1, 1), (16, 1, 1), found, U(n))
    for i in range(n):
        for j in range(i, n):
            a[i][j] -= sum(a[i][k] * a[k][j] for k in range(i))
        for j in range(i + 1, n):
            a[j][i] = (a[j][i] - sum(a[j][k] * a[k][i] for k in range(i))) / a[i][i]
    compare("lud", found, sum(a, []), 1e-4)


def backprop():
    x, w = randoms(64), randoms(64 * 16)
    found = floats([0] * 64)
    launch("backprop", (4, 1, 1), (16, 16, 1), floats(x), floats(w), found, U(16))
    compare("backprop", found,
            [sum(x[16 * b + y] * w[(16 * b + y) * 16 + h] for y in range(16)) for b in range(4) for h in range(16)],
            1e-5)


def srad_sums():
    n = 300
    x = randoms(n)
    found = floats([0] * 6)
    launch("srad_sums", (3, 1, 1), (128, 1, 1), floats(x), found, U(n))
    parts = [x[i:i + 128] for i in range(0, n, 128)]
    compare("srad_sums", found, [s for p in parts for s in (sum(p), sum(v * v for v in p))], 1e-5)


def hotspot():
    n, steps = 30, 2
    power, heat = randoms(n * n), randoms(n * n)
    found = floats([0] * (n * n))
    groups = (n + 11) // 12
    launch("hotspot", (groups, groups, 1), (16, 16, 1), floats(power), floats(heat), found, I(n), I(steps))
    at = lambda r, c: heat[min(max(r, 0), n - 1) * n + min(max(c, 0), n - 1)]
    for _ in range(steps):
        heat = [at(r, c) + 0.1 * (power[r * n + c] + at(r + 1, c) + at(r - 1, c) + at(r, c + 1) + at(r, c - 1) -
                                  4 * at(r, c)) for r in range(n) for c in range(n)]
    compare("hotspot", found, heat, 1e-5)


def haar():
    x = randoms(128)
    details, average = floats([0] * 128), floats([0])
    launch("haar", (1, 1, 1), (64, 1, 1), floats(x), details, average)
    want, now = [0.0] * 128, x
    while len(now) > 1:
        half = len(now) // 2
        want[half:2 * half] = [(now[2 * i] - now[2 * i + 1]) * 2 ** -0.5 for i in range(half)]
        now = [(now[2 * i] + now[2 * i + 1]) * 2 ** -0.5 for i in range(half)]
    compare("haar", list(details)[1:] + [average[0]], want[1:] + now, 1e-5)


def walsh():
    x = randoms(512)
    found = floats(x)
    launch("walsh", (2, 1, 1), (64, 1, 1), found)
    for base in (0, 256):
        stride = 128
        while stride:
            for i in range(256):
                if not i & stride:
                    a, b = x[base + i], x[base + i + stride]
                    x[base + i], x[base + i + stride] = a + b, a - b
            stride //= 2
    compare("walsh", found, x, 1e-4)


def nbody():
    n = 96
    bodies = randoms(4 * n)
    found = floats([0] * (4 * n))
    launch("nbody", (n // 32, 1, 1), (32, 1, 1), floats(bodies), found, U(n))
    want = []
    for i in range(n):
        pull = [0.0, 0.0, 0.0]
        for k in range(n):
            d = [bodies[4 * k + a] - bodies[4 * i + a] for a in range(3)]
            s = bodies[4 * k + 3] * (sum(v * v for v in d) + 0.01) ** -1.5
            pull = [p + v * s for p, v in zip(pull, d)]
        want += pull + [0.0]
    compare("nbody", found, want, 1e-3)


def convolution():
    n, rows = 100, 8
    x, w = randoms(n * rows), randoms(17)
    found = floats([0] * (n * rows))
    launch("convolution", (2, rows // 4, 1), (16, 4, 1), floats(x), floats(w), found, I(n))
    compare("convolution", found,
            [sum(w[8 - j] * x[r * n + c + j] for j in range(-8, 9) if 0 <= c + j < n) for r in range(rows)
             for c in range(n)], 1e-5)


def fourier():
    x = [complex(*randoms(2)) for _ in range(256)]
    real, imaginary = floats([v.real for v in x]), floats([v.imag for v in x])
    twiddles = [cmath.exp(2j * cmath.pi * k / 128) for k in range(64)]
    launch("fourier", (2, 1, 1), (64, 1, 1), real, imaginary, floats([w.real for w in twiddles]),
           floats([w.imag for w in twiddles]))
    want = [sum(x[b + i] * cmath.exp(-2j * cmath.pi * i * k / 128) for i in range(128)) for b in (0, 128)
            for k in range(128)]
    compare("fourier", list(real) + list(imaginary), [v.real for v in want] + [v.imag for v in want], 1e-3)


def merge_sort():
    keys = [R.randrange(-1000, 1000) * 128 + i % 128 for i in range(256)]
    found, values = ints(keys), ints(range(256))
    launch("merge_sort", (2, 1, 1), (64, 1, 1), found, values)
    pairs = sum((sorted(zip(keys[b:b + 128], range(b, b + 128))) for b in (0, 128)), [])
    compare("merge_sort", list(found) + list(values), [k for k, _ in pairs] + [v for _, v in pairs])


image = ctypes.CDLL(sys.argv[1])
for test in (pathfinder, needle, lud, backprop, srad_sums, hotspot, haar, walsh, nbody, convolution, fourier,
             merge_sort):
    test()
sys.exit(len(wrong))
