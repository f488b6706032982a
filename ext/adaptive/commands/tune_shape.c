/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/commands/tune_shape.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool parse_number(kdl_string text, uint64_t *out_number) {
  uint64_t number = 0;
  for (size_t i = 0; i < text.length; ++i) {
    if (!kdl_is_digit(text.data[i]) || number > (UINT64_MAX - 9) / 10)
      return false;
    number = number * 10 + (uint64_t)(text.data[i] - '0');
  }
  *out_number = number;
  return text.length > 0;
}

static kdl_status fail_shape(kdl_string text, kdl_string names) {
  return kdl_fail(KDL_BAD_CALL,
                  "--shapes: bad value '%.*s': use numbers joined by 'x' for %.*s, or NAME=NUMBER "
                  "joined by '+'",
                  (int)text.length, text.data, (int)names.length, names.data);
}

kdl_status tune_shape_parse(kdl_string text, kdl_string names, tune_shape *out_shape) {
  bool is_named = kdl_text_find(text, 0, "=") < text.length;
  size_t name_at = 0;
  *out_shape = (tune_shape){.count = 0};
  for (size_t at = 0; at < text.length;) {
    size_t end = kdl_text_find(text, at, is_named ? "+" : "x");
    kdl_string part = {text.data + at, end - at}, name = {"", 0};
    if (is_named) {
      size_t equals = kdl_text_find(part, 0, "=");
      name = (kdl_string){part.data, equals};
      part = equals < part.length ? kdl_text_substr(part, equals + 1) : (kdl_string){"", 0};
    } else {
      while (name_at < names.length && names.data[name_at] == ' ')
        ++name_at;
      size_t name_end = kdl_text_find(names, name_at, " ");
      name = (kdl_string){names.data + name_at, name_end - name_at};
      name_at = name_end;
    }
    if (!name.length || out_shape->count == TUNE_NAMES ||
        !parse_number(part, &out_shape->values[out_shape->count]))
      return fail_shape(text, names);
    out_shape->names[out_shape->count++] = name;
    at = end + 1;
  }
  return out_shape->count ? KDL_OK : fail_shape(text, names);
}

kdl_status tune_product(const tune_shape *shape, kdl_string text, uint64_t *out_value) {
  uint64_t product = 1;
  for (size_t at = 0; at <= text.length;) {
    size_t end = kdl_text_find(text, at, "*");
    kdl_string factor = {text.data + at, end - at};
    uint64_t value = 0;
    bool is_known = parse_number(factor, &value);
    for (size_t i = 0; i < shape->count && !is_known; ++i) {
      is_known = kdl_text_equal(shape->names[i], factor);
      value = shape->values[i];
    }
    if (!is_known || __builtin_mul_overflow(product, value, &product))
      return kdl_fail(KDL_BAD_CALL,
                      "bad value '%.*s': use numbers and names of the shape, joined by '*'",
                      (int)text.length, text.data);
    at = end + 1;
  }
  *out_value = product;
  return KDL_OK;
}

kdl_status tune_extent(const tune_shape *shape, const char *words, kdl_extent *out_extent) {
  kdl_string text = kdl_text_of(words);
  uint64_t values[3] = {1, 1, 1};
  size_t count = 0;
  for (size_t at = 0; at <= text.length; ++count) {
    size_t end = kdl_text_find(text, at, "x,");
    if (count == 3)
      return kdl_fail(KDL_BAD_CALL, "--items: bad value '%s': use at most three sizes", words);
    kdl_status status = tune_product(shape, (kdl_string){text.data + at, end - at}, &values[count]);
    if (status != KDL_OK) {
      kdl_error_prefix("--items");
      return status;
    }
    at = end + 1;
  }
  *out_extent = kdl_extent3(values[0], values[1], values[2]);
  return KDL_OK;
}

/* Only what is in brackets, or the value after "TYPE:". */
kdl_status tune_argument(const tune_shape *shape, const char *words, char **out_text) {
  kdl_string text = kdl_text_of(words);
  bool is_buffer = kdl_starts_with(words, "buf:");
  size_t begin = kdl_text_find(text, 0, is_buffer ? "[" : ":") + 1;
  size_t end = is_buffer ? kdl_text_find(text, begin, "]") : text.length;
  uint64_t value;
  *out_text = NULL;
  if (begin > end)
    return kdl_fail(KDL_BAD_CALL, "--arg: bad value '%s': use TYPE:VALUE or buf:TYPE[COUNT]=INIT",
                    words);
  kdl_string part = {text.data + begin, end - begin};
  char first = *part.data;
  bool is_name = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
  if (!is_buffer && !is_name) {
    *out_text = xstrdup(words);
    return KDL_OK;
  }
  kdl_status status = tune_product(shape, part, &value);
  if (status != KDL_OK) {
    kdl_error_prefix("--arg=%s", words);
    return status;
  }
  size_t room = text.length + 32;
  *out_text = xcalloc(1, room);
  snprintf(*out_text, room, "%.*s%" PRIu64 "%s", (int)begin, words, value, words + end);
  return KDL_OK;
}
