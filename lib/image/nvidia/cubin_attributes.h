/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The attributes of a cubin's sections .nv.compat and .nv.info (EICOMPAT_ATTR_*, EIATTR_*). */
#ifndef KDL_LIB_IMAGE_NVIDIA_CUBIN_ATTRIBUTES_H
#define KDL_LIB_IMAGE_NVIDIA_CUBIN_ATTRIBUTES_H

#include "support/base/bytes.h"
#include "support/base/elf_file.h"
#include "support/base/error.h"

#include <inttypes.h>

enum {
  KDL_CUBIN_SYMBOL_ENTRY = 0x10, /* STO_CUDA_ENTRY, in st_other: a kernel */

  KDL_CUBIN_FORM_BYTE = 2,  /* form, attribute, value, padding */
  KDL_CUBIN_FORM_SHORT = 3, /* form, attribute, u16 value */
  KDL_CUBIN_FORM_SIZED = 4, /* form, attribute, u16 size, bytes */
};

typedef struct kdl_cubin_attributes {
  const kdl_elf *elf;
  kdl_elf_section section;
  const char *name;
  uint64_t at;
} kdl_cubin_attributes;

typedef struct kdl_cubin_attribute {
  uint8_t form;
  uint8_t id;
  const uint8_t *value;
  uint64_t size;
  uint64_t offset; /* of the value in the image */
} kdl_cubin_attribute;

/* False at the end, and on failure. */
static inline bool kdl_cubin_next_attribute(kdl_cubin_attributes *list, kdl_cubin_attribute *out,
                                            kdl_status *status) {
  const kdl_elf_section *section = &list->section;
  uint64_t left = section->size - list->at;
  if (left == 0)
    return false;
  if (left < 4) {
    *status =
        kdl_malformed_at(section->offset + list->at, list->name,
                         "found %" PRIu64 " bytes, expected an attribute of at least 4", left);
    return false;
  }
  const uint8_t *header = list->elf->data + section->offset + list->at;
  bool is_sized = header[0] == KDL_CUBIN_FORM_SIZED;
  *out = (kdl_cubin_attribute){
      .form = header[0],
      .id = header[1],
      .value = header + (is_sized ? 4 : 2),
      .size = is_sized ? kdl_load_u16(header + 2) : 2,
      .offset = section->offset + list->at + (is_sized ? 4 : 2),
  };
  uint64_t size = is_sized ? out->size : 0;
  if (size > left - 4) {
    *status = kdl_malformed_at(section->offset + list->at + 2, list->name,
                               "found an attribute of %" PRIu64 " bytes, expected at most %" PRIu64,
                               size, left - 4);
    return false;
  }
  list->at += 4 + size;
  return true;
}

#endif
