/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * "This machine is making that entry", in a folder that machines share: ext/jit/cache/claim.h
 * without locks, which a network may ignore. Nothing depends on it but work done twice.
 *
 * A lease is a file that only one process can create, with a word in it that no other lease has.
 * Its holder removes it. A waiter that has seen the same word for the length of a lease, by its own
 * clock, takes the holder for dead and removes it too: clocks of different machines are never
 * compared. Two processes that both believe to hold a lease make the same entry twice.
 */
#ifndef KDL_CACHE_LEASE_H
#define KDL_CACHE_LEASE_H

#include "ext/jit/cache/files.h"

enum { KDL_CACHE_LEASE_MS = 10000, KDL_CACHE_LEASE_TOKEN_SIZE = 128 };

typedef struct kdl_cache_lease {
  bool is_held;
  char dir[PATH_MAX];
  char name[KDL_CACHE_NAME];
  char token[KDL_CACHE_LEASE_TOKEN_SIZE];
} kdl_cache_lease;

/* Waits while another process has the lease and `is_there` says that the entry is not; for at most
 * so many milliseconds, and no longer than a lease of `lease_ms` lasts. True where `is_there` said
 * yes. Otherwise out_lease->is_held, and false where no lease could be had: then the caller goes
 * ahead without one. */
bool kdl_cache_lease_acquire(const kdl_cache_settings *settings, kdl_string link_key,
                             int64_t lease_ms, int64_t milliseconds, bool (*is_stored)(void *user),
                             void *user, kdl_cache_lease *out_lease);

void kdl_cache_lease_release(kdl_cache_lease *lease);

#endif
