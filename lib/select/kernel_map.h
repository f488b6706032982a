/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images hold which kernel, for lookups of many kernels: searching every image for each would
 * take kernels times images. The names are sorted, so that no set of names is slow.
 */
#ifndef KDL_LIB_SELECT_KERNEL_MAP_H
#define KDL_LIB_SELECT_KERNEL_MAP_H

#include "lib/select/ranking.h"

/* One image that holds one kernel. */
typedef struct kdl_kernel_map_entry {
  kdl_string name;
  uint32_t position; /* of the image, in the order given */
} kdl_kernel_map_entry;

typedef struct kdl_kernel_map {
  size_t count;
  kdl_kernel_map_entry entries[]; /* sorted by name, then by position; without duplicates */
} kdl_kernel_map;

/* The memory that the map of these images takes; NULL: of all images of the catalog. 0 where memory
 * ran out while their names were read. */
size_t kdl_kernel_map_size(kdl_catalog *catalog, const kdl_candidate *images, size_t count);

/* Builds the map in `memory`; it lives as long as the catalog. */
kdl_kernel_map *kdl_kernel_map_build(kdl_catalog *catalog, const kdl_candidate *images,
                                     size_t count, void *memory, size_t size);

/* The entries of a kernel, sorted by position; NULL and 0 where there are none. */
const kdl_kernel_map_entry *kdl_kernel_map_find(const kdl_kernel_map *kernel_map, kdl_string kernel,
                                                size_t *out_count);

#endif
