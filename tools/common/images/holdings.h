/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which images hold which kernels, looked up by the kernel. */
#ifndef KDL_TOOL_HOLDINGS_H
#define KDL_TOOL_HOLDINGS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel and the images that hold it, in the order of the file. */
typedef struct cli_held {
  kdl_string kernel;
  const uint32_t *images;
  size_t count;
} cli_held;

typedef struct cli_holdings {
  struct cli_holding *items;
  size_t item_count;
  size_t capacity;
  uint32_t *images;
  cli_held *kernels; /* by name */
  size_t count;
} cli_holdings;

/* Notes that an image holds a kernel, whose name must outlive the holdings. */
void cli_holdings_add(cli_holdings *holdings, kdl_string kernel, size_t image);

/* Called once after all were added. */
void cli_holdings_finish(cli_holdings *holdings);

/* NULL where no image holds it. */
const cli_held *cli_holdings_find(const cli_holdings *holdings, kdl_string kernel);

void cli_holdings_free(cli_holdings *holdings);

#endif
