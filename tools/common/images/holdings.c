/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/holdings.h"

#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct cli_holding {
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
  return kdl_text_compare(((const cli_held *)left)->kernel, ((const cli_held *)right)->kernel);
}

void cli_holdings_add(cli_holdings *holdings, kdl_string kernel, size_t image) {
  holdings->items = xgrow(holdings->items, holdings->item_count, &holdings->capacity, 64,
                          sizeof *holdings->items);
  holdings->items[holdings->item_count++] = (holding){kernel, (uint32_t)image};
}

/* Images that name a kernel twice hold it once. */
void cli_holdings_finish(cli_holdings *holdings) {
  size_t used = 0;
  holdings->images = xcalloc(holdings->item_count, sizeof *holdings->images);
  holdings->kernels = xcalloc(holdings->item_count, sizeof *holdings->kernels);
  if (holdings->item_count)
    qsort(holdings->items, holdings->item_count, sizeof *holdings->items, compare_holdings);
  for (size_t i = 0; i < holdings->item_count; ++i) {
    const holding *at = &holdings->items[i];
    cli_held *last = holdings->count ? &holdings->kernels[holdings->count - 1] : NULL;
    bool is_same = last && kdl_text_equal(last->kernel, at->kernel);
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
