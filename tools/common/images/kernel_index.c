/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/kernel_index.h"

#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct cli_kernel_index_entry {
  kdl_string kernel;
  uint32_t image;
} holding;

static int compare_holdings(const void *left, const void *right) {
  const holding *a = left;
  const holding *b = right;
  int order = kdl_text_compare(a->kernel, b->kernel);
  return order ? order : (a->image > b->image) - (a->image < b->image);
}

static int compare_held(const void *left, const void *right) {
  return kdl_text_compare(((const cli_indexed_kernel *)left)->kernel,
                          ((const cli_indexed_kernel *)right)->kernel);
}

void cli_kernel_index_add(cli_kernel_index *kernel_index, kdl_string kernel, size_t image) {
  kernel_index->items = xgrow(kernel_index->items, kernel_index->item_count,
                              &kernel_index->capacity, 64, sizeof *kernel_index->items);
  kernel_index->items[kernel_index->item_count++] = (holding){kernel, (uint32_t)image};
}

/* An image that names a kernel twice is listed once. */
void cli_kernel_index_finish(cli_kernel_index *kernel_index) {
  size_t used = 0;
  kernel_index->images = xcalloc(kernel_index->item_count, sizeof *kernel_index->images);
  kernel_index->kernels = xcalloc(kernel_index->item_count, sizeof *kernel_index->kernels);
  if (kernel_index->item_count)
    qsort(kernel_index->items, kernel_index->item_count, sizeof *kernel_index->items,
          compare_holdings);
  for (size_t i = 0; i < kernel_index->item_count; ++i) {
    const holding *at = &kernel_index->items[i];
    cli_indexed_kernel *last =
        kernel_index->count ? &kernel_index->kernels[kernel_index->count - 1] : NULL;
    bool is_same = last && kdl_text_equal(last->kernel, at->kernel);
    if (is_same && kernel_index->images[used - 1] == at->image)
      continue;
    kernel_index->images[used] = at->image;
    if (is_same)
      ++last->count;
    else
      kernel_index->kernels[kernel_index->count++] =
          (cli_indexed_kernel){at->kernel, &kernel_index->images[used], 1};
    ++used;
  }
}

const cli_indexed_kernel *cli_kernel_index_find(const cli_kernel_index *kernel_index,
                                                kdl_string kernel) {
  cli_indexed_kernel wanted = {.kernel = kernel};
  return kernel_index->count ? bsearch(&wanted, kernel_index->kernels, kernel_index->count,
                                       sizeof *kernel_index->kernels, compare_held)
                             : NULL;
}

void cli_kernel_index_free(cli_kernel_index *kernel_index) {
  free(kernel_index->items);
  free(kernel_index->images);
  free(kernel_index->kernels);
  *kernel_index = (cli_kernel_index){.count = 0};
}
