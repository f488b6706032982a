/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "images/holdings.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

typedef struct cli_holding {
  kdl_string kernel;
  uint32_t image;
} holding;

static int compare_names(kdl_string a, kdl_string b) {
  size_t shared = a.length < b.length ? a.length : b.length;
  int order = shared ? memcmp(a.data, b.data, shared) : 0;
  return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_holdings(const void *left, const void *right) {
  const holding *a = left;
  const holding *b = right;
  int order = compare_names(a->kernel, b->kernel);
  return order ? order : (a->image > b->image) - (a->image < b->image);
}

static int compare_held(const void *left, const void *right) {
  return compare_names(((const cli_held *)left)->kernel, ((const cli_held *)right)->kernel);
}

bool cli_holdings_add(cli_holdings *holdings, kdl_string kernel, size_t image) {
  holding *items =
      kdl_array_grow(holdings->items, holdings->item_count, &holdings->capacity, 64, sizeof *items);
  if (!items)
    return false;
  holdings->items = items;
  holdings->items[holdings->item_count++] = (holding){kernel, (uint32_t)image};
  return true;
}

/* Images that name a kernel twice hold it once. */
static void group(cli_holdings *holdings) {
  size_t used = 0;
  for (size_t i = 0; i < holdings->item_count; ++i) {
    const holding *at = &holdings->items[i];
    cli_held *last = holdings->count ? &holdings->kernels[holdings->count - 1] : NULL;
    bool is_same = last && compare_names(last->kernel, at->kernel) == 0;
    if (is_same && holdings->images[used - 1] == at->image)
      continue;
    holdings->images[used] = at->image;
    if (is_same)
      ++last->count;
    else
      holdings->kernels[holdings->count++] = (cli_held){at->kernel, &holdings->images[used], 1};
    ++used;
  }
}

bool cli_holdings_finish(cli_holdings *holdings) {
  holdings->images = calloc(holdings->item_count + 1, sizeof *holdings->images);
  holdings->kernels = calloc(holdings->item_count + 1, sizeof *holdings->kernels);
  if (!holdings->images || !holdings->kernels)
    return false;
  if (holdings->item_count)
    qsort(holdings->items, holdings->item_count, sizeof *holdings->items, compare_holdings);
  group(holdings);
  return true;
}

const cli_held *cli_holdings_find(const cli_holdings *holdings, kdl_string kernel) {
  cli_held wanted = {.kernel = kernel};
  return holdings->count ? bsearch(&wanted, holdings->kernels, holdings->count,
                                   sizeof *holdings->kernels, compare_held)
                         : NULL;
}

void cli_holdings_free(cli_holdings *holdings) {
  free(holdings->items);
  free(holdings->images);
  free(holdings->kernels);
  *holdings = (cli_holdings){.count = 0};
}
