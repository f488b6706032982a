/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * "I am making that entry": so that a hundred processes which start at once link once. Nothing
 * depends on it but work done twice: who cannot claim, or has waited long enough, goes ahead.
 *
 * A claim is a lock on a file, which the kernel gives back when its holder dies. Locks are taken
 * only on file systems of this machine: over a network they may be ignored, or hang.
 */
#ifndef KDL_CACHE_CLAIM_H
#define KDL_CACHE_CLAIM_H

#include "ext/jit/cache/files.h"
#include "support/system/cache_settings.h"

#include <stdbool.h>

typedef struct kdl_cache_claim {
  int folder; /* -1: nothing is claimed */
  int fd;
  char name[KDL_CACHE_NAME];
} kdl_cache_claim;

/* Waits, for at most so many milliseconds, while another has the claim. *out_waited says that
 * one had: the entry may be there now. */
kdl_cache_claim kdl_cache_claim_acquire(const kdl_cache_settings *settings, kdl_string link_key,
                                        int64_t milliseconds, bool *out_waited);

void kdl_cache_claim_release(kdl_cache_claim *claim);

#endif
