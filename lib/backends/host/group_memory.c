/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Group memory. Each thread keeps the last that it had, so that launching again allocates nothing;
 * what was taken is not there to be taken twice, should a kernel launch another. A thread that ends
 * gives back what it kept.
 */
#include "lib/backends/host/host.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* More than `max_cached` is given back: by the time that it is filled, allocating it is nothing.
 * Much of it is in huge pages: in small ones, the same product took up to 1.7 times as long in one
 * process as in another (docs/matmul.md). */
enum { alignment = 64, max_cached = 4 << 20, huge_page = 2 << 20 };

/* In front of the memory, which is aligned as this is. */
typedef struct {
  _Alignas(alignment) size_t size;
} block;

static pthread_once_t host_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t host_block_key;
static int host_key_error;

static void host_create_key(void) {
  host_key_error = pthread_key_create(&host_block_key, free);
}

static block *host_cached_block(void) {
  pthread_once(&host_key_once, host_create_key);
  return host_key_error ? NULL : pthread_getspecific(host_block_key);
}

void *kdl_host_group_memory_acquire(size_t size) {
  void *memory = NULL;
  block *found = host_cached_block();
  if (found && found->size >= size) {
    (void)pthread_setspecific(host_block_key, NULL);
    return found + 1;
  }
  size_t needed = sizeof *found + size;
  if (needed > huge_page / 4)
    needed = (needed + huge_page - 1) / huge_page * huge_page;
  if (posix_memalign(&memory, needed % huge_page ? alignment : huge_page, needed) != 0)
    return NULL;
  if (needed % huge_page == 0)
    (void)madvise(memory, needed, MADV_HUGEPAGE);
  block *made = memory;
  made->size = size;
  return made + 1;
}

void kdl_host_group_memory_release(void *memory) {
  if (!memory)
    return;
  block *released = (block *)memory - 1;
  block *found = host_cached_block();
  bool is_better = released->size <= max_cached && (!found || found->size < released->size);
  if (!host_key_error && is_better && pthread_setspecific(host_block_key, released) == 0)
    released = found;
  free(released);
}
