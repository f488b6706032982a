/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The visible symbols of an image by their names: numbers of symbols in a table with open
 * addressing. The image has hash tables of its own, which would have to be believed. */
#include "lib/backends/host/host.h"
#include "lib/image/host/host_object.h"

#include <stdlib.h>
#include <string.h>

/* Longer names are told apart by comparing them. */
enum { max_hashed = 512 };

static uint32_t host_hash_name(const char *name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < max_hashed && name[i]; ++i)
    hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  return hash;
}

/* *out_slot is its place, or the one that it would get. */
static bool host_find_symbol_slot(const kdl_host_symbols *symbols, const kdl_host_object *object,
                                  const char *name, kdl_host_symbol *out_symbol,
                                  uint32_t *out_slot) {
  uint32_t at = host_hash_name(name) & symbols->mask;
  for (; symbols->slots[at]; at = (at + 1) & symbols->mask) {
    *out_symbol = kdl_host_object_symbol(object, symbols->slots[at]);
    if (strcmp(out_symbol->name, name) == 0)
      break;
  }
  *out_slot = at;
  return symbols->slots[at] != 0;
}

kdl_status kdl_host_symbols_create(const kdl_host_object *object, kdl_host_symbols *out_symbols) {
  uint32_t count = 16;
  while (count < object->symbol_count * 2)
    count *= 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (!slots)
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "out of memory for %u names", count);
  for (uint64_t i = 1; i < object->symbol_count; ++i) {
    kdl_host_symbol symbol = kdl_host_object_symbol(object, i), found;
    kdl_host_symbols symbols = {slots, count - 1};
    uint32_t at;
    if (symbol.is_visible && !host_find_symbol_slot(&symbols, object, symbol.name, &found, &at))
      slots[at] = (uint32_t)i; /* of several, the first */
  }
  *out_symbols = (kdl_host_symbols){slots, count - 1};
  return KDL_OK;
}

bool kdl_host_symbols_find(const kdl_host_symbols *symbols, const kdl_host_object *object,
                           const char *name, kdl_host_symbol *out_symbol) {
  uint32_t at;
  return host_find_symbol_slot(symbols, object, name, out_symbol, &at);
}

void kdl_host_symbols_free(kdl_host_symbols *symbols) {
  free(symbols->slots);
}
