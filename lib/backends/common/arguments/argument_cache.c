/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/arguments/argument_cache.h"

#include "support/base/error.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static uint32_t words_of(const kdl_argument *argument) {
  return (argument->size + 7) / 8;
}

/* Gives the arguments of one size the next slots, a word each. */
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
    list->other_words += words_of(argument);
  }
}

bool kdl_argument_list_keep(kdl_argument_list *list, const kdl_arguments *learnt) {
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
/* What was given last                                                                          */

static size_t watched(const kdl_argument_list *list) {
  return (size_t)list->wide_count + list->word_count;
}

size_t kdl_argument_cache_value_count(const kdl_argument_list *list) {
  return watched(list) * (sizeof(kdl_cached_word) / sizeof(uint64_t)) + list->other_words;
}

void kdl_argument_cache_begin(kdl_argument_cache *given, const kdl_argument_list *list,
                              uint64_t *values) {
  given->words = (kdl_cached_word *)values;
  given->wide_end = given->words + list->wide_count;
  given->word_end = given->words + watched(list);
  given->others = (uint64_t *)(given->words + watched(list));
  for (uint32_t i = 0; i < list->count; ++i) {
    const kdl_argument *argument = &list->arguments[i];
    if (argument->size == 8 || argument->size == 4)
      given->words[argument->slot].index = i;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Giving                                                                                       */

/* One launch. */
typedef struct {
  kdl_argument_cache *given;
  const kdl_argument_list *list;
  void *handle;
  const kdl_args *args;
  bool is_settled; /* it is known of all memory whose it is, and it is libkdl's */
} giving;

__attribute__((cold)) static kdl_status refused(const giving *g, size_t index, int error,
                                                bool is_memory) {
  const kdl_argument_list *list = g->list;
  g->given->complete = false;
  g->given->repeatable = 0;
  return list->setter->refused(list->device, error, is_memory, index, list->name);
}

static kdl_status give_value(const giving *g, size_t index, size_t size) {
  const kdl_argument_list *list = g->list;
  int error =
      list->setter->value(g->handle, list->arguments[index].index, size, g->args->pointers[index]);
  return error ? refused(g, index, error, false) : KDL_OK;
}

static kdl_status give_memory(giving *g, kdl_cached_word *word, uint64_t address) {
  const kdl_argument_list *list = g->list;
  if (word->stands == KDL_CACHED_ONCE && address == word->value &&
      (!address || kdl_ranges_hold(list->ranges, address, g->given->serial))) {
    word->stands = KDL_CACHED_WELL;
    return KDL_OK;
  }
  g->is_settled = false;
  word->stands = KDL_CACHED_NOT;
  int error =
      list->setter->memory(list->device, g->handle, list->arguments[word->index].index, address);
  if (error)
    return refused(g, word->index, error, true);
  word->value = address;
  word->stands = KDL_CACHED_ONCE;
  return KDL_OK;
}

static kdl_status give_word(giving *g, kdl_cached_word *word, uint64_t value, size_t size) {
  if (g->list->arguments[word->index].kind == KDL_ARGUMENT_MEMORY)
    return give_memory(g, word, value);
  word->stands = KDL_CACHED_NOT;
  KDL_TRY(give_value(g, word->index, size));
  word->value = value;
  word->stands = KDL_CACHED_WELL;
  return KDL_OK;
}

static kdl_status give_words(giving *g) {
  const kdl_argument_cache *given = g->given;
  const void *const *pointers = g->args->pointers;
  kdl_cached_word *word = given->words;
  for (; word != given->wide_end; ++word) {
    if (word->stands == KDL_CACHED_WELL && kdl_word_stands(word, pointers))
      continue;
    kdl_status status = give_word(g, word, kdl_word_at(pointers[word->index], 0), 8);
    if (status != KDL_OK)
      return status;
  }
  for (; word != given->word_end; ++word) {
    uint32_t half;
    if (word->stands == KDL_CACHED_WELL && kdl_half_stands(word, pointers))
      continue;
    memcpy(&half, pointers[word->index], sizeof half);
    kdl_status status = give_word(g, word, half, 4);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* Addresses may be other memory by now. */
static void doubt_memory(const giving *g) {
  const kdl_argument_cache *given = g->given;
  for (kdl_cached_word *word = given->words; word != given->wide_end; ++word) {
    if (g->list->arguments[word->index].kind == KDL_ARGUMENT_MEMORY)
      word->stands = KDL_CACHED_NOT;
  }
}

/* One of another size, or of a size that the caller has to tell, which is not remembered. */
static kdl_status give_other(const giving *g, size_t index) {
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
    return give_value(g, index, args->sizes[index]);
  uint64_t *last = g->given->others + argument->slot;
  if (g->given->complete && memcmp(last, args->pointers[index], argument->size) == 0)
    return KDL_OK;
  KDL_TRY(give_value(g, index, argument->size));
  memcpy(last, args->pointers[index], argument->size);
  return KDL_OK;
}

static kdl_status give_others(const giving *g) {
  for (size_t i = 0; i < g->list->count; ++i) {
    uint32_t size = g->list->arguments[i].size;
    if (size != 8 && size != 4)
      KDL_TRY(give_other(g, i));
  }
  return KDL_OK;
}

static kdl_status give_group_memory(const giving *g, uint32_t size) {
  const kdl_argument_list *list = g->list;
  if (list->group_index == KDL_NO_GROUP_MEMORY)
    return size == 0 ? KDL_OK
                     : list->setter->services->fail(
                           KDL_UNSUPPORTED, 0,
                           "%s:%u: found %u bytes of dynamic group memory, and \"%s\" has no "
                           "parameter for it",
                           list->setter->backend, list->ordinal, size, list->name);
  if (g->given->complete && size == g->given->group_memory)
    return KDL_OK;
  int error = list->setter->value(g->handle, list->group_index, size ? size : 1, NULL);
  if (error)
    return refused(g, list->group_index, error, false);
  g->given->group_memory = size;
  return KDL_OK;
}

kdl_status kdl_argument_cache_set(kdl_argument_cache *given, const kdl_argument_list *list,
                                  void *handle, const kdl_args *args, uint32_t group_memory) {
  /* Read before memory is given: what is freed or allocated meanwhile shows the next time. */
  uint64_t generation = atomic_load_explicit(&list->ranges->generation, memory_order_relaxed);
  uint64_t serial = atomic_load_explicit(&list->ranges->serial, memory_order_relaxed);
  giving g = {given, list, handle, args, .is_settled = true};
  if (args->count != list->count)
    return list->setter->services->fail(KDL_BAD_CALL, 0, "%s: found %zu arguments, expected %u",
                                        list->name, args->count, list->count);
  if (given->generation != generation)
    doubt_memory(&g);
  KDL_TRY(give_group_memory(&g, group_memory));
  KDL_TRY(give_words(&g));
  if (list->has_others)
    KDL_TRY(give_others(&g));
  given->complete = true;
  given->generation = generation;
  given->serial = serial;
  given->repeatable = g.is_settled && !list->has_others ? generation : 0;
  return KDL_OK;
}
