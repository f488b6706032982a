/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is known of each kind of image: the rows of lib/inspect/kinds.def. */
#ifndef KDL_LIB_INSPECT_KINDS_H
#define KDL_LIB_INSPECT_KINDS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>

enum kdl_image_kind_index {
#define KDL_IMAGE_KIND(id, ...) KDL_IMAGE_KIND_INDEX_##id,
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
  KDL_IMAGE_KIND_COUNT,
};

/* What an image of a kind holds. */
typedef enum kdl_image_holds {
  KDL_HOLDS_NOTHING_KNOWN,
  KDL_HOLDS_IMAGES,   /* a container, whose images are listed too and have the kernels */
  KDL_HOLDS_SEQUENCE, /* no code: it is for every device */
  KDL_HOLDS_MACHINE_CODE,
  KDL_HOLDS_DRIVER_CODE, /* compiled by the driver that loads it */
  KDL_HOLDS_BITCODE,     /* linked and compiled by kdl-ld before a driver loads it */
  KDL_HOLDS_LINK_INPUT,  /* input of the vendor's device linker alone */
} kdl_image_holds;

/* Whether the key kdl.kind names the kind. */
typedef enum kdl_kind_key {
  KDL_KIND_KEY_NEVER,
  KDL_KIND_KEY_OF_INDEXED, /* with a kernel index, so that the image is not read */
  KDL_KIND_KEY_ALWAYS,     /* nothing else identifies it */
} kdl_kind_key;

typedef struct kdl_image_kind_row {
  const char *name;
  const char *extension; /* of a file, without the dot */
  const char *llvm_name; /* of LLVM's number, which its packager knows as an extension; or NULL */
  uint16_t llvm_number;
  uint8_t llvm_as;         /* the kind whose number LLVM's headers have for this one; 0: its own */
  uint16_t fatbin_numbers; /* of entries in CUDA fatbins, joined by |: each has one bit */
  uint8_t kind_key;        /* kdl_kind_key */
  uint8_t holds;           /* kdl_image_holds */
  uint8_t family;          /* kdl_target_family, that of the triple; 0: any, or unknown */
  uint8_t tier;            /* kdl_tier; that of code for a group, say, depends on the arch */
  uint16_t loaded_by;      /* 1 << kdl_target_family: of the devices whose own driver loads it */
  /* The vendor documents no order between it and other code of its tier: it ranks last there, and
   * is kept next to such code. */
  bool is_unverified;
  /* The key of a version of the format that devices depend on; kdl.version precedes it. NULL where
   * none does. */
  const char *version_key;
  const struct kdl_image_readers *readers; /* lib/image/readers.h */
  const char *no_reader;                   /* why there is none */
} kdl_image_kind_row;

extern const kdl_image_kind_row kdl_image_kinds[KDL_IMAGE_KIND_COUNT];

/* The row of KDL_IMAGE_UNKNOWN for values outside the enum. */
static inline const kdl_image_kind_row *kdl_image_kind_get(kdl_image_kind kind) {
  unsigned index = (unsigned)kind;
  return &kdl_image_kinds[index < KDL_IMAGE_KIND_COUNT ? index : (unsigned)KDL_IMAGE_UNKNOWN];
}

enum { KDL_LLVM_KIND_LIMIT = 16 };
extern const uint8_t kdl_image_kinds_of_llvm[KDL_LLVM_KIND_LIMIT + KDL_IMAGE_KIND_COUNT];

/* The kind of a number or a name in a file, KDL_IMAGE_UNKNOWN for others: LLVM's ImageKind, which
 * every image of an OffloadBinary has, and the value of kdl.kind. */
static inline kdl_image_kind kdl_image_kind_of_llvm(uint16_t number) {
  return number < KDL_LLVM_KIND_LIMIT ? (kdl_image_kind)kdl_image_kinds_of_llvm[number]
                                      : KDL_IMAGE_UNKNOWN;
}

kdl_image_kind kdl_image_kind_of_key(kdl_string value);

#endif
