/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Numbers by address. */
#ifndef KDL_LD_GROUPS_MAP_H
#define KDL_LD_GROUPS_MAP_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct ld_map {
  struct ld_map_slot *slots;
  size_t capacity, count;
} ld_map;

/* Sets the number of a key. Ends the program where memory runs out. */
void ld_map_set(ld_map *map, const void *key, uint32_t number);
bool ld_map_get(const ld_map *map, const void *key, uint32_t *out_number);
void ld_map_free(ld_map *map);

#endif
