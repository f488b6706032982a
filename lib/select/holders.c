/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/select/holders.h"

#include "support/base/array.h"

#include <string.h>

static const kdl_string *names_of(kdl_catalog *catalog, const kdl_candidate *images, size_t place,
                                  size_t *out_count) {
  return kdl_catalog_kernels(catalog, images ? images[place].image : place, out_count);
}

size_t kdl_holders_size(kdl_catalog *catalog, const kdl_candidate *images, size_t count) {
  size_t shortages = kdl_catalog_shortages(catalog);
  size_t rows = 0, names;
  for (size_t i = 0; i < count; ++i) {
    (void)names_of(catalog, images, i, &names);
    rows += names;
  }
  if (kdl_catalog_shortages(catalog) != shortages)
    return 0;
  return sizeof(kdl_holders) + rows * sizeof(kdl_holder);
}

static int compare_names(kdl_string a, kdl_string b) {
  if (a.length != b.length)
    return a.length < b.length ? -1 : 1;
  return memcmp(a.data, b.data, a.length);
}

static int compare_rows(const void *left, const void *right) {
  const kdl_holder *a = left, *b = right;
  int order = compare_names(a->name, b->name);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

kdl_holders *kdl_holders_fill(kdl_catalog *catalog, const kdl_candidate *images, size_t count,
                              void *memory, size_t size) {
  kdl_holders *made = memory;
  size_t room = (size - sizeof *made) / sizeof *made->rows, used = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t names;
    const kdl_string *list = names_of(catalog, images, i, &names);
    for (size_t k = 0; k < names && used < room; ++k)
      made->rows[used++] = (kdl_holder){list[k], (uint32_t)i};
  }
  kdl_sort(made->rows, used, sizeof *made->rows, compare_rows);
  made->count = 0;
  for (size_t i = 0; i < used; ++i) {
    if (i == 0 || compare_rows(&made->rows[made->count - 1], &made->rows[i]) != 0)
      made->rows[made->count++] = made->rows[i];
  }
  return made;
}

/* The first row whose name is not below the kernel's, or that is above it. */
static size_t bound(const kdl_holders *holders, kdl_string kernel, bool above) {
  size_t low = 0, high = holders->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_names(holders->rows[middle].name, kernel) < above)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const kdl_holder *kdl_holders_find(const kdl_holders *holders, kdl_string kernel,
                                   size_t *out_count) {
  size_t first = bound(holders, kernel, false);
  *out_count = bound(holders, kernel, true) - first;
  return *out_count ? &holders->rows[first] : NULL;
}
