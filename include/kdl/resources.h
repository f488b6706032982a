/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What each kernel of an image uses: registers, memory, code, as the image declares it, and how
 * many groups of it a device runs at a time. Nothing is loaded; no driver is needed.
 *
 *     static int print(void *user, const kdl_string *kernel, const kdl_kernel_resources *uses) {
 *       printf("%s: %u registers\n", kernel->data, (unsigned)uses->vector_registers);
 *       return 0;
 *     }
 *     kdl_image_resources(lib, 0, print, NULL);
 *
 * docs/resources.md has the source of each number in each format.
 */
#ifndef KDL_RESOURCES_H
#define KDL_RESOURCES_H

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The format does not declare the number. */
#define KDL_NO_RESOURCE UINT32_MAX

/* What a kernel does, by its code. Preprocessor conditions often leave a kernel empty, or with a
 * message, for architectures that it is not meant for. */
typedef enum kdl_kernel_effect {
  KDL_EFFECT_UNKNOWN, /* its code cannot be read */
  KDL_EFFECT_SOME,    /* it has instructions that may change memory */
  KDL_EFFECT_NOTHING, /* it only ends */
  KDL_EFFECT_STOPS,   /* it only traps, or prints, or fails an assertion */
} kdl_kernel_effect;

typedef struct kdl_kernel_resources {
  size_t size;               /* sizeof(kdl_kernel_resources) in the libkdl that was loaded */
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
  kdl_kernel_effect effect;
} kdl_kernel_resources;

/* Calls `visit` for each kernel, in the image's own order. Name and numbers are valid during the
 * call. A non-zero return stops the walk and is not an error. KDL_UNSUPPORTED where images of this
 * kind declare nothing of it (IR and source); KDL_BAD_FILE, perhaps after some visits, where the
 * image contradicts its format. */
KDL_API kdl_status kdl_image_resources(kdl_library *lib, size_t index,
                                       int (*visit)(void *user, const kdl_string *kernel,
                                                    const kdl_kernel_resources *uses),
                                       void *user);

/* What limits the number of groups. */
typedef enum kdl_occupancy_limit {
  KDL_LIMIT_BY_GROUPS,
  KDL_LIMIT_BY_SUBGROUPS,
  KDL_LIMIT_BY_REGISTERS,
  KDL_LIMIT_BY_SHARED,
} kdl_occupancy_limit;

typedef struct kdl_occupancy {
  size_t size;             /* set to sizeof(kdl_occupancy) before the call */
  uint32_t groups;         /* that a compute unit runs at a time; 0: the kernel does not fit */
  uint32_t subgroups;      /* of these groups */
  uint32_t most_subgroups; /* of a compute unit */
  kdl_occupancy_limit limit;
} kdl_occupancy;

/* For groups of `block` work-items, 1 to 1024, with `dynamic_shared` bytes in addition to the
 * static ones. The device may be a described one ("h200"). KDL_UNSUPPORTED where the limits of its
 * architecture are not known, or the kernel does not declare its registers. Whether the image runs
 * on the device is for kdl_explain. */
KDL_API kdl_status kdl_device_occupancy(const kdl_device *device, const kdl_kernel_resources *uses,
                                        uint32_t block, uint32_t dynamic_shared,
                                        kdl_occupancy *out_occupancy);

#ifdef __cplusplus
}
#endif

#endif
