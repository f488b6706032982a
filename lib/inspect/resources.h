/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each kernel of an image uses and does, of bytes in memory: <kdl/resources.h> has the
 * numbers, docs/resources.md their sources. */
#ifndef KDL_LIB_INSPECT_RESOURCES_H
#define KDL_LIB_INSPECT_RESOURCES_H

#include <kdl/resources.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a kernel for which nothing is declared. */
extern const kdl_kernel_resources kdl_no_resources;

/* kdl_image_resources of an image in memory, in the order of kdl_image_read_kernels, without
 * effects; names need not end with a NUL. Messages are as from kdl_image_read_target. */
typedef int kdl_visit_resources(void *user, kdl_string kernel, const kdl_kernel_resources *uses);
kdl_status kdl_image_read_resources(kdl_image_kind kind, const void *data, size_t size,
                                    kdl_visit_resources *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Effects                                                                                      */

/* Whether the code of such images is read: cubins and AMD code objects. */
bool kdl_image_has_effects(kdl_image_kind kind);

/* Calls `visit` for each kernel of such an image, as kdl_image_read_resources does; KDL_UNSUPPORTED
 * for other kinds. */
typedef int kdl_visit_effect(void *user, kdl_string kernel, kdl_kernel_effect effect);
kdl_status kdl_image_read_effects(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_effect *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Digests                                                                                      */

/* To find kernels whose code changed. Equal digests are those of equal code, up to the addresses in
 * it that depend on the rest of the image; names, notes and debug information do not count. They
 * are hashes against accidents, not against attackers. docs/kernel-diff.md has what is hashed. */
typedef struct kdl_kernel_digest {
  uint64_t code[2]; /* zeros: not read */
  uint64_t params;  /* of the sizes and offsets of its parameters; 0: not read */
} kdl_kernel_digest;

/* Calls `visit` for each kernel, in the order of kdl_image_read_kernels, and fails as that does.
 * IR other than PTX, and source, is hashed as a whole: a change in it is one of every kernel. */
typedef int kdl_visit_digest(void *user, kdl_string kernel, const kdl_kernel_digest *digest);
kdl_status kdl_image_read_digests(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_visit_digest *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Occupancy                                                                                    */

/* For groups of `block` work-items with `dynamic_shared` bytes in addition to the static ones, on a
 * device of that architecture ("sm_90", "gfx942"). False where the limits of the architecture are
 * not known, or the kernel does not declare its registers. */
bool kdl_occupancy_of(kdl_string arch, const kdl_kernel_resources *uses, uint32_t block,
                      uint32_t dynamic_shared, kdl_occupancy *out_occupancy);

struct kdl_nvptx_processor; /* lib/inspect/gpu_targets.h */

/* The bytes of shared memory that a group may ask for (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"). */
uint32_t kdl_nvptx_group_memory(const struct kdl_nvptx_processor *processor);

#endif
