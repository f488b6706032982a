/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kdl-ld reports of its work: docs/linking.md. */
#ifndef KDL_BITCODE_LINK_REPORT_H
#define KDL_BITCODE_LINK_REPORT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct kdl_link_report {
  bool is_whole; /* it says how large the output is: written when all else is done */
  uint64_t output_size;
} kdl_link_report;

/* Reads a report. Prints a line `depends IDENTITY` for each file that the result depends on and
 * that the question does not name; *out_is_young is set where one of them was just written. */
kdl_status kdl_link_report_read(const char *text, size_t size, FILE *notes, bool *out_is_young,
                                kdl_link_report *out_report);

#endif
