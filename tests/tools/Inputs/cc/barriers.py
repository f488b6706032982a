# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""barriers.py IMAGE N [KERNEL...]: runs the kernels of barriers.c, compiled for this CPU with groups of N, and
compares with what plain code gives."""
import ctypes
import random
import sys

MASK = 0xFFFFFFFF


class Group(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("group", ctypes.c_uint32 * 3), ("group_count", ctypes.c_uint32 * 3),
                ("block", ctypes.c_uint32 * 3), ("tile", ctypes.c_uint32 * 3), ("shared_size", ctypes.c_uint32),
                ("shared", ctypes.c_void_p), ("error", ctypes.POINTER(ctypes.c_char_p))]


def launch(image, name, groups, n, *arrays):
    """The message where a group stopped."""
    function = getattr(image, name)
    function.restype = None
    pointers = [ctypes.c_void_p(ctypes.addressof(a)) for a in arrays]
    args = (ctypes.c_void_p * len(arrays))(*[ctypes.addressof(p) for p in pointers])
    error = ctypes.c_char_p(None)
    group = Group(ctypes.sizeof(Group), (0, 0, 0), (groups, 1, 1), (n, 1, 1), (n, 1, 1), 0, None, ctypes.pointer(error))
    for i in range(groups):
        group.group[0] = i
        function(ctypes.byref(group), args)
        if error.value:
            return error.value.decode()
    return None


def power(n):
    return 1 << (n.bit_length() - 1)


def reduce(x, n, g, all_x):
    return [sum(x) & MASK]


def scan(x, n, g, all_x):
    total, result = 0, []
    for v in x:
        total = (total + v) & MASK
        result.append(total)
    return result


def blelloch(x, n, g, all_x):
    size = power(n)
    return [sum(x[:i]) & MASK for i in range(size)] + x[size:]


def reverse(x, n, g, all_x):
    return x[::-1]


def histogram(x, n, g, all_x):
    return [sum(v % 16 == i for v in x) for i in range(16)]


def sort(x, n, g, all_x):
    return sorted(x)


def bitonic(x, n, g, all_x):
    return sorted(x[:power(n)]) + x[power(n):]


def stencil(x, n, g, all_x):
    at = lambda i: all_x[i] if 0 <= i < len(all_x) else 0
    return [(at(i - 1) + at(i) + at(i + 1)) & MASK for i in range(g * n, g * n + n)]


def callee(x, n, g, all_x):
    return [x[(i + 2) % n] for i in range(n)]


def branches(x, n, g, all_x):
    v = [(x[i] + x[(i + 1) % n]) & MASK if g % 2 else x[i] * 3 & MASK for i in range(n)]
    return [v[(i + 2) % n] for i in range(n)] if all_x[0] % 2 else v


def until(x, n, g, all_x):
    return [max(v % 9 for v in x)] * n


def private_memory(x, n, g, all_x):
    kept = [[(x[t] + i) & MASK for i in range(5)] for t in range(n)]
    b = list(range(n))
    for i in range(5):
        place = [kept[t][(i + t) % 5] for t in range(n)]
        for t in range(n):
            k = (i + t + 1) % 5
            kept[t][k] = (kept[t][k] + place[(t + i) % n]) & MASK
            b[t] += x[t] ^ i
    result = []
    for t in range(n):
        total = 0
        for v in kept[t]:
            total = (total * 31 + v) & MASK
        result.append((total + b[t]) & MASK)
    return result


def uneven(x, n, g, all_x):
    v, sums = list(x), [0] * n
    for r in range(3):
        for t in range(n):
            for i in range(v[t] % 7 + t % 3):
                if (i ^ t) % 3 == 0:
                    continue
                if sums[t] > 1000:
                    break
                sums[t] = (sums[t] + i * r + 1) & MASK
        place = list(sums)
        for t in range(n):
            if t % 2:
                sums[t] = (sums[t] + place[t - 1]) & MASK
            elif t + 1 < n:
                sums[t] ^= place[t + 1]
        if r != 1:
            v = [(a * 1664525 + 1013904223) & MASK for a in v]
    return sums


def cases(x, n, g, all_x):
    v = list(x)
    for i in range(6):
        place, which = list(v), (i + g) % 4
        if which == 0:
            v = [(v[t] + place[(t + 1) % n]) & MASK for t in range(n)]
        elif which == 1:
            v = [a ^ i for a in v]
        elif which == 2:
            v = [(v[t] - place[(t + 3) % n]) & MASK for t in range(n)]
        if which >= 2:
            v = [(a << 1 | a >> 31) & MASK for a in v]
    return v


def jumps(x, n, g, all_x):
    if g % 2:
        return [(x[(t + 1) % n] * 5 + 1) & MASK for t in range(n)]
    return [(v * 5 + 1) & MASK if v % 3 else 7 if v & 4 else v for v in x]


def follows(x, n, g, all_x):
    result = []
    for t, v in enumerate(x):
        kept = [v, t, 3, 4]
        for i in range(all_x[0] % 4 + 4):
            kept[(kept[i & 3] + i) & 3] = (kept[(i + 1) & 3] * 5 + i) & MASK
        result.append((kept[0] ^ kept[1] * 3 ^ kept[2] * 5 ^ kept[3] * 7) & MASK)
    return result


def strides(x, n, g, all_x):
    result = []
    for t, v in enumerate(x):
        kept = [v, t, 3, 4]
        if (kept[v >> 3 & 3] + t) & 1:
            kept[(kept[v & 3] + v) & 3] = t
            v += all_x[t]
        else:
            kept[v & 3] = kept[v >> 1 & 3] * 5
        result.append((v ^ kept[0] ^ kept[1] * 3 ^ kept[2] * 5 ^ kept[3] * 7) & MASK)
    return result


def returns(x, n, g, all_x):
    return [sum(range(x[(t + 1) % n] % 7)) for t in range(n)]


KERNELS = [reduce, scan, blelloch, reverse, histogram, sort, bitonic, stencil, callee, branches, until, private_memory,
           uneven, cases, jumps, follows, strides, returns]


def main():
    image, n, only = ctypes.CDLL(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    groups, wrong = 4, 0
    randoms = random.Random(n)
    for first in (0, 1):
        x = [randoms.randrange(1 << 32) for _ in range(groups * n)]
        x[0] = x[0] & ~1 | first
        values = (ctypes.c_uint32 * len(x))(*x)
        for kernel in KERNELS:
            if only and kernel.__name__ not in only:
                continue
            made = (ctypes.c_uint32 * max(len(x), 16 * groups))()
            problem = launch(image, kernel.__name__, groups, n, values, made)
            want = [v for g in range(groups) for v in kernel(x[g * n:g * n + n], n, g, x)]
            bad = [i for i, v in enumerate(want) if made[i] != v]
            if problem or bad:
                wrong += 1
                print(f"{kernel.__name__}: group of {n}: {problem or f'{len(bad)} of {len(want)} are wrong, the first at {bad[0]}'}")
    # All agree, then the last one does not.
    same = (ctypes.c_uint32 * n)(*([3] * n))
    made = (ctypes.c_uint32 * n)()
    problem = launch(image, "divergent", 1, n, same, made)
    if problem:
        print(f"divergent: {problem}")
        wrong += 1
    same[n - 1] = 4
    problem = launch(image, "divergent", 1, n, same, made)
    if n > 1:
        print(problem)
        wrong += not problem
    print(f"groups of {n}: {'wrong' if wrong else 'right'}")
    sys.exit(wrong != 0)


main()
