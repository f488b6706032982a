/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/common/given.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static uint32_t words_of(const kdl_argument *argument) {
  return (argument->size + 7) / 8;
}

/* Gives the arguments of one size the next slots, a word each. */
static uint16_t assign_size(kdl_taker *taker, uint32_t size, uint32_t *slot) {
  uint32_t first = *slot;
  for (uint32_t i = 0; i < taker->count; ++i) {
    if (taker->arguments[i].size == size)
      taker->arguments[i].slot = (*slot)++;
  }
  return (uint16_t)(*slot - first);
}

static void assign_slots(kdl_taker *taker) {
  uint32_t slot = 0;
  taker->wide_count = assign_size(taker, 8, &slot);
  taker->word_count = assign_size(taker, 4, &slot);
  taker->has_others = slot < taker->count;
  for (uint32_t i = 0; i < taker->count; ++i) {
    kdl_argument *argument = &taker->arguments[i];
    if (argument->size == 8 || argument->size == 4)
      continue;
    argument->slot = taker->other_words;
    taker->other_words += words_of(argument);
  }
}

bool kdl_taker_keep(kdl_taker *taker, const kdl_arguments *learnt) {
  taker->count = learnt->count;
  taker->group_index = learnt->group_index;
  taker->arguments = malloc((learnt->count + 1) * sizeof *taker->arguments);
  if (!taker->arguments)
    return false;
  memcpy(taker->arguments, learnt->list, learnt->count * sizeof *taker->arguments);
  assign_slots(taker);
  return kdl_arguments_lay_out(learnt, &taker->params);
}

void kdl_taker_free(kdl_taker *taker) {
  kdl_params_free(&taker->params);
  free(taker->arguments);
}

/* ------------------------------------------------------------------------------------------ */
/* What was given last                                                                          */

static size_t watched(const kdl_taker *taker) {
  return (size_t)taker->wide_count + taker->word_count;
}

size_t kdl_given_value_count(const kdl_taker *taker) {
  return watched(taker) * (sizeof(kdl_given_word) / sizeof(uint64_t)) + taker->other_words;
}

