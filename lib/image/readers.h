/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The readers of all kinds of image, and shared helpers. */
#ifndef KDL_LIB_IMAGE_READERS_H
#define KDL_LIB_IMAGE_READERS_H

#include "lib/inspect/formats.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names need not end with a NUL. */
typedef int kdl_visit_resources(void *user, kdl_string kernel, const kdl_kernel_resources *uses);
typedef int kdl_visit_effect(void *user, kdl_string kernel, kdl_kernel_effect effect);

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

/* Whether the image uses functions or variables that neither it nor the driver defines, so that it
 * must be linked first. Only for cubins and PTX; other kinds count as resolved. */
kdl_status kdl_image_read_unresolved(kdl_image_kind kind, const void *data, size_t size,
                                     bool *out_unresolved);

/* Whether images of this kind can declare a geometry: host code by <kdl/host_abi.h>, AMD code
 * objects by `.reqd_workgroup_size`, SPIR-V by `LocalSize`, zebins in `.ze_info`. The attribute of
 * OpenCL C is not read, because its numbers may be macros; for NVIDIA's code the driver refuses a
 * wrong block. */
bool kdl_image_has_geometry(kdl_image_kind kind);

/* Kind and size of an OpenCL C type by its name, "uint" or "float4". False for other names. */
bool kdl_opencl_c_type(kdl_string name, kdl_image_param *out_param);

/* kdl_image_resources of an image in memory, in the order of kdl_image_read_kernels, without
 * effects. Messages are as from kdl_image_read_target. */
kdl_status kdl_image_read_resources(kdl_image_kind kind, const void *data, size_t size,
                                    kdl_visit_resources *visit, void *user);

/* Whether the code of such images is read: cubins and AMD code objects. */
bool kdl_image_has_effects(kdl_image_kind kind);

/* Calls `visit` for each kernel of such an image, as kdl_image_read_resources does; KDL_UNSUPPORTED
 * for other kinds. */
kdl_status kdl_image_read_effects(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_effect *visit, void *user);

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

/* The kind of an entry of a CUDA fatbin; KDL_IMAGE_UNKNOWN for other numbers. */
kdl_image_kind kdl_image_kind_of_fatbin(uint16_t number);

/* Whether it is the version_key of a kind. */
bool kdl_image_kind_is_version_key(kdl_string key);

/* As kdl_spirv_next, but ends at the first function: all declarations precede it (SPIR-V
 * specification, "Logical Layout of a Module"). */
bool kdl_spirv_next_declaration(kdl_spirv *m, kdl_status *status);

/* Steps to the next OpEntryPoint of a kernel; *out_name.data is NULL after the last. */
kdl_status kdl_spirv_next_kernel(kdl_spirv *m, kdl_string *out_name);

/* Fails where the current instruction has fewer than `least` words. */
kdl_status kdl_spirv_expect(const kdl_spirv *m, const char *instruction, unsigned least);

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
