/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An image of a library, linked by kdl-ld for a device. */
#ifndef KDL_BITCODE_LINK_RUN_H
#define KDL_BITCODE_LINK_RUN_H

#include "ext/jit/link_key.h"
#include "ext/jit/linker.h"

typedef struct kdl_link_result {
  void *image; /* malloc'ed, a NUL follows */
  size_t size;
  char *notes;                  /* for the cache; malloc'ed */
  char uncacheable_reason[256]; /* why it is not to be kept; "" where it may be */
  bool out_of_memory;           /* of memory, and that is why */
} kdl_link_result;

/* Settles the key, and links what it is of. `name` is what is linked, for people. */
kdl_status kdl_link_run(const kdl_link_task *task, kdl_link_key *key, const kdl_link_limits *limits,
                        const char *name, kdl_link_result *out_result);

#endif
