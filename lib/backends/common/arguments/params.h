/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameters of one kernel, in the form of <kdl/backend.h>. */
#ifndef KDL_LIB_BACKENDS_COMMON_ARGUMENTS_PARAMS_H
#define KDL_LIB_BACKENDS_COMMON_ARGUMENTS_PARAMS_H

#include <kdl/backend.h>

#include <stdbool.h>

/* A loaded image's reference to its bytes, which belong to libkdl and outlive it. */
typedef struct kdl_image_reference {
  kdl_image_kind kind;
  const void *data;
  size_t size;
} kdl_image_reference;

static inline kdl_image_reference kdl_image_reference_of(const kdl_backend_image *image) {
  return (kdl_image_reference){image->kind, image->data, image->data_size};
}

typedef struct kdl_params {
  kdl_param_info *list; /* NULL where they are unknown; not NULL where there are none */
  uint32_t count;
} kdl_params;

void kdl_params_free(kdl_params *params);

/* Starts an empty known list. False when out of memory, as the next function. */
bool kdl_params_begin(kdl_params *params);
bool kdl_params_add(kdl_params *params, uint32_t offset, uint32_t size);

/* Reads the parameters from the image, except group memory, which is no argument of a launch; they
 * stay unknown if the image does not declare them. SPIR-V has no offsets: they are those of a C
 * struct, and KDL_NO_OFFSET from the first parameter on whose size does not imply its alignment.
 * False when out of memory. */
bool kdl_params_read(kdl_params *params, const kdl_image_reference *image, const char *kernel);

#endif
