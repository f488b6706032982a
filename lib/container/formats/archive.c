/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ar` archives, with the long member names of GNU, BSD and Windows. Lists members that have
 * offload sections, containers or device images; skips plain host objects and unknown members, as
 * LLVM does.
 */
#include "lib/container/container.h"
#include "lib/inspect/images.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <string.h>

enum { magic_size = KDL_MAGIC_ARCHIVE_SIZE, member_header_size = 60, limit_name = 4096 };

typedef struct {
  uint64_t header; /* offset in the archive */
  uint64_t offset; /* of the content */
  uint64_t size;
  kdl_string name;
} member;

/* A decimal number padded with blanks; false where there is anything else. */
static bool parse_decimal(const uint8_t *text, size_t width, uint64_t *out_value) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < width && text[i] >= '0' && text[i] <= '9'; ++i)
    value = value * 10 + (uint64_t)(text[i] - '0');
  size_t digits = i;
  while (i < width && text[i] == ' ')
    ++i;
  *out_value = value;
  return digits > 0 && digits < 19 && i == width;
}

static kdl_status intern_name(kdl_container *container, const kdl_region *archive, uint64_t offset,
                              size_t length, kdl_string *out_name) {
  const uint8_t *text = kdl_region_peek(archive, offset, length);
  if (!text)
    return kdl_error_status();
  *out_name = kdl_arena_string(&container->arena, text, length);
  return out_name->data ? KDL_OK : kdl_container_no_memory(container);
}

/* GNU and Windows: the member's name field is "/N", an offset into the "//" member, where GNU's
 * names end in "/\n" and Windows' in a NUL. */
static kdl_status read_gnu_name(kdl_container *container, const kdl_region *archive,
                                const member *names, uint64_t position, member *out_member) {
  if (position >= names->size)
    return kdl_malformed(archive, out_member->header, "member name",
                         "found offset %" PRIu64 " into a name table of %" PRIu64
                         " bytes, expected less",
                         position, names->size);
  size_t left = names->size - position < limit_name ? (size_t)(names->size - position) : limit_name;
  const uint8_t *text = kdl_region_peek(archive, names->offset + position, left);
  if (!text)
    return kdl_error_status();
  size_t length = 0;
  while (length < left && text[length] != '\n' && text[length] != '\0')
    ++length;
  if (length == left)
    return kdl_malformed(archive, names->offset + position, "member name",
                         "found no end of line within %zu bytes", left);
  if (length && text[length - 1] == '/')
    --length;
  return intern_name(container, archive, names->offset + position, length, &out_member->name);
}

/* BSD: the name field is "#1/N" and the name's N bytes come before the content. */
static kdl_status read_bsd_name(kdl_container *container, const kdl_region *archive,
                                uint64_t length, member *out_member) {
  if (length > out_member->size || length > limit_name)
    return kdl_malformed(archive, out_member->header, "member name",
                         "found a name of %" PRIu64 " bytes, expected at most %" PRIu64, length,
                         out_member->size < limit_name ? out_member->size : (uint64_t)limit_name);
  KDL_TRY(intern_name(container, archive, out_member->offset, (size_t)length, &out_member->name));
  out_member->name.length = strlen(out_member->name.data); /* padded with NULs */
  out_member->offset += length;
  out_member->size -= length;
  return KDL_OK;
}

/* `names` is the "//" member, set when this member is it. A member without a name of its own, such
 * as a symbol table, has name.data NULL. */
static kdl_status read_archive_member(kdl_container *container, const kdl_region *archive,
                                      uint64_t offset, member *names, member *out_member) {
  if (archive->size - offset < member_header_size)
    return kdl_malformed(archive, offset, "member header", "found %" PRIu64 " bytes, expected %d",
                         archive->size - offset, member_header_size);
  const uint8_t *peeked = kdl_region_peek(archive, offset, member_header_size);
  if (!peeked)
    return kdl_error_status();
  uint8_t raw[member_header_size]; /* a copy, because reading names moves the window */
  memcpy(raw, peeked, sizeof raw);
  if (raw[58] != '`' || raw[59] != '\n')
    return kdl_malformed(archive, offset + 58, "member header",
                         "found %02x %02x, expected 60 0a at its end", raw[58], raw[59]);
  uint64_t size;
  if (!parse_decimal(raw + 48, 10, &size))
    return kdl_malformed(archive, offset + 48, "member size",
                         "found \"%.10s\", expected a decimal number", (const char *)raw + 48);
  uint64_t content = offset + member_header_size;
  if (size > archive->size - content)
    return kdl_malformed(archive, offset + 48, "member size",
                         "found %" PRIu64 ", expected at most %" PRIu64
                         ", the bytes left in the archive",
                         size, archive->size - content);
  *out_member = (member){.header = offset, .offset = content, .size = size};
  uint64_t number;
  if (memcmp(raw, "//              ", 16) == 0) {
    *names = *out_member;
    return KDL_OK;
  }
  if (memcmp(raw, "#1/", 3) == 0 && parse_decimal(raw + 3, 13, &number))
    return read_bsd_name(container, archive, number, out_member);
  if (raw[0] == '/' && parse_decimal(raw + 1, 15, &number))
    return read_gnu_name(container, archive, names, number, out_member);
  if (raw[0] == '/')
    return KDL_OK;
  size_t length = 16;
  while (length && raw[length - 1] == ' ')
    --length;
  if (length && raw[length - 1] == '/')
    --length;
  out_member->name = kdl_arena_string(&container->arena, raw, length);
  return out_member->name.data ? KDL_OK : kdl_container_no_memory(container);
}

static kdl_status parse_archive_member(kdl_container *container, const kdl_parse_context *scope,
                                       const kdl_region *archive, const member *item) {
  kdl_parse_context inner = {
      scope->parent, scope->depth + 1,
      kdl_arena_format(&container->arena, " in %s%s", item->name.data, scope->location),
      KDL_MODULE_NONE, false};
  if (!inner.location)
    return kdl_container_no_memory(container);
  kdl_region body = kdl_region_slice(archive, item->offset, item->size);
  size_t look = body.size < KDL_SNIFF_SIZE ? (size_t)body.size : KDL_SNIFF_SIZE;
  const uint8_t *head = kdl_region_peek(&body, 0, look);
  if (!head)
    return kdl_error_status();
  bool found;
  if (kdl_image_sniff(head, look) == KDL_IMAGE_OBJECT)
    return kdl_parse_elf(container, &inner, &body, &found);
  return kdl_container_parse(container, &inner, &body, KDL_UNKNOWN_IS_IGNORED);
}

kdl_status kdl_parse_archive(kdl_container *container, const kdl_parse_context *scope,
                             const kdl_region *region) {
  const uint8_t *magic = kdl_region_peek(region, 0, magic_size);
  if (!magic)
    return kdl_error_status();
  if (memcmp(magic, KDL_MAGIC_THIN_ARCHIVE, magic_size) == 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: a thin archive names its members and does not hold them; list the member "
                    "files themselves, or make a plain archive with `ar rc` (no T)",
                    region->source->name);
  member names = {0};
  uint64_t offset = magic_size;
  while (offset < region->size) {
    member item;
    kdl_status status = read_archive_member(container, region, offset, &names, &item);
    if (status == KDL_OK && item.name.data && item.size)
      status = parse_archive_member(container, scope, region, &item);
    if (status != KDL_OK)
      return status;
    offset = item.offset + item.size;
    offset += offset & 1;
  }
  return KDL_OK;
}
