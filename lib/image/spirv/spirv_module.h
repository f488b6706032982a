/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A walk over the instructions of a SPIR-V module: 32-bit words in the byte order that the magic
 * number shows. */
#ifndef KDL_IMAGE_SPIRV_SPIRV_MODULE_H
#define KDL_IMAGE_SPIRV_SPIRV_MODULE_H

#include "support/base/bytes.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  KDL_SPIRV_OP_MEMORY_MODEL = 14,
  KDL_SPIRV_OP_ENTRY_POINT = 15,
  KDL_SPIRV_OP_CAPABILITY = 17,
  KDL_SPIRV_OP_FUNCTION = 54,

  KDL_SPIRV_HEADER_WORDS = 5,
};

typedef struct kdl_spirv {
  const uint8_t *data;
  uint64_t word_count;
  bool is_big_endian;
  uint64_t at; /* the word after the current instruction */
  uint64_t start;
  uint32_t opcode;
  uint32_t length; /* words, the first one included */
} kdl_spirv;

static inline uint32_t kdl_spirv_word(const kdl_spirv *m, uint64_t index) {
  const uint8_t *b = m->data + index * 4;
  if (!m->is_big_endian)
    return kdl_load_u32(b);
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Operand `index` of the current instruction, from 1 on; the caller has checked the length. */
static inline uint32_t kdl_spirv_operand(const kdl_spirv *m, uint32_t index) {
  return kdl_spirv_word(m, m->start + index);
}

/* Stands before the first instruction. */
kdl_status kdl_spirv_open(const uint8_t *data, size_t size, kdl_spirv *out_module);

/* Steps to the next instruction; false at the end, or on failure. */
bool kdl_spirv_next(kdl_spirv *m, kdl_status *status);

/* The same, but the end is the first function: what declares stands before it (SPIR-V
 * specification, "Logical Layout of a Module"). */
bool kdl_spirv_next_declaration(kdl_spirv *m, kdl_status *status);

/* Fails where the current instruction has less than `least` words. */
kdl_status kdl_spirv_expect(const kdl_spirv *m, const char *instruction, unsigned least);

/* Steps to the next OpEntryPoint of a kernel; *out_name.data is NULL after the last. */
kdl_status kdl_spirv_next_kernel(kdl_spirv *m, kdl_string *out_name);

#endif
