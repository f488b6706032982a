/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/identity.h"

#include "ext/jit/cache/files.h"
#include "support/base/blake2b.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static bool is_recently_modified(const struct stat *info) {
  time_t recent = time(NULL) - KDL_IDENTITY_RECENT_SECONDS;
  return info->st_mtim.tv_sec >= recent || info->st_ctim.tv_sec >= recent;
}

/* The digest of the contents, in hexadecimal. */
static void digest_file(const char *path, char out_text[KDL_DIGEST_TEXT]) {
  uint8_t buffer[16384];
  size_t got = 0;
  kdl_blake2b hash;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  kdl_blake2b_start(&hash);
  while (fd >= 0 && kdl_fd_read(fd, buffer, sizeof buffer, &got) && got)
    kdl_blake2b_add(&hash, buffer, got);
  if (fd >= 0)
    close(fd);
  kdl_digest digest = kdl_blake2b_finish(&hash);
  kdl_digest_print(&digest, out_text);
}

void kdl_identity_print_text(FILE *out, const char *text) {
  for (; *text; ++text) {
    if (*text == '\n' || *text == '\\')
      fprintf(out, "\\%03o", (unsigned)*text);
    else
      fputc(*text, out);
  }
}

static void print_path(FILE *out, const char *path) {
  fputc(' ', out);
  kdl_identity_print_text(out, path);
}

bool kdl_identity_is_newer(const char *path, time_t than) {
  struct stat info;
  return stat(path, &info) == 0 && (info.st_mtim.tv_sec >= than || info.st_ctim.tv_sec >= than);
}

