/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which of some images hold a kernel, for those who ask for many: looking through the images for
 * each would take kernels times images. The names are sorted, which no choice of names makes slow.
 */
#ifndef KDL_SELECT_KERNEL_MAP_H
#define KDL_SELECT_KERNEL_MAP_H

#include "lib/select/ranking.h"

/* One image that holds one kernel. */
typedef struct kdl_kernel_map_entry {
  kdl_string name;
  uint32_t position; /* of the image, among those that were given */
} kdl_kernel_map_entry;

typedef struct kdl_kernel_map {
  size_t count;
  kdl_kernel_map_entry entries[]; /* by name, then by place; each once */
} kdl_kernel_map;

/* How much memory they take, of images that are given in an order; NULL: all of the catalog. 0
 * where memory was short for their names. */
size_t kdl_kernel_map_size(kdl_catalog *catalog, const kdl_candidate *images, size_t count);

/* Fills it; it lives as long as the catalog. */
kdl_kernel_map *kdl_kernel_map_build(kdl_catalog *catalog, const kdl_candidate *images,
                                     size_t count, void *memory, size_t size);

/* Those of a kernel, in the order of their places; NULL and 0 where there are none. */
const kdl_kernel_map_entry *kdl_kernel_map_find(const kdl_kernel_map *kernel_map, kdl_string kernel,
                                                size_t *out_count);

#endif
