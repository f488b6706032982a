/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The metadata of an AMD code object, kernel by kernel. */
#ifndef KDL_LIB_IMAGE_AMD_AMDGPU_METADATA_H
#define KDL_LIB_IMAGE_AMD_AMDGPU_METADATA_H

#include "lib/inspect/formats.h"
#include "lib/inspect/images.h"
#include "support/base/elf_file.h"

/* Gets a reader at the map of one kernel. */
typedef kdl_status kdl_amdgpu_kernel_visitor(kdl_msgpack reader, void *user, bool *out_stop);

/* *out_found: whether there is metadata at all. */
kdl_status kdl_amdgpu_visit_metadata(const kdl_elf *elf, kdl_amdgpu_kernel_visitor *visit,
                                     void *user, bool *out_found);

/* Without metadata: the names of kernels by their symbols. */
kdl_status kdl_amdgpu_visit_symbols(const kdl_elf *elf, kdl_visit_name *visit, void *user);

/* Finds a key in the map at the reader's position; *out_value is then at the value. */
kdl_status kdl_amdgpu_find_value(kdl_msgpack reader, const char *key, kdl_msgpack *out_value,
                                 bool *out_found);

/* The name of the kernel at the reader's position; its text is NULL where it has none. */
kdl_status kdl_amdgpu_read_name(kdl_msgpack reader, kdl_msgpack_item *out_name);

/* Reads `count` numbers; leaves them unchanged where the key is absent. */
kdl_status kdl_amdgpu_read_numbers(kdl_msgpack reader, const char *key, uint32_t *numbers,
                                   uint32_t count);

/* The parameters in the array at the reader's position. */
kdl_status kdl_amdgpu_visit_args(kdl_msgpack reader, kdl_visit_param *visit, void *user);

typedef struct kdl_image_limits {
  uint32_t block[3];  /* the only block it was compiled for; 0: any */
  uint32_t max_block; /* work-items in a group; 0: unknown */
  uint32_t shared;    /* bytes of static group memory */
} kdl_image_limits;

/* Zeros where the metadata is absent or incomplete. KDL_NO_MATCH where the metadata has no such
 * kernel, KDL_BAD_FILE where it contradicts its format. */
kdl_status kdl_amdgpu_read_limits(const void *data, size_t size, kdl_string kernel,
                                  kdl_image_limits *out_limits);

#endif
