/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

void kdl_out_format(kdl_out *out, const char *format, ...) {
  if (out->used + 1 >= out->size)
    return;
  size_t left = out->size - out->used;
  va_list args;
  va_start(args, format);
  int length = vsnprintf(out->data + out->used, left, format, args);
  va_end(args);
  if (length > 0)
    out->used += (size_t)length < left ? (size_t)length : left - 1;
}

void kdl_out_quoted(kdl_out *out, kdl_string text) {
  enum { shown = 64 };
  kdl_out_format(out, "\"");
  for (size_t i = 0; i < text.length && i < shown; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
      kdl_out_format(out, "%c", c);
    else
      kdl_out_format(out, "\\x%02x", c);
  }
  kdl_out_format(out, text.length > shown ? "...\"" : "\"");
}

void kdl_out_parse_error(kdl_out *out, kdl_string text, kdl_parse_error error) {
  kdl_out_format(out, "position %zu: found ", error.position);
  if (error.position >= text.length)
    kdl_out_format(out, "the end");
  else
    kdl_out_quoted(out, kdl_text_substr(text, error.position));
  kdl_out_format(out, ", expected %s", error.expected);
}

kdl_string kdl_text_short(kdl_string joined, char room[KDL_TEXT_SHORT + 1]) {
  enum { max_more = sizeof "+4095 more" - 1 };
  if (joined.length <= KDL_TEXT_SHORT || !memchr(joined.data, '+', joined.length))
    return joined;
  size_t kept = kdl_text_find(joined, 0, "+");
  for (size_t end; (end = kdl_text_find(joined, kept + 1, "+")) <= KDL_TEXT_SHORT - max_more;)
    kept = end;
  size_t more = 0;
  for (size_t at = kept; at < joined.length; ++at)
    more += joined.data[at] == '+';
  if (kept > KDL_TEXT_SHORT - max_more || more > 4095)
    return joined;
  int length = snprintf(room, KDL_TEXT_SHORT + 1, "%.*s+%zu more", (int)kept, joined.data, more);
  return (kdl_string){room, (size_t)length};
}

/* ------------------------------------------------------------------------------------------ */
/* Messages without control characters                                                          */

enum { escaped_size = 4 };

/* How many bytes at `text`, which is not empty, are to be escaped: those of a control character, or
 * a stray byte that is one in Latin-1. *out_length is the length of the character. */
static size_t control_length(const char *text, size_t *out_length) {
  enum { longest = 4 };
  uint32_t code = 0;
  size_t length = kdl_utf8_decode(text, strnlen(text, longest), &code);
  bool is_further_line = code == '\n' && text[1] == ' ' && text[2] == ' ';
  *out_length = length ? length : 1;
  if (!length)
    code = (uint8_t)text[0];
  return code != '\t' && !is_further_line && kdl_utf8_is_control(code) ? *out_length : 0;
}

void kdl_text_escape_controls(char *text, size_t size) {
  for (size_t at = 0, length; text[at]; at += length) {
    for (size_t bytes = control_length(text + at, &length); bytes; --bytes, at += escaped_size) {
      length = 0;
      char escaped[escaped_size + 1];
      snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned)(uint8_t)text[at]);
      size_t rest = strlen(text + at + 1);
      if (at + escaped_size >= size) { /* no room: truncate */
        text[at] = '\0';
        return;
      }
      if (at + escaped_size + rest >= size)
        rest = size - at - escaped_size - 1;
      memmove(text + at + escaped_size, text + at + 1, rest);
      memcpy(text + at, escaped, escaped_size);
      text[at + escaped_size + rest] = '\0';
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Streams                                                                                      */

typedef struct {
  char **out_text;
  size_t *out_length;
  char *text;
  size_t length;
  size_t capacity;
  bool failed;
} growing;

/* Room for `more` bytes and a NUL. */
static bool text_stream_reserve(growing *of, size_t more) {
  enum { least = 256 };
  if (more < of->capacity - of->length)
    return true;
  size_t wanted = of->length + more + 1;
  size_t capacity = of->capacity ? of->capacity : least;
  while (capacity < wanted && capacity <= SIZE_MAX / 2)
    capacity *= 2;
  char *text = capacity < wanted ? NULL : realloc(of->text, capacity);
  if (!text)
    return false;
  of->text = text;
  of->capacity = capacity;
  return true;
}

/* After a failed write all further writes fail: the text has a gap. */
static ssize_t text_stream_write(void *cookie, const char *data, size_t size) {
  growing *of = cookie;
  if (of->failed || !text_stream_reserve(of, size)) {
    of->failed = true;
    errno = ENOMEM;
    return 0;
  }
  memcpy(of->text + of->length, data, size);
  of->length += size;
  return (ssize_t)size;
}

static int text_stream_close(void *cookie) {
  growing *of = cookie;
  bool fits = !of->failed && text_stream_reserve(of, 0);
  if (fits) {
    of->text[of->length] = '\0';
    *of->out_text = of->text;
    *of->out_length = of->length;
  } else {
    free(of->text);
  }
  free(of);
  if (!fits)
    errno = ENOMEM;
  return fits ? 0 : EOF;
}

FILE *kdl_text_stream(char **out_text, size_t *out_length) {
  *out_text = NULL;
  *out_length = 0;
  growing *of = malloc(sizeof *of);
  if (!of)
    return NULL;
  *of = (growing){.out_text = out_text, .out_length = out_length};
  FILE *file = fopencookie(
      of, "w", (cookie_io_functions_t){.write = text_stream_write, .close = text_stream_close});
  if (!file)
    free(of);
  return file;
}
