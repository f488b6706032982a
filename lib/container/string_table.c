/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/container/string_table.h"

#include "support/base/array.h"

#include <stdlib.h>
#include <string.h>

bool kdl_string_table_add(kdl_string_table *table, kdl_string text) {
  kdl_table_entry *entries =
      kdl_array_grow(table->entries, table->count, &table->capacity, 32, sizeof *entries);
  if (!entries)
    return false;
  table->entries = entries;
  table->entries[table->count] = (kdl_table_entry){.text = text, .order = table->count};
  ++table->count;
  return true;
}

/* By reversed bytes, descending; a string comes after those it is a tail of. */
static int compare_reversed(const void *left, const void *right) {
  const kdl_string *a = &((const kdl_table_entry *)left)->text;
  const kdl_string *b = &((const kdl_table_entry *)right)->text;
  size_t shared = a->length < b->length ? a->length : b->length;
  for (size_t i = 1; i <= shared; ++i) {
    unsigned char x = (unsigned char)a->data[a->length - i];
    unsigned char y = (unsigned char)b->data[b->length - i];
    if (x != y)
      return x > y ? -1 : 1;
  }
  return (a->length < b->length) - (a->length > b->length);
}

static int compare_order(const void *left, const void *right) {
  size_t a = ((const kdl_table_entry *)left)->order;
  size_t b = ((const kdl_table_entry *)right)->order;
  return (a > b) - (a < b);
}

static bool is_tail(kdl_string whole, kdl_string tail) {
  return tail.length <= whole.length &&
         memcmp(whole.data + whole.length - tail.length, tail.data, tail.length) == 0;
}

void kdl_string_table_layout(kdl_string_table *table) {
  if (table->count)
    qsort(table->entries, table->count, sizeof *table->entries, compare_reversed);
  kdl_string placed = {"", 0};
  table->size = 1;
  for (size_t i = 0; i < table->count; ++i) {
    kdl_table_entry *entry = &table->entries[i];
    if (entry->text.length == 0) {
      entry->offset = 0;
    } else if (is_tail(placed, entry->text)) {
      entry->offset = table->size - entry->text.length - 1;
    } else {
      entry->offset = table->size;
      table->size += entry->text.length + 1;
      placed = entry->text;
    }
  }
  if (table->count)
    qsort(table->entries, table->count, sizeof *table->entries, compare_order);
}

void kdl_string_table_write(const kdl_string_table *table, uint8_t *out) {
  memset(out, 0, table->size);
  for (size_t i = 0; i < table->count; ++i) {
    const kdl_string *text = &table->entries[i].text;
    if (text->length)
      memcpy(out + table->entries[i].offset, text->data, text->length);
  }
}

void kdl_string_table_free(kdl_string_table *table) {
  free(table->entries);
  *table = (kdl_string_table){0};
}
