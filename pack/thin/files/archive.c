/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Static archives of GNU's and LLVM's ar: members in sequence, each with a text header. "/" or
 * "/SYM64/" is the symbol index, with the big-endian offset of the member that defines each symbol;
 * "//" has long names. Members with images become shorter, and the index is updated.
 */
#include "pack/thin/file_kinds.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { magic_size = KDL_MAGIC_ARCHIVE_SIZE, header_size = 60, size_at = 48, size_width = 10 };

typedef struct {
  uint64_t at;   /* of its header */
  uint64_t data; /* of its data; the header has their size */
  uint64_t size;
  uint64_t name; /* bytes of the data that are the name */
  uint64_t new_at;
} member;

typedef struct {
  const thin_context *context;
  member *members;
  size_t count;
  size_t capacity;
} archive;

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

static bool read_decimal(const uint8_t *text, size_t width, uint64_t *out_number) {
  uint64_t number = 0;
  size_t digits = 0;
  while (digits < width && text[digits] >= '0' && text[digits] <= '9')
    number = number * 10 + (uint64_t)(text[digits++] - '0');
  for (size_t i = digits; i < width; ++i) {
    if (text[i] != ' ')
      return false;
  }
  *out_number = number;
  return digits != 0;
}

static bool member_has_name(const uint8_t *header, const char *name) {
  size_t length = strlen(name);
  return memcmp(header, name, length) == 0 && header[length] == ' ';
}

static kdl_status read_archive_members(archive *a) {
  const thin_input *input = a->context->input;
  for (uint64_t at = magic_size; at < input->size;) {
    const uint8_t *header = input->data + at;
    member m = {.at = at, .data = at + header_size};
    if (input->size - at < header_size || header[58] != '`' || header[59] != '\n' ||
        !read_decimal(header + size_at, size_width, &m.size) ||
        !kdl_in_range(m.data, m.size, input->size))
      return kdl_fail(KDL_BAD_FILE,
                      "%s: offset 0x%" PRIx64
                      ": member header: found one that does not fit, expected a member of the "
                      "archive",
                      input->name, at);
    /* BSD's long names precede the data, and its index has another form. */
    if (memcmp(header, "#1/", 3) == 0 &&
        (!read_decimal(header + 3, 13, &m.name) || m.name > m.size))
      return kdl_fail(KDL_BAD_FILE, "%s: offset 0x%" PRIx64 ": found a name longer than its member",
                      input->name, at);
    const uint8_t *name = m.name ? input->data + m.data : header;
    if ((m.name ? m.name : 16) >= 9 && memcmp(name, "__.SYMDEF", 9) == 0)
      return kdl_fail(KDL_UNSUPPORTED,
                      "%s: found an index of symbols as BSD's ar writes it (__.SYMDEF), expected "
                      "GNU's; 'llvm-ar --format=gnu' writes one",
                      input->name);
    a->members = xgrow(a->members, a->count, &a->capacity, 64, sizeof *a->members);
    a->members[a->count++] = m;
    at = m.data + m.size + (m.size & 1);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static const member *find_member(const archive *a, uint64_t at) {
  size_t first =
      kdl_array_lower_bound(a->members, a->count, sizeof *a->members, offsetof(member, at), at);
  return first < a->count && a->members[first].at == at ? &a->members[first] : NULL;
}

static uint64_t load_big(const uint8_t *at, size_t width) {
  uint64_t number = 0;
  for (size_t i = 0; i < width; ++i)
    number = number << 8 | at[i];
  return number;
}

static void store_big(uint8_t *at, size_t width, uint64_t number) {
  for (size_t i = width; i-- > 0; number >>= 8)
    at[i] = (uint8_t)number;
}

/* The index with the new offsets. */
static kdl_status move_index(const archive *a, const member *m, uint8_t *index) {
  const thin_input *input = a->context->input;
  size_t width = member_has_name(input->data + m->at, "/SYM64/") ? 8 : 4;
  uint64_t count = m->size >= width ? load_big(index, width) : 0;
  if (count > m->size / width || (count + 1) * width > m->size)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: offset 0x%" PRIx64 ": index of symbols: found %" PRIu64
                    " of them, expected as many as fit",
                    input->name, m->data, count);
  for (uint64_t i = 1; i <= count; ++i) {
    uint64_t offset = load_big(index + i * width, width);
    const member *to = find_member(a, offset);
    if (!to)
      return kdl_fail(KDL_BAD_FILE,
                      "%s: offset 0x%" PRIx64 ": index of symbols: found 0x%" PRIx64
                      ", expected the offset of a member",
                      input->name, m->data + i * width, offset);
    store_big(index + i * width, width, to->new_at);
  }
  return KDL_OK;
}

/* Writes a member with fewer images. For the index, *out_index is its offset in the output. */
static kdl_status put_body(const archive *a, const member *m, thin_output *out,
                           uint8_t **out_index) {
  const thin_input *input = a->context->input;
  const uint8_t *header = input->data + m->at;
  thin_range body = {m->data + m->name, m->size - m->name};
  const uint8_t *data = input->data + body.at;
  if (member_has_name(header, "/") || member_has_name(header, "/SYM64/")) {
    *out_index = thin_output_add_uninitialized(out, (size_t)m->size);
    memcpy(*out_index, data, (size_t)m->size);
    return KDL_OK;
  }
  switch (thin_sniff(data, body.size)) {
  case THIN_KIND_OBJECT:
    return thin_object(a->context, body, out);
  case THIN_KIND_OFFLOAD:
    thin_report_removed(a->context, body);
    return thin_offload_binaries(a->context, body, NULL, out);
  case THIN_KIND_CONTAINER:
    thin_report_removed(a->context, body);
    return thin_container_range(a->context, body, NULL, out);
  default:
    thin_output_add(out, data, body.size);
    return KDL_OK;
  }
}

static kdl_status put_archive_member(const archive *a, member *m, thin_output *out,
                                     uint8_t **out_index) {
  const thin_input *input = a->context->input;
  m->new_at = out->size;
  uint8_t *header = thin_output_add_uninitialized(out, header_size);
  memcpy(header, input->data + m->at, header_size);
  uint64_t before = out->size;
  thin_output_add(out, input->data + m->data, m->name);
  KDL_TRY(put_body(a, m, out, out_index));
  uint64_t size = out->size - before;
  char text[24];
  snprintf(text, sizeof text, "%-10" PRIu64, size);
  memcpy(header + size_at, text, size_width);
  thin_output_add(out, "\n", size & 1);
  return KDL_OK;
}

kdl_status thin_archive(const thin_context *context, thin_output *out) {
  const thin_input *input = context->input;
  archive a = {.context = context};
  uint8_t *index = NULL;
  const member *index_of = NULL;
  if (memcmp(input->data, KDL_MAGIC_THIN_ARCHIVE, magic_size) == 0)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found a thin archive, which names files and holds none, expected one with "
                    "its members: thin those",
                    input->name);
  kdl_status status = read_archive_members(&a);
  thin_output_add(out, input->data, magic_size);
  for (size_t i = 0; i < a.count && status == KDL_OK; ++i) {
    uint8_t *found = NULL;
    status = put_archive_member(&a, &a.members[i], out, &found);
    if (found) {
      if (index)
        status =
            kdl_fail(KDL_BAD_FILE, "%s: found two indices of symbols, expected one", input->name);
      index = found;
      index_of = &a.members[i];
    }
  }
  if (status == KDL_OK && index)
    status = move_index(&a, index_of, index);
  free(a.members);
  return status;
}
