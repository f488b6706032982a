/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The visible symbols of an image by their names: numbers of symbols in a table with open
 * addressing. The image has hash tables of its own, which would have to be believed. */
#include "lib/backends/host/host.h"

#include <stdlib.h>
#include <string.h>

/* Longer names are told apart by comparing them. */
enum { hashed = 512 };

static uint32_t hash_of(const char *name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < hashed && name[i]; ++i)
    hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  return hash;
}

/* *out_slot is its place, or the one that it would get. */
static bool find(const kdl_host_names *names, const kdl_host_object *object, const char *name,
                 kdl_host_symbol *out_symbol, uint32_t *out_slot) {
  uint32_t at = hash_of(name) & names->mask;
  for (; names->slots[at]; at = (at + 1) & names->mask) {
    *out_symbol = kdl_host_object_symbol(object, names->slots[at]);
    if (strcmp(out_symbol->name, name) == 0)
      break;
  }
  *out_slot = at;
  return names->slots[at] != 0;
}

kdl_status kdl_host_names_make(const kdl_host_object *object, kdl_host_names *out_names) {
  uint32_t count = 16;
  while (count < object->symbol_count * 2)
    count *= 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (!slots)
    return kdl_own_services.fail(KDL_NO_MEMORY, 0, "out of memory for %u names", count);
  for (uint64_t i = 1; i < object->symbol_count; ++i) {
    kdl_host_symbol symbol = kdl_host_object_symbol(object, i), found;
    kdl_host_names names = {slots, count - 1};
    uint32_t at;
    if (symbol.is_visible && !find(&names, object, symbol.name, &found, &at))
      slots[at] = (uint32_t)i; /* of several, the first */
  }
  *out_names = (kdl_host_names){slots, count - 1};
  return KDL_OK;
}

bool kdl_host_names_find(const kdl_host_names *names, const kdl_host_object *object,
                         const char *name, kdl_host_symbol *out_symbol) {
  uint32_t at;
  return find(names, object, name, out_symbol, &at);
}

void kdl_host_names_free(kdl_host_names *names) {
  free(names->slots);
}
