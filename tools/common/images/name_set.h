/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A set of names in insertion order. */
#ifndef KDL_TOOLS_COMMON_IMAGES_NAME_SET_H
#define KDL_TOOLS_COMMON_IMAGES_NAME_SET_H

#include "support/base/arena.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_name_set {
  kdl_string *items; /* in insertion order */
  void *tree;        /* of <search.h> */
  size_t count;
  size_t capacity;
  kdl_arena arena;
} cli_name_set;

/* Adds a copy unless the set has it. */
void cli_name_set_add(cli_name_set *names, const char *text, size_t length);
bool cli_name_set_has(const cli_name_set *names, kdl_string name);
void cli_name_set_free(cli_name_set *names);

/* The kernels that an image's bytes define, including those of nested images. `known` as for
 * cli_image_kind_seen. KDL_UNSUPPORTED for kinds whose kernels cannot be read. The caller frees
 * *out_names. */
kdl_status cli_name_set_read_kernels(kdl_image_kind known, const void *data, size_t size,
                                     cli_name_set *out_names);

#endif
