/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What each kernel of an image uses: registers, memory, code, as the image declares it, and how
 * many groups of it a device runs at a time.
 *
 *     static int print(void *user, kdl_string kernel, const kdl_kernel_resources *uses) {
 *       printf("%.*s: %u registers\n", (int)kernel.length, kernel.data, uses->vector_registers);
 *       return 0;
 *     }
 *     kdl_image_read_resources(KDL_IMAGE_CUBIN, data, size, print, NULL);
 *
 * docs/resources.md has the source of each number in each format.
 */
#ifndef KDL_INSPECT_RESOURCES_H
#define KDL_INSPECT_RESOURCES_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The format does not declare the number. */
#define KDL_NO_RESOURCE UINT32_MAX

typedef struct kdl_kernel_resources {
  uint32_t vector_registers; /* of a work-item; Intel: of a hardware thread */
  uint32_t scalar_registers; /* of a subgroup */
  uint32_t accumulator_registers;
  uint32_t vector_spills; /* registers that were moved to memory */
  uint32_t scalar_spills;
  uint32_t spill_bytes; /* of a hardware thread */
  uint32_t stack;       /* bytes of private memory of a work-item; Intel: of a thread */
  uint32_t local;       /* bytes of a work-item outside the stack */
  uint32_t shared;      /* bytes of static group memory */
  uint32_t constant;    /* bytes of the constant bank with the parameters */
  uint32_t max_block;   /* most work-items of a group */
  uint32_t block[3];    /* the only block that works; 0: any */
  uint32_t subgroup;
  uint32_t params;
  uint32_t param_bytes;
  uint32_t code_bytes;
  uint32_t barriers;
} kdl_kernel_resources;

/* Calls `visit` for each kernel, in the order of kdl_image_read_kernels; non-zero stops.
 * KDL_UNSUPPORTED where images of this kind declare nothing of it (IR and source),
 * KDL_BAD_FILE, with a message as from kdl_image_read_target, where the image contradicts its
 * format, perhaps after some visits. */
typedef int kdl_visit_resources(void *user, kdl_string kernel, const kdl_kernel_resources *uses);
kdl_status kdl_image_read_resources(kdl_image_kind kind, const void *data, size_t size,
                                    kdl_visit_resources *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Effects                                                                                      */

/* What a kernel does, by its code. Preprocessor conditions often leave a kernel empty, or with a
 * message, for architectures that it is not meant for. */
typedef enum kdl_kernel_effect {
  KDL_EFFECT_UNKNOWN, /* its code cannot be read */
  KDL_EFFECT_SOME,    /* it has instructions that may change memory */
  KDL_EFFECT_NOTHING, /* it only ends */
  KDL_EFFECT_STOPS,   /* it only traps, or prints, or fails an assertion */
} kdl_kernel_effect;

/* Calls `visit` for each kernel of a cubin or an AMD code object, as kdl_image_read_resources does;
 * KDL_UNSUPPORTED for other kinds. */
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

/* What limits the number of groups. */
typedef enum kdl_occupancy_limit {
  KDL_LIMIT_BY_GROUPS,
  KDL_LIMIT_BY_SUBGROUPS,
  KDL_LIMIT_BY_REGISTERS,
  KDL_LIMIT_BY_SHARED,
} kdl_occupancy_limit;

typedef struct kdl_occupancy {
  uint32_t groups;         /* that a compute unit runs at a time; 0: the kernel does not fit */
  uint32_t subgroups;      /* of these groups */
  uint32_t most_subgroups; /* of a compute unit */
  kdl_occupancy_limit limit;
} kdl_occupancy;

/* For groups of `block` work-items with `dynamic_shared` bytes in addition to the static ones, on a
 * device of that architecture ("sm_90", "gfx942"). False where the limits of the architecture are
 * not known, or the kernel does not declare its registers. */
bool kdl_occupancy_of(kdl_string arch, const kdl_kernel_resources *uses, uint32_t block,
                      uint32_t dynamic_shared, kdl_occupancy *out_occupancy);

#endif
