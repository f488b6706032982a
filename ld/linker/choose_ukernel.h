/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which microkernel provides a symbol, and why none of the others does. */
#ifndef KDL_LD_CHOOSE_H
#define KDL_LD_CHOOSE_H

#include "ld/linker/library.h"
#include "ld/linker/request.h"
#include "lib/inspect/ranking.h"

/* One image that has the symbol. Without reasons it would do. */
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
  size_t calls; /* to it, before any was inlined */
} ld_choice;

/* The image's arch and tag, as messages name it: "image 2 (x86-64-v4, avx512)". */
void ld_candidate_label(const ld_candidate *candidate, char *buffer, size_t size);

/* Fills *out_choice, whose memory belongs to the libraries' arena, and returns what was chosen;
 * NULL where no image of that name runs on the device. */
const ld_candidate *ld_choose_ukernel(ld_libraries *libraries, kdl_string symbol,
                                      ld_context *context, ld_choice *out_choice);

/* Records why there is no microkernel for the symbol: KDL_NO_MATCH. */
kdl_status ld_fail_no_ukernel(const ld_libraries *libraries, const ld_request *request,
                              const ld_choice *choice);

#endif
