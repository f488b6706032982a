/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/trace/number_index.h"

#include "tools/common/memory.h"

#include <stdlib.h>

static size_t *bucket_of(const cli_index *index, uint64_t hash) {
  return &index->buckets[hash & (index->bucket_count - 1)];
}

static void link_item(cli_index *index, size_t item) {
  size_t *bucket = bucket_of(index, index->items[item].hash);
  index->items[item].older = *bucket;
  *bucket = item;
}

static void grow_buckets(cli_index *index) {
  enum { first_buckets = 64 };
  free(index->buckets);
  index->bucket_count = index->bucket_count ? 2 * index->bucket_count : first_buckets;
  index->buckets = xcalloc(index->bucket_count, sizeof *index->buckets);
  for (size_t i = 0; i < index->bucket_count; ++i)
    index->buckets[i] = CLI_INDEX_NONE;
  for (size_t i = 0; i < index->count; ++i)
    link_item(index, i);
}

void cli_index_add(cli_index *index, uint64_t hash) {
  if (index->count == index->bucket_count)
    grow_buckets(index);
  index->items = xgrow(index->items, index->count, &index->room, 64, sizeof *index->items);
  index->items[index->count] = (cli_index_item){.hash = hash};
  link_item(index, index->count++);
}

void cli_index_free(cli_index *index) {
  free(index->items);
  free(index->buckets);
  *index = (cli_index){.count = 0};
}

static size_t skip_others(const cli_index *index, size_t item, uint64_t hash) {
  while (item != CLI_INDEX_NONE && index->items[item].hash != hash)
    item = index->items[item].older;
  return item;
}

size_t cli_index_newest(const cli_index *index, uint64_t hash) {
  return index->bucket_count ? skip_others(index, *bucket_of(index, hash), hash) : CLI_INDEX_NONE;
}

size_t cli_index_older(const cli_index *index, size_t item) {
  return skip_others(index, index->items[item].older, index->items[item].hash);
}
