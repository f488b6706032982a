/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/kinds.h"

#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char cli_offload_kind_names[] = "none, openmp, cuda, hip, sycl or a number";
const char cli_image_kind_names[] =
#define KDL_IMAGE_KIND(id, name, ...) name ", "
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
    "or LLVM's o, bc, s, spv";

static const struct {
  const char *name;
  uint16_t kind;
} offload_kinds[] = {
    {"none", KDL_OFFLOAD_NONE}, {"openmp", KDL_OFFLOAD_OPENMP}, {"cuda", KDL_OFFLOAD_CUDA},
    {"hip", KDL_OFFLOAD_HIP},   {"sycl", KDL_OFFLOAD_SYCL},
};

const char *cli_offload_kind_name(uint16_t kind, char room[CLI_KIND_ROOM]) {
  for (size_t i = 0; i < COUNT(offload_kinds); ++i) {
    if (offload_kinds[i].kind == kind)
      return offload_kinds[i].name;
  }
  snprintf(room, CLI_KIND_ROOM, "0x%x", kind);
  return room;
}

const char *cli_image_kind_name(const kdl_image_info *image, char room[CLI_IMAGE_KIND_ROOM]) {
  for (size_t i = 0; image->kind == KDL_IMAGE_UNKNOWN && i < image->pair_count; ++i) {
    if (kdl_text_is(image->pairs[i].key, "kdl.kind")) {
      snprintf(room, CLI_IMAGE_KIND_ROOM, "kind %s", image->pairs[i].value.data);
      return room;
    }
  }
  if (image->kind == KDL_IMAGE_UNKNOWN && *cli_declared_kind_name(image->declared_kind) == '\0' &&
      image->declared_kind) {
    snprintf(room, CLI_IMAGE_KIND_ROOM, "kind 0x%x", image->declared_kind);
    return room;
  }
  return kdl_image_kind_name(image->kind);
}

bool cli_number_parse(const char *text, uint16_t *out_number) {
  char *end;
  errno = 0;
  unsigned long number = strtoul(text, &end, 0);
  if (text[0] < '0' || text[0] > '9' || *end || errno || number > UINT16_MAX)
    return false;
  *out_number = (uint16_t)number;
  return true;
}

bool cli_offload_kind_parse(const char *text, uint16_t *out_kind) {
  for (size_t i = 0; i < COUNT(offload_kinds); ++i) {
    if (strcmp(offload_kinds[i].name, text) == 0) {
      *out_kind = offload_kinds[i].kind;
      return true;
    }
  }
  return cli_number_parse(text, out_kind);
}

uint16_t cli_offload_kind_as_llvm(const char *text) {
  uint16_t number;
  uint16_t kind = KDL_OFFLOAD_NONE;
  if (!cli_number_parse(text, &number))
    (void)cli_offload_kind_parse(text, &kind);
  return kind;
}

bool cli_image_kind_parse(const char *text, kdl_image_kind *out_kind) {
  for (unsigned kind = 0; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    const kdl_image_kind_row *row = &kdl_image_kinds[kind];
    if (strcmp(row->name, text) == 0 || (row->llvm_name && strcmp(row->llvm_name, text) == 0)) {
      *out_kind = (kdl_image_kind)kind;
      return true;
    }
  }
  return false;
}

uint16_t cli_declared_kind(const char *path, const void *data, size_t size) {
  if (kdl_image_sniff(data, size) == KDL_IMAGE_BITCODE)
    return kdl_llvm_image_kind(KDL_IMAGE_BITCODE);
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash ? slash + 1 : path, '.');
  for (unsigned kind = 0; dot && kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    const kdl_image_kind_row *row = &kdl_image_kinds[kind];
    if (row->llvm_name &&
        (strcmp(row->llvm_name, dot + 1) == 0 || strcmp(row->extension, dot + 1) == 0))
      return row->llvm_number;
  }
  return 0;
}

const char *cli_declared_kind_name(uint16_t number) {
  const char *name = kdl_image_kind_get(kdl_image_kind_of_llvm(number))->llvm_name;
  return name ? name : "";
}

const char *cli_image_kind_extension(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->extension;
}

const kdl_stored_image *cli_stored_images(kdl_library *lib) {
  const kdl_stored_image *images = kdl_stored_images(lib);
  if (!images)
    cli_out_of_memory();
  return images;
}

bool cli_image_kind_is_container(kdl_image_kind kind) {
  return kdl_image_kind_get(kind)->holds == KDL_HOLDS_IMAGES;
}

kdl_image_kind cli_image_kind_seen(kdl_image_kind known, const void *data, size_t size) {
  return kdl_image_kind_get(known)->kind_key == KDL_KIND_KEY_ALWAYS
             ? known
             : kdl_image_sniff(data, size < KDL_SNIFF_SIZE ? size : KDL_SNIFF_SIZE);
}
