/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Chooses the microkernel that provides a symbol, with the reasons against the others. */
#ifndef KDL_COMPILER_IR_LINKER_CHOOSE_UKERNEL_H
#define KDL_COMPILER_IR_LINKER_CHOOSE_UKERNEL_H

#include "compiler/ir/linker/library.h"
#include "compiler/ir/linker/request.h"
#include "lib/inspect/selection.h"

/* An image that defines the symbol. Without reasons it is admitted. */
typedef struct ir_candidate {
  ir_library *library;
  uint32_t image;
  bool is_chosen;
  kdl_explanation explanation;
} ir_candidate;

typedef struct ir_choice {
  kdl_string symbol;
  ir_candidate *candidates; /* in the order of preference */
  size_t count;
  size_t calls; /* before inlining */
} ir_choice;

/* The image's arch and tag, as messages name it: "image 2 (x86-64-v4, avx512)". */
void ir_candidate_label(const ir_candidate *candidate, char *buffer, size_t size);

/* Fills *out_choice, with memory of the libraries' arena, and returns the chosen candidate; NULL
 * where no image with the symbol runs on the device. */
const ir_candidate *ir_choose_ukernel(ir_libraries *libraries, kdl_string symbol,
                                      ir_context *context, ir_choice *out_choice);

/* KDL_NO_MATCH with the reasons why there is no microkernel for the symbol. */
kdl_status ir_fail_no_ukernel(const ir_libraries *libraries, const ir_request *request,
                              const ir_choice *choice);

#endif
