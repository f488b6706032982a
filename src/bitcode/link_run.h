/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One run of kdl-ld. Everything goes in and out through files in memory: nothing is written to a
 * disk, and nothing is left behind whoever dies. */
#ifndef KDL_BITCODE_LINK_RUN_H
#define KDL_BITCODE_LINK_RUN_H

#include "bitcode/link_key.h"

typedef struct kdl_link_limits {
  int64_t milliseconds;
  uint64_t memory; /* bytes; 0: no limit */
} kdl_link_limits;

/* From KDL_LD_TIMEOUT and KDL_LD_MEMORY. */
kdl_status kdl_link_limits_read(kdl_link_limits *out_limits);

typedef struct kdl_link_result {
  void *image; /* malloc'ed, a NUL follows */
  size_t size;
  char *notes;     /* for the cache; malloc'ed */
  char doubt[256]; /* why it is not to be kept; "" where it may be */
} kdl_link_result;

/* `name` is what is linked, for people. */
kdl_status kdl_link_run(const kdl_link_task *task, const kdl_question *question,
                        const kdl_link_limits *limits, const char *name,
                        kdl_link_result *out_result);

#endif
