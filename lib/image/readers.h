/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The readers of all kinds of image, and shared helpers. */
#ifndef KDL_LIB_IMAGE_READERS_H
#define KDL_LIB_IMAGE_READERS_H

#include "lib/inspect/images.h"
#include "lib/inspect/kernels.h"
#include "lib/inspect/resources.h"
#include "support/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills in *target, which is zeroed, from the image. */
typedef kdl_status kdl_target_reader(const uint8_t *data, size_t size, kdl_image_target *target);
typedef kdl_status kdl_kernel_reader(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                     void *user);

kdl_target_reader kdl_amdgpu_read_target;
kdl_kernel_reader kdl_amdgpu_read_kernels;
kdl_target_reader kdl_cubin_read_target;
kdl_kernel_reader kdl_cubin_read_kernels;
kdl_target_reader kdl_host_elf_read_target;
kdl_kernel_reader kdl_host_elf_read_kernels;
kdl_target_reader kdl_llvm_bitcode_read_target;
kdl_kernel_reader kdl_llvm_bitcode_read_kernels;
kdl_target_reader kdl_opencl_c_read_target;
kdl_kernel_reader kdl_opencl_c_read_kernels;
kdl_target_reader kdl_ptx_read_target;
kdl_kernel_reader kdl_ptx_read_kernels;
kdl_target_reader kdl_spirv_read_target;
kdl_kernel_reader kdl_spirv_read_kernels;
kdl_target_reader kdl_tile_ir_read_target;
kdl_kernel_reader kdl_tile_ir_read_kernels;
kdl_target_reader kdl_zebin_read_target;
kdl_kernel_reader kdl_zebin_read_kernels;

/* Leaves `index` to the caller. */
typedef kdl_status kdl_params_reader(const uint8_t *data, size_t size, kdl_string kernel,
                                     kdl_visit_param *visit, void *user);

kdl_params_reader kdl_amdgpu_read_params;
kdl_params_reader kdl_cubin_read_params;
kdl_params_reader kdl_opencl_c_read_params;
kdl_params_reader kdl_ptx_read_params;
kdl_params_reader kdl_spirv_read_params;
kdl_params_reader kdl_zebin_read_params;

typedef void kdl_geometry_reader(const uint8_t *data, size_t size, kdl_string kernel,
                                 kdl_image_geometry *geometry);

kdl_geometry_reader kdl_amdgpu_read_geometry;
kdl_geometry_reader kdl_host_elf_read_geometry;
kdl_geometry_reader kdl_spirv_read_geometry;
kdl_geometry_reader kdl_zebin_read_geometry;

typedef kdl_status kdl_resources_reader(const uint8_t *data, size_t size,
                                        kdl_visit_resources *visit, void *user);

kdl_resources_reader kdl_amdgpu_read_resources;
kdl_resources_reader kdl_cubin_read_resources;
kdl_resources_reader kdl_host_elf_read_resources;
kdl_resources_reader kdl_zebin_read_resources;

typedef kdl_status kdl_effects_reader(const uint8_t *data, size_t size, kdl_visit_effect *visit,
                                      void *user);

kdl_effects_reader kdl_amdgpu_read_effects;
kdl_effects_reader kdl_cubin_read_effects;

typedef kdl_status kdl_digests_reader(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                      void *user);

kdl_digests_reader kdl_amdgpu_read_digests;
kdl_digests_reader kdl_cubin_read_digests;
kdl_digests_reader kdl_ptx_read_digests;

static inline uint32_t kdl_resource_clamp(uint64_t value) {
  return value < KDL_NO_RESOURCE ? (uint32_t)value : KDL_NO_RESOURCE - 1;
}

kdl_status kdl_too_many_params(void);
kdl_status kdl_no_such_kernel(kdl_string kernel);

/* Whether text begins with PTX's `.version`, after blanks and whole comments. */
bool kdl_ptx_begins(const void *head, size_t size);

/* Whether the bytes begin with the magic of Tile IR. */
bool kdl_tile_ir_begins(const void *head, size_t size);

/* Whether PTX declares a function or a variable `.extern` that the driver does not define. */
bool kdl_ptx_has_unresolved(const void *data, size_t size);

/* Whether NVIDIA's driver defines a function of that name for every module. */
bool kdl_nvidia_driver_defines(const char *name, size_t length);

/* Appends text from the image to a field of the target. The text must be printable, so that a
 * hostile image cannot control a terminal, and must fit. */
kdl_status kdl_target_append(char *field, size_t room, const char *what, const char *text,
                             size_t length, uint64_t offset);

#endif
