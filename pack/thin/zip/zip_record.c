/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The RECORD of a wheel: CSV lines with the path, digest and size of each file. Lines of thinned
 * files are rewritten, all others stay. Signatures of the RECORD become invalid and are dropped.
 */
#include "pack/thin/zip/zip.h"
#include "support/base/error.h"
#include "tools/common/digests/digests.h"
#include "tools/common/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Skips "./" and "/" at the start of a path component, which have no meaning; the "/" of an
 * absolute path stays. */
static size_t skip_to_component(kdl_string path, size_t at) {
  for (;;) {
    size_t dot = at < path.length && path.data[at] == '.';
    if (at + dot >= path.length || path.data[at + dot] != '/' || at + dot == 0)
      return at;
    at += dot + 1;
  }
}

/* "torch-2.11.0.dist-info/RECORD": a file of that name in the folder of the wheel's metadata. */
static bool is_metadata(kdl_string name, const char *file) {
  static const char suffix[] = ".dist-info";
  size_t start = skip_to_component(name, 0);
  name = (kdl_string){name.data + start, name.length - start};
  const char *slash = memchr(name.data, '/', name.length);
  size_t folder = slash ? (size_t)(slash - name.data) : 0, end = sizeof suffix - 1;
  return folder > end && memcmp(slash - end, suffix, end) == 0 &&
         name.length - folder - 1 == strlen(file) && memcmp(slash + 1, file, strlen(file)) == 0;
}

static int compare_recorded_names(const void *a, const void *b) {
  kdl_string x = (*(zip_member *const *)a)->entry.name, y = (*(zip_member *const *)b)->entry.name;
  for (size_t i = skip_to_component(x, 0), k = skip_to_component(y, 0);
       i < x.length || k < y.length;) {
    if (i == x.length || k == y.length || x.data[i] != y.data[k])
      return k == y.length || (i < x.length && (uint8_t)x.data[i] > (uint8_t)y.data[k]) ? 1 : -1;
    bool ends = x.data[i] == '/';
    i = ends ? skip_to_component(x, i + 1) : i + 1;
    k = ends ? skip_to_component(y, k + 1) : k + 1;
  }
  return 0;
}

typedef struct {
  zip_member **changed; /* by name, including dropped ones */
  size_t count;
  FILE *to;
} record_rewriter;

/* The closing quote of a quoted field, or the end. */
static size_t closing_quote(const char *field, size_t length) {
  size_t at = 1;
  while (at < length && (field[at] != '"' || (at + 1 < length && field[at + 1] == '"')))
    at += field[at] == '"' ? 2 : 1;
  return at < length ? at : length;
}

/* The first field of a line: its end, and its value without quotes. */
static size_t read_path(const char *line, size_t length, char *path, size_t *out_size) {
  bool is_quoted = length && line[0] == '"';
  const char *comma = is_quoted || !length ? NULL : memchr(line, ',', length);
  size_t end = is_quoted ? closing_quote(line, length) : comma ? (size_t)(comma - line) : length;
  size_t used = 0;
  for (size_t at = is_quoted; at < end; at += is_quoted && line[at] == '"' ? 2 : 1)
    path[used++] = line[at];
  *out_size = used;
  return is_quoted && end < length ? end + 1 : end;
}

/* The length of a line with its line end. A quoted path may have line breaks. */
static size_t line_length(const char *line, size_t left) {
  size_t at = line[0] == '"' ? closing_quote(line, left) : 0;
  const char *newline = memchr(line + at, '\n', left - at);
  return newline ? (size_t)(newline - line) + 1 : left;
}

static const zip_member *find_changed(const record_rewriter *r, const char *path, size_t length) {
  zip_member key = {.entry.name = {path, length}}, *wanted = &key;
  zip_member **found =
      r->count ? bsearch(&wanted, r->changed, r->count, sizeof *r->changed, compare_recorded_names)
               : NULL;
  return found ? *found : NULL;
}

static void put_line(const record_rewriter *r, const char *line, size_t length, char *path) {
  size_t name_size, end = length;
  while (end && (line[end - 1] == '\n' || line[end - 1] == '\r'))
    --end;
  size_t field = read_path(line, end, path, &name_size);
  const zip_member *member = find_changed(r, path, name_size);
  if (!member) {
    fwrite(line, 1, length, r->to);
    return;
  }
  if (member->is_dropped)
    return;
  char digest[SHA256_RECORD];
  sha256_record(member->digest, digest);
  fwrite(line, 1, field, r->to);
  fprintf(r->to, ",sha256=%s,%" PRIu64, digest, member->new_uncompressed_size);
  fwrite(line + end, 1, length - end, r->to);
}

static kdl_status rewrite_record(zip_archive *archive, zip_member *record,
                                 const record_rewriter *from, kdl_arena *arena) {
  zip_bytes old;
  KDL_TRY(zip_inflate(archive, record, &old));
  static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 byte order mark of some editors */
  const char *data = (const char *)old.data;
  char *text, *path = xmalloc(old.size);
  size_t size, start = old.size >= 3 && memcmp(data, mark, 3) == 0 ? 3 : 0;
  record_rewriter r = *from;
  r.to = xtext_stream(&text, &size);
  fwrite(data, 1, start, r.to);
  for (size_t at = start; at < old.size;) {
    size_t length = line_length(data + at, old.size - at);
    put_line(&r, data + at, length, path);
    at += length;
  }
  if (ferror(r.to))
    cli_out_of_memory();
  xtext_close(r.to);
  kdl_status status = zip_replace(archive, record, text, size, arena);
  free(path);
  free(text);
  zip_release(&old);
  return status;
}

kdl_status zip_update_record(zip_archive *archive, kdl_arena *arena) {
  record_rewriter r = {.changed = xcalloc(archive->count, sizeof *r.changed)};
  for (size_t i = 0; i < archive->count; ++i) {
    zip_member *m = &archive->members[i];
    if (is_metadata(m->entry.name, "RECORD.jws") || is_metadata(m->entry.name, "RECORD.p7s")) {
      m->is_dropped = true;
      cli_warning("%s: the signature %.*s does not hold for what is left: it is dropped",
                  archive->name, (int)m->entry.name.length, m->entry.name.data);
    }
    if (m->is_changed || m->is_dropped)
      r.changed[r.count++] = m;
  }
  qsort(r.changed, r.count, sizeof *r.changed, compare_recorded_names);
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < archive->count && status == KDL_OK; ++i) {
    if (is_metadata(archive->members[i].entry.name, "RECORD"))
      status = rewrite_record(archive, &archive->members[i], &r, arena);
  }
  free(r.changed);
  return status;
}
