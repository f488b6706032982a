/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parameters and launch properties of a kernel, read from its image. Pure functions over memory: no
 * allocation, no I/O, no trust in any length. */
#ifndef KDL_LIB_INSPECT_KERNELS_H
#define KDL_LIB_INSPECT_KERNELS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

/*
 * The parameters of one kernel, as far as the image contains them: to check a signature, and to
 * launch a kernel without one.
 *
 *     static int count_bytes(void *user, const kdl_image_param *param) {
 *       *(size_t *)user += param->size;
 *       return 0;
 *     }
 *     kdl_image_read_params(KDL_IMAGE_CUBIN, data, size, KDL_TEXT("saxpy"), count_bytes, &total);
 *
 * All formats below contain the number of parameters and their sizes. They differ in the rest:
 *
 *            offsets         kinds
 *     PTX    by C's layout   floats; integers and pointers, unless they have the same size
 *     cubin  yes             pointers, if the PTX declares them; nothing else
 *     AMD    yes             pointers and values
 *     SPIR-V no              all
 *     CL     no              all built-in types
 *     zebin  no              pointers and values; nothing for unused parameters
 *
 * Parameters of host code, LLVM bitcode and NVIDIA's link-time IR are not read.
 */

typedef enum kdl_image_param_kind {
  KDL_IMAGE_PARAM_BYTES,   /* only the size is known */
  KDL_IMAGE_PARAM_VALUE,   /* not a pointer: a number or a structure */
  KDL_IMAGE_PARAM_INTEGER, /* signed or unsigned: no format distinguishes them */
  KDL_IMAGE_PARAM_FLOAT,
  KDL_IMAGE_PARAM_POINTER,
  KDL_IMAGE_PARAM_OPAQUE, /* an image, a sampler, ..., or unknown */
  KDL_IMAGE_PARAM_GROUP,  /* group memory: a launch has a size for it, not an argument */
} kdl_image_param_kind;

#define KDL_NO_OFFSET UINT32_MAX

typedef struct kdl_image_param {
  uint32_t index; /* 0 for the first */
  kdl_image_param_kind kind;
  uint32_t size;   /* bytes; 0 for group memory, opaque ones, and structures in zebins */
  uint32_t offset; /* in the block of arguments; KDL_NO_OFFSET where the format has none */
  bool is_rounded; /* the size is rounded up to a multiple of 4 */
} kdl_image_param;

/* More parameters are refused. CUDA's 32,764 bytes of arguments are 4,095 pointers; the longest
 * lists in NVIDIA's own libraries are below 100. */
enum { KDL_IMAGE_PARAM_LIMIT = 1024 };

/* Calls `visit` for each parameter, in order; non-zero stops. Arguments that a launcher adds (AMD's
 * hidden ones) are no parameters. KDL_NO_MATCH where the image has no such kernel, KDL_UNSUPPORTED
 * where its kind has no parameters that can be read, KDL_BAD_FILE, with a message as from
 * kdl_image_read_target, where it contradicts its format, perhaps after some visits. */
typedef int kdl_visit_param(void *user, const kdl_image_param *param);
kdl_status kdl_image_read_params(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_string kernel, kdl_visit_param *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Geometry                                                                                     */

/* Zeros where the image declares none. */
typedef struct kdl_image_geometry {
  uint32_t block[3]; /* work-items in a group: the only size that works */
  uint32_t tile[3];  /* work-items of the problem that a group covers */
} kdl_image_geometry;

/* Whether images of this kind can declare a geometry: host code by <kdl/host_abi.h>, AMD code
 * objects by `.reqd_workgroup_size`, SPIR-V by `LocalSize`, zebins in `.ze_info`. The attribute of
 * OpenCL C is not read, because its numbers may be macros; for NVIDIA's code the driver refuses a
 * wrong block. */
bool kdl_image_has_geometry(kdl_image_kind kind);

/* Zeros for a damaged image or an unknown kernel: loading reports these. */
kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel);

/* ------------------------------------------------------------------------------------------ */
/* AMD code objects                                                                             */

/* KDL_BAD_FILE for a stripped code object: HIP looks up `.symtab` and `.strtab` by name, and
 * crashes if they are missing. */
kdl_status kdl_amdgpu_check_symbols(const void *data, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Names of OpenCL C                                                                            */

/* A prefix for kernels whose names collide with a driver's function: the kernel `dot` is
 * `kdl_cl_dot` in the text. */
#define KDL_OPENCL_C_PREFIX "kdl_cl_"

/* Kind and size of an OpenCL C type by its name, "uint" or "float4". False for other names. */
bool kdl_opencl_c_type(kdl_string name, kdl_image_param *out_param);

#endif
