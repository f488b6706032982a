/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report of kdl-ld: docs/linking.md. */
#ifndef KDL_EXT_JIT_LINK_REPORT_H
#define KDL_EXT_JIT_LINK_REPORT_H

#include "support/base/string_list.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* One image that has the microkernel. */
typedef struct kdl_link_candidate {
  const char *library;
  uint64_t image;
  const char *triple;
  const char *arch;
  const char *tag;
  const char *code; /* of the first reason against it; "" where it is admitted */
  const char *words;
  const char *label; /* the code with a colon */
  bool chosen;
} kdl_link_candidate;

typedef struct kdl_link_ukernel {
  const char *symbol;
  kdl_link_candidate *candidates;
  size_t count;
} kdl_link_ukernel;

typedef struct kdl_link_constant {
  const char *name;
  const char *value;
  bool given;
} kdl_link_constant;

typedef struct kdl_link_report {
  const char *error; /* "" where it succeeded */
  const char *kind;  /* of the output: "object", "cubin", ... */
  const char *triple;
  const char *arch;
  kdl_link_ukernel *ukernels;
  size_t ukernel_count;
  kdl_link_constant *constants;
  size_t constant_count;
  kdl_string_list depends; /* files that the result depends on, besides those that the call names */
  bool is_complete;        /* has the size of the output, which is written last */
  uint64_t output_size;
  kdl_arena arena;
} kdl_link_report;

/* After a failure the report is as complete as it was read. The caller frees *out_report, also
 * then. */
kdl_status kdl_link_report_read(const char *text, size_t size, kdl_link_report *out_report);
void kdl_link_report_free(kdl_link_report *report);

#endif
