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

/* More than `most_kept` is given back: by the time that it is filled, allocating it is nothing. */
enum { alignment = 64, most_kept = 1 << 20 };

/* In front of the memory, which is aligned as this is. */
typedef struct {
  _Alignas(alignment) size_t size;
} block;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;

static void create_key(void) {
  key_error = pthread_key_create(&key, free);
}

static block *kept(void) {
  pthread_once(&key_once, create_key);
  return key_error ? NULL : pthread_getspecific(key);
}

void *kdl_host_group_memory_take(size_t size) {
  void *memory = NULL;
  block *found = kept();
  if (found && found->size >= size) {
    (void)pthread_setspecific(key, NULL);
    return found + 1;
  }
  if (posix_memalign(&memory, alignment, sizeof *found + size) != 0)
    return NULL;
  block *made = memory;
  made->size = size;
  return made + 1;
}

void kdl_host_group_memory_give(void *memory) {
  if (!memory)
    return;
  block *given = (block *)memory - 1;
  block *found = kept();
  bool is_better = given->size <= most_kept && (!found || found->size < given->size);
  if (!key_error && is_better && pthread_setspecific(key, given) == 0)
    given = found;
  free(given);
}