void kdl_identity_print(FILE *out, const char *path, bool *out_is_recently_modified) {
  struct stat info;
  if (stat(path, &info) != 0) {
    fprintf(out, "absent");
    print_path(out, path);
    return;
  }
  fprintf(out, "%ju %jd %jd.%09ld %jd.%09ld", (uintmax_t)info.st_ino, (intmax_t)info.st_size,
          (intmax_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, (intmax_t)info.st_ctim.tv_sec,
          info.st_ctim.tv_nsec);
  print_path(out, path);
  if (!is_recently_modified(&info))
    return;
  if (out_is_recently_modified)
    *out_is_recently_modified = true;
  if (S_ISREG(info.st_mode)) {
    char digest[KDL_DIGEST_TEXT];
    digest_file(path, digest);
    fprintf(out, " %s", digest);
  }
}

/* Removes the digest that follows the path of a recently modified file. */
static void strip_digest(char *path) {
  struct stat info;
  char *last = strrchr(path, ' ');
  if (last && strlen(last + 1) == KDL_DIGEST_TEXT - 1 && stat(path, &info) != 0)
    *last = '\0';
}

/* The path after four numbers, or after one word. */
static char *parse_identity_path(kdl_string text) {
  static const char absent[] = "absent ";
  size_t at = 0;
  char *path = malloc(text.length + 1);
  if (text.length >= sizeof absent - 1 && memcmp(text.data, absent, sizeof absent - 1) == 0) {
    at = sizeof absent - 1;
  } else {
    for (int fields = 0; fields < 4 && at < text.length; ++at)
      fields += text.data[at] == ' ';
  }
  size_t used = 0;
  for (; path && at < text.length; ++at) {
    bool is_escaped = text.data[at] == '\\' && text.length - at > 3;
    path[used++] =
        is_escaped
            ? (char)strtol((char[]){text.data[at + 1], text.data[at + 2], text.data[at + 3], '\0'},
                           NULL, 8)
            : text.data[at];
    at += is_escaped ? 3 : 0;
  }
  if (path)
    path[used] = '\0';
  return path;
}

char *kdl_identity_path(kdl_string text) {
  char *path = parse_identity_path(text);
  if (path)
    strip_digest(path);
  return path;
}

/* Whether the path still has that identity. */
static bool identity_matches(const char *path, kdl_string text) {
  char *now = NULL;
  size_t length = 0;
  FILE *out = kdl_text_stream(&now, &length);
  if (out)
    kdl_identity_print(out, path, NULL);
  bool same =
      out && fclose(out) == 0 && length == text.length && memcmp(now, text.data, length) == 0;
  free(now);
  return same;
}

bool kdl_identity_is_current(kdl_string text) {
  char *path = parse_identity_path(text);
  bool holds = path && identity_matches(path, text);
  free(path);
  return holds;
}

bool kdl_identity_contents_match(kdl_string text) {
  char digest[KDL_DIGEST_TEXT];
  char *path = kdl_identity_path(text);
  bool is_of_now = path && identity_matches(path, text);
  if (path && !is_of_now && text.length >= sizeof digest &&
      text.data[text.length - sizeof digest] == ' ') {
    digest_file(path, digest);
    is_of_now =
        memcmp(text.data + text.length - (sizeof digest - 1), digest, sizeof digest - 1) == 0;
  }
  free(path);
  return is_of_now;
}

bool kdl_identity_find_changed(kdl_string notes, kdl_string *out_file) {
  for (size_t i = 0; kdl_cache_field(notes, "depends", i, out_file); ++i) {
    if (!kdl_identity_is_current(*out_file))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Build IDs                                                                                    */

enum { limit_segments = 64, limit_notes = 4096, limit_id = 64 };

static bool pread_exact(int fd, uint64_t offset, void *data, size_t size) {
  ssize_t got = pread(fd, data, size, (off_t)offset);
  return got >= 0 && (size_t)got == size;
}

/* Notes are three words, a name and a description, both padded to four bytes. */
static bool find_build_id_note(const uint8_t *notes, size_t size, uint8_t out_id[limit_id],
                               size_t *out_size) {
  for (size_t at = 0; kdl_in_range(at, sizeof(Elf64_Nhdr), size);) {
    uint64_t name_size = kdl_load_u32(notes + at);
    uint64_t id_size = kdl_load_u32(notes + at + 4);
    uint32_t type = kdl_load_u32(notes + at + 8);
    uint64_t name = at + sizeof(Elf64_Nhdr);
    uint64_t id = name + ((name_size + 3) & ~(uint64_t)3);
    if (!kdl_in_range(id, id_size, size))
      return false;
    if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
        id_size && id_size <= limit_id) {
      memcpy(out_id, notes + id, id_size);
      *out_size = id_size;
      return true;
    }
    at = id + ((id_size + 3) & ~(uint64_t)3);
  }
  return false;
}

static bool read_build_id(int fd, uint8_t out_id[limit_id], size_t *out_size) {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  uint8_t notes[limit_notes];
  if (!pread_exact(fd, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof segment)
    return false;
  for (unsigned i = 0; i < header.e_phnum && i < limit_segments; ++i) {
    if (!pread_exact(fd, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
      return false;
    if (segment.p_type == PT_NOTE && segment.p_filesz <= sizeof notes &&
        pread_exact(fd, segment.p_offset, notes, segment.p_filesz) &&
        find_build_id_note(notes, segment.p_filesz, out_id, out_size))
      return true;
  }
  return false;
}

/* False where the file has none. */
static bool print_build_id(FILE *out, const char *path) {
  uint8_t id[limit_id];
  size_t size = 0;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  bool has_id = fd >= 0 && read_build_id(fd, id, &size);
  if (fd >= 0)
    close(fd);
  for (size_t i = 0; has_id && i < size; ++i)
    fprintf(out, "%02x", id[i]);
  return has_id;
}

void kdl_identity_print_program(FILE *out, const char *path) {
  if (!print_build_id(out, path))
    kdl_identity_print(out, path, NULL);
}

void kdl_identity_print_contents(FILE *out, const char *path) {
  struct stat info;
  char digest[KDL_DIGEST_TEXT];
  if (stat(path, &info) != 0) {
    fprintf(out, "absent");
  } else if (!S_ISREG(info.st_mode)) {
    fprintf(out, "folder");
  } else {
    digest_file(path, digest);
    fprintf(out, "%s", digest);
  }
}

void kdl_identity_print_built(FILE *out, const char *path) {
  if (!print_build_id(out, path))
    kdl_identity_print_contents(out, path);
}

/* ------------------------------------------------------------------------------------------ */
/* Portable keys and notes                                                                      */

static const kdl_string mark = KDL_TEXT_ROW("portable\n");
static const kdl_string depends = KDL_TEXT_ROW("depends ");
static const kdl_string ukernels = KDL_TEXT_ROW("ukernels ");
static const kdl_string member = KDL_TEXT_ROW("member ");
static const kdl_string linker = KDL_TEXT_ROW("kdl-ld ");

static bool next_key_line(kdl_string *text, kdl_string *out_line) {
  if (!text->length)
    return false;
  size_t length = kdl_text_find(*text, 0, "\n");
  *out_line = (kdl_string){text->data, length};
  *text = kdl_text_substr(*text, length < text->length ? length + 1 : length);
  return true;
}

static void print_key_line(FILE *out, kdl_string line) {
  fwrite(line.data, 1, line.length, out);
  fputc('\n', out);
}

/* Prints a file by its contents; a file that kdl-ld found itself also by its path. Microkernel
 * libraries are listed file by file in the order of their names; their paths do not matter. A key
 * describes the files as they were: where one has changed, there is no portable key. */
static kdl_status print_file(FILE *out, kdl_string word, kdl_string identity) {
  char *path = kdl_identity_path(identity);
  bool is_found = kdl_text_equal(word, depends);
  if (!path)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  fprintf(out, "%.*s", (int)word.length, word.data);
  if (is_found || kdl_text_equal(word, linker))
    kdl_identity_print_built(out, path);
  else
    kdl_identity_print_contents(out, path);
  if (is_found)
    fprintf(out, " %s", path);
  fputc('\n', out);
  kdl_status status = is_found || kdl_identity_contents_match(identity)
                          ? KDL_OK
                          : kdl_fail(KDL_UNSUPPORTED, "%s is another now", path);
  free(path);
  return status;
}

static kdl_status print_portable(FILE *out, kdl_string line) {
  static const kdl_string *const words[] = {&depends, &ukernels, &member, &linker};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    kdl_string rest =
        kdl_text_substr(line, kdl_text_has_prefix(line, *words[i]) ? words[i]->length : 0);
    bool is_file = rest.length < line.length && kdl_text_find(rest, 0, " ") < rest.length;
    if (is_file && memchr(rest.data, '\\', rest.length)) /* a path with an escaped line feed */
      return kdl_fail(KDL_UNSUPPORTED, "found a path that cannot be shared");
    if (is_file)
      return print_file(out, *words[i], rest);
  }
  print_key_line(out, line);
  return KDL_OK;
}

static kdl_status make_portable(kdl_string first, kdl_string text, char **out_text,
                                size_t *out_length) {
  kdl_status status = KDL_OK;
  kdl_string line;
  *out_text = NULL;
  FILE *out = kdl_text_stream(out_text, out_length);
  if (!out)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  fwrite(first.data, 1, first.length, out);
  while (status == KDL_OK && next_key_line(&text, &line))
    status = print_portable(out, line);
  if (fclose(out) != 0 && status == KDL_OK)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status != KDL_OK) {
    free(*out_text);
    *out_text = NULL;
  }
  return status;
}

kdl_status kdl_portable_key(kdl_string link_key, char **out_text, size_t *out_length) {
  return make_portable(mark, link_key, out_text, out_length);
}

bool kdl_is_portable_key(kdl_string link_key) {
  return kdl_text_has_prefix(link_key, mark);
}

kdl_status kdl_portable_notes(kdl_string notes, char **out_text, size_t *out_length) {
  return make_portable(KDL_TEXT(""), notes, out_text, out_length);
}

/* Splits "depends CONTENTS PATH"; the path is malloc'ed. */
static bool split_depends(kdl_string line, kdl_string *out_contents, char **out_path) {
  if (!kdl_text_has_prefix(line, depends))
    return false;
  kdl_string rest = kdl_text_substr(line, depends.length);
  size_t space = kdl_text_find(rest, 0, " ");
  if (space == rest.length)
    return false;
  *out_contents = (kdl_string){rest.data, space};
  *out_path = strndup(rest.data + space + 1, rest.length - space - 1);
  return *out_path != NULL;
}

static bool has_contents(const char *path, kdl_string contents) {
  char *now = NULL;
  size_t length = 0;
  FILE *out = kdl_text_stream(&now, &length);
  if (out)
    kdl_identity_print_built(out, path);
  bool same = out && fclose(out) == 0 && kdl_text_equal((kdl_string){now, length}, contents);
  free(now);
  return same;
}

bool kdl_portable_notes_are_current(kdl_string notes) {
  kdl_string line, contents;
  char *path;
  bool holds = true;
  while (holds && next_key_line(&notes, &line)) {
    if (!kdl_text_has_prefix(line, depends))
      continue;
    holds = split_depends(line, &contents, &path);
    if (holds) {
      holds = has_contents(path, contents);
      free(path);
    }
  }
  return holds;
}

kdl_status kdl_portable_notes_to_local(kdl_string notes, char **out_text, size_t *out_length,
                                       bool *out_is_recently_modified) {
  kdl_string line, contents;
  char *path;
  *out_text = NULL;
  *out_is_recently_modified = false;
  FILE *out = kdl_text_stream(out_text, out_length);
  if (!out)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  while (next_key_line(&notes, &line)) {
    if (!split_depends(line, &contents, &path)) {
      print_key_line(out, line);
      continue;
    }
    fprintf(out, "depends ");
    kdl_identity_print(out, path, out_is_recently_modified);
    fputc('\n', out);
    free(path);
  }
  return fclose(out) == 0 ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory");
}
