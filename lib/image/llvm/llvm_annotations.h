/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels by metadata. Up to LLVM 20, and in NVIDIA's own NVVM IR, a kernel for NVPTX is an
 * ordinary function that a node of !nvvm.annotations names: !{ptr @saxpy, !"kernel", i32 1}.
 */
#ifndef KDL_LIB_IMAGE_LLVM_LLVM_ANNOTATIONS_H
#define KDL_LIB_IMAGE_LLVM_LLVM_ANNOTATIONS_H

#include "lib/image/llvm/bitstream.h"

/* Limits of a module's metadata; a module with more cannot be read. */
enum { KDL_LIMIT_METADATA_VALUES = 4096, KDL_LIMIT_GLOBALS = 1 << 16 };

typedef struct kdl_annotations {
  bool over_limit;
  uint8_t kernels[KDL_LIMIT_GLOBALS / 8]; /* a bit for each global value, by its number */
} kdl_annotations;

/* Adds the kernels that a module's METADATA block names. */
kdl_status kdl_annotations_read(kdl_bitstream *stream, const kdl_bitentry *metadata,
                                kdl_annotations *annotations);

/* Whether a global value is named as a kernel. Variables, functions, aliases and ifuncs are
 * numbered together, from 0, in the order of their records. */
bool kdl_annotations_has(const kdl_annotations *annotations, uint64_t value);

#endif
