/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "library/image_name.h"

static char *append(char *at, const char *end, const char *text) {
  while (*text && at < end)
    *at++ = *text++;
  return at;
}

/* Every load writes one, for messages that are seldom needed: snprintf would cost ten times as
 * much. */
static void write_name(const kdl_library *lib, uint32_t image, const char *before, char *buffer,
                       size_t size) {
  const kdl_image *what = &lib->container->images[image];
  /* An indexed image was not looked at, and producers often declare no kind. */
  const char *kind = what->kind == KDL_IMAGE_UNKNOWN ? "" : kdl_image_kind_name(what->kind);
  char number[12] = "", *digit = number + sizeof number - 1;
  do
    *--digit = (char)('0' + image % 10);
  while (image /= 10);
  const char *const parts[] = {before, *before ? ": image " : "image ",       digit,           " (",
                               kind,   *kind && what->arch.length ? " " : "", what->arch.data, ")"};
  char *at = buffer;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
    at = append(at, buffer + size - 1, parts[i]);
  *at = '\0';
}

void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, "", buffer, size);
}

void kdl_image_name_in_library(const kdl_library *lib, uint32_t image, char *buffer, size_t size) {
  write_name(lib, image, lib->container->name, buffer, size);
}

const char *kdl_image_variant_tag(const kdl_library *lib, uint32_t image) {
  const kdl_image *what = &lib->container->images[image];
  const kdl_string *tag = kdl_find_value(what->pairs, what->pair_count, "variant_tag");
  return tag ? tag->data : NULL;
}
