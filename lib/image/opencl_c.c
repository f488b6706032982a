/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OpenCL C source. The text has no magic number; a container's key identifies it. Kernels are read
 * from the text without a preprocessor: `__kernel void NAME(...)` followed by a body, at the
 * outermost level, in any conditional. If a macro contains the word `kernel`, the text is not
 * reliable, and keys must name the kernels. A NUL ends the text, as in PTX.
 */
#include "lib/inspect/images.h"
#include "support/base/text.h"

#include "lib/image/readers.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  const char *text;
  size_t size;
  size_t at;
  bool at_line_start;
  bool hides_kernels; /* a directive defines a macro with the word `kernel` in it */
} scanner;

/* A word or one other character. A literal is one token. Empty at the end. */
typedef struct {
  const char *text;
  size_t length;
  size_t offset;
} token;

static scanner cl_scan(const void *data, size_t size) {
  const char *end = size ? memchr(data, 0, size) : NULL;
  return (scanner){
      .text = data, .size = end ? (size_t)(end - (const char *)data) : size, .at_line_start = true};
}

static bool cl_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool cl_starts_with(const scanner *s, const char *text) {
  size_t length = strlen(text);
  return s->size - s->at >= length && memcmp(s->text + s->at, text, length) == 0;
}

/* Skips a comment or a line continuation; false where neither begins. */
static bool skip_invisible(scanner *s) {
  if (cl_starts_with(s, "//")) {
    while (s->at < s->size && s->text[s->at] != '\n')
      s->at += cl_starts_with(s, "\\\n") ? 2 : 1;
    return true;
  }
  if (cl_starts_with(s, "/*")) {
    const char *end = memmem(s->text + s->at + 2, s->size - s->at - 2, "*/", 2);
    s->at = end ? (size_t)(end - s->text) + 2 : s->size;
    return true;
  }
  if (cl_starts_with(s, "\\\n") || cl_starts_with(s, "\\\r\n")) {
    s->at += s->text[s->at + 1] == '\n' ? 2 : 3;
    return true;
  }
  return false;
}

/* Skips a string or a character literal; an unterminated one ends with its line. */
static void skip_literal(scanner *s) {
  char quote = s->text[s->at++];
  while (s->at < s->size && s->text[s->at] != quote && s->text[s->at] != '\n')
    s->at += s->text[s->at] == '\\' && s->at + 1 < s->size ? 2 : 1;
  if (s->at < s->size && s->text[s->at] == quote)
    ++s->at;
}

static size_t cl_skip_word(scanner *s) {
  size_t start = s->at;
  while (s->at < s->size && cl_is_word(s->text[s->at]))
    ++s->at;
  return s->at - start;
}

static bool is_kernel_word(kdl_string word) {
  return kdl_text_is(word, "__kernel") || kdl_text_is(word, "kernel");
}

/* Skips a directive, which ends with its line. */
static void skip_directive(scanner *s) {
  bool is_define = false;
  while (s->at < s->size && s->text[s->at] != '\n') {
    char c = s->text[s->at];
    if (skip_invisible(s))
      continue;
    if (c == '"' || c == '\'') {
      skip_literal(s);
    } else if (cl_is_word(c)) {
      kdl_string word = {.data = s->text + s->at};
      word.length = cl_skip_word(s);
      is_define |= kdl_text_is(word, "define");
      s->hides_kernels |= is_define && is_kernel_word(word);
    } else {
      ++s->at;
    }
  }
}

static void cl_skip_blanks(scanner *s) {
  while (s->at < s->size) {
    char c = s->text[s->at];
    if (c == '\n')
      s->at_line_start = true;
    if (c == '#' && s->at_line_start)
      skip_directive(s);
    else if (c == ' ' || (c >= '\t' && c <= '\r'))
      ++s->at;
    else if (!skip_invisible(s))
      return;
  }
}

static token cl_next(scanner *s) {
  cl_skip_blanks(s);
  size_t start = s->at;
  s->at_line_start = false;
  if (s->at < s->size) {
    char c = s->text[s->at];
    if (c == '"' || c == '\'')
      skip_literal(s);
    else if (!cl_skip_word(s))
      ++s->at;
  }
  return (token){s->text + start, s->at - start, start};
}

static bool cl_token_is(token t, const char *text) {
  return kdl_text_is((kdl_string){t.text, t.length}, text);
}

static bool cl_is_name(token t) {
  return t.length && cl_is_word(t.text[0]) && !(t.text[0] >= '0' && t.text[0] <= '9');
}

/* ------------------------------------------------------------------------------------------ */
/* The target                                                                                   */

