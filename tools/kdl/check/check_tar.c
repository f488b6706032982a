/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Members of tar archives, read where they lie. */
#include "base/bytes.h"
#include "base/text.h"
#include "check/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block_size = 512, longest_name = 64 * 1024 };

typedef struct {
  check *c;
  const check_file *file;
  uint64_t size;
  const char *package;
  char *long_name; /* for the next member, or NULL */
} tar;

static bool read_at(const tar *t, uint64_t offset, void *out, size_t size) {
  return kdl_in_range(offset, size, t->size) &&
         pread(t->file->fd, out, size, (off_t)offset) == (ssize_t)size;
}

/* Octal digits, or where the first bit is set the rest as one number. */
static bool read_number(const uint8_t *field, size_t size, uint64_t *out_number) {
  uint64_t number = 0;
  size_t at = 0;
  if (field[0] & 0x80) {
    for (at = 1; at < size; ++at) {
      if (number >> 55)
        return false;
      number = number << 8 | field[at];
    }
    *out_number = number;
    return true;
  }
  while (at < size && field[at] == ' ')
    ++at;
  for (; at < size && field[at] >= '0' && field[at] <= '7'; ++at)
    number = number << 3 | (uint64_t)(field[at] - '0');
  *out_number = number;
  return at == size || field[at] == '\0' || field[at] == ' ';
}

static bool has_its_sum(const uint8_t *header) {
  enum { from = 148, to = 156 };
  uint64_t said, sum = 0;
  for (size_t i = 0; i < block_size; ++i)
    sum += i >= from && i < to ? ' ' : header[i];
  return read_number(header + from, to - from, &said) && said == sum;
}

static char *name_of(const uint8_t *header) {
  char *name;
  const char *prefix = (const char *)header + 345;
  bool has_prefix = memcmp(header + 257, "ustar\0", 6) == 0 && *prefix;
  int made = asprintf(&name, "%.*s%s%.*s", has_prefix ? 155 : 0, prefix, has_prefix ? "/" : "", 100,
                      (const char *)header);
  return made < 0 ? NULL : name;
}

static char *copy_name(check *c, const char *text, size_t size) {
  char *name = check_copy(text, size);
  if (!name)
    check_short(c);
  return name;
}

/* The path of a pax header: "LENGTH path=VALUE\n" among others; NULL where it has none. */
static char *pax_path(check *c, const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    kdl_string rest = {text + at, size - at};
    size_t digits = 0;
    uint32_t length;
    if (!kdl_text_number(rest, &digits, &length) || length <= digits || length > rest.length)
      return NULL;
    if (kdl_text_starts(kdl_text_from(rest, digits), " path=") && length >= digits + 7)
      return copy_name(c, rest.data + digits + 6, length - digits - 7);
    at += length;
  }
  return NULL;
}

static void read_long_name(tar *t, uint64_t offset, uint64_t size, bool is_pax) {
  char *text = size <= longest_name ? malloc((size_t)size + 1) : NULL;
  if (!text && size <= longest_name)
    check_short(t->c);
  if (text && read_at(t, offset, text, (size_t)size)) {
    free(t->long_name);
    t->long_name =
        is_pax ? pax_path(t->c, text, (size_t)size) : copy_name(t->c, text, (size_t)size);
  }
  free(text);
}

static void read_member(tar *t, const uint8_t *header, uint64_t offset, uint64_t size) {
  char type = (char)header[156];
  if (type == 'L' || type == 'x') {
    read_long_name(t, offset, size, type == 'x');
    return;
  }
  char *name = t->long_name ? t->long_name : name_of(header);
  t->long_name = NULL;
  if (!name)
    check_short(t->c);
  if (name && (type == '0' || type == '\0' || type == '7') && size)
    check_read_member(t->c, t->file, name, t->package, offset, size);
  free(name);
}

void check_read_tar(check *c, const check_file *file, uint64_t size, const char *package) {
  tar t = {.c = c, .file = file, .size = size, .package = package};
  static const uint8_t zeros[block_size];
  uint8_t header[block_size];
  uint64_t at = 0, length;
  while (read_at(&t, at, header, block_size) && memcmp(header, zeros, block_size) != 0) {
    if (!has_its_sum(header) || !read_number(header + 124, 12, &length) ||
        !kdl_in_range(at + block_size, length, size)) {
      char message[80];
      snprintf(message, sizeof message, "tar: found a damaged header at offset 0x%" PRIx64, at);
      check_add_trouble(c, file->path, message);
      break;
    }
    read_member(&t, header, at + block_size, length);
    at += block_size + (length + block_size - 1) / block_size * block_size;
  }
  free(t.long_name);
}
