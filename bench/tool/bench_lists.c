/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What several suites are asked in the same words. */
#include "bench.h"

#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { most_threads = 1024 };

bool cli_bench_next_word(const char **list, char *word, size_t size) {
  if (!*list || !**list)
    return false;
  size_t length = strcspn(*list, ",");
  snprintf(word, size, "%.*s", (int)length, *list);
  *list += length + ((*list)[length] == ',');
  return true;
}

static kdl_status add_count(uint32_t count, uint32_t *threads, size_t limit, size_t *out_count) {
  if (*out_count == limit)
    return kdl_fail(KDL_BAD_CALL, "--threads: too many values: use at most %zu", limit);
  threads[(*out_count)++] = count;
  return KDL_OK;
}

/* 1, 2, 4, ... and `most`. */
static kdl_status add_powers(unsigned most, uint32_t *threads, size_t limit, size_t *out_count) {
  for (unsigned power = 1; power < most; power *= 2)
    KDL_TRY(add_count(power, threads, limit, out_count));
  return add_count(most, threads, limit, out_count);
}

kdl_status cli_bench_parse_threads(const char *list, unsigned cpus, uint32_t *threads, size_t limit,
                                   size_t *out_count) {
  char word[32];
  unsigned most = cpus < most_threads ? cpus : most_threads;
  *out_count = 0;
  list = list ? list : most > 1 ? "1,all" : "1";
  while (cli_bench_next_word(&list, word, sizeof word)) {
    char *end = word;
    if (strcmp(word, "powers") == 0) {
      KDL_TRY(add_powers(most, threads, limit, out_count));
      continue;
    }
    bool all = strcmp(word, "all") == 0;
    unsigned long count = all ? most : strtoul(word, &end, 10);
    if (!all && (*word < '0' || *word > '9' || *end || !count || count > most))
      return kdl_fail(KDL_BAD_CALL, "--threads: bad value '%s': use 1 to %u, all or powers", word,
                      most);
    KDL_TRY(add_count((uint32_t)count, threads, limit, out_count));
  }
  return *out_count
             ? KDL_OK
             : kdl_fail(KDL_BAD_CALL, "--threads: missing value: use 1 to %u, all or powers", most);
}
