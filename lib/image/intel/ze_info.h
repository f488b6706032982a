/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The section .ze_info of a zebin: YAML in which Intel's compiler describes each kernel to the
 * driver ("zeinfo.md" in intel-graphics-compiler).
 *
 *     kernels:
 *       - name:            saxpy
 *         execution_env:
 *           required_work_group_size: [ 64, 1, 1 ]
 *         payload_arguments:
 *           - arg_type:        arg_byvalue
 *             size:            4
 *             arg_index:       0
 *
 * The reader supports what the compiler writes: mappings and lists by indentation, a value after
 * its key, lists of numbers in brackets. It refuses other YAML in values that it needs, and skips
 * it elsewhere.
 */
#ifndef KDL_LIB_IMAGE_INTEL_ZE_INFO_H
#define KDL_LIB_IMAGE_INTEL_ZE_INFO_H

#include "lib/inspect/images.h"

#include <stdbool.h>

/* The text, and its offset in the image, for messages. */
typedef struct kdl_ze_info {
  const char *text;
  size_t size;
  uint64_t offset;
} kdl_ze_info;

typedef struct kdl_ze_param {
  kdl_image_param_kind
      kind; /* OPAQUE also for a parameter without an entry, because the kernel does not use it */
  uint32_t size;
} kdl_ze_param;

typedef struct kdl_ze_kernel {
  kdl_ze_param params[KDL_IMAGE_PARAM_LIMIT]; /* by their index */
  uint32_t param_count;
  uint32_t block[3]; /* the only block that it works with; 0: any */

  uint32_t registers; /* of a hardware thread; 0: not declared */
  uint32_t simd;      /* work-items of a hardware thread; 0: not declared */
  uint32_t shared, barriers;
  uint32_t spill_size;                   /* bytes of a hardware thread; UINT32_MAX: not declared */
  uint32_t private_size;                 /* bytes of a work-item; the same */
  uint32_t spill_buffer, private_buffer; /* bytes of a hardware thread that the driver allocates */
} kdl_ze_kernel;

/* KDL_NO_MATCH where no kernel has that name, KDL_BAD_FILE where its entry cannot be read,
 * KDL_UNSUPPORTED for another version of the format and for too many parameters. Pointers have the
 * given size. */
kdl_status kdl_ze_info_read(const kdl_ze_info *info, kdl_string kernel, uint32_t pointer_size,
                            kdl_ze_kernel *out_kernel);

/* Reads all kernels, in one pass; non-zero stops. The name is as written, without its quotes. */
typedef int kdl_visit_ze_kernel(void *user, kdl_string name, const kdl_ze_kernel *kernel);
kdl_status kdl_ze_info_visit(const kdl_ze_info *info, uint32_t pointer_size,
                             kdl_visit_ze_kernel *visit, void *user);

#endif
