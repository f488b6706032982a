/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links an image of a library for a device, by kdl-ld. */
#ifndef KDL_EXT_JIT_LINK_RUN_H
#define KDL_EXT_JIT_LINK_RUN_H

#include "ext/jit/link_key.h"
#include "ext/jit/linker.h"

typedef struct kdl_link_result {
  void *image; /* malloc'ed, a NUL follows */
  size_t size;
  char *notes;                  /* for the cache; malloc'ed */
  char uncacheable_reason[256]; /* why it must not be cached; "" where it may */
  bool out_of_memory;           /* the reason is that memory ran out */
} kdl_link_result;

/* Takes the snapshot of the key, and links it. `name` is for messages. */
kdl_status kdl_link_run(const kdl_link_task *task, kdl_link_key *key, const kdl_link_limits *limits,
                        const char *name, kdl_link_result *out_result);

#endif
