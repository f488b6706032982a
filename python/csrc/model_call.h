/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls a function of a compiled model by MLIR's C interface, without a compiler's knowledge of its
 * parameters: pointers and integers go to one kind of registers, floats to another, and the rest to
 * the stack, 8 bytes each. */
#ifndef KDL_PYTHON_CSRC_MODEL_CALL_H
#define KDL_PYTHON_CSRC_MODEL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { py_integer_registers = 6 };
#else
enum { py_integer_registers = 8 };
#endif
#if defined(__x86_64__) || defined(__aarch64__)
enum { py_float_registers = 8 };
#else
enum { py_float_registers = 0 }; /* not known: such models are refused */
#endif
enum { py_max_stack_words = 512 };

typedef struct py_model_frame {
  uint64_t integers[8];
  double floats[8];
  size_t integer_count, float_count, stack_count;
  uint64_t stack[py_max_stack_words];
} py_model_frame;

/* Adds the next parameter: the low bytes of a word; false if there are more than fit. */
bool py_model_add(py_model_frame *frame, uint64_t word, bool is_float);

/* Runs the code; the low bytes of the result are what it returns. */
uint64_t py_model_run(void (*code)(void), const py_model_frame *frame, bool returns_float);

#endif
