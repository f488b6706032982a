/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The string table of an OffloadBinary, laid out as LLVM's StringTableBuilder does for ELF, so that
 * our files equal LLVM's byte for byte: a NUL first, then the distinct strings ordered by their
 * reversed bytes, largest first, each followed by a NUL; a string that is the tail of the one
 * placed last shares its bytes.
 */
#ifndef KDL_LIB_CONTAINER_STRING_TABLE_H
#define KDL_LIB_CONTAINER_STRING_TABLE_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_table_entry {
  kdl_string text;
  uint64_t offset; /* in the table, once laid out */
  size_t order;    /* number of the string, by addition */
} kdl_table_entry;

typedef struct kdl_string_table {
  kdl_table_entry *entries;
  size_t count;
  size_t capacity;
  uint64_t size; /* once laid out */
} kdl_string_table;

/* Adds a string under the next number, starting with 0. False when out of memory. */
bool kdl_string_table_add(kdl_string_table *table, kdl_string text);

/* Assigns the offsets. Afterwards entries are in the order of addition. */
void kdl_string_table_layout(kdl_string_table *table);

/* Writes `table->size` bytes. */
void kdl_string_table_write(const kdl_string_table *table, uint8_t *out);

void kdl_string_table_free(kdl_string_table *table);

#endif
