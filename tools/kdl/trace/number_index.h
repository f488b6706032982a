/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Items of a list by the hashes of their keys. The caller adds them in the order of the list, and
 * compares the keys of those that have a hash, the newest first:
 *
 *     for (size_t i = cli_index_newest(&index, hash); i != CLI_INDEX_NONE;
 *          i = cli_index_older(&index, i))
 */
#ifndef KDL_TOOLS_KDL_TRACE_NUMBER_INDEX_H
#define KDL_TOOLS_KDL_TRACE_NUMBER_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define CLI_INDEX_NONE SIZE_MAX

typedef struct cli_index_item {
  uint64_t hash;
  size_t older; /* of the same bucket; CLI_INDEX_NONE after the last */
} cli_index_item;

/* All zero at first. */
typedef struct cli_index {
  cli_index_item *items;
  size_t count, room;
  size_t *buckets; /* the newest item of each */
  size_t bucket_count;
} cli_index;

void cli_index_add(cli_index *index, uint64_t hash);
void cli_index_free(cli_index *index);

size_t cli_index_newest(const cli_index *index, uint64_t hash);
size_t cli_index_older(const cli_index *index, size_t item);

#endif
