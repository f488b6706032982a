/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The kernels of a source file, as Clang sees them for one target: names, parameters and the values
 * of <kdl/kernel.h>'s macros (ast/clang_ast.h reads them). Types are C text; the compiler resolves
 * them (wrapper.h).
 */
#ifndef KDL_CC_SOURCE_KERNELS_H
#define KDL_CC_SOURCE_KERNELS_H

#include "support/base/arena.h"
#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A location in a source. */
typedef struct cc_location {
  kdl_string file;       /* empty if unknown; points into the text that was read */
  uint32_t line, column; /* 0 if unknown */
} cc_location;

typedef struct cc_param {
  const char *name;           /* "" if it has none */
  const char *type;           /* as written, for instance "uint32_t" */
  const char *canonical_type; /* without typedefs, for instance "unsigned int" */
  bool is_pointer;
  bool is_global; /* a pointer into __gpu_global memory: see wrapper.h */
  bool is_const;  /* a pointer to const */
  cc_location location;
} cc_param;

/* The values that KDL_BLOCK and the other macros give a kernel. */
typedef enum cc_field {
  CC_BLOCK,
  CC_TILE,
  CC_SUBGROUP,
  CC_SHARED,
  CC_REV,
  CC_FIELD_COUNT
} cc_field;

typedef struct cc_kernel {
  const char *name;
  const char *function;       /* the function in the source: differs from the name for KDL_KERNEL */
  const char *namespace_name; /* C++: its namespace, as "a::b"; "" for none */
  bool has_c_name;            /* C++: it has C linkage */
  bool is_group_function;     /* one call runs a group: KDL_KERNEL */
  bool has_dynamic_local;     /* uses KDL_LOCAL_DYNAMIC; known for CPUs, OpenCL C and SPIR-V */
  bool has_barrier;           /* calls __gpu_sync_threads, directly or indirectly */
  bool is_static;             /* it has internal linkage */
  kdl_string returns; /* the return type, "void" if it can be launched; points into the dump */
  cc_param *params;
  size_t param_count;
  cc_location location;
  const char *sig;        /* of kdl.kernel.NAME: see wrapper.h */
  unsigned fields;        /* 1 << cc_field */
  unsigned excess_fields; /* 1 << cc_field: more than three values */
  uint32_t values[CC_FIELD_COUNT][3];
} cc_kernel;

typedef struct cc_kernels {
  cc_kernel *items;
  size_t count;
  const char **microkernels; /* functions that <kdl/ukernel.h> marks, and that are defined */
  size_t microkernel_count;
  bool has_fast_math;     /* -ffast-math: wrapper.h */
  bool has_atomics;       /* CPUs: it has atomic operations */
  bool can_relax_atomics; /* kdl-ld is available */
} cc_kernels;

/* Whether the source sets a field, by KDL_BLOCK and the other macros. */
static inline bool cc_kernel_has(const cc_kernel *kernel, cc_field field) {
  return kernel->fields >> field & 1;
}

/* Whether it has a barrier, and more than one work-item per group. */
bool cc_kernel_has_barrier(const cc_kernel *kernel);

/* Whether kdl-ld has to lower work-groups: if any kernel has a barrier; or if one with barriers but
 * one work-item may have atomic operations on group memory, which can become plain ones. */
bool cc_kernels_need_group_lowering(const cc_kernels *kernels);

/* The kernel of that name; NULL where there is none. */
const cc_kernel *cc_kernel_find(const cc_kernels *kernels, kdl_string name);

#endif