static kdl_status cl_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  scanner s = cl_scan(data, size);
  for (size_t at = 0, length; at < s.size; at += length) {
    length = kdl_utf8_length(s.text + at, s.size - at);
    if (length == 0)
      return kdl_malformed_at(at, "OpenCL C", "found byte 0x%02x, expected text in UTF-8",
                              (unsigned char)s.text[at]);
  }
  snprintf(target->triple, sizeof target->triple, "spir64-unknown-unknown");
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* After an opening parenthesis: skips to after the matching one. */
static void skip_parentheses(scanner *s) {
  size_t depth = 1;
  for (token t; depth && (t = cl_next(s)).length;)
    depth = cl_token_is(t, "(") ? depth + 1 : cl_token_is(t, ")") ? depth - 1 : depth;
}

/* The first token that is not an attribute. */
static token cl_next_non_attribute(scanner *s) {
  token t = cl_next(s);
  while (cl_token_is(t, "__attribute__") || cl_token_is(t, "__attribute")) {
    t = cl_next(s);
    if (!cl_token_is(t, "("))
      return t;
    skip_parentheses(s);
    t = cl_next(s);
  }
  return t;
}

/* The next kernel that has a body; *out_params is at its parameters. */
static bool next_kernel(scanner *s, token *out_name, scanner *out_params) {
  size_t depth = 0;
  for (token t = cl_next(s); t.length; t = cl_next(s)) {
    if (cl_token_is(t, "{"))
      ++depth;
    else if (cl_token_is(t, "}"))
      depth -= depth > 0;
    if (depth || !is_kernel_word((kdl_string){t.text, t.length}))
      continue;
    if (!cl_token_is(cl_next_non_attribute(s), "void"))
      continue;
    *out_name = cl_next_non_attribute(s);
    if (!cl_is_name(*out_name) || !cl_token_is(cl_next_non_attribute(s), "("))
      continue;
    if (kdl_text_starts((kdl_string){out_name->text, out_name->length}, KDL_OPENCL_C_PREFIX)) {
      out_name->text += sizeof KDL_OPENCL_C_PREFIX - 1;
      out_name->length -= sizeof KDL_OPENCL_C_PREFIX - 1;
    }
    *out_params = *s;
    skip_parentheses(s);
    scanner behind = *s;
    if (cl_token_is(cl_next_non_attribute(&behind), "{"))
      return true;
  }
  return false;
}

static kdl_status cl_fail_hidden_kernels(void) {
  return kdl_fail(KDL_UNSUPPORTED,
                  "OpenCL C: a macro stands for the word kernel, so that only a compiler knows the "
                  "kernels; kdl.kernel.NAME keys can name them");
}

static kdl_status cl_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                  void *user) {
  scanner whole = cl_scan(data, size);
  while (cl_next(&whole).length)
    ;
  if (whole.hides_kernels)
    return cl_fail_hidden_kernels();
  scanner s = cl_scan(data, size);
  token name;
  scanner params;
  while (next_kernel(&s, &name, &params)) {
    if (visit(user, name.text, name.length))
      break;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

/* OpenCL C, "Built-in Scalar Data Types". Programs often define the names of stdint.h too. */
static const struct {
  const char *name;
  uint32_t size;
  kdl_image_param_kind kind;
} types[] = {
    {"char", 1, KDL_IMAGE_PARAM_INTEGER},     {"uchar", 1, KDL_IMAGE_PARAM_INTEGER},
    {"short", 2, KDL_IMAGE_PARAM_INTEGER},    {"ushort", 2, KDL_IMAGE_PARAM_INTEGER},
    {"int", 4, KDL_IMAGE_PARAM_INTEGER},      {"uint", 4, KDL_IMAGE_PARAM_INTEGER},
    {"long", 8, KDL_IMAGE_PARAM_INTEGER},     {"ulong", 8, KDL_IMAGE_PARAM_INTEGER},
    {"int8_t", 1, KDL_IMAGE_PARAM_INTEGER},   {"uint8_t", 1, KDL_IMAGE_PARAM_INTEGER},
    {"int16_t", 2, KDL_IMAGE_PARAM_INTEGER},  {"uint16_t", 2, KDL_IMAGE_PARAM_INTEGER},
    {"int32_t", 4, KDL_IMAGE_PARAM_INTEGER},  {"uint32_t", 4, KDL_IMAGE_PARAM_INTEGER},
    {"int64_t", 8, KDL_IMAGE_PARAM_INTEGER},  {"uint64_t", 8, KDL_IMAGE_PARAM_INTEGER},
    {"half", 2, KDL_IMAGE_PARAM_FLOAT},       {"float", 4, KDL_IMAGE_PARAM_FLOAT},
    {"double", 8, KDL_IMAGE_PARAM_FLOAT},     {"sampler_t", 0, KDL_IMAGE_PARAM_OPAQUE},
    {"image1d_t", 0, KDL_IMAGE_PARAM_OPAQUE}, {"image2d_t", 0, KDL_IMAGE_PARAM_OPAQUE},
    {"image3d_t", 0, KDL_IMAGE_PARAM_OPAQUE},
};

static bool is_qualifier(token t) {
  static const char *const words[] = {
      "const",     "volatile",    "restrict",   "__const",      "__volatile", "__restrict",
      "global",    "__global",    "constant",   "__constant",   "private",    "__private",
      "read_only", "__read_only", "write_only", "__write_only", "read_write", "__read_write",
      "local",     "__local",     "signed",     "struct",       "union",      "enum",
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (cl_token_is(t, words[i]))
      return true;
  }
  return false;
}

/* The elements of a vector by the digits after its type; 0 without any. Three elements have the
 * size of four. */
static uint32_t cl_vector_slots(const char *digits, size_t length) {
  static const struct {
    const char *digits;
    uint32_t room;
  } widths[] = {{"2", 2}, {"3", 4}, {"4", 4}, {"8", 8}, {"16", 16}};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i) {
    if (kdl_text_is((kdl_string){digits, length}, widths[i].digits))
      return widths[i].room;
  }
  return 0;
}

static bool cl_read_type(token t, kdl_image_param *out_param) {
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    size_t length = strlen(types[i].name);
    if (t.length < length || memcmp(t.text, types[i].name, length) != 0)
      continue;
    uint32_t room = cl_vector_slots(t.text + length, t.length - length);
    if (t.length != length && (!room || !types[i].size))
      continue;
    out_param->kind = room ? KDL_IMAGE_PARAM_VALUE : types[i].kind;
    out_param->size = types[i].size * (room ? room : 1);
    return true;
  }
  return false;
}

