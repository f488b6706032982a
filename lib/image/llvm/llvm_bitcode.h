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

#endif
