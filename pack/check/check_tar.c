/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads members of tar archives in place. A compressed archive is first decompressed into an
 * unnamed file, by the system's programs (xz, zstd, gzip, bzip2). */
#include "pack/check/check.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "support/system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block_size = 512, longest_name = 64 * 1024, longest_ms = 30 * 60 * 1000 };

/* docs/cli.md documents these. */
#define UNPACKED_BASE ((uint64_t)64 << 20)
#define UNPACKED_RATIO 128

typedef struct {
  check *c;
  const check_file *file;
  uint64_t size;
  char *long_name; /* for the next member, or NULL */
} tar;

static bool tar_read_at(const tar *t, uint64_t offset, void *out, size_t size) {
  return kdl_in_range(offset, size, t->size) &&
         pread(t->file->fd, out, size, (off_t)offset) == (ssize_t)size;
}

/* Octal digits; if the first bit is set, a binary number. */
static bool tar_read_number(const uint8_t *field, size_t size, uint64_t *out_number) {
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

static bool has_valid_checksum(const uint8_t *header) {
  enum { from = 148, to = 156 };
  uint64_t said, sum = 0;
  for (size_t i = 0; i < block_size; ++i)
    sum += i >= from && i < to ? ' ' : header[i];
  return tar_read_number(header + from, to - from, &said) && said == sum;
}

static char *tar_member_name(const uint8_t *header) {
  const char *prefix = (const char *)header + 345;
  bool has_prefix = memcmp(header + 257, "ustar\0", 6) == 0 && *prefix;
  return xasprintf("%.*s%s%.*s", has_prefix ? 155 : 0, prefix, has_prefix ? "/" : "", 100,
                   (const char *)header);
}

/* The path in a pax header, "LENGTH path=VALUE\n" among other lines; NULL where it has none. */
static char *pax_path(const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    kdl_string rest = {text + at, size - at};
    size_t digits = 0;
    uint32_t length;
    if (!kdl_text_parse_number(rest, &digits, &length) || length <= digits || length > rest.length)
      return NULL;
    if (kdl_text_starts(kdl_text_substr(rest, digits), " path=") && length >= digits + 7)
      return xstrndup(rest.data + digits + 6, length - digits - 7);
    at += length;
  }
  return NULL;
}

static void tar_read_long_name(tar *t, uint64_t offset, uint64_t size, bool is_pax) {
  if (size > longest_name)
    return;
  char *text = xmalloc((size_t)size);
  if (tar_read_at(t, offset, text, (size_t)size)) {
    free(t->long_name);
    t->long_name = is_pax ? pax_path(text, (size_t)size) : xstrndup(text, (size_t)size);
  }
  free(text);
}

static void tar_read_member(tar *t, const uint8_t *header, uint64_t offset, uint64_t size) {
  char type = (char)header[156];
  if (type == 'L' || type == 'x') {
    tar_read_long_name(t, offset, size, type == 'x');
    return;
  }
  char *name = t->long_name ? t->long_name : tar_member_name(header);
  t->long_name = NULL;
  if ((type == '0' || type == '\0' || type == '7') && size)
    check_read_member(t->c, t->file, kdl_starts_with(name, "./") ? name + 2 : name, NULL, offset,
                      size);
  free(name);
}

void check_read_tar(check *c, const check_file *file) {
  tar t = {.c = c, .file = file, .size = (uint64_t)file->info.st_size};
  static const uint8_t zeros[block_size];
  uint8_t header[block_size];
  uint64_t at = 0, length;
  while (tar_read_at(&t, at, header, block_size) && memcmp(header, zeros, block_size) != 0) {
    if (!has_valid_checksum(header) || !tar_read_number(header + 124, 12, &length) ||
        !kdl_in_range(at + block_size, length, t.size)) {
      char message[80];
      snprintf(message, sizeof message, "tar: found a damaged header at offset 0x%" PRIx64, at);
      check_add_error(c, file->path, message);
      break;
    }
    tar_read_member(&t, header, at + block_size, length);
    at += block_size + (length + block_size - 1) / block_size * block_size;
  }
  free(t.long_name);
}

/* ------------------------------------------------------------------------------------------ */
/* Compressed                                                                                   */

const char *check_decompressor_for(const void *head, size_t size) {
  static const struct {
    const char *magic;
    size_t size;
    const char *program;
  } rows[] = {
      {"\x1f\x8b", 2, "gzip"},
      {"\xfd\x37zXZ\0", 6, "xz"},
      {"\x28\xb5\x2f\xfd", 4, "zstd"},
      {"BZh", 3, "bzip2"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (size >= rows[i].size && memcmp(head, rows[i].magic, rows[i].size) == 0)
      return rows[i].program;
  }
  return NULL;
}

/* Programs describe a full disk in different words and languages, so this checks whether the disk
 * is still full. */
static kdl_status fail_decompressor(const char *program, const char *words, int to) {
  static const char zeros[1 << 16];
  if (!kdl_fd_write(to, zeros, sizeof zeros))
    return kdl_fail(KDL_IO, "cannot write what %s unpacks: %s", program, strerror(errno));
  words += strspn(words, "\n"); /* gzip's message begins with an empty line */
  return kdl_fail(KDL_BAD_FILE, "%s cannot unpack it: %.*s", program, (int)strcspn(words, "\n"),
                  words);
}

static kdl_status run_decompressor(const char *program, int from, int to, uint64_t most) {
  char command[64];
  snprintf(command, sizeof command, "exec %s -dc <&3 >&4", program);
  const char *words[] = {"sh", "-c", command, NULL};
  const int files[] = {from, to};
  const kdl_subprocess run = {.path = "/bin/sh",
                              .arguments = words,
                              .environment = (const char *const *)environ,
                              .files = files,
                              .file_count = 2,
                              .milliseconds = longest_ms,
                              .largest_file = most};
  kdl_subprocess_outcome outcome;
  KDL_TRY(kdl_subprocess_run(&run, &outcome));
  if (outcome.end == KDL_SUBPROCESS_KILLED)
    return kdl_fail(KDL_BAD_FILE,
                    "%s was ended by signal %d (%s); what it unpacks may have %" PRIu64 " bytes",
                    program, outcome.code, strsignal(outcome.code), most);
  if (outcome.end != KDL_SUBPROCESS_EXITED)
    return kdl_fail(KDL_IO, "%s did not end", program);
  return outcome.code ? fail_decompressor(program, outcome.words, to) : KDL_OK;
}

void check_read_compressed_tar(check *c, const check_file *file, const char *program) {
  char room[CHECK_FD_PATH_SIZE];
  check_file inner = *file;
  int from = open(check_fd_path(file, room), O_RDONLY | O_CLOEXEC);
  inner.fd = check_create_temp_file();
  kdl_status status =
      from < 0 || inner.fd < 0
          ? kdl_fail(kdl_status_from_errno(errno), "cannot make a temporary file: %s",
                     strerror(errno))
          : run_decompressor(program, from, inner.fd,
                             UNPACKED_BASE + (uint64_t)file->info.st_size * UNPACKED_RATIO);
  if (status == KDL_OK && fstat(inner.fd, &inner.info) != 0)
    status = kdl_fail(kdl_status_from_errno(errno), "cannot look at the temporary file: %s",
                      strerror(errno));
  if (status == KDL_OK)
    check_read_tar(c, &inner);
  else
    check_add_error(c, file->path, NULL);
  if (from >= 0)
    close(from);
  if (inner.fd >= 0)
    close(inner.fd);
}
