/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The keys of an image's metadata (docs/metadata.md): names and values. */
#ifndef KDL_LIB_INSPECT_METADATA_H
#define KDL_LIB_INSPECT_METADATA_H

#include "support/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

/*
 * Keys beyond triple and arch. All are optional; an absent key is no constraint. An unreadable
 * value of a must-check key makes the image ineligible; that of a may-use key counts as absent.
 */

typedef enum kdl_key {
  KDL_KEY_MIN_SM,
  KDL_KEY_MIN_GFX,
  KDL_KEY_REQUIRES_FEATURES,
  KDL_KEY_VARIANT_PRIORITY,
  KDL_KEY_VARIANT_TAG,
  KDL_KEY_COUNT,
} kdl_key;

typedef struct kdl_key_row {
  kdl_string name;
  const char *grammar;
  bool must_check;
} kdl_key_row;

extern const kdl_key_row kdl_keys[KDL_KEY_COUNT];

/* KDL_KEY_COUNT for an unknown name. */
kdl_key kdl_key_find(kdl_string name);

/* Checks one value, for tools that write or verify it. The position is in the value. */
bool kdl_metadata_check(kdl_key key, kdl_string value, kdl_parse_error *out_error);

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/*
 * The per-kernel key: kdl.kernel.NAME means that the image holds the kernel NAME. Its value has the
 * parameters and launch properties.
 *
 *     kdl.kernel.saxpy = "sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1; tile=256x1x1; rev=1"
 *
 * Fields are separated by ';', optional, and in any order. Unknown fields are kept and ignored.
 */

typedef enum kdl_kernel_field {
  KDL_KERNEL_SIG,        /* parameters, in order                                             */
  KDL_KERNEL_BLOCK,      /* work-items in a group: the image works with this size only       */
  KDL_KERNEL_TILE,       /* work-items of the problem that one group covers                  */
  KDL_KERNEL_SHARED,     /* bytes of dynamic shared memory                                   */
  KDL_KERNEL_HIDDEN,     /* scratch pointers the launcher appends                            */
  KDL_KERNEL_COOP,       /* 1: the groups synchronise with one another                       */
  KDL_KERNEL_CLUSTER,    /* groups in a cluster                                              */
  KDL_KERNEL_SUBGROUP,   /* work-items in a subgroup                                         */
  KDL_KERNEL_MIN_MEMORY, /* bytes the device must have                                       */
  KDL_KERNEL_REV,        /* revision of what the kernel computes                             */
  KDL_KERNEL_CONST,      /* pointers through which the kernel does not write                 */
  KDL_KERNEL_NAMES,      /* of the parameters, in order                                      */
  KDL_KERNEL_WHEN,       /* the condition under which a launch uses the image                */
  KDL_KERNEL_SHAPE,      /* parameters that describe the problem's size                      */
  KDL_KERNEL_EFFECTS,    /* idempotent: launching it twice gives what one launch gives       */
  KDL_KERNEL_TRIAL,      /* safe: its variants may be tried in launches of the program       */
  KDL_KERNEL_NUMERICS,   /* exact: same bits as the other variants that declare it           */
  KDL_KERNEL_SPECIALIZE, /* parameters whose values may become constants when they repeat    */
  KDL_KERNEL_FIELD_COUNT,
} kdl_kernel_field;

/* A parsed key; strings point into the text. Absent fields have their default: 0, or 1x1x1 for
 * extents. */
typedef struct kdl_kernel_key {
  kdl_string text;
  unsigned present; /* 1 << kdl_kernel_field */
  kdl_string sig;
  uint32_t param_count;
  uint32_t block[3];
  uint32_t tile[3];
  uint32_t cluster[3];
  uint64_t shared;
  uint64_t min_memory;
  uint32_t hidden;
  uint32_t coop;
  uint32_t subgroup;
  uint32_t rev;
  kdl_string constants; /* indices of parameters, from 0 */
} kdl_kernel_key;

static inline bool kdl_kernel_has(const kdl_kernel_key *key, kdl_kernel_field field) {
  return key->present >> field & 1;
}

bool kdl_kernel_parse(kdl_string value, kdl_kernel_key *out_key, kdl_parse_error *out_error);

/* The text of a field of a key that was parsed; `data` is NULL where the key has none. */
kdl_string kdl_kernel_field_text(const kdl_kernel_key *key, kdl_kernel_field field);

/* The index of the parameter with that name in the key's `names`; -1 where it has none. */
long kdl_kernel_find_param(const kdl_kernel_key *key, kdl_string name);

/* Whether a launch of these items with these arguments uses the variant; true for a key without a
 * condition (the field `when`). `items` may be NULL, as may each pointer of `args`: such values are
 * not known, and comparisons of them are false. */
bool kdl_kernel_is_for_launch(const kdl_kernel_key *key, const kdl_extent *items,
                              const kdl_args *args);

typedef enum kdl_param_kind {
  KDL_PARAM_INT,   /* i8 to i128 */
  KDL_PARAM_UINT,  /* u8 to u128 */
  KDL_PARAM_FLOAT, /* f8 to f64, bf16 */
  KDL_PARAM_PTR,   /* ptr<T> */
  KDL_PARAM_BYTES, /* bytes<N:align>: a structure passed by value */
} kdl_param_kind;

typedef struct kdl_param {
  kdl_param_kind kind;
  uint32_t size;  /* bytes; 0 for pointers, whose size depends on the target */
  uint32_t align; /* bytes; 0 for pointers */
  kdl_string text;
} kdl_param;

/* Iterates over a signature: *at starts at 0. False at its end, and where it is malformed; then *at
 * is not the signature's length, and `out_error` has the error. */
bool kdl_signature_next(kdl_string sig, size_t *at, kdl_param *out_param,
                        kdl_parse_error *out_error);

/* Whether the keys may be of variants of one kernel: parameters and revision are equal, as far as
 * both have them. */
bool kdl_kernel_is_variant(const kdl_kernel_key *a, const kdl_kernel_key *b);

#endif
