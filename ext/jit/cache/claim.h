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

/* ------------------------------------------------------------------------------------------ */
/* Leases                                                                                       */

/*
 * A lease announces "this machine is linking that entry", in a folder that machines share. It is
 * ext/jit/cache/claim.h without locks, which a network may ignore. Leases only save work.
 *
 * A lease is a file that only one process can create, with a unique token in it. Its holder removes
 * it. A waiter that sees the same token for the length of a lease, by its own clock, takes the
 * holder for dead and removes the file: clocks of different machines are never compared. Two
 * processes that both believe to hold a lease make the same entry twice.
 */

enum { KDL_CACHE_LEASE_MS = 10000, KDL_CACHE_LEASE_TOKEN_SIZE = 128 };

typedef struct kdl_cache_lease {
  bool is_held;
  char dir[PATH_MAX];
  char name[KDL_CACHE_NAME];
  char token[KDL_CACHE_LEASE_TOKEN_SIZE];
} kdl_cache_lease;

/* Waits while another process has the lease and `is_stored` returns false, at most so many
 * milliseconds and no longer than a lease of `lease_ms`. True where `is_stored` returned true.
 * False otherwise: the caller links, and out_lease->is_held where it got the lease. */
bool kdl_cache_lease_acquire(const kdl_cache_settings *settings, kdl_string link_key,
                             int64_t lease_ms, int64_t milliseconds, bool (*is_stored)(void *user),
                             void *user, kdl_cache_lease *out_lease);

void kdl_cache_lease_release(kdl_cache_lease *lease);

#endif
