/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The per-kernel key (docs/metadata.md): kdl.kernel.NAME says that the image holds the kernel NAME,
 * what its parameters are and how it wants to be launched.
 *
 *     kdl.kernel.saxpy = "sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1; tile=256x1x1; rev=1"
 *
 * Fields are separated by ';', may be left out, and come in any order. Fields this version does not
 * know are kept and ignored.
 */
#ifndef KDL_TARGET_KERNEL_KEY_H
#define KDL_TARGET_KERNEL_KEY_H

#include "lib/target/target.h"
#include "support/base/text.h"

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
  KDL_KERNEL_FIELD_COUNT,
} kdl_kernel_field;

/* What was read; strings lie in the parsed text. Fields that are absent hold what their absence
 * means: 0, or 1x1x1 for extents. */
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
  kdl_string constants; /* numbers of parameters, from 0 */
} kdl_kernel_key;

static inline bool kdl_kernel_has(const kdl_kernel_key *key, kdl_kernel_field field) {
  return key->present >> field & 1;
}

bool kdl_kernel_parse(kdl_string value, kdl_kernel_key *out_key, kdl_parse_error *out_error);

typedef enum kdl_param_kind {
  KDL_PARAM_INT,   /* i8 to i128 */
  KDL_PARAM_UINT,  /* u8 to u128 */
  KDL_PARAM_FLOAT, /* f8 to f64, bf16 */
  KDL_PARAM_PTR,   /* ptr<T> */
  KDL_PARAM_BYTES, /* bytes<N:align>: a structure passed by value */
} kdl_param_kind;

typedef struct kdl_param {
  kdl_param_kind kind;
  uint32_t size;  /* bytes; 0 for pointers, whose size is the target's */
  uint32_t align; /* likewise */
  kdl_string text;
} kdl_param;

/* Steps through a signature: *at starts at 0. False at its end, and where it is malformed; then
 * *at is not the signature's length, and `out_error` says what is wrong. */
bool kdl_signature_next(kdl_string sig, size_t *at, kdl_param *out_param,
                        kdl_parse_error *out_error);

/* Whether two images may hold variants of one kernel: the parameters and the revision agree, as far
 * as both say them. */
bool kdl_kernel_is_variant(const kdl_kernel_key *a, const kdl_kernel_key *b);

/* What a device can launch; 0 = not known, not checked. */
typedef struct kdl_device_limits {
  uint32_t threads;  /* in a group */
  uint32_t block[3]; /* in each direction */
  uint64_t shared;   /* bytes of shared memory a group may have */
  uint32_t cluster;  /* groups in a cluster */
  uint64_t memory;   /* bytes */
} kdl_device_limits;

/* KDL_REASON bits; 0 = the kernel can be launched as its key says. */
uint64_t kdl_kernel_fit(const kdl_kernel_key *key, const kdl_device_rule *device,
                        const kdl_device_limits *limits);

/* "block=1024x2x1 is 2048 work-items; the device has groups of at most 1024" */
size_t kdl_kernel_reason_words(const kdl_kernel_key *key, const kdl_device_limits *limits,
                               unsigned reason, char *buffer, size_t size);

#endif