void kdl_given_begin(kdl_given *given, const kdl_taker *taker, uint64_t *values) {
  given->words = (kdl_given_word *)values;
  given->wide_end = given->words + taker->wide_count;
  given->word_end = given->words + watched(taker);
  given->others = (uint64_t *)(given->words + watched(taker));
  for (uint32_t i = 0; i < taker->count; ++i) {
    const kdl_argument *argument = &taker->arguments[i];
    if (argument->size == 8 || argument->size == 4)
      given->words[argument->slot].index = i;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Giving                                                                                       */

/* One launch. */
typedef struct {
  kdl_given *given;
  const kdl_taker *taker;
  void *handle;
  const kdl_args *args;
  bool is_settled; /* it is known of all memory whose it is, and it is libkdl's */
} giving;

__attribute__((cold)) static kdl_status refused(const giving *g, size_t index, int error,
                                                bool is_memory) {
  const kdl_taker *taker = g->taker;
  g->given->complete = false;
  g->given->repeatable = 0;
  return taker->giver->refused(taker->device, error, is_memory, index, taker->name);
}

static kdl_status give_value(const giving *g, size_t index, size_t size) {
  const kdl_taker *taker = g->taker;
  int error =
      taker->giver->value(g->handle, taker->arguments[index].index, size, g->args->pointers[index]);
  return error ? refused(g, index, error, false) : KDL_OK;
}

static kdl_status give_memory(giving *g, kdl_given_word *word, uint64_t address) {
  const kdl_taker *taker = g->taker;
  if (word->stands == KDL_GIVEN_ONCE && address == word->value &&
      (!address || kdl_ranges_hold(taker->ranges, address, g->given->serial))) {
    word->stands = KDL_GIVEN_WELL;
    return KDL_OK;
  }
  g->is_settled = false;
  word->stands = KDL_GIVEN_NOT;
  int error =
      taker->giver->memory(taker->device, g->handle, taker->arguments[word->index].index, address);
  if (error)
    return refused(g, word->index, error, true);
  word->value = address;
  word->stands = KDL_GIVEN_ONCE;
  return KDL_OK;
}

static kdl_status give_word(giving *g, kdl_given_word *word, uint64_t value, size_t size) {
  if (g->taker->arguments[word->index].kind == KDL_ARGUMENT_MEMORY)
    return give_memory(g, word, value);
  word->stands = KDL_GIVEN_NOT;
  kdl_status status = give_value(g, word->index, size);
  if (status != KDL_OK)
    return status;
  word->value = value;
  word->stands = KDL_GIVEN_WELL;
  return KDL_OK;
}

static kdl_status give_words(giving *g) {
  const kdl_given *given = g->given;
  const void *const *pointers = g->args->pointers;
  kdl_given_word *word = given->words;
  for (; word != given->wide_end; ++word) {
    if (word->stands == KDL_GIVEN_WELL && kdl_word_stands(word, pointers))
      continue;
    kdl_status status = give_word(g, word, kdl_word_at(pointers[word->index], 0), 8);
    if (status != KDL_OK)
      return status;
  }
  for (; word != given->word_end; ++word) {
    uint32_t half;
    if (word->stands == KDL_GIVEN_WELL && kdl_half_stands(word, pointers))
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
  const kdl_given *given = g->given;
  for (kdl_given_word *word = given->words; word != given->wide_end; ++word) {
    if (g->taker->arguments[word->index].kind == KDL_ARGUMENT_MEMORY)
      word->stands = KDL_GIVEN_NOT;
  }
}

/* One of another size, or of a size that the caller has to tell, which is not remembered. */
static kdl_status give_other(const giving *g, size_t index) {
  const kdl_taker *taker = g->taker;
  const kdl_argument *argument = &taker->arguments[index];
  const kdl_args *args = g->args;
  if (!argument->size && !args->sizes)
    return (*taker->giver->host)
        ->fail(KDL_BAD_CALL, 0,
               "%s:%u: argument %zu of \"%s\": its size is not known; give the sizes, or a "
               "signature",
               taker->giver->backend, taker->ordinal, index, taker->name);
  if (!argument->size)
    return give_value(g, index, args->sizes[index]);
  uint64_t *last = g->given->others + argument->slot;
  if (g->given->complete && memcmp(last, args->pointers[index], argument->size) == 0)
    return KDL_OK;
  kdl_status status = give_value(g, index, argument->size);
  if (status == KDL_OK)
    memcpy(last, args->pointers[index], argument->size);
  return status;
}

static kdl_status give_others(const giving *g) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < g->taker->count && status == KDL_OK; ++i) {
    uint32_t size = g->taker->arguments[i].size;
    if (size != 8 && size != 4)
      status = give_other(g, i);
  }
  return status;
}

static kdl_status give_group_memory(const giving *g, uint32_t size) {
  const kdl_taker *taker = g->taker;
  if (taker->group_index == KDL_NO_GROUP_MEMORY)
    return size == 0
               ? KDL_OK
               : (*taker->giver->host)
                     ->fail(KDL_UNSUPPORTED, 0,
                            "%s:%u: found %u bytes of dynamic group memory, and \"%s\" has no "
                            "parameter for it",
                            taker->giver->backend, taker->ordinal, size, taker->name);
  if (g->given->complete && size == g->given->group_memory)
    return KDL_OK;
  int error = taker->giver->value(g->handle, taker->group_index, size ? size : 1, NULL);
  if (error)
    return refused(g, taker->group_index, error, false);
  g->given->group_memory = size;
  return KDL_OK;
}

kdl_status kdl_given_set(kdl_given *given, const kdl_taker *taker, void *handle,
                         const kdl_args *args, uint32_t group_memory) {
  /* Read before memory is given: what is freed or allocated meanwhile shows the next time. */
  uint64_t generation = atomic_load_explicit(&taker->ranges->generation, memory_order_relaxed);
  uint64_t serial = atomic_load_explicit(&taker->ranges->serial, memory_order_relaxed);
  giving g = {given, taker, handle, args, .is_settled = true};
  if (args->count != taker->count)
    return (*taker->giver->host)
        ->fail(KDL_BAD_CALL, 0, "%s: found %zu arguments, expected %u", taker->name, args->count,
               taker->count);
  if (given->generation != generation)
    doubt_memory(&g);
  kdl_status status = give_group_memory(&g, group_memory);
  if (status == KDL_OK)
    status = give_words(&g);
  if (status == KDL_OK && taker->has_others)
    status = give_others(&g);
  if (status != KDL_OK)
    return status;
  given->complete = true;
  given->generation = generation;
  given->serial = serial;
  given->repeatable = g.is_settled && !taker->has_others ? generation : 0;
  return KDL_OK;
}
