/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "signature.h"

#include "dlpack.h"

#include <stdio.h>
#include <string.h>

static bool consume_prefix(const char **at, const char *end, const char *prefix) {
  size_t length = strlen(prefix);
  if ((size_t)(end - *at) < length || memcmp(*at, prefix, length) != 0)
    return false;
  *at += length;
  return true;
}

static bool parse_number(const char **at, const char *end, uint32_t *out_number) {
  uint64_t number = 0;
  const char *start = *at;
  while (*at < end && **at >= '0' && **at <= '9' && number <= UINT32_MAX)
    number = number * 10 + (uint64_t)(*(*at)++ - '0');
  *out_number = (uint32_t)number;
  return *at > start && number <= UINT32_MAX;
}

static bool parse_type(const char **at, const char *end, int depth, py_param *out_param);

static const uint8_t dl_codes[] = {
    [PY_SIGNED] = dl_int, [PY_UNSIGNED] = dl_uint, [PY_FLOAT] = dl_float, [PY_BFLOAT] = dl_bfloat};

static bool parse_pointer(const char **at, const char *end, int depth, py_param *out_param) {
  py_param element = {.kind = PY_ANY};
  if (!consume_prefix(at, end, "void") && (depth == 4 || !parse_type(at, end, depth + 1, &element)))
    return false;
  bool is_number = element.kind == PY_SIGNED || element.kind == PY_UNSIGNED ||
                   element.kind == PY_FLOAT || element.kind == PY_BFLOAT;
  *out_param = (py_param){.kind = PY_POINTER,
                          .element_kind = is_number ? element.kind : (uint8_t)PY_ANY,
                          .element_size = is_number ? (uint16_t)element.size : 0,
                          .size = sizeof(void *),
                          .dl_code = dl_codes[is_number ? element.kind : PY_ANY],
                          .dl_bits = is_number ? (uint8_t)(element.size * 8) : 0};
  return consume_prefix(at, end, ">");
}

static bool parse_bytes(const char **at, const char *end, py_param *out_param) {
  uint32_t size, alignment;
  if (!parse_number(at, end, &size) || !consume_prefix(at, end, ":") ||
      !parse_number(at, end, &alignment))
    return false;
  *out_param = (py_param){.kind = PY_BYTES, .size = size};
  return consume_prefix(at, end, ">");
}

static bool parse_type(const char **at, const char *end, int depth, py_param *out_param) {
  if (consume_prefix(at, end, "ptr<"))
    return parse_pointer(at, end, depth, out_param);
  if (consume_prefix(at, end, "bytes<"))
    return parse_bytes(at, end, out_param);
  py_kind kind;
  if (consume_prefix(at, end, "bf"))
    kind = PY_BFLOAT;
  else if (consume_prefix(at, end, "i"))
    kind = PY_SIGNED;
  else if (consume_prefix(at, end, "u"))
    kind = PY_UNSIGNED;
  else if (consume_prefix(at, end, "f"))
    kind = PY_FLOAT;
  else
    return false;
  uint32_t bits;
  if (!parse_number(at, end, &bits) || bits % 8 || bits < 8 || bits > 128)
    return false;
  *out_param = (py_param){.kind = (uint8_t)kind, .size = bits / 8};
  return true;
}

/* "ptr<f32> i32": -1 if the text is not a signature or has too many types. */
static int parse_signature(const char *text, size_t length, py_param out_params[py_max_params]) {
  const char *at = text, *end = text + length;
  int count = 0;
  for (;;) {
    while (at < end && *at == ' ')
      ++at;
    if (at == end)
      return count;
    if (count == py_max_params || !parse_type(&at, end, 1, &out_params[count++]) ||
        (at < end && *at != ' '))
      return -1;
  }
}

bool py_param_of(const char *text, size_t length, py_param *out_param) {
  return parse_type(&text, text + length, 1, out_param);
}

/* "0 2"; ignores other text. */
static void parse_constants(const char *text, size_t length, int count, py_param *params) {
  const char *at = text, *end = text + length;
  uint32_t index;
  while (parse_number(&at, end, &index)) {
    if (index < (uint32_t)count && params[index].kind == PY_POINTER)
      params[index].is_const = true;
    while (at < end && *at == ' ')
      ++at;
  }
}

/* The value of the field, from `name`, which ends in '=', to the next ';'. */
static bool find_field(const char *value, size_t length, const char *name, const char **out_text,
                       size_t *out_length) {
  const char *at = value, *end = value + length;
  while (at < end) {
    const char *next = memchr(at, ';', (size_t)(end - at));
    const char *field_end = next ? next : end;
    while (at < field_end && *at == ' ')
      ++at;
    if (consume_prefix(&at, field_end, name)) {
      *out_text = at;
      *out_length = (size_t)(field_end - at);
      return true;
    }
    at = next ? next + 1 : end;
  }
  return false;
}

int py_signature_of(const char *value, size_t length, py_param out_params[py_max_params]) {
  const char *text;
  size_t size;
  if (!find_field(value, length, "sig=", &text, &size))
    return -1;
  int count = parse_signature(text, size, out_params);
  if (count > 0 && find_field(value, length, "const=", &text, &size))
    parse_constants(text, size, count, out_params);
  return count;
}

static const char *const letters[] = {
    [PY_ANY] = "?", [PY_SIGNED] = "i", [PY_UNSIGNED] = "u", [PY_FLOAT] = "f", [PY_BFLOAT] = "bf"};

const char *py_param_name(const py_param *param, char out_name[32]) {
  switch (param->kind) {
  case PY_POINTER:
    if (param->element_size)
      snprintf(out_name, 32, "ptr<%s%u>", letters[param->element_kind], param->element_size * 8U);
    else
      snprintf(out_name, 32, "a pointer");
    break;
  case PY_BYTES:
    snprintf(out_name, 32, "%u bytes", param->size);
    break;
  case PY_ANY:
    snprintf(out_name, 32, param->size ? "%u bytes of any type" : "any type", param->size);
    break;
  default:
    snprintf(out_name, 32, "%s%u", letters[param->kind], param->size * 8U);
  }
  return out_name;
}
