/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/containers.h"

#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/images/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  archive_magic_size = KDL_MAGIC_ARCHIVE_SIZE,
  member_header = 60,
  member_name = 16,
  size_at = 48,
  size_digits = 10,
  data_alignment = 8 /* of members after padding */
};

/* The inflated image. */
typedef struct {
  const uint8_t *data;
  uint64_t size;
  uint64_t base; /* origin of the offsets of listed images */
  uint8_t *own;  /* NULL where it is part of the file */
} content;

bool thin_sycl_is_compressed(const uint8_t *bytes) {
  return kdl_load_u32(bytes) == KDL_MAGIC_ZSTD;
}

static bool is_compressed_image(const thin_input *input, const thin_container *container) {
  return container->size >= 4 && thin_sycl_is_compressed(input->data + container->offset);
}

static kdl_status read_content(const thin_input *input, const thin_container *container,
                               content *out) {
  const kdl_stored_image *image = &cli_stored_images(input->lib)[container->first];
  const uint8_t *bytes = input->data + container->offset;
  *out = (content){.data = bytes, .size = container->size, .base = container->offset};
  if (!is_compressed_image(input, container))
    return KDL_OK;
  /* An image that is compressed itself, or the first one of a stream. */
  out->size = image->is_packed ? kdl_source_read(image->source).size : image->size;
  out->base = 0;
  out->data = out->own = xmalloc((size_t)out->size);
  return kdl_inflate(KDL_CODEC_ZSTD, bytes, (size_t)container->size, out->own, (size_t)out->size);
}

/* ------------------------------------------------------------------------------------------ */
/* Archives                                                                                     */

typedef struct {
  uint64_t header; /* where it begins */
  uint64_t data;
  uint64_t size;
  uint64_t next; /* start of the next member */
} member;

static bool read_archive_member(const content *archive, uint64_t at, member *out) {
  if (!kdl_in_range(at, member_header, archive->size))
    return false;
  const uint8_t *header = archive->data + at;
  uint64_t size = 0;
  size_t i = 0;
  for (; i < size_digits && header[size_at + i] >= '0' && header[size_at + i] <= '9'; ++i)
    size = size * 10 + (header[size_at + i] - '0');
  *out = (member){.header = at, .data = at + member_header, .size = size};
  if (i == 0 || !kdl_in_range(out->data, size, archive->size))
    return false;
  out->next = out->data + size + (size & 1);
  if (out->next > archive->size)
    out->next = archive->size;
  return true;
}

static bool is_padding(const content *archive, const member *m) {
  return memcmp(archive->data + m->header, "pad_", 4) == 0;
}

/* The listed image in the member, or `count`. */
static size_t image_of(const kdl_stored_image *images, size_t count, const content *archive,
                       const member *m) {
  size_t i = 0;
  while (i < count && images[i].offset - archive->base != m->data)
    ++i;
  return i;
}

/* Whether the archive has a known form: short names only, and each listed image is a member. */
static bool is_known_archive(const kdl_stored_image *images, size_t count, const content *archive,
                             bool *out_has_others) {
  size_t listed = 0;
  member m;
  uint64_t at = archive_magic_size;
  *out_has_others = false;
  for (; at < archive->size; at = m.next) {
    if (!read_archive_member(archive, at, &m) || archive->data[at] == '/' ||
        archive->data[at] == '#' || archive->data[at] == ' ')
      return false;
    bool is_listed = image_of(images, count, archive, &m) < count;
    listed += is_listed;
    *out_has_others |= !is_listed && !is_padding(archive, &m);
  }
  return listed == count;
}

static uint8_t *append_bytes(uint8_t *to, const uint8_t *from, uint64_t size) {
  memcpy(to, from, (size_t)size);
  return to + size;
}

/* Writes padding like `like`, so that the data of the next member is aligned. */
static uint8_t *put_padding(const uint8_t *start, uint8_t *to, const content *archive,
                            const member *like) {
  char digits[24];
  /* Two headers are a multiple of the alignment. */
  uint64_t size = data_alignment - (uint64_t)(to - start) % data_alignment;
  memcpy(to, archive->data + like->header, member_header);
  int length = snprintf(digits, sizeof digits, "%-*" PRIu64, size_digits, size);
  memcpy(to + size_at, digits, (size_t)length);
  memset(to + member_header, ' ', (size_t)size);
  return to + member_header + size;
}

