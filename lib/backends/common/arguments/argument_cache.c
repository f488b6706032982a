/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/arguments/argument_cache.h"

#include "support/base/error.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static uint32_t argument_word_count(const kdl_argument *argument) {
  return (argument->size + 7) / 8;
}

/* Assigns the next slots, of one word each, to the arguments of one size. */
static uint16_t assign_size(kdl_argument_list *list, uint32_t size, uint32_t *slot) {
  uint32_t first = *slot;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->arguments[i].size == size)
      list->arguments[i].slot = (*slot)++;
  }
  return (uint16_t)(*slot - first);
}

static void assign_slots(kdl_argument_list *list) {
  uint32_t slot = 0;
  list->wide_count = assign_size(list, 8, &slot);
  list->word_count = assign_size(list, 4, &slot);
  list->has_others = slot < list->count;
  for (uint32_t i = 0; i < list->count; ++i) {
    kdl_argument *argument = &list->arguments[i];
    if (argument->size == 8 || argument->size == 4)
      continue;
    argument->slot = list->other_words;
    list->other_words += argument_word_count(argument);
  }
}

bool kdl_argument_list_init(kdl_argument_list *list, const kdl_arguments *learnt) {
  list->count = learnt->count;
  list->group_index = learnt->group_index;
  list->arguments = malloc((learnt->count + 1) * sizeof *list->arguments);
  if (!list->arguments)
    return false;
  memcpy(list->arguments, learnt->list, learnt->count * sizeof *list->arguments);
  assign_slots(list);
  return kdl_arguments_lay_out(learnt, &list->params);
}

void kdl_argument_list_free(kdl_argument_list *list) {
  kdl_params_free(&list->params);
  free(list->arguments);
}

/* ------------------------------------------------------------------------------------------ */
/* Cached values                                                                                */

static size_t compared_count(const kdl_argument_list *list) {
  return (size_t)list->wide_count + list->word_count;
}

size_t kdl_argument_cache_value_count(const kdl_argument_list *list) {
  return compared_count(list) * (sizeof(kdl_cached_word) / sizeof(uint64_t)) + list->other_words;
}

