/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/text_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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
