# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""barriers_random.py KDL WORK TARGET SEED...: kernels made at random, with barriers under conditions and in loops that
are the same for all work-items, by kdl cc beside the same code with a thread for each work-item."""

import ctypes
import pathlib
import random
import subprocess
import sys

KERNELS, GROUPS = 12, 3

HEADER = """
#ifdef THREADS
#include <pthread.h>
#include <stdint.h>
static pthread_barrier_t meeting;
static _Thread_local uint32_t thread, group;
#define __gpu_kernel
#define __gpu_global
#define BLOCK
#define KDL_LOCAL(type, declarator) static type declarator
#define __gpu_thread_id(d) thread
#define __gpu_block_id(d) group
#define __gpu_sync_threads() pthread_barrier_wait(&meeting)
#else
#include <kdl/kernel.h>
#ifdef FIXED
#define BLOCK KDL_BLOCK(N)
#else
#define BLOCK
#endif
#endif
"""

FOOTER = """
#ifdef THREADS
typedef void kernel(const uint32_t *, uint32_t *, uint32_t, uint32_t);
typedef struct { kernel *run; const uint32_t *x; uint32_t *y; uint32_t a, b, thread, groups; } work;
static void *begin(void *p) {
  work *w = p;
  for (uint32_t g = 0; g < w->groups; ++g) {
    thread = w->thread;
    group = g;
    w->run(w->x, w->y, w->a, w->b);
    pthread_barrier_wait(&meeting);
  }
  return 0;
}
void run_threads(kernel *run, uint32_t groups, const uint32_t *x, uint32_t *y, uint32_t a, uint32_t b) {
  pthread_t threads[N];
  work works[N];
  pthread_barrier_init(&meeting, 0, N);
  for (uint32_t t = 0; t < N; ++t) {
    works[t] = (work){run, x, y, a, b, t, groups};
    pthread_create(&threads[t], 0, begin, &works[t]);
  }
  for (uint32_t t = 0; t < N; ++t)
    pthread_join(threads[t], 0);
}
#endif
"""


class Maker:
    """v0 to v3 and P differ between work-items, u0, u1 and g1, g2, ... do not."""

    def __init__(s, r):
        s.r = r
        s.depth = s.loops = s.uid = 0

    def expression(s, names, d=0):
        r = s.r
        if d > 2 or r.random() < 0.3:
            return r.choice(names + ["t", str(r.randrange(1, 9)), "a", "b"])
        op = r.choice(["+", "-", "*", "^", "&", "|", "<<", ">>", "%", "?", "cmp", "p"])
        x = s.expression(names, d + 1)
        y = s.expression(names, d + 1)
        if op in ("<<", ">>"):
            return f"({x} {op} ({y} & 7))"
        if op == "%":
            return f"({x} % ({y} | 1))"
        if op == "?":
            return f"({x} > {y} ? {s.expression(names,d+1)} : {y})"
        if op == "cmp":
            return f"(uint32_t)({x} < {y})"
        if op == "p":
            return f"P[({x}) & 3]"
        return f"({x} {op} {y})"

    def uniform(s, us, d=0):
        r = s.r
        if d > 1 or r.random() < 0.4:
            return r.choice(us + [str(r.randrange(1, 7)), "a", "b", "__gpu_block_id(0)"])
        x = s.uniform(us, d + 1)
        y = s.uniform(us, d + 1)
        op = r.choice(["+", "-", "*", "^", "&", "%"])
        return f"({x} % ({y} | 1))" if op == "%" else f"({x} {op} {y})"

    V = ["v0", "v1", "v2", "v3"]

    def item_code(s, us, n, inloop=False):
        r = s.r
        out = []
        for _ in range(n):
            k = r.random()
            names = s.V + us
            if k < 0.45:
                out.append(f"{r.choice(s.V)} = {s.expression(names)};")
            elif k < 0.6:
                out.append(f"P[({s.expression(names)}) & 3] = {s.expression(names)};")
            elif k < 0.8:
                s.depth += 1
                if s.depth < 4:
                    out.append(
                        f"if ({s.expression(names)} & 1) {{ {s.item_code(us,r.randrange(1,3),inloop)} }}"
                        + (f" else {{ {s.item_code(us,r.randrange(1,3),inloop)} }}" if r.random() < 0.5 else "")
                    )
                s.depth -= 1
            elif k < 0.92 and s.depth < 2:
                s.depth += 1
                s.uid += 1
                i = f"i{s.uid}"
                out.append(
                    f"for (uint32_t {i} = 0; {i} < (({s.expression(names)}) & 7); ++{i}) {{ {s.item_code(us+[i],r.randrange(1,3),True)} }}"
                )
                s.depth -= 1
            elif inloop:
                out.append(f'if (({s.expression(names)} & 3) == 0) {r.choice(["break","continue"])};')
            else:
                out.append(f"{r.choice(s.V)} += x[({s.expression(names)}) % (N * 4)];")
        return " ".join(out)

    def group_code(s, us, n, inloop):
        r = s.r
        out = []
        s.gd = getattr(s, "gd", 0) + 1
        for _ in range(n):
            k = r.random()
            names = s.V + us
            if k < 0.25:
                out.append(s.item_code(us, r.randrange(1, 4)))
            elif k < 0.5:
                out.append(
                    f'L[t] = {s.expression(names)}; {s.item_code(us,1) if r.random()<.3 else ""} __gpu_sync_threads(); {r.choice(s.V)} {r.choice(["=","+=","^="])} L[(t + {r.randrange(1,9)}) % N]; __gpu_sync_threads();'
                )
            elif k < 0.6 and us:
                u = [q for q in us if q.startswith("u")]
                out.append(
                    f"L[t] = {s.expression(names)}; __gpu_sync_threads(); {r.choice(u)} = L[{r.randrange(1<<16)} % N]; __gpu_sync_threads();"
                )
            elif k < 0.68:
                out.append("__gpu_sync_threads();")
            elif k < 0.8 and s.gd < 4:
                out.append(
                    f"if ({s.uniform(us)} & {r.choice([1,2,3])}) {{ {s.group_code(us,r.randrange(1,3),inloop)} }}"
                    + (f" else {{ {s.group_code(us,r.randrange(1,3),inloop)} }}" if r.random() < 0.5 else "")
                )
            elif k < 0.92 and s.loops < 2:
                s.loops += 1
                s.uid += 1
                i = f"g{s.uid}"
                out.append(
                    f"for (uint32_t {i} = 0; {i} < (({s.uniform(us)}) & 3) + 1; ++{i}) {{ {s.group_code(us+[i],r.randrange(1,4),True)} }}"
                )
                s.loops -= 1
            elif inloop:
                out.append(f'if (({s.uniform(us)} & 3) == 1) {r.choice(["break","continue"])};')
            elif r.random() < 0.3:
                out.append(f"if (({s.uniform(us)} & 7) == 5) {{ y[g] = v0 ^ v1; return; }}")
            else:
                out.append(f'{r.choice([q for q in us if q.startswith("u")])} = {s.uniform(us)};')
        s.gd -= 1
        return " ".join(out)

    def kernel(s, name):
        return f"""BLOCK __gpu_kernel void {name}(const __gpu_global uint32_t *x, __gpu_global uint32_t *y, uint32_t a, uint32_t b) {{
  KDL_LOCAL(uint32_t, L[N]);
  uint32_t t = __gpu_thread_id(0), g = __gpu_block_id(0) * N + t, v0 = x[g], v1 = t, v2 = a, v3 = b * t;
  uint32_t u0 = a, u1 = b, P[4] = {{v0, v1, 3, 4}};
  {s.group_code(['u0','u1'],s.r.randrange(3,8),False)}
  y[g] = v0 ^ v1 * 3 ^ v2 * 5 ^ v3 * 7 ^ P[0] ^ P[1] * 11 ^ P[2] * 13 ^ P[3] * 17 ^ u0 ^ u1 * 19;
}}
"""


class Group(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("group", ctypes.c_uint32 * 3),
        ("group_count", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("tile", ctypes.c_uint32 * 3),
        ("shared_size", ctypes.c_uint32),
        ("shared", ctypes.c_void_p),
        ("error", ctypes.POINTER(ctypes.c_char_p)),
    ]


def make_source(path, seed):
    randoms = random.Random(seed)
    kernels = [Maker(randoms).kernel(f"k{i}") for i in range(KERNELS)]
    broken = [k.replace("; ", ";\n  ").replace("{ ", "{\n  ").replace("} ", "}\n  ") for k in kernels]
    path.write_text(HEADER + "\n".join(broken) + FOOTER)


def run_image(image, name, n, x, y, a, b):
    function, error = getattr(image, name), ctypes.c_char_p(None)
    function.restype = None
    held = [
        ctypes.c_void_p(ctypes.addressof(x)),
        ctypes.c_void_p(ctypes.addressof(y)),
        ctypes.c_uint32(a),
        ctypes.c_uint32(b),
    ]
    args = (ctypes.c_void_p * 4)(*[ctypes.addressof(h) for h in held])
    group = Group(ctypes.sizeof(Group), (0, 0, 0), (GROUPS, 1, 1), (n, 1, 1), (n, 1, 1), 0, None, ctypes.pointer(error))
    for i in range(GROUPS):
        group.group[0] = i
        function(ctypes.byref(group), args)
    return error.value


def main():
    kdl, work, target = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    work.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for seed in map(int, sys.argv[4:]):
        n = random.Random(seed).choice([2, 5, 8, 13, 16])
        source, threads, packed, made = (work / f"{seed}{end}" for end in (".c", ".threads.so", ".offload", ".so"))
        make_source(source, seed)
        subprocess.check_call(
            ["clang", "-w", "-O1", "-DTHREADS", f"-DN={n}", "-shared", "-fPIC", source, "-o", threads, "-lpthread"]
        )
        fixed = ["--flag=-DFIXED"] if seed % 2 else []
        subprocess.check_call(
            [kdl, "cc", source, "--flag=-w", f"--flag=-DN={n}", *fixed, f"--targets={target}", "-o", packed]
        )
        subprocess.check_call([kdl, "extract", packed, "--image=0", "-o", made])
        plain, image = ctypes.CDLL(threads), ctypes.CDLL(made)
        for k in range(KERNELS):
            for a, b in ((0, 1), (3, 7), (6, 2)):
                randoms = random.Random(seed * 100 + k)
                x = (ctypes.c_uint32 * (n * 4))(*[randoms.randrange(1 << 32) for _ in range(n * 4)])
                want, found = (ctypes.c_uint32 * (n * GROUPS))(), (ctypes.c_uint32 * (n * GROUPS))()
                plain.run_threads(getattr(plain, f"k{k}"), GROUPS, x, want, a, b)
                error = run_image(image, f"k{k}", n, x, found, a, b)
                if error or list(want) != list(found):
                    wrong += 1
                    print(f"{source}: k{k}({a}, {b}) in groups of {n}: {error or 'wrong'}")
        print(f"seed {seed}: {KERNELS} kernels in groups of {n}")
    print("wrong" if wrong else "right")
    sys.exit(wrong != 0)


main()
