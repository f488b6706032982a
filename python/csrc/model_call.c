/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model_call.h"

#include <string.h>

bool py_model_add(py_model_frame *frame, uint64_t word, bool is_float) {
  if (is_float && frame->float_count < py_float_registers)
    memcpy(&frame->floats[frame->float_count++], &word, sizeof word);
  else if (!is_float && frame->integer_count < py_integer_registers)
    frame->integers[frame->integer_count++] = word;
  else if (frame->stack_count < py_max_stack_words)
    frame->stack[frame->stack_count++] = word;
  else
    return false;
  return true;
}

#if defined(__x86_64__)
#define INTEGER_TYPES uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define INTEGERS i[0], i[1], i[2], i[3], i[4], i[5]
#else
#define INTEGER_TYPES uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define INTEGERS i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7]
#endif
#if defined(__x86_64__) || defined(__aarch64__)
#define REGISTER_TYPES INTEGER_TYPES, double, double, double, double, double, double, double, double
#define REGISTERS INTEGERS, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
#else
#define REGISTER_TYPES INTEGER_TYPES
#define REGISTERS INTEGERS
#endif

#define TYPES_8 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define TYPES_64 TYPES_8, TYPES_8, TYPES_8, TYPES_8, TYPES_8, TYPES_8, TYPES_8, TYPES_8
#define TYPES_512 TYPES_64, TYPES_64, TYPES_64, TYPES_64, TYPES_64, TYPES_64, TYPES_64, TYPES_64
#define WORDS_8(n) s[n], s[n + 1], s[n + 2], s[n + 3], s[n + 4], s[n + 5], s[n + 6], s[n + 7]
#define WORDS_64(n)                                                                                \
  WORDS_8(n), WORDS_8(n + 8), WORDS_8(n + 16), WORDS_8(n + 24), WORDS_8(n + 32), WORDS_8(n + 40),  \
      WORDS_8(n + 48), WORDS_8(n + 56)
#define WORDS_512                                                                                  \
  WORDS_64(0), WORDS_64(64), WORDS_64(128), WORDS_64(192), WORDS_64(256), WORDS_64(320),           \
      WORDS_64(384), WORDS_64(448)

/* A callee does not read words of the stack beyond its own. */
#define DEFINE_RUN(name, type)                                                                     \
  static type name(void (*code)(void), const py_model_frame *frame) {                              \
    const uint64_t *i = frame->integers, *s = frame->stack;                                        \
    const double *f = frame->floats;                                                               \
    (void)f;                                                                                       \
    if (!frame->stack_count)                                                                       \
      return ((type (*)(REGISTER_TYPES))code)(REGISTERS);                                          \
    if (frame->stack_count <= 8)                                                                   \
      return ((type (*)(REGISTER_TYPES, TYPES_8))code)(REGISTERS, WORDS_8(0));                     \
    return ((type (*)(REGISTER_TYPES, TYPES_512))code)(REGISTERS, WORDS_512);                      \
  }
DEFINE_RUN(run_for_integer, uint64_t)
DEFINE_RUN(run_for_float, double)

uint64_t py_model_run(void (*code)(void), const py_model_frame *frame, bool returns_float) {
  if (!returns_float)
    return run_for_integer(code, frame);
  double number = run_for_float(code, frame);
  uint64_t word;
  memcpy(&word, &number, sizeof word);
  return word;
}
