/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The modules of a bitcode file, one by one, each with the string table its names are in. */
#ifndef KDL_LIB_IMAGE_LLVM_LLVM_BITCODE_H
#define KDL_LIB_IMAGE_LLVM_LLVM_BITCODE_H

#include "lib/image/llvm/bitstream.h"

enum {
  KDL_BITCODE_MODULE_BLOCK = 8,
  KDL_BITCODE_CONSTANTS_BLOCK = 11,
};

typedef struct kdl_bitcode {
  kdl_bitstream stream;
  kdl_bitblock top;
  kdl_bitentry module;  /* the current one */
  const uint8_t *names; /* the string table of the current module; NULL where there is none */
  uint64_t names_size;
  uint64_t names_at; /* the bit after it */
} kdl_bitcode;

kdl_status kdl_bitcode_open(const uint8_t *data, size_t size, kdl_bitcode *out_bitcode);

/* Enters the next module; *out_more is false where there is none. A file may hold several: split
 * modules for ThinLTO, or modules put together by llvm-cat. */
kdl_status kdl_bitcode_next_module(kdl_bitcode *bitcode, kdl_bitblock *out_module, bool *out_more);

/* ------------------------------------------------------------------------------------------ */
/* Kernels by metadata                                                                          */

/*
 * Up to LLVM 20, and in NVIDIA's own NVVM IR, a kernel for NVPTX is an
 * ordinary function that a node of !nvvm.annotations names: !{ptr @saxpy, !"kernel", i32 1}.
 */

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
