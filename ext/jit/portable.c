/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/portable.h"

#include "ext/jit/identity.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/base/text_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
