/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/image_header.h"

#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static void write_text(FILE *file, kdl_string text, bool is_key) {
  for (size_t i = 0; i < text.length; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    bool is_plain = c >= ' ' && c < 0x7f && c != '%' && !(is_key && c == '=');
    if (is_plain)
      fputc(c, file);
    else
      fprintf(file, "%%%02X", c);
  }
}

static void write_image_header(FILE *file, const oci_image_header *record) {
  fprintf(file, "kinds %u %u flags %u\n", record->declared_kind, record->offload_kind,
          record->flags);
  for (size_t i = 0; i < record->pair_count; ++i) {
    write_text(file, record->pairs[i].key, true);
    fputc('=', file);
    write_text(file, record->pairs[i].value, false);
    fputc('\n', file);
  }
}

char *oci_image_headers_write(const oci_image_header *records, size_t count) {
  char *text;
  size_t size;
  FILE *file = xtext_stream(&text, &size);
  for (size_t i = 0; i < count; ++i) {
    if (i)
      fputc('\n', file);
    write_image_header(file, &records[i]);
  }
  xtext_close(file);
  return text;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

enum { shortest_head = sizeof "kinds 0 0 flags 0" };

typedef struct {
  kdl_arena *arena;
  const char *name;
  kdl_string text;
  size_t at;
  size_t line;
} reader;

static kdl_status fail_header_line(const reader *from, kdl_string line, const char *expected) {
  char shown[80] = "";
  kdl_out_quoted(&(kdl_out){shown, sizeof shown, 0}, line);
  return kdl_fail(KDL_BAD_FILE, "%s: line %zu: found %s, expected %s", from->name, from->line,
                  shown, expected);
}

static kdl_string next_header_line(reader *from) {
  size_t end = kdl_text_find(from->text, from->at, "\n");
  kdl_string line = {from->text.data + from->at, end - from->at};
  from->at = end < from->text.length ? end + 1 : end;
  ++from->line;
  return line;
}

static int hex_digit_value(char c) {
  return kdl_is_digit(c) ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* False for an invalid %XX. */
static bool percent_decode(kdl_arena *arena, kdl_string coded, kdl_string *out_text) {
  char *text = xarena_alloc(arena, coded.length + 1);
  size_t length = 0;
  for (size_t i = 0; i < coded.length; ++i, ++length) {
    text[length] = coded.data[i];
    if (coded.data[i] != '%')
      continue;
    int high = i + 2 < coded.length ? hex_digit_value(coded.data[i + 1]) : -1;
    int low = high < 0 ? -1 : hex_digit_value(coded.data[i + 2]);
    if (low < 0)
      return false;
    text[length] = (char)(high << 4 | low);
    i += 2;
  }
  text[length] = '\0';
  *out_text = (kdl_string){text, length};
  return true;
}

static bool expect_word(kdl_string line, size_t *at, const char *word) {
  bool fits = kdl_text_starts(kdl_text_substr(line, *at), word);
  *at += fits ? strlen(word) : 0;
  return fits;
}

static kdl_status read_kinds_line(reader *from, oci_image_header *record) {
  kdl_string line = next_header_line(from);
  uint32_t declared = 0, offload = 0, flags = 0;
  size_t at = 0;
  bool fits = expect_word(line, &at, "kinds ") && kdl_text_parse_number(line, &at, &declared) &&
              expect_word(line, &at, " ") && kdl_text_parse_number(line, &at, &offload) &&
              expect_word(line, &at, " flags ") && kdl_text_parse_number(line, &at, &flags) &&
              at == line.length && declared <= UINT16_MAX && offload <= UINT16_MAX;
  *record = (oci_image_header){(uint16_t)declared, (uint16_t)offload, flags, NULL, 0};
  return fits ? KDL_OK : fail_header_line(from, line, "'kinds KIND OFFLOAD flags FLAGS'");
}

static kdl_status read_pair(reader *from, kdl_string line, kdl_pair *out_pair) {
  size_t equals = kdl_text_find(line, 0, "=");
  if (equals == line.length)
    return fail_header_line(from, line, "KEY=VALUE");
  if (!percent_decode(from->arena, (kdl_string){line.data, equals}, &out_pair->key) ||
      !percent_decode(from->arena, kdl_text_substr(line, equals + 1), &out_pair->value))
    return fail_header_line(from, line, "%XX behind each '%', in upper case");
  return KDL_OK;
}

static size_t count_pairs(reader from) {
  size_t count = 0;
  while (from.at < from.text.length && next_header_line(&from).length > 0)
    ++count;
  return count;
}

static kdl_status read_image_header(reader *from, oci_image_header *record) {
  KDL_TRY(read_kinds_line(from, record));
  size_t count = count_pairs(*from);
  if (count > KDL_LIMIT_PAIRS)
    return kdl_fail(KDL_BAD_FILE, "%s: line %zu: found %zu pairs, expected at most %d", from->name,
                    from->line, count, KDL_LIMIT_PAIRS);
  kdl_pair *pairs = xarena_alloc(from->arena, (count + 1) * sizeof *pairs);
  record->pairs = pairs;
  record->pair_count = count;
  for (size_t i = 0; i < count; ++i)
    KDL_TRY(read_pair(from, next_header_line(from), &pairs[i]));
  return KDL_OK;
}

/* An upper bound; 0 where there are only blank lines. */
static size_t count_image_headers(reader from) {
  size_t count = 1;
  while (from.at < from.text.length)
    count += next_header_line(&from).length == 0;
  return count <= from.text.length / shortest_head + 1 ? count : 0;
}

kdl_status oci_image_headers_read(kdl_arena *arena, const char *name, kdl_string text,
                                  oci_image_header **out_records, size_t *out_count) {
  reader from = {arena, name, text, 0, 0};
  size_t count = count_image_headers(from);
  if (!count)
    return kdl_fail(KDL_BAD_FILE, "%s: found blank lines, expected an image between two", name);
  oci_image_header *records = xarena_alloc(arena, count * sizeof *records);
  for (size_t i = 0; i < count; ++i) {
    if (i)
      next_header_line(&from);
    KDL_TRY(read_image_header(&from, &records[i]));
  }
  *out_records = records;
  *out_count = count;
  return KDL_OK;
}
