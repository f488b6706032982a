/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the arguments of a kernel are, for drivers that take each by itself, with its size. What the
 * driver does not tell, the image does, else the signature in the metadata:
 *
 *     kdl_arguments list = {.count = count};
 *     kdl_arguments_read_image(&list, &image, "saxpy");
 *     kdl_arguments_read_signature(&list, request);
 *     if (!kdl_arguments_resolve(&list, fault, sizeof fault))
 *       fail(fault);
 */
#ifndef KDL_BACKENDS_COMMON_ARGUMENTS_H
#define KDL_BACKENDS_COMMON_ARGUMENTS_H

#include "lib/backends/common/arguments/params.h"

typedef enum kdl_argument_kind {
  KDL_ARGUMENT_UNKNOWN,
  KDL_ARGUMENT_VALUE,
  KDL_ARGUMENT_MEMORY,
  KDL_ARGUMENT_GROUP, /* group memory: its size is passed, and it is no argument of a launch */
} kdl_argument_kind;

typedef struct kdl_argument {
  kdl_argument_kind kind;
  uint32_t size;      /* 0 where it is unknown */
  uint32_t alignment; /* likewise */
  uint32_t index;     /* the driver's */
  uint32_t slot;      /* of its last value: see argument_cache.h */
  bool is_rounded;    /* by the image its size is that of its place: the signature may say less */
  bool undeclared;    /* the image shows eight bytes, which are no memory to the driver */
  bool contradicted;  /* the signature says otherwise */
} kdl_argument;

enum { KDL_MAX_ARGUMENTS = 256 };
#define KDL_NO_GROUP_MEMORY UINT32_MAX

typedef struct kdl_arguments {
  kdl_argument list[KDL_MAX_ARGUMENTS];
  uint32_t count;
  uint32_t group_index; /* of the one that is group memory, or KDL_NO_GROUP_MEMORY */
} kdl_arguments;

/* What the image shows of them. */
void kdl_arguments_read_image(kdl_arguments *arguments, const kdl_module_image *image,
                              const char *kernel);

/* What the signature says of them. */
void kdl_arguments_read_signature(kdl_arguments *arguments, const kdl_kernel_request *request);

/* Takes group memory out of the list. False, with the words, where an argument could be anything or
 * is not what the signature says, or more than one is group memory. */
bool kdl_arguments_resolve(kdl_arguments *arguments, char *out_fault, size_t fault_size);

/* Where they lie in the packed form: as C lays out a struct of them, as far as their alignment is
 * known. Parameters stay unknown where a size is. False when out of memory. */
bool kdl_arguments_lay_out(const kdl_arguments *arguments, kdl_params *out_params);

#endif
