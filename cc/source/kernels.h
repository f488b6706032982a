/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The kernels of a source file, as Clang sees them for one target: names, parameters and what the
 * macros of <kdl/kernel.h> said (ast/clang_ast.h reads them). Types are kept as C text; what they
 * are is the compiler's to say (signature.h).
 */
#ifndef KDL_TOOL_CC_KERNELS_H
#define KDL_TOOL_CC_KERNELS_H

#include "support/base/arena.h"
#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in a source. */
typedef struct cc_location {
  kdl_string file;       /* empty where it is not known; lies in what was read */
  uint32_t line, column; /* 0 where it is not known */
} cc_location;

typedef struct cc_param {
  const char *name;           /* "" where it has none */
  const char *type;           /* as it is written, for instance "uint32_t" */
  const char *canonical_type; /* the type behind the names, for instance "unsigned int" */
  bool is_pointer;
  bool is_global; /* a pointer into __gpu_global memory: see signature.h */
  bool is_const;  /* a pointer to what is const */
  cc_location location;
} cc_param;

/* What KDL_BLOCK and its like give a kernel. */
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
  const char *function;       /* that the source defines: other than the name for KDL_KERNEL */
  const char *namespace_name; /* C++: the namespace it stands in, as "a::b"; "" for none */
  bool has_c_name;            /* C++: it has C's linkage */
  bool is_group_function;     /* one call does a group: KDL_KERNEL */
  bool has_dynamic_local;     /* has KDL_LOCAL_DYNAMIC; known of CPUs, OpenCL C and SPIR-V */
  bool has_barrier;           /* __gpu_sync_threads is called somewhere below it */
  bool is_static;             /* it has no name beyond its file */
  kdl_string returns; /* the type, "void" for a kernel that can be launched; lies in the dump */
  cc_param *params;
  size_t param_count;
  cc_location location;
  const char *sig;        /* of kdl.kernel.NAME: see signature.h */
  unsigned fields;        /* 1 << cc_field */
  unsigned excess_fields; /* likewise: more than three values */
  uint32_t values[CC_FIELD_COUNT][3];
} cc_kernel;

typedef struct cc_kernels {
  cc_kernel *items;
  size_t count;
  const char **microkernels; /* functions that <kdl/ukernel.h> marks, and that are defined */
  size_t microkernel_count;
  bool has_fast_math;     /* -ffast-math: signature.h */
  bool has_atomics;       /* on CPUs: something is atomic */
  bool can_relax_atomics; /* kdl-ld is here */
} cc_kernels;

/* Whether the source says a field, by KDL_BLOCK and the like. */
static inline bool cc_kernel_has(const cc_kernel *kernel, cc_field field) {
  return kernel->fields >> field & 1;
}

/* Whether its work-items wait for one another, and there are several. */
bool cc_kernel_has_barrier(const cc_kernel *kernel);

/* Whether kdl-ld is to make groups of them: where that is so of any; and where one that would wait
 * if there were several may have atomic operations in group memory, which need not be atomic. */
bool cc_kernels_need_group_lowering(const cc_kernels *kernels);

/* The kernel of that name; NULL where there is none. */
const cc_kernel *cc_kernel_find(const cc_kernels *kernels, kdl_string name);

#endif
