/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The readers of all kinds of image, and shared helpers. */
#ifndef KDL_LIB_IMAGE_READERS_H
#define KDL_LIB_IMAGE_READERS_H

#include "lib/inspect/images.h"
#include "support/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills in *target, which is zeroed, from the image. */
typedef kdl_status kdl_target_reader(const uint8_t *data, size_t size, kdl_image_target *target);
typedef kdl_status kdl_kernel_reader(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                     void *user);
/* Leaves `index` to the caller. */
typedef kdl_status kdl_params_reader(const uint8_t *data, size_t size, kdl_string kernel,
                                     kdl_visit_param *visit, void *user);
typedef void kdl_geometry_reader(const uint8_t *data, size_t size, kdl_string kernel,
                                 kdl_image_geometry *geometry);
typedef kdl_status kdl_resources_reader(const uint8_t *data, size_t size,
                                        kdl_visit_resources *visit, void *user);
typedef kdl_status kdl_effects_reader(const uint8_t *data, size_t size, kdl_visit_effect *visit,
                                      void *user);
typedef kdl_status kdl_digests_reader(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                      void *user);
typedef kdl_status kdl_unresolved_reader(const uint8_t *data, size_t size, bool *unresolved);

/* What reads the images of a kind: kdl_READER_readers for every reader of lib/inspect/kinds.def, in
 * the file of its target reader. */
typedef struct kdl_image_readers {
  kdl_target_reader *target;
  kdl_kernel_reader *kernels;
  /* NULL: images of the kind do not tell. */
  kdl_params_reader *params;
  kdl_geometry_reader *geometry;
  kdl_resources_reader *resources;
  kdl_effects_reader *effects;
  kdl_digests_reader *digests;       /* NULL: all code of an image is that of each kernel */
  kdl_unresolved_reader *unresolved; /* NULL: images of the kind are linked */
} kdl_image_readers;

#define KDL_IMAGE_KIND(id, name, llvm, first_bytes, holds, reader, ...)                            \
  extern const kdl_image_readers kdl_##reader##_readers;
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND

/* Parts of readers in other files. */
kdl_target_reader kdl_amdgpu_read_target;
kdl_kernel_reader kdl_amdgpu_read_kernels;
kdl_params_reader kdl_amdgpu_read_params;
kdl_geometry_reader kdl_amdgpu_read_geometry, kdl_host_elf_read_geometry;
kdl_resources_reader kdl_amdgpu_read_resources, kdl_cubin_read_resources;
kdl_effects_reader kdl_amdgpu_read_effects, kdl_cubin_read_effects;
kdl_digests_reader kdl_amdgpu_read_digests, kdl_cubin_read_digests, kdl_host_elf_read_digests,
    kdl_zebin_read_digests;
kdl_params_reader kdl_spirv_read_params;
kdl_unresolved_reader kdl_cubin_read_unresolved;

static inline uint32_t kdl_resource_clamp(uint64_t value) {
  return value < KDL_NO_RESOURCE ? (uint32_t)value : KDL_NO_RESOURCE - 1;
}

kdl_status kdl_too_many_params(void);
kdl_status kdl_no_such_kernel(kdl_string kernel);

/* Whether text begins with PTX's `.version`, after blanks and whole comments. */
bool kdl_ptx_begins(const void *head, size_t size);

/* Whether NVIDIA's driver defines a function of that name for every module. */
bool kdl_nvidia_driver_defines(const char *name, size_t length);

/* Appends text from the image to a field of the target. The text must be printable, so that a
 * hostile image cannot control a terminal, and must fit. */
kdl_status kdl_target_append(char *field, size_t room, const char *what, const char *text,
                             size_t length, uint64_t offset);

#endif
