/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/select/kernel_map.h"

#include "support/base/array.h"

#include <string.h>

static kdl_kernel_names image_kernel_names(kdl_catalog *catalog, const kdl_candidate *images,
                                           size_t position) {
  return kdl_catalog_kernels(catalog, images ? images[position].image : position);
}

size_t kdl_kernel_map_size(kdl_catalog *catalog, const kdl_candidate *images, size_t count) {
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  size_t entry_count = 0;
  for (size_t i = 0; i < count; ++i)
    entry_count += image_kernel_names(catalog, images, i).count;
  if (kdl_catalog_memory_failures(catalog) != memory_failures)
    return 0;
  return sizeof(kdl_kernel_map) + entry_count * sizeof(kdl_kernel_map_entry);
}

static int compare_kernel_names(kdl_string a, kdl_string b) {
  if (a.length != b.length)
    return a.length < b.length ? -1 : 1;
  return memcmp(a.data, b.data, a.length);
}

static int compare_map_entries(const void *left, const void *right) {
  const kdl_kernel_map_entry *a = left, *b = right;
  int order = compare_kernel_names(a->name, b->name);
  return order ? order : (a->position > b->position) - (a->position < b->position);
}

kdl_kernel_map *kdl_kernel_map_build(kdl_catalog *catalog, const kdl_candidate *images,
                                     size_t count, void *memory, size_t size) {
  kdl_kernel_map *map = memory;
  size_t room = (size - sizeof *map) / sizeof *map->entries, used = 0;
  for (size_t i = 0; i < count; ++i) {
    const kdl_kernel_names names = image_kernel_names(catalog, images, i);
    for (size_t k = 0; k < names.count && used < room; ++k)
      map->entries[used++] = (kdl_kernel_map_entry){names.items[k], (uint32_t)i};
  }
  kdl_sort(map->entries, used, sizeof *map->entries, compare_map_entries);
  map->count = 0;
  for (size_t i = 0; i < used; ++i) {
    if (i == 0 || compare_map_entries(&map->entries[map->count - 1], &map->entries[i]) != 0)
      map->entries[map->count++] = map->entries[i];
  }
  return map;
}

/* The first row whose name is not less than the kernel's, or, with `above`, is greater. */
static size_t map_bound(const kdl_kernel_map *kernel_map, kdl_string kernel, bool above) {
  size_t low = 0, high = kernel_map->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_kernel_names(kernel_map->entries[middle].name, kernel) < above)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const kdl_kernel_map_entry *kdl_kernel_map_find(const kdl_kernel_map *kernel_map, kdl_string kernel,
                                                size_t *out_count) {
  size_t first = map_bound(kernel_map, kernel, false);
  *out_count = map_bound(kernel_map, kernel, true) - first;
  return *out_count ? &kernel_map->entries[first] : NULL;
}
