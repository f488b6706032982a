/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A bump allocator for memory that lives as long as a library: metadata strings, pair arrays,
 * labels. Blocks are freed together. */
#ifndef KDL_SUPPORT_BASE_ARENA_H
#define KDL_SUPPORT_BASE_ARENA_H

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

typedef struct kdl_arena_block kdl_arena_block;

typedef struct kdl_arena {
  kdl_arena_block *blocks;
  uint8_t *next;
  size_t left;
  size_t used;  /* bytes handed out so far */
  size_t limit; /* refuse to hand out more than this; 0 = no limit */
} kdl_arena;

/* Starts an empty arena in the caller's memory, which must outlive it. */
static inline void kdl_arena_init(kdl_arena *arena, void *memory, size_t size) {
  arena->next = memory;
  arena->left = size;
}

/* The slow path of kdl_arena_alloc: the current block has no room. */
void *kdl_arena_grow(kdl_arena *arena, size_t size);

/* NULL when out of memory or over the limit. Aligned for any pointer or 64-bit integer. */
static inline void *kdl_arena_alloc(kdl_arena *arena, size_t size) {
  size_t rounded = (size + 7) & ~(size_t)7;
  if (rounded == 0 || rounded > arena->left ||
      (arena->limit && rounded > arena->limit - arena->used))
    return kdl_arena_grow(arena, size);
  void *at = arena->next;
  arena->next += rounded;
  arena->left -= rounded;
  arena->used += rounded;
  return at;
}

/* A NUL-terminated copy; `data` is NULL when out of memory. */
kdl_string kdl_arena_string(kdl_arena *arena, const void *data, size_t length);

/* A formatted string; NULL when out of memory. */
const char *kdl_arena_format(kdl_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void kdl_arena_free(kdl_arena *arena);

#endif
