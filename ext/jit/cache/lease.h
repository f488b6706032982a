/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A lease announces "this machine is linking that entry", in a folder that machines share. It is
 * ext/jit/cache/claim.h without locks, which a network may ignore. Leases only save work.
 *
 * A lease is a file that only one process can create, with a unique token in it. Its holder removes
 * it. A waiter that sees the same token for the length of a lease, by its own clock, takes the
 * holder for dead and removes the file: clocks of different machines are never compared. Two
 * processes that both believe to hold a lease make the same entry twice.
 */
#ifndef KDL_EXT_JIT_CACHE_LEASE_H
#define KDL_EXT_JIT_CACHE_LEASE_H

#include "ext/jit/cache/files.h"

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