/* Writes the remaining members to `to`, which has room for the archive and padding; returns the
 * size. */
static uint64_t write_archive(const kdl_stored_image *images, const bool *kept, size_t count,
                              const content *archive, uint8_t *start) {
  uint8_t *to = append_bytes(start, archive->data, archive_magic_size);
  member m, padding = {.size = 0};
  bool has_padding = false;
  for (uint64_t at = archive_magic_size; at < archive->size; at = m.next) {
    if (!read_archive_member(archive, at, &m))
      break; /* already written */
    if (is_padding(archive, &m)) {
      padding = m;
      has_padding = true;
      continue;
    }
    size_t image = image_of(images, count, archive, &m);
    if (image == count || kept[image]) {
      if (has_padding)
        to = put_padding(start, to, archive, &padding);
      to = append_bytes(to, archive->data + m.header, m.next - m.header);
    }
    has_padding = false;
  }
  return (uint64_t)(to - start);
}

/* ------------------------------------------------------------------------------------------ */

/* Whether the image is the only content. */
static bool is_only_image(const kdl_stored_image *image, const thin_container *container) {
  uint64_t source_size = kdl_source_read(image->source).size;
  bool is_all = image->is_packed ? image->offset == 0 && image->stored_size == source_size
                                 : image->offset == container->offset;
  return container->count == 1 && is_all;
}

bool thin_sycl_match(const thin_input *input, uint64_t listed_size, const thin_container *container,
                     bool *out_keeps_one) {
  const kdl_stored_image *images = &cli_stored_images(input->lib)[container->first];
  content image;
  *out_keeps_one = false;
  if (is_only_image(&images[0], container))
    return listed_size == images[0].size;
  bool is_known = read_content(input, container, &image) == KDL_OK;
  if (is_known)
    is_known = listed_size == image.size && image.size >= archive_magic_size &&
               memcmp(image.data, KDL_MAGIC_ARCHIVE, archive_magic_size) == 0 &&
               is_known_archive(images, container->count, &image, out_keeps_one);
  free(image.own);
  return is_known;
}

static kdl_status put_archive(const thin_input *input, const thin_container *container,
                              const bool *kept, const content *archive, thin_output *out,
                              uint64_t *out_listed_size) {
  const kdl_stored_image *images = &cli_stored_images(input->lib)[container->first];
  /* Padding is at most as long as the longest. */
  size_t room = (size_t)archive->size + data_alignment * (container->count + 2) * 2;
  uint8_t *made = xmalloc(room);
  void *packed = NULL;
  uint64_t size = write_archive(images, kept, container->count, archive, made);
  size_t stored = (size_t)size;
  kdl_status status = KDL_OK;
  if (is_compressed_image(input, container))
    status = kdl_deflate(KDL_CODEC_ZSTD, made, (size_t)size, NULL, NULL, &packed, &stored);
  if (status == KDL_OK && stored < container->size) {
    thin_output_add_copy(out, packed ? packed : made, stored);
    *out_listed_size = size;
  } else if (status == KDL_OK) {
    thin_output_add(out, input->data + container->offset, container->size);
  }
  free(packed);
  free(made);
  return status;
}

kdl_status thin_sycl_rewrite(const thin_input *input, const thin_selection *selection,
                             const thin_container *container, thin_output *out,
                             uint64_t *out_listed_size) {
  /* A removed compressed image becomes a frame without data: the runtime reads its header. */
  static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0}; /* KDL_MAGIC_ZSTD */
  bool any = false, *kept = xmalloc(container->count);
  content image = {.own = NULL};
  thin_container_kept_images(input, selection, container, kept);
  for (size_t i = 0; i < container->count; ++i)
    any |= kept[i];
  kdl_status status = KDL_OK;
  if (!any) {
    *out_listed_size = 0;
    thin_output_add(out, frame, is_compressed_image(input, container) ? sizeof frame : 0);
  } else {
    status = read_content(input, container, &image);
    if (status == KDL_OK)
      status = put_archive(input, container, kept, &image, out, out_listed_size);
  }
  free(image.own);
  free(kept);
  return status;
}
