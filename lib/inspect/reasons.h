/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Why an image may not run on a device. */
#ifndef KDL_LIB_INSPECT_REASONS_H
#define KDL_LIB_INSPECT_REASONS_H

#include <stddef.h>
#include <stdint.h>

enum kdl_reason_bit {
#define KDL_REASON_ROW(id, code, distance, words, fix) KDL_REASON_##id,
#include "lib/target/reasons.def"
#undef KDL_REASON_ROW
  KDL_REASON_COUNT,
};

#define KDL_REASON(id) ((uint64_t)1 << KDL_REASON_##id)

/* Reasons of images without device code. */
#define KDL_REASONS_NO_CODE (KDL_REASON(CONTAINER) | KDL_REASON(SEQUENCE))

typedef struct kdl_reason_row {
  const char *code;  /* "other_major": stable, for programs */
  const char *words; /* without the values of a case, which lib/target/explain/explain.h adds */
  const char *fix;   /* "" where none is general */
  unsigned distance; /* how far from running: 1 is a setting, 100 is another machine */
} kdl_reason_row;

/* NULL for an unknown bit. */
const kdl_reason_row *kdl_reason_get(unsigned bit);

/* Reasons that mean that the image's target is unknown. */
#define KDL_REASONS_UNKNOWN                                                                        \
  (KDL_REASON(UNKNOWN_KIND) | KDL_REASON(UNKNOWN_ARCH) | KDL_REASON(UNKNOWN_FEATURE))

#endif
