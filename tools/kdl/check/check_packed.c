/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Packages of Debian (.deb) and of rpm, and tar archives that are compressed: one stream each,
 * which the system's own programs (xz, zstd, gzip, bzip2) unpack into a file without a name. */
#include "base/bytes.h"
#include "base/error.h"
#include "check/check.h"
#include "system/file.h"
#include "system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* docs/cli.md has these. */
#define UNPACKED_BASE ((uint64_t)64 << 20)
#define UNPACKED_RATIO 128
enum { longest_ms = 30 * 60 * 1000 };

typedef void read_unpacked(check *c, const check_file *file, uint64_t size, const char *package);

static const struct {
  const char *magic;
  size_t size;
  const char *program;
} packers[] = {
    {"\x1f\x8b", 2, "gzip"},
    {"\xfd\x37zXZ\0", 6, "xz"},
    {"\x28\xb5\x2f\xfd", 4, "zstd"},
    {"BZh", 3, "bzip2"},
};

static const char *packer_of(const uint8_t *head, size_t size) {
  for (size_t i = 0; i < sizeof packers / sizeof *packers; ++i) {
    if (size >= packers[i].size && memcmp(head, packers[i].magic, packers[i].size) == 0)
      return packers[i].program;
  }
  return NULL;
}

static bool read_at(const check_file *file, uint64_t offset, void *out, size_t size) {
  return pread(file->fd, out, size, (off_t)offset) == (ssize_t)size;
}

/* ------------------------------------------------------------------------------------------ */
/* Unpacking                                                                                    */

/* The kernel copies within one file system, and not always between two. */
static bool copy_part(const check_file *file, uint64_t offset, uint64_t size, int to) {
  char room[1 << 16];
  for (uint64_t done = 0; done < size;) {
    size_t part = size - done < sizeof room ? (size_t)(size - done) : sizeof room;
    ssize_t got = pread(file->fd, room, part, (off_t)(offset + done));
    if (got == 0)
      errno = EIO; /* it was longer */
    if (got <= 0 || !kdl_fd_write(to, room, (size_t)got))
      return false;
    done += (uint64_t)got;
  }
  return true;
}

