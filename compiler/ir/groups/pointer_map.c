/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/groups/flow.h"

struct ir_map_slot {
  const void *key; /* NULL: free */
  uint32_t number;
};

static struct ir_map_slot *map_find_slot(const ir_map *map, const void *key) {
  size_t at = (size_t)((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20;
  for (;; ++at) {
    struct ir_map_slot *slot = &map->slots[at & (map->capacity - 1)];
    if (!slot->key || slot->key == key)
      return slot;
  }
}

static void map_grow(ir_map *map) {
  ir_map larger = {.arena = map->arena, .capacity = map->capacity ? map->capacity * 2 : 256};
  larger.slots = ir_zeroed_alloc(map->arena, larger.capacity, sizeof *larger.slots);
  for (size_t i = 0; i < map->capacity; ++i) {
    if (map->slots[i].key)
      *map_find_slot(&larger, map->slots[i].key) = map->slots[i];
  }
  larger.count = map->count;
  *map = larger;
}

void ir_map_set(ir_map *map, const void *key, uint32_t number) {
  if (map->count * 2 >= map->capacity)
    map_grow(map);
  struct ir_map_slot *slot = map_find_slot(map, key);
  map->count += !slot->key;
  *slot = (struct ir_map_slot){key, number};
}

bool ir_map_get(const ir_map *map, const void *key, uint32_t *out_number) {
  const struct ir_map_slot *slot = map->capacity ? map_find_slot(map, key) : NULL;
  if (!slot || !slot->key)
    return false;
  if (out_number)
    *out_number = slot->number;
  return true;
}
