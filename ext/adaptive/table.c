/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The lines of a table. */
#include "ext/adaptive/table.h"

#include "support/base/blake2b.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Checksums                                                                                    */

enum { checksum_digits = 8 };

static uint32_t checksum_of(const char *data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a: finds damage, not malice; the folder is private */
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3u;
  return (uint32_t)(hash ^ hash >> 32);
}

/* A newline before it ends what a killed process left incomplete. */
size_t kdl_table_seal(const char *content, char *out, size_t room) {
  int length =
      snprintf(out, room, "\n%08" PRIx32 " %s\n", checksum_of(content, strlen(content)), content);
  return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

typedef struct {
  const char *at, *end;
} cursor;

static bool take_word(cursor *c, kdl_string *out_word) {
  while (c->at < c->end && *c->at == ' ')
    ++c->at;
  const char *begin = c->at;
  while (c->at < c->end && *c->at != ' ')
    ++c->at;
  *out_word = (kdl_string){begin, (size_t)(c->at - begin)};
  return c->at > begin;
}

static bool parse_digits(kdl_string word, unsigned base, uint64_t *out_number) {
  uint64_t number = 0;
  for (size_t i = 0; i < word.length; ++i) {
    char digit = word.data[i];
    unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                     : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                                                    : 16;
    if (value >= base || number > (UINT64_MAX - value) / base)
      return false;
    number = number * base + value;
  }
  *out_number = number;
  return word.length > 0;
}

static bool take_number(cursor *c, unsigned base, uint64_t *out_number) {
  kdl_string word;
  return take_word(c, &word) && parse_digits(word, base, out_number);
}

static bool take_class(cursor *c, kdl_problem_class *out_class) {
  return take_number(c, 16, &out_class->words[0]) && take_number(c, 16, &out_class->words[1]);
}

static kdl_string take_all(cursor *c) {
  while (c->at < c->end && *c->at == ' ')
    ++c->at;
  return (kdl_string){c->at, (size_t)(c->end - c->at)};
}

static bool parse_content(const char *data, size_t size, kdl_table_line *out) {
  cursor c = {data + 1, data + size};
  uint64_t unit_ns;
  *out = (kdl_table_line){.kind = (kdl_table_kind)data[0]};
  switch (data[0]) {
  case KDL_TABLE_HEADER:
    out->text = take_all(&c);
    return true;
  case KDL_TABLE_EXCLUDED:
    if (!take_class(&c, &out->class_key) || !take_number(&c, 16, &out->variant))
      return false;
    out->text = take_all(&c);
    return true;
  case KDL_TABLE_TIMES:
    if (!take_class(&c, &out->class_key) || !take_number(&c, 16, &out->unit) ||
        !take_number(&c, 10, &unit_ns) || !take_number(&c, 10, &out->launches) ||
        !take_number(&c, 10, &out->time_ns) || !take_number(&c, 10, &out->explored_ns))
      return false;
    out->unit_ns = (double)unit_ns;
    out->samples = take_all(&c);
    return true;
  default: /* of a later version */
    return false;
  }
}

bool kdl_table_next(kdl_string text, size_t *at, kdl_table_line *out_line, size_t *out_damaged) {
  while (*at < text.length) {
    const char *line = text.data + *at;
    const char *newline = memchr(line, '\n', text.length - *at);
    size_t length = newline ? (size_t)(newline - line) : text.length - *at;
    *at += length + 1;
    if (length == 0)
      continue;
    uint64_t checksum;
    if (length > checksum_digits + 1 && newline && length < KDL_TABLE_LINE &&
        line[checksum_digits] == ' ' &&
        parse_digits((kdl_string){line, checksum_digits}, 16, &checksum) &&
        checksum == checksum_of(line + checksum_digits + 1, length - checksum_digits - 1) &&
        parse_content(line + checksum_digits + 1, length - checksum_digits - 1, out_line))
      return true;
    ++*out_damaged;
  }
  return false;
}

/* "1.0931", "0.00001234": digits, a point, four or eight digits. */
static bool parse_sample(kdl_string word, double *out_sample) {
  uint64_t whole, part;
  size_t point = kdl_text_find(word, 0, ".");
  size_t digits = point < word.length ? word.length - point - 1 : 0;
  if ((digits != 4 && digits != 8) || !parse_digits((kdl_string){word.data, point}, 10, &whole) ||
      !parse_digits((kdl_string){word.data + point + 1, digits}, 10, &part))
    return false;
  *out_sample = (double)whole + (double)part / (digits == 4 ? 1e4 : 1e8);
  return whole < 1000000000;
}

void kdl_table_out_samples(kdl_out *out, uint64_t variant, const float *samples, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    double sample = (double)samples[i];
    if (i == 0)
      kdl_out_format(out, " %016" PRIx64 ":", variant);
    kdl_out_format(out, "%s%.*f", i ? "/" : "", sample < 0.1 ? 8 : 4, sample);
  }
}

bool kdl_table_next_sample(kdl_string samples, size_t *at, uint64_t *out_variant,
                           double *out_sample) {
  while (*at < samples.length) {
    char c = samples.data[*at];
    if (c == ' ') {
      ++*at;
      continue;
    }
    size_t end = *at + (c == '/');
    while (end < samples.length && samples.data[end] != ':' && samples.data[end] != '/' &&
           samples.data[end] != ' ')
      ++end;
    kdl_string word = {samples.data + *at, end - *at};
    if (end < samples.length && samples.data[end] == ':') {
      if (!parse_digits(word, 16, out_variant))
        return false;
      *at = end + 1;
      continue;
    }
    if (c == '/')
      word = (kdl_string){word.data + 1, word.length - 1};
    *at = end;
    return parse_sample(word, out_sample);
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */

void kdl_table_name(kdl_string identity, char out_name[KDL_TABLE_NAME]) {
  kdl_digest digest = kdl_digest_of(identity.data, identity.length);
  char text[KDL_DIGEST_TEXT];
  kdl_digest_print(&digest, text);
  snprintf(out_name, KDL_TABLE_NAME, "%.32s.kdlc", text);
}
