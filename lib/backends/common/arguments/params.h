/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameters of one kernel, as libkdl wants them of a backend. */
#ifndef KDL_BACKENDS_COMMON_PARAMS_H
#define KDL_BACKENDS_COMMON_PARAMS_H

#include <kdl/backend.h>

#include <stdbool.h>

/* What a module keeps of its image: the bytes are libkdl's, and stay as long as the module. */
typedef struct kdl_module_image {
  kdl_image_kind kind;
  const void *data;
  size_t size;
} kdl_module_image;

static inline kdl_module_image kdl_module_image_of(const kdl_backend_image *image) {
  return (kdl_module_image){image->kind, image->data, image->data_size};
}

typedef struct kdl_params {
  kdl_param_info *list; /* NULL where they are not known; not NULL where there are none */
  uint32_t count;
} kdl_params;

void kdl_params_free(kdl_params *params);

/* Makes them known, and none so far. False when out of memory, as the next. */
bool kdl_params_begin(kdl_params *params);
bool kdl_params_add(kdl_params *params, uint32_t offset, uint32_t size);

/* As the image tells them, but for group memory, for which a launch has a size and no argument;
 * they stay unknown where it does not. SPIR-V tells no offsets: they are those of a C struct, and
 * KDL_NO_OFFSET from the first parameter on whose alignment C could not tell by its size. False
 * when out of memory. */
bool kdl_params_read(kdl_params *params, const kdl_module_image *image, const char *kernel);

/* What the packed form has room for. */
uint32_t kdl_params_packed_size(const kdl_params *params);

#endif
