/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A claim announces "I am linking that entry", so that a hundred processes that start at once link
 * once. Claims only save work: a process that cannot claim, or has waited long enough, links.
 *
 * A claim is a lock on a file, which the kernel releases when its holder dies. Locks are used only
 * on local file systems: over a network they may be ignored, or hang.
 */
#ifndef KDL_EXT_JIT_CACHE_CLAIM_H
#define KDL_EXT_JIT_CACHE_CLAIM_H

#include "ext/jit/cache/files.h"
#include "support/system/cache_settings.h"

#include <stdbool.h>

typedef struct kdl_cache_claim {
  int folder; /* -1: no claim */
  int fd;
  char name[KDL_CACHE_NAME];
} kdl_cache_claim;

/* Waits at most so many milliseconds while another process holds the claim. *out_waited is true if
 * one did: it may have stored the entry. */
kdl_cache_claim kdl_cache_claim_acquire(const kdl_cache_settings *settings, kdl_string link_key,
                                        int64_t milliseconds, bool *out_waited);

void kdl_cache_claim_release(kdl_cache_claim *claim);

#endif
