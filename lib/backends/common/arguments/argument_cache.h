/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A cache of kernel arguments, for drivers that take them one by one before a launch: only those
 * that differ from the last launch are set again.
 *
 * A driver may look up the memory of an address or handle when the argument is set, and keep the
 * result. So a memory argument counts as unchanged only if it was libkdl's memory when it was set,
 * and nothing was freed since: the same address may now be other memory. Whether memory is libkdl's
 * is looked up when the same address is set the second time in a row, so that alternating buffers
 * cost no lookup. The caller's own memory is set every time.
 */
#ifndef KDL_LIB_BACKENDS_COMMON_ARGUMENTS_ARGUMENT_CACHE_H
#define KDL_LIB_BACKENDS_COMMON_ARGUMENTS_ARGUMENT_CACHE_H

#include "lib/backends/common/arguments/arguments.h"
#include "lib/backends/common/arguments/ranges.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* The driver's functions that set arguments; they return its errors, 0 for none. */
typedef struct kdl_argument_setter {
  const char *backend;
  const kdl_backend_services *services;
  int (*value)(void *handle, uint32_t index, size_t size, const void *value);
  int (*memory)(const void *device, void *handle, uint32_t index, uint64_t word);
  /* Records a failure of one of them. */
  kdl_status (*report_error)(const void *device, int error, bool is_memory, size_t index,
                             const char *kernel);
} kdl_argument_setter;

/* The arguments of a kernel. */
typedef struct kdl_argument_list {
  const kdl_argument_setter *setter;
  const void *device; /* for the setter, and its ordinal */
  uint32_t ordinal;
  uint32_t count;                  /* number of arguments */
  uint32_t group_index;            /* the driver's index of group memory, or KDL_NO_GROUP_MEMORY */
  uint16_t wide_count, word_count; /* arguments of eight and of four bytes */
  uint32_t other_words;            /* words of arguments of other sizes */
  bool has_others; /* has arguments of another or unknown size, which a launch does not compare */
  kdl_argument *arguments;
  kdl_ranges *ranges;
  const char *name;
  kdl_params params;
} kdl_argument_list;

/* Copies the description of the arguments. False when out of memory; free the list in either
 * case. */
bool kdl_argument_list_init(kdl_argument_list *list, const kdl_arguments *learnt);
void kdl_argument_list_free(kdl_argument_list *list);

/* ------------------------------------------------------------------------------------------ */
/* Cached values                                                                                */

/* The last value of an argument of eight or four bytes. */
typedef struct kdl_cached_word {
  uint64_t value;
  uint32_t index;    /* index in the arguments of the launch */
  uint32_t validity; /* KDL_CACHED_ */
} kdl_cached_word;

enum {
  KDL_CACHED_INVALID = 0,    /* not set, or unreliable */
  KDL_CACHED_UNVERIFIED = 1, /* memory of unknown owner */
  KDL_CACHED_VALID = 2,
};

/* Arguments of eight bytes first, then those of four, so that a launch compares without checking
 * sizes. */
typedef struct kdl_argument_cache {
  uint64_t
      repeatable; /* the generation of memory in which equal words mean equal arguments; 0: none */
  const kdl_cached_word *wide_end, *word_end;
  uint64_t generation; /* of memory, when the arguments were set */
  uint64_t serial;     /* serial of libkdl's last allocation then */
  uint32_t group_memory;
  bool complete; /* every argument was set */
  kdl_cached_word *words;
  uint64_t *others; /* values of other sizes, after the words */
} kdl_argument_cache;

/* The number of cached values of a kernel, and where they are stored. Initially zero. */
size_t kdl_argument_cache_value_count(const kdl_argument_list *list);
void kdl_argument_cache_init(kdl_argument_cache *cache, const kdl_argument_list *list,
                             uint64_t *values);

/* Sets the arguments that differ. `handle` is the driver's kernel. */
kdl_status kdl_argument_cache_set(kdl_argument_cache *cache, const kdl_argument_list *list,
                                  void *handle, const kdl_args *args, uint32_t group_memory);

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

static inline uint64_t kdl_word_at(const void *base, size_t offset) {
  uint64_t word;
  memcpy(&word, (const char *)base + offset, sizeof word);
  return word;
}

static inline bool kdl_word_matches(const kdl_cached_word *word, const void *const *pointers) {
  return kdl_word_at(pointers[word->index], 0) == word->value;
}

static inline bool kdl_half_matches(const kdl_cached_word *word, const void *const *pointers) {
  uint32_t half;
  memcpy(&half, pointers[word->index], sizeof half);
  return half == (uint32_t)word->value;
}