bool kdl_opencl_c_type(kdl_string name, kdl_image_param *out_param) {
  *out_param = (kdl_image_param){.offset = KDL_NO_OFFSET};
  return cl_read_type((token){name.data, name.length, 0}, out_param);
}

typedef struct {
  token type; /* the word that names it */
  unsigned words;
  bool is_pointer;
  bool is_local;
  bool is_unsigned;
} declaration;

/* Reads up to the comma or parenthesis that ends a parameter, which is returned. */
static token read_declaration(scanner *s, declaration *d) {
  size_t depth = 0;
  token t = cl_next_non_attribute(s);
  for (; t.length && (depth || (!cl_token_is(t, ",") && !cl_token_is(t, ")")));
       t = cl_next_non_attribute(s)) {
    depth = cl_token_is(t, "(") ? depth + 1 : cl_token_is(t, ")") ? depth - 1 : depth;
    d->is_pointer |= cl_token_is(t, "*") || cl_token_is(t, "[");
    d->is_local |= cl_token_is(t, "local") || cl_token_is(t, "__local");
    d->is_unsigned |= cl_token_is(t, "unsigned");
    if (!cl_is_name(t) || is_qualifier(t) || cl_token_is(t, "unsigned"))
      continue;
    if (d->words++ == 0)
      d->type = t;
  }
  return t;
}

static kdl_status cl_read_param(const declaration *d, uint32_t index, kdl_image_param *out_param) {
  *out_param = (kdl_image_param){.offset = KDL_NO_OFFSET};
  if (d->is_pointer && d->is_local) {
    out_param->kind = KDL_IMAGE_PARAM_GROUP;
    return KDL_OK;
  }
  if (d->is_pointer) {
    out_param->kind = KDL_IMAGE_PARAM_POINTER;
    out_param->size = 8;
    return KDL_OK;
  }
  if (cl_read_type(d->type, out_param))
    return KDL_OK;
  if (d->is_unsigned) {
    out_param->kind = KDL_IMAGE_PARAM_INTEGER;
    out_param->size = 4;
    return KDL_OK;
  }
  return kdl_fail(KDL_UNSUPPORTED,
                  "OpenCL C: parameter %u is of the type '%.*s', whose size only a compiler knows",
                  index, d->type.length < 64 ? (int)d->type.length : 64, d->type.text);
}

static kdl_status cl_visit_params(scanner *s, kdl_visit_param *visit, void *user) {
  token end;
  uint32_t index = 0;
  do {
    declaration d = {.type = {"", 0, 0}};
    end = read_declaration(s, &d);
    if (cl_token_is(end, ")") && index == 0 && !d.is_pointer && !d.is_unsigned &&
        (d.words == 0 || cl_token_is(d.type, "void")))
      return KDL_OK;
    kdl_image_param param;
    kdl_status status = cl_read_param(&d, index++, &param);
    if (status != KDL_OK)
      return status;
    if (visit(user, &param))
      return KDL_OK;
  } while (cl_token_is(end, ","));
  return KDL_OK;
}

static kdl_status cl_read_params(const uint8_t *data, size_t size, kdl_string kernel,
                                 kdl_visit_param *visit, void *user) {
  scanner s = cl_scan(data, size);
  token name;
  scanner params;
  while (next_kernel(&s, &name, &params)) {
    if (name.length == kernel.length && memcmp(name.text, kernel.data, name.length) == 0)
      return cl_visit_params(&params, visit, user);
  }
  return s.hides_kernels ? cl_fail_hidden_kernels() : kdl_no_such_kernel(kernel);
}

const kdl_image_readers kdl_opencl_c_readers = {
    .target = cl_read_target,
    .kernels = cl_read_kernels,
    .params = cl_read_params,
};
