/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of image kinds. */
#include "lib/inspect/kinds.h"

#include "lib/image/readers.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/text.h"

#include <stddef.h>

#define CONTAINER "it is a container: its images tell, not itself"

#define ON(family) (1u << KDL_FAMILY_##family)
#define ON_CPUS (ON(X86_64) | ON(AARCH64) | ON(RISCV))

const kdl_image_readers kdl_no_readers = {.target = NULL};

const kdl_image_kind_row kdl_image_kinds[KDL_IMAGE_KIND_COUNT] = {
#define KDL_IMAGE_KIND(id, text, llvm, first_bytes, what, reader, ...)                             \
  [KDL_IMAGE_##id] = {.name = (text),                                                              \
                      .llvm_number = (llvm),                                                       \
                      .holds = KDL_HOLDS_##what,                                                   \
                      .readers = &kdl_##reader##_readers,                                          \
                      __VA_ARGS__},
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
};

const char *kdl_image_kind_name(kdl_image_kind kind) {
  switch (kind) { /* without a default: a kind without a row is a warning */
#define KDL_IMAGE_KIND(id, ...) case KDL_IMAGE_##id:
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
    break;
  }
  return kdl_image_kind_get(kind)->name;
}

uint16_t kdl_llvm_image_kind(kdl_image_kind kind) {
  const kdl_image_kind_row *row = kdl_image_kind_get(kind);
  return row->llvm_as ? kdl_image_kinds[row->llvm_as].llvm_number : row->llvm_number;
}

/* Kinds without a number are behind the last one. */
const uint8_t kdl_image_kinds_of_llvm[KDL_LLVM_KIND_LIMIT + KDL_IMAGE_KIND_COUNT] = {
#define KDL_IMAGE_KIND(id, name, llvm, ...)                                                        \
  [(llvm) ? (llvm) : KDL_LLVM_KIND_LIMIT + (int)KDL_IMAGE_##id] = KDL_IMAGE_##id,
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
};

kdl_image_kind kdl_image_kind_of_fatbin(uint16_t number) {
  bool is_one_bit = number && !(number & (number - 1));
  for (unsigned kind = 0; is_one_bit && kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    if (kdl_image_kinds[kind].fatbin_numbers & number)
      return (kdl_image_kind)kind;
  }
  return KDL_IMAGE_UNKNOWN;
}

kdl_image_kind kdl_image_kind_of_key(kdl_string value) {
  for (unsigned kind = 0; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    const kdl_image_kind_row *row = &kdl_image_kinds[kind];
    if (row->kind_key != KDL_KIND_KEY_NEVER && kdl_text_is(value, row->name))
      return (kdl_image_kind)kind;
  }
  return KDL_IMAGE_UNKNOWN;
}

bool kdl_image_kind_is_version_key(kdl_string key) {
  for (unsigned kind = 0; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    const char *version_key = kdl_image_kinds[kind].version_key;
    if (version_key && kdl_text_is(key, version_key))
      return true;
  }
  return false;
}
