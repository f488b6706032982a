# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wrong.py DIR: kernels with mistakes that newcomers make, and what kdl cc says of each. Every error has a line of the source,
is said once with all its targets, and names nothing that kdl cc wrote itself."""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
HEAD = "#include <kdl/kernel.h>\n"
K = "__gpu_kernel void k(__gpu_global float *y, uint32_t n) {\n"
GPUS = "gfx942,spirv64,opencl-c"
ALL = GPUS + ",x86-64-v3"
# (file, source, targets, what is said: without the file's name in front, "..." for what may follow or stand between)
CASES = [
    ("no_include.c", "KDL_BLOCK(64)\n__gpu_kernel void k(__gpu_global float *y) {\n  y[0] = 1;\n}\n", "spirv64,x86-64-v3",
     [":1:11: error: ...", ":1:11: error: ...", ":2:1: error: ...", ": note: found no #include of <kdl/kernel.h> ..."]),
    ("no_library.c", "#include <stdlib.h>\n" + HEAD + K + "  y[0] = abs(n);\n}\n", ALL,
     [":1:10: fatal error: 'stdlib.h' file not found [all 4 targets]", ": note: kernels have no C or C++ library: ..."]),
    ("undeclared.c", HEAD + K + "  printf(\"%d\", n);\n}\n", "gfx942,spirv64",
     [":3:3: error: call to undeclared function 'printf'; ..."]),
    ("malloc.c", HEAD + "void *malloc(uint64_t size);\n" + K + "  *(float *)malloc(4) = y[0];\n}\n", "gfx942,spirv64,x86-64-v3",
     [":4:13: error: malloc allocates nothing here: ..."]),
    ("fopen.c", HEAD + "int fclose(int file);\n" + K + "  y[0] = fclose(3);\n}\n", ALL,
     [":4:10: error: fclose is called and not defined; --emit=bitcode leaves it to a later link [all 4 targets]"]),
    ("recursion.c", HEAD + "static int f(int x) {\n  return x < 2 ? x : f(x - 1) + f(x - 2);\n}\n" + K + "  y[0] = f(n);\n}\n", ALL,
     [":3:22: error: f is called by itself, or by what it calls: OpenCL has no recursion [spirv64, opencl-c]"]),
    ("circle.c", HEAD + "static int g(int x);\nstatic int f(int x) {\n  return x ? g(x - 1) : 0;\n}\nstatic int g(int x) {\n"
     "  return x ? f(x - 1) : 1;\n}\n" + K + "  y[0] = f(n);\n}\n", "spirv64,opencl-c",
     [":4:14: error: g is called by itself, or by what it calls: OpenCL has no recursion [spirv64, opencl-c]"]),
    ("varargs.c", HEAD + "static __attribute__((noinline)) int f(int n, ...) {\n  __builtin_va_list l;\n  __builtin_va_start(l, n);\n"
     "  return __builtin_va_arg(l, int);\n}\n" + K + "  y[0] = f(1, (int)n);\n}\n", "spirv64",
     [":2:38: error: SPIR-V does not support variadic functions [spirv64]"]),
    ("array.c", HEAD + K + "  float a[n];\n  a[0] = y[0];\n  y[1] = a[n - 1];\n}\n", "spirv64",
     [":3:10: error: variable length arrays are not supported for the current target [spirv64]"]),
    ("pointer.c", HEAD + "static int a(int x) { return x; }\nstatic int b(int x) { return -x; }\n" + K
     + "  int (*volatile f)(int) = n ? a : b;\n  y[0] = f(n);\n}\n", "spirv64",
     [":4:19: error: An indirect call is encountered ..."]),
    ("threads.c", HEAD + "static _Thread_local int t;\n" + K + "  t += n;\n  y[0] = t;\n}\n", "gfx90a,gfx942,x86-64-v3",
     [":4:3: error: the variable t is _Thread_local, which no device has; ...[gfx90a, gfx942, x86-64-v3]"]),
    ("table.c", HEAD + "static float table[4] = {1, 2, 3, 4};\n" + K + "  y[0] = table[n & 3];\n  table[1] = 2;\n}\n", ALL,
     [":2:1: error: a variable outside of functions is not const: ...[opencl-c]"]),
    ("pointed.c", HEAD + "static const float *table;\n" + K + "  y[0] = table[n & 3];\n}\n", "opencl-c",
     [":2:1: error: a variable outside of functions is not const: ...[opencl-c]"]),
    ("calls.c", HEAD + K + "  static uint32_t calls;\n  calls += n;\n  y[0] = calls;\n}\n", "opencl-c",
     [":3:3: error: a static variable is not const: ...[opencl-c]"]),
    ("handed.c", HEAD + "static const float t[2] = {1, 2};\nstatic float sum(const float *p) {\n  return p[0] + p[1];\n}\n" + K
     + "  y[0] = sum(t);\n}\n", "opencl-c",
     [":7:14: error: passing 'const __constant float *' to parameter of type 'const __private float *' ...[opencl-c]"]),
    ("vectors.c", HEAD + "typedef __bf16 pair __attribute__((ext_vector_type(2)));\n" + K + "  pair p = {(__bf16)n, (__bf16)1};\n  y[0] = p.x;\n}\n",
     "opencl-c", [":2:1: error: OpenCL C has no vectors of __bf16 [opencl-c]"]),
    ("folded.c", HEAD + "static const __bf16 sum = 1.0f + 2.0f;\n" + K + "  y[0] = sum;\n}\n", "opencl-c",
     [":2:27: error: a __bf16 outside of functions is initialised by an expression; expected a number, in OpenCL C [opencl-c]"]),
    ("whole.c", HEAD + "__gpu_kernel void k(__gpu_global int32_t *y, __bf16 x) {\n  y[0] += x;\n}\n", "opencl-c",
     [":3:3: error: a number of another type is changed by a __bf16; expected x = x + y and the like, in OpenCL C [opencl-c]"]),
    ("local.c", HEAD + "KDL_BLOCK(64)\n" + K + "  KDL_LOCAL(float, all[100000]);\n  all[n] = y[0];\n  __gpu_sync_threads();\n"
     "  y[0] = all[__gpu_thread_id(0)];\n}\n", "gfx90a,gfx942,x86-64-v3",
     [":3:19: error: local memory (400000) exceeds limit (65536) in 'k' ...[gfx90a, gfx942, x86-64-v3]"]),
    ("assembly.c", HEAD + K + "  uint32_t r;\n  __asm__ volatile(\"mov.u32 %0, %%clock;\" : \"=r\"(r));\n  y[0] = r;\n}\n", "x86-64-v2,x86-64-v3",
     [":4:3: error: invalid register name, in assembly [x86-64-v2, x86-64-v3]"]),
    ("vgpr.c", HEAD + K + "  int v = y[n];\n  __asm__ volatile(\"\" : \"+r\"(v));\n  y[0] = v;\n}\n", "gfx942",
     [":2:19: error: illegal VGPR to SGPR copy [gfx942]"]),
    ("complex.c", HEAD + K + "  float _Complex a = y[0];\n  __imag__ a = n;\n  a = a * a;\n  y[0] = __real__ a;\n}\n", "opencl-c",
     [":5:9: error: __mulsc3 is called and not defined; --emit=bitcode leaves it to a later link [opencl-c]"]),
    ("stack.c", HEAD + K + "  float a[1000000];\n  for (uint32_t i = 0; i < n; ++i)\n    a[i] = y[i];\n  y[0] = a[n / 2];\n}\n", "x86-64-v2,x86-64-v3",
     [":2:19: error: k takes 3999... bytes of the stack on the CPU; expected at most 262144, ...[x86-64-v2, x86-64-v3]"]),
    ("returns.c", HEAD + "__gpu_kernel int k(__gpu_global float *y) {\n  y[0] = 1;\n  return 0;\n}\n", ALL,
     [":2:18: error: kernel ...[all 4 targets]"]),
    ("hidden.c", HEAD + "static __gpu_kernel void k(__gpu_global float *y) {\n  y[0] = 1;\n}\n", "x86-64-v3",
     [":2:26: error: kernel k is static, ..."]),
    ("block.c", HEAD + "KDL_BLOCK(16, 0)\n" + K + "  y[0] = 1;\n}\n", "gfx942,spirv64,x86-64-v3",
     [":3:19: error: kernel k: KDL_BLOCK has a 0; expected at least 1 [gfx942, spirv64, x86-64-v3]"]),
    ("four.c", HEAD + "KDL_TILE(1, 2, 3, 4)\n" + K + "  y[0] = 1;\n}\n", ALL,
     [":3:19: error: kernel k: KDL_TILE has more than three numbers; expected x, y and z [all 4 targets]"]),
    ("pointers.c", HEAD + "__gpu_kernel void k(__gpu_global float **y) {\n  y[0][0] = 1;\n}\n", GPUS,
     [":2:42: error: kernel k: parameter 0 (y) is a pointer to pointers, '__gpu_global float **'; ..."]),
    ("constant.c", HEAD + "__gpu_kernel void k(__gpu_global float *y, __gpu_constant float *c) {\n  y[0] = c[0];\n}\n", "gfx942,spirv64",
     [":2:66: error: kernel k: parameter 1 (c) is a pointer to constant memory, '__gpu_constant float *'; ..."]),
    ("callee.c", HEAD + "static void f(__gpu_global float *y) {\n  KDL_LOCAL_DYNAMIC(float, a);\n  a[0] = y[0];\n  y[1] = a[0];\n}\n" + K
     + "  f(y);\n}\n", "spirv64,opencl-c",
     [":3:3: error: KDL_LOCAL_DYNAMIC stands in f, which is no kernel; ..."]),
    ("many.c", HEAD + "__gpu_kernel void k(__gpu_global float *y" + "".join(f", float a{i}" for i in range(300)) + ") {\n  y[0] = a299;\n}\n",
     "spirv64", [":2:19: error: OpTypeFunction may not take more than 255 arguments. ..."]),
    ("letters.c", HEAD + "__gpu_kernel void gr\u00f6\u00dfe(__gpu_global float *y) {\n  y[0] = 1;\n}\n", "opencl-c",
     [":2:19: error: kernel gr\u00f6\u00dfe: OpenCL C's names have letters of ASCII, digits and '_' [opencl-c]"]),
    ("wide.c", HEAD + "__gpu_kernel void k(__gpu_global uint64_t *y) {\n  y[0] = y[1] == 3ull * y[2];\n}\n", "opencl-c,x86-64-v3",
     [":3:10: error: long long has 128 bits in OpenCL C, which no driver has; ...[opencl-c]"]),
    ("new.cpp", HEAD + K + "  float *p = new float[4];\n  p[0] = n;\n  y[0] = p[0];\n  delete[] p;\n}\n", "gfx942,spirv64,x86-64-v3",
     [":3:14: error: new allocates nothing here: ..."]),
    ("initialiser.cpp", HEAD + "struct S {\n  int x;\n  S(int a) : x(a) {}\n};\n" + K + "  static S s(n);\n  y[0] = s.x;\n}\n",
     "gfx942,spirv64,x86-64-v3", [":7:3: error: a static variable has an initialiser that runs: ..."]),
    ("throws.cpp", HEAD + K + "  if (n)\n    throw 3;\n}\n", "gfx942,spirv64,x86-64-v3",
     [":4:5: error: cannot use 'throw' with exceptions disabled [gfx942, spirv64, x86-64-v3]"]),
    ("lines.c", (HEAD + K + "  y[0] = m;\n}\n").replace("\n", "\r\n"), ALL,
     [":3:10: error: use of undeclared identifier 'm' [all 4 targets]"]),
]
# LLVM 24 lowers variadic functions for SPIR-V.
if int(re.search(r"version (\d+)", subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout)[1]) >= 24:
    CASES = [case for case in CASES if case[0] != "varargs.c"]
# What looks wrong and is not.
FINE = [
    ("mark.c", "\ufeff" + HEAD + K + "  y[0] = n;\n}\n"),
    ("atomic.c", HEAD + "__gpu_kernel void k(__gpu_global uint64_t *y) {\n  __atomic_fetch_add(y, 1, __ATOMIC_RELAXED);\n}\n"),
]


def compile_case(case):
    name, source, targets = case[:3] if len(case) > 2 else (*case, ALL)
    path = folder / name
    path.write_bytes(source.encode())
    done = subprocess.run(["kdl", "cc", path, f"--targets={targets}", "-o", path.with_suffix(".offload")], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stderr


def check(case):
    name, _, _, expected = case
    code, text = compile_case(case)
    said = [line for line in text.splitlines() if re.search(r"(error|warning): ", line) or ": note: found" in line or ": note: kernels" in line
            or ": note: OpenCL C's" in line]
    said = [line.replace(str(folder / name), "") for line in said if not line.startswith("kdl cc: error: ")]
    patterns = [".*".join(re.escape(part) for part in line.split("...")) + ("" if "[" in line else r"( \[.*\])?") for line in expected]
    if code != 1 or len(said) != len(patterns) or not all(re.fullmatch(p, s) for p, s in zip(patterns, said)):
        return f"{name}: exit code {code}, found:\n{text}\nexpected:\n" + "\n".join(expected)
    return f"{name}: blames what kdl cc wrote:\n{text}" if "<kdl cc>" in text or "kdl_cc_" in text else None


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    troubles = [trouble for trouble in pool.map(check, CASES) if trouble]
    troubles += [f"{case[0]}: {text}" for case, (code, text) in zip(FINE, pool.map(compile_case, FINE)) if code or text]
print("\n".join(troubles) or f"{len(CASES)} mistakes, each said once with its line; {len(FINE)} that are none")
sys.exit(bool(troubles))
