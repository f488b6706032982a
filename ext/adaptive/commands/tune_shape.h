/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The shapes of `kdl tune`: numbers for names, and the options that use the names. */
#ifndef KDL_EXT_ADAPTIVE_COMMANDS_TUNE_SHAPE_H
#define KDL_EXT_ADAPTIVE_COMMANDS_TUNE_SHAPE_H

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

enum { TUNE_NAMES = 8 };

typedef struct tune_shape {
  size_t count;
  kdl_string names[TUNE_NAMES];
  uint64_t values[TUNE_NAMES];
} tune_shape;

/* "512x512x64", in the order of `names` ("m n k"), or "m=512+n=512+k=64". */
kdl_status tune_shape_parse(kdl_string text, kdl_string names, tune_shape *out_shape);

/* "m*k", "3", "n*2" */
kdl_status tune_product(const tune_shape *shape, kdl_string text, uint64_t *out_value);

/* "mxn" or "m,n": one to three products. */
kdl_status tune_extent(const tune_shape *shape, const char *words, kdl_extent *out_extent);

/* "buf:f32[m*k]=1" and "u32:m" with numbers for names; malloc'ed. */
kdl_status tune_argument(const tune_shape *shape, const char *words, char **out_text);

#endif
