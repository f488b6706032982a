/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/image/name_table.h"

#include "support/base/array.h"
#include "support/base/text.h"

#include <stdlib.h>

bool kdl_name_table_add(kdl_name_table *table, kdl_string name, uint64_t number) {
  kdl_named_number *items =
      kdl_array_grow(table->items, table->count, &table->capacity, 64, sizeof *items);
  if (!items)
    return false;
  table->items = items;
  items[table->count++] = (kdl_named_number){name, number};
  return true;
}

static int compare_names(const void *left, const void *right) {
  const kdl_named_number *a = left, *b = right;
  int order = kdl_text_compare(a->name, b->name);
  return order ? order : (a->number > b->number) - (a->number < b->number);
}

void kdl_name_table_sort(kdl_name_table *table) {
  if (table->count)
    qsort(table->items, table->count, sizeof *table->items, compare_names);
}

bool kdl_name_table_find(const kdl_name_table *table, kdl_string name, uint64_t *out_number) {
  size_t from = 0, to = table->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (kdl_text_compare(table->items[middle].name, name) < 0)
      from = middle + 1;
    else
      to = middle;
  }
  if (from == table->count || !kdl_text_equal(table->items[from].name, name))
    return false;
  *out_number = table->items[from].number;
  return true;
}

void kdl_name_table_free(kdl_name_table *table) {
  free(table->items);
}
