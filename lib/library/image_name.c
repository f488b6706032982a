/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/library/library.h"
#include "support/base/text.h"

/* Every load formats a name, for messages that are rare. snprintf would take ten times as long; it
 * is used only for names that exceed the buffer. */
static void write_name(const kdl_library *lib, uint32_t image, kdl_string before, char *buffer,
                       size_t size) {
  const kdl_image *what = &lib->container->images[image];
  /* An indexed image was not read, and producers often declare no kind. */
  bool has_kind = what->kind != KDL_IMAGE_UNKNOWN;
  kdl_string kind = has_kind ? kdl_text_of(kdl_image_kind_name(what->kind)) : KDL_TEXT("");
  char room[KDL_TEXT_SHORT + 1];
  kdl_string arch = kdl_text_short(what->arch, room);
  const char *space = has_kind && arch.length ? " " : "";
  if (before.length + kind.length + arch.length + sizeof ": image 4294967295 ( )" > size) {
    kdl_out_format(&(kdl_out){buffer, size, 0}, "%s%simage %u (%s%s%s)", before.data,
                   before.length ? ": " : "", (unsigned)image, kind.data, space, arch.data);
    return;
  }
  char number[10], *digit = number + sizeof number;
  do
    *--digit = (char)('0' + image % 10);
  while (image /= 10);
  char *at = mempcpy(buffer, before.data, before.length);
  at = before.length ? mempcpy(at, ": image ", 8) : mempcpy(at, "image ", 6);
  while (digit < number + sizeof number)
    *at++ = *digit++;
  at = mempcpy(at, " (", 2);
  at = mempcpy(at, kind.data, kind.length);
  if (*space)
    *at++ = *space;
  at = mempcpy(at, arch.data, arch.length);
  memcpy(at, ")", 2);
}

void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, KDL_TEXT(""), buffer, size);
}

void kdl_image_name_in_library(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, kdl_text_of(lib->container->name), buffer, size);
}

const char *kdl_image_variant_tag(const kdl_library *lib, uint32_t image) {
  const kdl_image *what = &lib->container->images[image];
  if (!(what->metadata_flags & KDL_METADATA_HAS_RULES))
    return NULL;
  const kdl_string *tag = kdl_find_value(kdl_image_pairs(what), what->pair_count, "variant_tag");
  return tag ? tag->data : NULL;
}
