/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "library/image_name.h"

#include "base/text.h"

/* Every load writes one, for messages that are seldom needed: snprintf would cost ten times as
 * much. */
static void write_name(const kdl_library *lib, uint32_t image, kdl_string before, char *buffer,
                       size_t size) {
  const kdl_image *what = &lib->container->images[image];
  /* An indexed image was not looked at, and producers often declare no kind. */
  bool has_kind = what->kind != KDL_IMAGE_UNKNOWN;
  char number[12], *digit = number + sizeof number;
  do
    *--digit = (char)('0' + image % 10);
  while (image /= 10);
  const kdl_string parts[] = {
      before,
      before.length ? KDL_TEXT(": image ") : KDL_TEXT("image "),
      {digit, (size_t)(number + sizeof number - digit)},
      KDL_TEXT(" ("),
      has_kind ? kdl_text_of(kdl_image_kind_name(what->kind)) : KDL_TEXT(""),
      has_kind && what->arch.length ? KDL_TEXT(" ") : KDL_TEXT(""),
      what->arch,
      KDL_TEXT(")"),
  };
  char *at = buffer;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    size_t room = (size_t)(buffer + size - 1 - at);
    size_t length = parts[i].length < room ? parts[i].length : room;
    memcpy(at, parts[i].data, length);
    at += length;
  }
  *at = '\0';
}

void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, KDL_TEXT(""), buffer, size);
}

void kdl_image_name_in_library(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, kdl_text_of(lib->container->name), buffer, size);
}

const char *kdl_image_variant_tag(const kdl_library *lib, uint32_t image) {
  const kdl_image *what = &lib->container->images[image];
  if (!(what->says & KDL_SAYS_RULES))
    return NULL;
  const kdl_string *tag = kdl_find_value(what->pairs, what->pair_count, "variant_tag");
  return tag ? tag->data : NULL;
}