/* The stream by itself, from its first byte to its last, for a program to read. */
static int open_stream(const check_file *file, uint64_t offset, uint64_t size) {
  char room[CHECK_OPEN_PATH];
  if (offset + size == (uint64_t)file->info.st_size) {
    int fd = open(check_open_path(file, room), O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
      lseek(fd, (off_t)offset, SEEK_SET);
    return fd;
  }
  int copy = check_make_file();
  if (copy < 0 || (copy_part(file, offset, size, copy) && lseek(copy, 0, SEEK_SET) == 0))
    return copy;
  int reason = errno;
  close(copy);
  errno = reason;
  return -1;
}

/* Programs have words of their own for a disk that is full, and other ones in other languages. It
 * still is. */
static kdl_status cannot_unpack(const char *program, const char *words, int to) {
  static const char zeros[1 << 16];
  if (!kdl_fd_write(to, zeros, sizeof zeros))
    return kdl_fail(KDL_IO, "cannot write what %s unpacks: %s", program, strerror(errno));
  words += strspn(words, "\n"); /* gzip begins with an empty line */
  return kdl_fail(KDL_BAD_FILE, "%s cannot unpack it: %.*s", program, (int)strcspn(words, "\n"),
                  words);
}

static kdl_status run_packer(const char *program, int from, int to, uint64_t most) {
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
  kdl_subprocess_outcome *outcome = malloc(sizeof *outcome);
  if (!outcome)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  kdl_status status = kdl_subprocess_run(&run, outcome);
  if (status == KDL_OK && outcome->end == KDL_SUBPROCESS_KILLED)
    status = kdl_fail(KDL_BAD_FILE,
                      "%s was ended by signal %d (%s); what it unpacks may have %" PRIu64 " bytes",
                      program, outcome->code, strsignal(outcome->code), most);
  else if (status == KDL_OK && outcome->end == KDL_SUBPROCESS_EXITED && outcome->code)
    status = cannot_unpack(program, outcome->words, to);
  else if (status == KDL_OK && outcome->end != KDL_SUBPROCESS_EXITED)
    status = kdl_fail(KDL_IO, "%s did not end", program);
  free(outcome);
  return status;
}

/* Unpacks one stream of the file and has it read. */
static void read_stream(check *c, const check_file *file, uint64_t offset, uint64_t size,
                        const char *package, read_unpacked *read) {
  uint8_t head[8];
  check_file inner = *file;
  const char *program = size >= sizeof head && read_at(file, offset, head, sizeof head)
                            ? packer_of(head, sizeof head)
                            : NULL;
  if (!program) {
    check_add_trouble(c, file->path,
                      "found a payload in an unknown form, expected gzip, xz, zstd or bzip2");
    return;
  }
  int from = open_stream(file, offset, size);
  inner.fd = check_make_file();
  kdl_status status = KDL_OK;
  if (from < 0 || inner.fd < 0)
    status = kdl_fail(kdl_status_of(errno), "cannot make a temporary file: %s", strerror(errno));
  if (status == KDL_OK)
    status = run_packer(program, from, inner.fd, UNPACKED_BASE + size * UNPACKED_RATIO);
  if (status == KDL_OK && fstat(inner.fd, &inner.info) != 0)
    status =
        kdl_fail(kdl_status_of(errno), "cannot look at the temporary file: %s", strerror(errno));
  if (status == KDL_OK)
    read(c, &inner, (uint64_t)inner.info.st_size, package);
  else
    check_add_trouble(c, file->path, NULL);
  if (from >= 0)
    close(from);
  if (inner.fd >= 0)
    close(inner.fd);
}

void check_read_packed_tar(check *c, const check_file *file) {
  read_stream(c, file, 0, (uint64_t)file->info.st_size, NULL, check_read_tar);
}

bool check_is_packed(const void *head, size_t size) {
  return packer_of(head, size) != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Debian                                                                                       */

/* "librocrand1_5.3.3-4_amd64.deb": librocrand1 5.3.3-4; NULL where the name has another form. */
static char *deb_package(check *c, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  const char *first = strchr(name, '_');
  const char *second = first ? strchr(first + 1, '_') : NULL;
  char *package = second ? check_copy(name, (size_t)(second - name)) : NULL;
  if (package)
    package[first - name] = ' ';
  else if (second)
    check_short(c);
  return package;
}

/* An archive of ar whose member data.tar.* is what is installed. */
void check_read_deb(check *c, const check_file *file) {
  enum { magic_size = 8, header_size = 60 };
  char header[header_size + 1] = "";
  uint64_t size = (uint64_t)file->info.st_size;
  for (uint64_t at = magic_size; at + header_size <= size;) {
    if (!read_at(file, at, header, header_size) || memcmp(header + 58, "`\n", 2) != 0)
      break;
    uint64_t length = strtoull(header + 48, NULL, 10);
    at += header_size;
    if (!kdl_in_range(at, length, size))
      break;
    if (strncmp(header, "data.tar", 8) == 0) {
      char *package = deb_package(c, file->path);
      if (header[8] == ' ' || header[8] == '/')
        check_add_trouble(c, file->path, "found a payload that is not compressed");
      else
        read_stream(c, file, at, length, package, check_read_tar);
      free(package);
      return;
    }
    at += length + length % 2;
  }
  check_add_trouble(c, file->path, "deb: found no data.tar in it");
}

/* ------------------------------------------------------------------------------------------ */
/* rpm                                                                                          */

/* A number of eight hexadecimal digits. */
static bool read_hex(const char *digits, uint64_t *out_number) {
  char text[9], *end;
  memcpy(text, digits, 8);
  text[8] = '\0';
  *out_number = strtoull(text, &end, 16);
  return end == text + 8;
}

static uint64_t round_up(uint64_t size, uint64_t to) {
  return (size + to - 1) / to * to;
}

/* The archive of cpio ("new ASCII") that is an rpm's payload. */
static void read_cpio(check *c, const check_file *file, uint64_t size, const char *package) {
  enum { header_size = 110, longest_name = 4096 };
  char header[header_size], name[longest_name + 1];
  for (uint64_t at = 0; at + header_size <= size;) {
    uint64_t length, name_size;
    if (!read_at(file, at, header, header_size) || memcmp(header, "07070", 5) != 0 ||
        (header[5] != '1' && header[5] != '2') || !read_hex(header + 54, &length) ||
        !read_hex(header + 94, &name_size) || !name_size || name_size > longest_name ||
        !read_at(file, at + header_size, name, (size_t)name_size)) {
      char message[96];
      snprintf(message, sizeof message, "cpio: found a header of another form at offset 0x%" PRIx64,
               at);
      check_add_trouble(c, file->path, message);
      return;
    }
    name[name_size - 1] = '\0';
    at += round_up(header_size + name_size, 4);
    if (strcmp(name, "TRAILER!!!") == 0)
      return;
    if (!kdl_in_range(at, length, size)) {
      check_add_trouble(c, file->path, "cpio: found a member beyond the end");
      return;
    }
    if (length)
      check_read_member(c, file, name, package, at, length);
    at += round_up(length, 4);
  }
}

/* The size of a header, which is a table and a store; 0 where there is none. */
static uint64_t header_length(const check_file *file, uint64_t at) {
  uint8_t header[16];
  if (!read_at(file, at, header, sizeof header) || memcmp(header, "\x8e\xad\xe8\x01", 4) != 0)
    return 0;
  uint64_t entries = __builtin_bswap32(kdl_load_u32(header + 8));
  uint64_t store = __builtin_bswap32(kdl_load_u32(header + 12));
  return 16 + entries * 16 + store;
}

/* A lead of 96 bytes with the package's name, two headers, and the payload. */
void check_read_rpm(check *c, const check_file *file) {
  enum { lead_size = 96, name_at = 10, name_size = 66 };
  char lead[lead_size];
  uint64_t size = (uint64_t)file->info.st_size;
  uint64_t signature = header_length(file, lead_size);
  uint64_t at = lead_size + round_up(signature, 8);
  uint64_t header = signature ? header_length(file, at) : 0;
  at += header;
  if (!header || at >= size || !read_at(file, 0, lead, lead_size)) {
    check_add_trouble(c, file->path, "rpm: found no headers with a payload behind them");
    return;
  }
  char *package = check_copy(lead + name_at, name_size);
  if (!package)
    check_short(c);
  read_stream(c, file, at, size - at, package, read_cpio);
  free(package);
}
