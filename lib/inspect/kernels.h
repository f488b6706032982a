/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What an image shows of one of its kernels: parameters, and how it is launched. Pure functions
 * over memory: no allocation, no I/O, no trust in any length. */
#ifndef KDL_INSPECT_KERNELS_H
#define KDL_INSPECT_KERNELS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

/*
 * The parameters of one kernel, as far as the image itself shows them: to check what a signature
 * claims, and to launch a kernel without a description.
 *
 *     static int count_bytes(void *user, const kdl_image_param *param) {
 *       *(size_t *)user += param->size;
 *       return 0;
 *     }
 *     kdl_image_read_params(KDL_IMAGE_CUBIN, data, size, KDL_TEXT("saxpy"), count_bytes, &total);
 *
 * What is shown differs. Every format below shows how many parameters there are, and their sizes:
 *
 *            offsets         kinds
 *     PTX    by C's layout   floats; integers and pointers, unless they have the size of both
 *     cubin  yes             pointers, where ptxas was told of them; nothing else
 *     AMD    yes             pointers and values
 *     SPIR-V no              all
 *     CL     no              all, where the types are those of the language
 *     zebin  no              pointers and values; nothing of those that the kernel does not use
 *
 * Host code, LLVM and NVIDIA bitcode do not tell, or not in a form that is read here.
 */

typedef enum kdl_image_param_kind {
  KDL_IMAGE_PARAM_BYTES,   /* nothing is shown but the size: anything that has it */
  KDL_IMAGE_PARAM_VALUE,   /* no pointer: a number or a structure                 */
  KDL_IMAGE_PARAM_INTEGER, /* of either sign: no format tells them apart          */
  KDL_IMAGE_PARAM_FLOAT,
  KDL_IMAGE_PARAM_POINTER,
  KDL_IMAGE_PARAM_OPAQUE, /* an image, a sampler, ..., or not told */
  KDL_IMAGE_PARAM_GROUP,  /* group memory, for which a launch has a size and no argument */
} kdl_image_param_kind;

#define KDL_NO_OFFSET UINT32_MAX

typedef struct kdl_image_param {
  uint32_t index; /* 0 for the first */
  kdl_image_param_kind kind;
  uint32_t size; /* bytes; 0 for group memory, and where the format gives none: for what is opaque,
                    and in zebins for structures */
  uint32_t offset; /* in the block of arguments; KDL_NO_OFFSET where the format has none */
  bool is_rounded; /* the size is that of its place, a multiple of 4, and may be less */
} kdl_image_param;

/* More parameters are refused. CUDA's 32,764 bytes of arguments are 4,095 pointers; the longest
 * lists in NVIDIA's own libraries are below 100. */
enum { KDL_IMAGE_PARAM_LIMIT = 1024 };

/* Calls `visit` for each parameter, in order; non-zero stops. What a launcher adds on its own
 * behalf (AMD's hidden arguments) is no parameter. Fails with KDL_NO_MATCH where the image defines
 * no kernel of that name, KDL_UNSUPPORTED where this kind of image does not tell, and KDL_BAD_FILE,
 * with a message as from kdl_image_read_target, where it contradicts its format; that may turn out
 * after some were visited. */
typedef int kdl_visit_param(void *user, const kdl_image_param *param);
kdl_status kdl_image_read_params(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_string kernel, kdl_visit_param *visit, void *user);

/* ------------------------------------------------------------------------------------------ */
/* Geometry: how an image wants a kernel to be launched                                         */

/* Zeros where the image does not say. */
typedef struct kdl_image_geometry {
  uint32_t block[3]; /* work-items in a group: the only number that works */
  uint32_t tile[3];  /* work-items of the problem that a group covers */
} kdl_image_geometry;

/* Whether images of this kind can say anything. Host code does by <kdl/host_abi.h>, AMD code
 * objects by `.reqd_workgroup_size`, SPIR-V by `LocalSize`, zebins in `.ze_info`. OpenCL C may, by
 * an attribute whose numbers can be macros, which is not read; machine code and PTX for NVIDIA
 * leave it to the driver to refuse. */
bool kdl_image_has_geometry(kdl_image_kind kind);

/* An image that contradicts its format, or has no such kernel, says nothing: that shows when it is
 * loaded. */
kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel);

/* ------------------------------------------------------------------------------------------ */
/* AMD code objects: how one is loaded, and a kernel of it launched                             */

typedef struct kdl_image_limits {
  uint32_t block[3];  /* the only one it was compiled for; 0: any */
  uint32_t max_block; /* work-items in a group; 0: not said */
  uint32_t shared;    /* bytes of group memory of its own */
} kdl_image_limits;

/* Zeros where the code object has no metadata or does not say. Fails with KDL_NO_MATCH where the
 * metadata knows no kernel of that name, and KDL_BAD_FILE where it contradicts its format. */
kdl_status kdl_amdgpu_read_limits(const void *data, size_t size, kdl_string kernel,
                                  kdl_image_limits *out_limits);

/* Fails with KDL_BAD_FILE where the code object is stripped: HIP looks for `.symtab` and `.strtab`
 * by their names, and the process ends in a segmentation fault where they are missing. */
kdl_status kdl_amdgpu_check_symbols(const void *data, size_t size);

/* ------------------------------------------------------------------------------------------ */
/* Names of OpenCL C                                                                            */

/* Before the name of a kernel which a driver has a function of its own for: what is `dot` to all
 * others is `kdl_cl_dot` in the text. */
#define KDL_OPENCL_C_PREFIX "kdl_cl_"

/* A type of OpenCL C by its name, "uint" or "float4": its kind and size. False where it is none. */
bool kdl_opencl_c_type(kdl_string name, kdl_image_param *out_param);

#endif
