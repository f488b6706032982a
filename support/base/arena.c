/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kdl_arena_block {
  kdl_arena_block *previous;
  max_align_t bytes[];
};

/* The largest block that glibc's malloc serves from a thread's own cache. */
enum { first_block = 1008, largest_block = 256 * 1024, alignment = 8 };

void *kdl_arena_grow(kdl_arena *arena, size_t size) {
  if (size > SIZE_MAX / 2)
    return NULL;
  if (size == 0)
    size = 1; /* so that NULL always means failure */
  size = (size + alignment - 1) & ~(size_t)(alignment - 1);
  if (arena->limit && size > arena->limit - arena->used)
    return NULL;
  if (size <= arena->left)
    return kdl_arena_alloc(arena, size);
  size_t capacity = first_block;
  while (capacity < arena->used && capacity < largest_block)
    capacity *= 2;
  if (capacity < size)
    capacity = size;
  kdl_arena_block *block = malloc(sizeof *block + capacity);
  if (!block)
    return NULL;
  block->previous = arena->blocks;
  arena->blocks = block;
  arena->next = (uint8_t *)block->bytes + size;
  arena->left = capacity - size;
  arena->used += size;
  return block->bytes;
}

kdl_string kdl_arena_string(kdl_arena *arena, const void *data, size_t length) {
  char *copy = kdl_arena_alloc(arena, length + 1);
  if (!copy)
    return (kdl_string){NULL, 0};
  if (length)
    memcpy(copy, data, length);
  copy[length] = '\0';
  return (kdl_string){copy, length};
}

const char *kdl_arena_format(kdl_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = length < 0 ? NULL : kdl_arena_alloc(arena, (size_t)length + 1);
  if (text)
    vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void kdl_arena_free(kdl_arena *arena) {
  while (arena->blocks) {
    kdl_arena_block *block = arena->blocks;
    arena->blocks = block->previous;
    free(block);
  }
  *arena = (kdl_arena){.limit = arena->limit};
}
