/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The images of a library, looked up by the kernels that they hold. */
#ifndef KDL_TOOLS_COMMON_IMAGES_KERNEL_INDEX_H
#define KDL_TOOLS_COMMON_IMAGES_KERNEL_INDEX_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel and the images that hold it, in the order of the file. */
typedef struct cli_indexed_kernel {
  kdl_string kernel;
  const uint32_t *images;
  size_t count;
} cli_indexed_kernel;

typedef struct cli_kernel_index {
  struct cli_kernel_index_entry *items;
  size_t item_count;
  size_t capacity;
  uint32_t *images;
  cli_indexed_kernel *kernels; /* by name */
  size_t count;
} cli_kernel_index;

/* Adds an image under a kernel, whose name must outlive the index. */
void cli_kernel_index_add(cli_kernel_index *kernel_index, kdl_string kernel, size_t image);

/* Call once, after all were added. */
void cli_kernel_index_finish(cli_kernel_index *kernel_index);

/* NULL where no image holds it. */
const cli_indexed_kernel *cli_kernel_index_find(const cli_kernel_index *kernel_index,
                                                kdl_string kernel);

void cli_kernel_index_free(cli_kernel_index *kernel_index);

#endif
