/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The field `specialize` of a kernel's key: what may become a constant when it repeats
 * (docs/specialize.md). */
#ifndef KDL_LIB_TARGET_FOLD_LIST_H
#define KDL_LIB_TARGET_FOLD_LIST_H

#include "lib/inspect/metadata.h"
#include "support/base/text.h"

enum { KDL_FOLD_LIMIT = 8 };

#define KDL_FOLD_GRAMMAR                                                                           \
  "up to 8 parameters in 'names', of at most 8 bytes, or 'block', separated by spaces: n alpha "   \
  "block"

typedef enum kdl_fold_kind {
  KDL_FOLD_INT,
  KDL_FOLD_UINT,
  KDL_FOLD_FLOAT,
  KDL_FOLD_POINTER, /* its alignment */
  KDL_FOLD_BLOCK,   /* of the launch */
} kdl_fold_kind;

typedef struct kdl_fold {
  kdl_fold_kind kind;
  uint16_t index; /* of the parameter */
  uint8_t size;   /* bytes of the argument */
  kdl_string name;
} kdl_fold;

typedef struct kdl_fold_list {
  size_t count;
  kdl_fold items[KDL_FOLD_LIMIT];
} kdl_fold_list;

/* Reads the field of a key that has it; names point into the key. The position of an error is in
 * the key's text. */
bool kdl_fold_list_read(const kdl_kernel_key *key, kdl_fold_list *out_list,
                        kdl_parse_error *out_error);

/* A value as one number: the bits of an argument, the alignment of a pointer (0: any), or the
 * block, whose y and z have 16 bits each. False where they have more. */
static inline bool kdl_fold_pack_block(const uint32_t block[3], uint64_t *out_word) {
  *out_word = block[0] | (uint64_t)block[1] << 32 | (uint64_t)block[2] << 48;
  return block[1] <= UINT16_MAX && block[2] <= UINT16_MAX;
}

/* "alpha=2.5" */
void kdl_fold_print(kdl_out *out, const kdl_fold *fold, uint64_t word);

/* "fold 1=0x40200000", a line of the key of a link, and the option --fold of kdl-ld. Nothing for a
 * pointer of any alignment. */
void kdl_fold_print_line(kdl_out *out, const kdl_fold *fold, uint64_t word);

#endif