void kdl_argument_cache_init(kdl_argument_cache *cache, const kdl_argument_list *list,
                             uint64_t *values) {
  cache->words = (kdl_cached_word *)values;
  cache->wide_end = cache->words + list->wide_count;
  cache->word_end = cache->words + compared_count(list);
  cache->others = (uint64_t *)(cache->words + compared_count(list));
  for (uint32_t i = 0; i < list->count; ++i) {
    const kdl_argument *argument = &list->arguments[i];
    if (argument->size == 8 || argument->size == 4)
      cache->words[argument->slot].index = i;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Setting                                                                                      */

/* One launch. */
typedef struct {
  kdl_argument_cache *cache;
  const kdl_argument_list *list;
  void *handle;
  const kdl_args *args;
  bool is_verified; /* all memory arguments are known to be libkdl's */
} argument_update;

__attribute__((cold)) static kdl_status argument_refused(const argument_update *g, size_t index,
                                                         int error, bool is_memory) {
  const kdl_argument_list *list = g->list;
  g->cache->complete = false;
  g->cache->repeatable = 0;
  return list->setter->report_error(list->device, error, is_memory, index, list->name);
}

static kdl_status set_value(const argument_update *g, size_t index, size_t size) {
  const kdl_argument_list *list = g->list;
  int error =
      list->setter->value(g->handle, list->arguments[index].index, size, g->args->pointers[index]);
  return error ? argument_refused(g, index, error, false) : KDL_OK;
}

static kdl_status set_memory(argument_update *g, kdl_cached_word *word, uint64_t address) {
  const kdl_argument_list *list = g->list;
  if (word->validity == KDL_CACHED_UNVERIFIED && address == word->value &&
      (!address || kdl_ranges_contain(list->ranges, address, g->cache->serial))) {
    word->validity = KDL_CACHED_VALID;
    return KDL_OK;
  }
  g->is_verified = false;
  word->validity = KDL_CACHED_INVALID;
  int error =
      list->setter->memory(list->device, g->handle, list->arguments[word->index].index, address);
  if (error)
    return argument_refused(g, word->index, error, true);
  word->value = address;
  word->validity = KDL_CACHED_UNVERIFIED;
  return KDL_OK;
}

static kdl_status set_word(argument_update *g, kdl_cached_word *word, uint64_t value, size_t size) {
  if (g->list->arguments[word->index].kind == KDL_ARGUMENT_MEMORY)
    return set_memory(g, word, value);
  word->validity = KDL_CACHED_INVALID;
  KDL_TRY(set_value(g, word->index, size));
  word->value = value;
  word->validity = KDL_CACHED_VALID;
  return KDL_OK;
}

static kdl_status set_words(argument_update *g) {
  const kdl_argument_cache *cache = g->cache;
  const void *const *pointers = g->args->pointers;
  kdl_cached_word *word = cache->words;
  for (; word != cache->wide_end; ++word) {
    if (word->validity == KDL_CACHED_VALID && kdl_word_matches(word, pointers))
      continue;
    kdl_status status = set_word(g, word, kdl_word_at(pointers[word->index], 0), 8);
    if (status != KDL_OK)
      return status;
  }
  for (; word != cache->word_end; ++word) {
    uint32_t half;
    if (word->validity == KDL_CACHED_VALID && kdl_half_matches(word, pointers))
      continue;
    memcpy(&half, pointers[word->index], sizeof half);
    kdl_status status = set_word(g, word, half, 4);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* The same addresses may now be other memory. */
static void invalidate_memory(const argument_update *g) {
  const kdl_argument_cache *cache = g->cache;
  for (kdl_cached_word *word = cache->words; word != cache->wide_end; ++word) {
    if (g->list->arguments[word->index].kind == KDL_ARGUMENT_MEMORY)
      word->validity = KDL_CACHED_INVALID;
  }
}

/* Sets an argument of another size, or of a size that only the caller knows, which is not
 * cached. */
static kdl_status set_other(const argument_update *g, size_t index) {
  const kdl_argument_list *list = g->list;
  const kdl_argument *argument = &list->arguments[index];
  const kdl_args *args = g->args;
  if (!argument->size && !args->sizes)
    return list->setter->services->fail(
        KDL_BAD_CALL, 0,
        "%s:%u: argument %zu of \"%s\": its size is not known; give the sizes, or a "
        "signature",
        list->setter->backend, list->ordinal, index, list->name);
  if (!argument->size)
    return set_value(g, index, args->sizes[index]);
  uint64_t *last = g->cache->others + argument->slot;
  if (g->cache->complete && memcmp(last, args->pointers[index], argument->size) == 0)
    return KDL_OK;
  KDL_TRY(set_value(g, index, argument->size));
  memcpy(last, args->pointers[index], argument->size);
  return KDL_OK;
}

static kdl_status set_others(const argument_update *g) {
  for (size_t i = 0; i < g->list->count; ++i) {
    uint32_t size = g->list->arguments[i].size;
    if (size != 8 && size != 4)
      KDL_TRY(set_other(g, i));
  }
  return KDL_OK;
}

static kdl_status set_group_memory(const argument_update *g, uint32_t size) {
  const kdl_argument_list *list = g->list;
  if (list->group_index == KDL_NO_GROUP_MEMORY)
    return size == 0 ? KDL_OK
                     : list->setter->services->fail(
                           KDL_UNSUPPORTED, 0,
                           "%s:%u: found %u bytes of dynamic group memory, and \"%s\" has no "
                           "parameter for it",
                           list->setter->backend, list->ordinal, size, list->name);
  if (g->cache->complete && size == g->cache->group_memory)
    return KDL_OK;
  int error = list->setter->value(g->handle, list->group_index, size ? size : 1, NULL);
  if (error)
    return argument_refused(g, list->group_index, error, false);
  g->cache->group_memory = size;
  return KDL_OK;
}

kdl_status kdl_argument_cache_set(kdl_argument_cache *cache, const kdl_argument_list *list,
                                  void *handle, const kdl_args *args, uint32_t group_memory) {
  /* Read before memory is set, so that a concurrent free or allocation shows the next time. */
  uint64_t generation = atomic_load_explicit(&list->ranges->generation, memory_order_relaxed);
  uint64_t serial = atomic_load_explicit(&list->ranges->serial, memory_order_relaxed);
  argument_update g = {cache, list, handle, args, .is_verified = true};
  if (args->count != list->count)
    return list->setter->services->fail(KDL_BAD_CALL, 0, "%s: found %zu arguments, expected %u",
                                        list->name, args->count, list->count);
  if (cache->generation != generation)
    invalidate_memory(&g);
  KDL_TRY(set_group_memory(&g, group_memory));
  KDL_TRY(set_words(&g));
  if (list->has_others)
    KDL_TRY(set_others(&g));
  cache->complete = true;
  cache->generation = generation;
  cache->serial = serial;
  cache->repeatable = g.is_verified && !list->has_others ? generation : 0;
  return KDL_OK;
}
