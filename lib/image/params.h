/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
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
 *
 * Pure functions over memory, as in lib/inspect/images.h: no allocation, no I/O, no trust in any
 * length.
 */
#ifndef KDL_IMAGE_PARAMS_H
#define KDL_IMAGE_PARAMS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