/* Whether no argument of eight or four bytes differs from its last value. */
static inline __attribute__((always_inline)) bool
kdl_argument_cache_matches(const kdl_argument_cache *cache, const void *const *pointers) {
  const kdl_cached_word *word = cache->words;
  for (; word != cache->wide_end; ++word) {
    if (!kdl_word_matches(word, pointers))
      return false;
  }
  for (; word != cache->word_end; ++word) {
    if (!kdl_half_matches(word, pointers))
      return false;
  }
  return true;
}

/* The same for constant counts, which the compiler unrolls: half the instructions. */
static inline __attribute__((always_inline)) bool kdl_words_match(const kdl_cached_word *words,
                                                                  unsigned wide_count,
                                                                  unsigned word_count,
                                                                  const void *const *pointers) {
#pragma GCC unroll 4
  for (unsigned i = 0; i < wide_count; ++i) {
    if (__builtin_expect(!kdl_word_matches(&words[i], pointers), 0))
      return false;
  }
#pragma GCC unroll 4
  for (unsigned i = 0; i < word_count; ++i) {
    if (__builtin_expect(!kdl_half_matches(&words[wide_count + i], pointers), 0))
      return false;
  }
  return true;
}

/* The most arguments of eight bytes, and of four, for which there are unrolled entries; most
 * kernels have fewer. */
enum { KDL_MAX_UNROLLED = 4 };
#define KDL_EACH_UNROLLED(entry)                                                                   \
  entry(0, 1) entry(0, 2) entry(0, 3) entry(0, 4) entry(1, 0) entry(1, 1) entry(1, 2) entry(1, 3)  \
      entry(1, 4) entry(2, 0) entry(2, 1) entry(2, 2) entry(2, 3) entry(2, 4) entry(3, 0)          \
          entry(3, 1) entry(3, 2) entry(3, 3) entry(3, 4) entry(4, 0) entry(4, 1) entry(4, 2)      \
              entry(4, 3) entry(4, 4)

/* Defines the unrolled entries from a backend's launch_few(head, desc, args, queue, wide_count,
 * word_count), and a table of them by these counts. */
#define KDL_UNROLLED_ENTRY(wide_count, word_count)                                                 \
  static kdl_status launch_##wide_count##_##word_count(const kdl_kernel_head *head,                \
                                                       const kdl_launch_desc *desc,                \
                                                       const kdl_args *args, void *queue) {        \
    return launch_few(head, desc, args, queue, wide_count, word_count);                            \
  }
#define KDL_UNROLLED_ROW(wide_count, word_count)                                                   \
  [wide_count][word_count] = launch_##wide_count##_##word_count,

static inline bool kdl_argument_list_is_unrolled(const kdl_argument_list *list) {
  return !list->has_others && list->wide_count <= KDL_MAX_UNROLLED &&
         list->word_count <= KDL_MAX_UNROLLED;
}

/* Defines the function that selects a kernel's entry: an unrolled one, or the backend's launch_bare
 * or launch_many. */
#define KDL_UNROLLED_SELECTOR(name)                                                                \
  kdl_launch_entry *name(const kdl_argument_list *list) {                                          \
    static kdl_launch_entry *const few[KDL_MAX_UNROLLED + 1][KDL_MAX_UNROLLED + 1] = {             \
        [0][0] = launch_bare, KDL_EACH_UNROLLED(KDL_UNROLLED_ROW)};                                \
    return kdl_argument_list_is_unrolled(list) ? few[list->wide_count][list->word_count]           \
                                               : launch_many;                                      \
  }

/* Zero if 16 bytes equal the cached ones, which are aligned to 16. */
static inline __attribute__((always_inline)) uint64_t kdl_differ_16(const void *bytes,
                                                                    const void *remembered) {
#if defined(__SSE2__)
  __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128(bytes), _mm_load_si128(remembered));
  return 0xffffU ^ (unsigned)_mm_movemask_epi8(same);
#else
  return (kdl_word_at(bytes, 0) ^ kdl_word_at(remembered, 0)) |
         (kdl_word_at(bytes, 8) ^ kdl_word_at(remembered, 8));
#endif
}

/* The same for 32 bytes. */
static inline __attribute__((always_inline)) uint64_t kdl_differ_32(const void *bytes,
                                                                    const void *remembered) {
#if defined(__SSE2__)
  const __m128i *now = bytes, *then = remembered;
  __m128i same = _mm_and_si128(_mm_cmpeq_epi8(_mm_loadu_si128(now), _mm_load_si128(then)),
                               _mm_cmpeq_epi8(_mm_loadu_si128(now + 1), _mm_load_si128(then + 1)));
  return 0xffffU ^ (unsigned)_mm_movemask_epi8(same);
#else
  return kdl_differ_16(bytes, remembered) |
         kdl_differ_16((const char *)bytes + 16, (const char *)remembered + 16);
#endif
}

#endif
