/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The arguments of a kernel, for drivers that take them one by one with their sizes. Facts that the
 * driver does not report come from the image, else from the signature in the metadata:
 *
 *     kdl_arguments list = {.count = count};
 *     kdl_arguments_read_image(&list, &image, "saxpy");
 *     kdl_arguments_read_signature(&list, request);
 *     if (!kdl_arguments_resolve(&list, fault, sizeof fault))
 *       fail(fault);
 */
#ifndef KDL_LIB_BACKENDS_COMMON_ARGUMENTS_ARGUMENTS_H
#define KDL_LIB_BACKENDS_COMMON_ARGUMENTS_ARGUMENTS_H

#include "lib/backends/common/arguments/params.h"

typedef enum kdl_argument_kind {
  KDL_ARGUMENT_UNKNOWN,
  KDL_ARGUMENT_VALUE,
  KDL_ARGUMENT_MEMORY,
  KDL_ARGUMENT_GROUP, /* group memory: only its size is passed; not an argument of a launch */
} kdl_argument_kind;

typedef struct kdl_argument {
  kdl_argument_kind kind;
  uint32_t size;      /* 0 where it is unknown */
  uint32_t alignment; /* 0 where it is unknown */
  uint32_t index;     /* the driver's index */
  uint32_t slot;      /* of its cached value: argument_cache.h */
  bool is_rounded;    /* the image gives its size rounded up: the signature may give less */
  bool undeclared;    /* eight bytes in the image, which the driver does not treat as memory */
  bool contradicted;  /* the signature contradicts it */
} kdl_argument;

enum { KDL_MAX_ARGUMENTS = 256 };
#define KDL_NO_GROUP_MEMORY UINT32_MAX

typedef struct kdl_arguments {
  kdl_argument list[KDL_MAX_ARGUMENTS];
  uint32_t count;
  uint32_t group_index; /* index of the group memory, or KDL_NO_GROUP_MEMORY */
} kdl_arguments;

/* Reads the parameters from the image. */
void kdl_arguments_read_image(kdl_arguments *arguments, const kdl_image_reference *image,
                              const char *kernel);

/* Reads the parameters from the signature. */
void kdl_arguments_read_signature(kdl_arguments *arguments, const kdl_kernel_request *request);

/* Removes group memory from the list. False, with the reason, where an argument is unknown or
 * contradicts the signature, or more than one is group memory. */
bool kdl_arguments_resolve(kdl_arguments *arguments, char *out_fault, size_t fault_size);

/* Computes the offsets of the packed form: those of a C struct, as far as alignments are known.
 * Parameters stay unknown if a size is. False when out of memory. */
bool kdl_arguments_lay_out(const kdl_arguments *arguments, kdl_params *out_params);

#endif
