/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names with numbers, to look up one for each kernel without comparing all pairs. */
#ifndef KDL_LIB_IMAGE_NAME_TABLE_H
#define KDL_LIB_IMAGE_NAME_TABLE_H

#include <kdl/kdl.h>

#include <stdbool.h>

typedef struct kdl_named_number {
  kdl_string name;
  uint64_t number;
} kdl_named_number;

/* Starts zeroed. */
typedef struct kdl_name_table {
  kdl_named_number *items;
  size_t count, capacity;
} kdl_name_table;

/* The name must outlive the table. False where memory ran out. */
bool kdl_name_table_add(kdl_name_table *table, kdl_string name, uint64_t number);

/* Before the first search. */
void kdl_name_table_sort(kdl_name_table *table);

/* The number of the first item of that name. */
bool kdl_name_table_find(const kdl_name_table *table, kdl_string name, uint64_t *out_number);

void kdl_name_table_free(kdl_name_table *table);

#endif
