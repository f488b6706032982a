/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Chooses the microkernel that provides a symbol, with the reasons against the others. */
#ifndef KDL_LD_CHOOSE_H
#define KDL_LD_CHOOSE_H

#include "ld/linker/library.h"
#include "ld/linker/request.h"
#include "lib/inspect/ranking.h"

/* An image that defines the symbol. Without reasons it is admitted. */
typedef struct ld_candidate {
  ld_library *library;
  uint32_t image;
  bool is_chosen;
  kdl_explanation explanation;
} ld_candidate;

typedef struct ld_choice {
  kdl_string symbol;
  ld_candidate *candidates; /* in the order of preference */
  size_t count;
  size_t calls; /* before inlining */
} ld_choice;

/* The image's arch and tag, as messages name it: "image 2 (x86-64-v4, avx512)". */
void ld_candidate_label(const ld_candidate *candidate, char *buffer, size_t size);

/* Fills *out_choice, with memory of the libraries' arena, and returns the chosen candidate; NULL
 * where no image with the symbol runs on the device. */
const ld_candidate *ld_choose_ukernel(ld_libraries *libraries, kdl_string symbol,
                                      ld_context *context, ld_choice *out_choice);

/* KDL_NO_MATCH with the reasons why there is no microkernel for the symbol. */
kdl_status ld_fail_no_ukernel(const ld_libraries *libraries, const ld_request *request,
                              const ld_choice *choice);

#endif
