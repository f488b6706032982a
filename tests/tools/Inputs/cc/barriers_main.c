/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs the kernels of barriers.c without any library, for machines that are emulated, and prints a
 * number for each: that of the same numbers on every machine. */
#include <kdl/host_abi.h>

#include <stddef.h>

enum { groups = 4 };

static void ask(long number, long a, long b, long c) {
#if defined(__x86_64__)
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                   x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
#else
  register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b,
                   a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
#endif
}

#ifdef __x86_64__
enum { call_write = 1, call_exit = 60 };
#else
enum { call_write = 64, call_exit = 93 };
#endif

static void print(const char *text) {
  size_t length = 0;
  while (text[length])
    ++length;
  ask(call_write, 1, (long)text, (long)length);
}

static void print_number(uint32_t number) {
  char digits[10] = " 00000000";
  for (int i = 8; i > 0; --i, number /= 16)
    digits[i] = "0123456789abcdef"[number % 16];
  digits[9] = '\0';
  print(digits);
  print("\n");
}

#define KERNELS(m)                                                                                 \
  m(follows) m(returns) m(strides) m(reduce) m(scan) m(blelloch) m(reverse) m(histogram) m(sort)   \
      m(bitonic) m(stencil) m(callee) m(branches) m(until) m(private_memory) m(uneven) m(cases)    \
          m(jumps)
#define DECLARE(name) void name(const kdl_host_group *group, const void *const *args);
KERNELS(DECLARE)

static uint32_t x[groups * N], y[groups * (N < 16 ? 16 : N)];

static void run(const char *name, kdl_host_function *kernel) {
  const char *error = NULL;
  const uint32_t *from = x;
  uint32_t *to = y, hash = 2166136261u;
  const void *args[] = {&from, &to};
  kdl_host_group group = {sizeof group, {0, 0, 0}, {groups, 1, 1}, {N, 1, 1},
                          {N, 1, 1},    0,         NULL,           &error};
  for (group.group[0] = 0; group.group[0] < groups; ++group.group[0])
    kernel(&group, args);
  for (size_t i = 0; i < sizeof y / sizeof *y; ++i)
    hash = (hash ^ y[i]) * 16777619u;
  print(name);
  print(error ? error : "");
  print_number(hash);
}
#define RUN(name) run(#name, name);

void begin(void) {
  uint32_t seed = 1;
  for (size_t i = 0; i < groups * N; ++i)
    x[i] = seed = seed * 1664525u + 1013904223u;
  KERNELS(RUN)
  ask(call_exit, 0, 0, 0);
}

/* The stack is aligned here, as functions expect it. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start: and $-16, %rsp\ncall begin\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: bl begin\n");
#else
__asm__(".globl _start\n_start: .option push\n.option norelax\nla gp, __global_pointer$\n.option "
        "pop\ncall begin\n");
#endif
void *memcpy(void *to, const void *from, size_t size) {
  for (size_t i = 0; i < size; ++i)
    ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int value, size_t size) {
  for (size_t i = 0; i < size; ++i)
    ((volatile char *)to)[i] = (char)value;
  return to;
}
void *memmove(void *to, const void *from, size_t size) {
  if ((uintptr_t)to - (uintptr_t)from >= size)
    return memcpy(to, from, size);
  for (size_t i = size; i-- > 0;)
    ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
