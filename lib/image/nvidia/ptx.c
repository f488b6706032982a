/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * PTX: text that begins with `.version`, then `.target` (PTX ISA, "PTX Module Directives"). A NUL
 * ends it: drivers require one, and containers pad with them.
 */
#include "lib/image/code_hash.h"
#include "lib/image/readers.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  const char *text;
  size_t size;
  size_t at;
} scanner;

/* A directive with its dot, a word, or one other character; empty at the end. A string is one
 * token with its quotes. */
typedef struct {
  const char *text;
  size_t length;
  size_t offset;
} token;

static scanner ptx_scan(const void *data, size_t size) {
  const char *end = size ? memchr(data, 0, size) : NULL;
  return (scanner){data, end ? (size_t)(end - (const char *)data) : size, 0};
}

static bool ptx_is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ptx_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

static bool ptx_starts_with(const scanner *s, const char *text) {
  size_t length = strlen(text);
  return s->size - s->at >= length && memcmp(s->text + s->at, text, length) == 0;
}

/* Skips blanks and comments; an unterminated comment extends to the end. */
static void ptx_skip_blanks(scanner *s) {
  while (s->at < s->size) {
    const char *rest = s->text + s->at;
    if (ptx_is_blank(*rest)) {
      ++s->at;
      continue;
    }
    const char *end;
    if (ptx_starts_with(s, "//"))
      end = memchr(rest, '\n', s->size - s->at);
    else if (ptx_starts_with(s, "/*"))
      end = memmem(rest + 2, s->size - s->at - 2, "*/", 2);
    else
      return;
    s->at = end ? (size_t)(end - s->text) + (*end == '*' ? 2 : 1) : s->size;
  }
}

static token ptx_next(scanner *s) {
  ptx_skip_blanks(s);
  size_t start = s->at;
  if (s->at < s->size) {
    char first = s->text[s->at++];
    if (first == '"') {
      while (s->at < s->size && s->text[s->at] != '"')
        s->at += s->text[s->at] == '\\' ? 2 : 1;
      s->at = s->at < s->size ? s->at + 1 : s->size;
    } else if (first == '.' || ptx_is_word(first)) {
      while (s->at < s->size && ptx_is_word(s->text[s->at]))
        ++s->at;
    }
  }
  return (token){s->text + start, s->at - start, start};
}

static bool ptx_token_is(token t, const char *text) {
  return t.length == strlen(text) && memcmp(t.text, text, t.length) == 0;
}

static bool ptx_is_name(token t) {
  return t.length && ptx_is_word(t.text[0]) && !(t.text[0] >= '0' && t.text[0] <= '9');
}

static kdl_status ptx_unexpected(token t, const char *field, const char *expected) {
  if (t.length == 0)
    return kdl_malformed_at(t.offset, field, "found the end of the text, expected %s", expected);
  if (t.text[0] == '.' || ptx_is_word(t.text[0]))
    return kdl_malformed_at(t.offset, field, "found \"%.*s\", expected %s",
                            t.length < 40 ? (int)t.length : 40, t.text, expected);
  return kdl_malformed_at(t.offset, field, "found byte 0x%02x, expected %s",
                          (unsigned char)t.text[0], expected);
}

/* A number of up to four digits, after `skip` other characters. */
static bool ptx_parse_number(token t, size_t skip, uint32_t *out_number) {
  if (t.length <= skip || t.length > skip + 4)
    return false;
  uint32_t value = 0;
  for (size_t i = skip; i < t.length; ++i) {
    if (t.text[i] < '0' || t.text[i] > '9')
      return false;
    value = value * 10 + (uint32_t)(t.text[i] - '0');
  }
  *out_number = value;
  return true;
}

/* MAJOR.MINOR, which the scanner reads as a word and a directive; *out_found is the text found. */
static bool ptx_read_version(scanner *s, uint32_t *out_major, uint32_t *out_minor,
                             token *out_found) {
  *out_found = ptx_next(s);
  token minor = ptx_next(s);
  return ptx_parse_number(*out_found, 0, out_major) && ptx_parse_number(minor, 1, out_minor) &&
         minor.text[0] == '.';
}

/* Checks the number too: the GNU assembler has a `.version "TEXT"`. */
bool kdl_ptx_begins(const void *head, size_t size) {
  scanner s = ptx_scan(head, size);
  uint32_t major, minor;
  token found;
  return ptx_token_is(ptx_next(&s), ".version") && ptx_read_version(&s, &major, &minor, &found);
}

/* The next possible position of a directive, and of the next string and comment before it.
 * Everything between is skipped: modules have millions of tokens, few of which matter. */
typedef struct {
  const char *word;
  size_t hit, quote, slash; /* s->size or later: none; before s->at: unknown */
  bool is_begun;
} finder;

static size_t find_char(const scanner *s, char c, size_t end) {
  const char *found = memchr(s->text + s->at, c, end - s->at);
  return found ? (size_t)(found - s->text) : end;
}

static void look_ahead(const scanner *s, finder *f) {
  if (!f->is_begun || f->hit < s->at) {
    const char *hit = memmem(s->text + s->at, s->size - s->at, f->word, strlen(f->word));
    f->hit = hit ? (size_t)(hit - s->text) : s->size;
  }
  if (!f->is_begun || f->quote < s->at)
    f->quote = find_char(s, '"', f->hit);
  if (!f->is_begun || f->slash < s->at)
    f->slash = find_char(s, '/', f->hit);
  f->is_begun = true;
}

/* Skips to after the next token that is the word; false where there is none. */
static bool ptx_find(scanner *s, finder *f) {
  for (;;) {
    look_ahead(s, f);
    size_t stop = f->quote < f->slash ? f->quote : f->slash;
    if (stop >= f->hit) {
      s->at = f->hit;
      if (s->at == s->size)
        return false;
      if (ptx_token_is(ptx_next(s), f->word))
        return true;
      continue;
    }
    s->at = stop;
    if (s->text[stop] == '"')
      ptx_next(s);
    else if (ptx_starts_with(s, "//") || ptx_starts_with(s, "/*"))
      ptx_skip_blanks(s);
    else
      ++s->at;
  }
}

/* The first of the comma-separated specifiers that is an architecture; others are modes. */
static kdl_status ptx_read_arch(scanner *s, kdl_image_target *target) {
  for (;;) {
    token specifier = ptx_next(s);
    if (!ptx_is_name(specifier))
      return ptx_unexpected(specifier, ".target", "an architecture such as sm_90");
    if (specifier.length > 3 && memcmp(specifier.text, "sm_", 3) == 0)
      return kdl_target_append(target->arch, KDL_TARGET_NAME, ".target", specifier.text,
                               specifier.length, specifier.offset);
    token comma = ptx_next(s);
    if (!ptx_token_is(comma, ","))
      return ptx_unexpected(comma, ".target", "an architecture such as sm_90");
  }
}

static kdl_status ptx_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  scanner s = ptx_scan(data, size);
  token t = ptx_next(&s);
  if (!ptx_token_is(t, ".version"))
    return ptx_unexpected(t, "PTX", "the directive .version");
  if (!ptx_read_version(&s, &target->version_major, &target->version_minor, &t))
    return ptx_unexpected(t, ".version", "MAJOR.MINOR");
  t = ptx_next(&s);
  if (!ptx_token_is(t, ".target"))
    return ptx_unexpected(t, "PTX", "the directive .target");
  KDL_TRY(ptx_read_arch(&s, target));
  /* Other directives that may follow .target concern debugging; absent means 32 bits. */
  uint32_t bits = 32;
  do
    t = ptx_next(&s);
  while (ptx_token_is(t, ",") || ptx_is_name(t));
  if (ptx_token_is(t, ".address_size")) {
    t = ptx_next(&s);
    if (!ptx_parse_number(t, 0, &bits) || (bits != 32 && bits != 64))
      return ptx_unexpected(t, ".address_size", "32 or 64");
  }
  snprintf(target->triple, sizeof target->triple, "%s",
           bits == 64 ? "nvptx64-nvidia-cuda" : "nvptx-nvidia-cuda");
  target->offload_kind = KDL_OFFLOAD_CUDA;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels and their parameters                                                                 */

/* After an entry's name: whether a body follows its parameters and directives, or the `;` of a
 * declaration. A .pragma before the body has its own `;`. */
static bool has_body(scanner *s) {
  bool in_pragma = false;
  for (token t = ptx_next(s); t.length; t = ptx_next(s)) {
    if (ptx_token_is(t, "{"))
      return true;
    if (ptx_token_is(t, ";") && !in_pragma)
      return false;
    in_pragma = ptx_token_is(t, ".pragma") || (in_pragma && !ptx_token_is(t, ";"));
  }
  return false;
}

static kdl_status ptx_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                   void *user) {
  scanner s = ptx_scan(data, size);
  finder entries = {.word = ".entry"};
  while (ptx_find(&s, &entries)) {
    token name = ptx_next(&s);
    if (!ptx_is_name(name))
      return ptx_unexpected(name, ".entry", "the name of a kernel");
    if (has_body(&s) && visit(user, name.text, name.length))
      break;
  }
  return KDL_OK;
}

/* After `.extern .func`: the name, after an optional result in parentheses. */
static token function_name(scanner *s) {
  token t = ptx_next(s);
  if (!ptx_token_is(t, "("))
    return t;
  while (t.length && !ptx_token_is(t, ")"))
    t = ptx_next(s);
  return ptx_next(s);
}

/* Whether it declares a function or a variable `.extern` that the driver does not define. */
static kdl_status ptx_read_unresolved(const uint8_t *data, size_t size, bool *unresolved) {
  scanner s = ptx_scan(data, size);
  finder externs = {.word = ".extern"};
  while (!*unresolved && ptx_find(&s, &externs)) {
    token space = ptx_next(&s); /* .shared is dynamic group memory of the launch */
    token name = ptx_token_is(space, ".func") ? function_name(&s) : space;
    *unresolved =
        ptx_token_is(space, ".global") || ptx_token_is(space, ".const") ||
        (ptx_token_is(space, ".func") && !kdl_nvidia_driver_defines(name.text, name.length));
  }
  return KDL_OK;
}

/* Pointers and integers of a pointer's size look alike unless `.ptr` follows. */
static const struct {
  const char *name;
  uint32_t size;
  kdl_image_param_kind kind;
} types[] = {
    {".u8", 1, KDL_IMAGE_PARAM_INTEGER},     {".u16", 2, KDL_IMAGE_PARAM_INTEGER},
    {".u32", 4, KDL_IMAGE_PARAM_INTEGER},    {".u64", 8, KDL_IMAGE_PARAM_INTEGER},
    {".s8", 1, KDL_IMAGE_PARAM_INTEGER},     {".s16", 2, KDL_IMAGE_PARAM_INTEGER},
    {".s32", 4, KDL_IMAGE_PARAM_INTEGER},    {".s64", 8, KDL_IMAGE_PARAM_INTEGER},
    {".b8", 1, KDL_IMAGE_PARAM_VALUE},       {".b16", 2, KDL_IMAGE_PARAM_VALUE},
    {".b32", 4, KDL_IMAGE_PARAM_VALUE},      {".b64", 8, KDL_IMAGE_PARAM_VALUE},
    {".b128", 16, KDL_IMAGE_PARAM_VALUE},    {".f16", 2, KDL_IMAGE_PARAM_FLOAT},
    {".f16x2", 4, KDL_IMAGE_PARAM_VALUE},    {".bf16", 2, KDL_IMAGE_PARAM_FLOAT},
    {".f32", 4, KDL_IMAGE_PARAM_FLOAT},      {".f64", 8, KDL_IMAGE_PARAM_FLOAT},
    {".texref", 0, KDL_IMAGE_PARAM_OPAQUE},  {".samplerref", 0, KDL_IMAGE_PARAM_OPAQUE},
    {".surfref", 0, KDL_IMAGE_PARAM_OPAQUE},
};

/* One parameter while its tokens are read. */
typedef struct {
  kdl_image_param param;
  uint64_t size;
  uint32_t align;
  bool has_type;
  bool is_array;
  bool is_pointer; /* an .align after .ptr is that of the pointee */
} declaration;

static bool ptx_read_type(token t, declaration *d) {
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (!ptx_token_is(t, types[i].name))
      continue;
    d->has_type = true;
    d->param.kind = types[i].kind;
    d->size = types[i].size;
    if (!d->align)
      d->align = types[i].size;
    return true;
  }
  return false;
}

/* A number of bytes or elements. CUDA's largest block of arguments is below 2^15. */
static kdl_status read_count(scanner *s, const char *field, uint32_t *out_count) {
  token t = ptx_next(s);
  uint32_t value = 0;
  for (size_t i = 0; i < t.length; ++i) {
    if (t.text[i] < '0' || t.text[i] > '9' || value > UINT16_MAX)
      return ptx_unexpected(t, field, "a number up to 65535");
    value = value * 10 + (uint32_t)(t.text[i] - '0');
  }
  if (t.length == 0 || value > UINT16_MAX)
    return ptx_unexpected(t, field, "a number up to 65535");
  *out_count = value;
  return KDL_OK;
}

static kdl_status read_array(scanner *s, declaration *d) {
  uint32_t count;
  kdl_status status = read_count(s, "[]", &count);
  token end = ptx_next(s);
  if (status == KDL_OK && !ptx_token_is(end, "]"))
    return ptx_unexpected(end, "[]", "]");
  d->is_array = true;
  d->size *= status == KDL_OK ? count : 1;
  return d->size > UINT16_MAX ? ptx_unexpected(end, "[]", "at most 65535 bytes of it") : status;
}

/* Completes the parameter: its kind, and its offset by C's layout rules. */
static void ptx_layout_param(declaration *d, uint32_t pointer_size, uint64_t *end) {
  kdl_image_param *param = &d->param;
  uint64_t align = d->align ? d->align : 1;
  uint64_t offset = (*end + align - 1) / align * align;
  param->size = (uint32_t)d->size;
  param->offset = offset < KDL_NO_OFFSET ? (uint32_t)offset : KDL_NO_OFFSET;
  *end = offset + d->size;
  if (d->is_pointer)
    param->kind = KDL_IMAGE_PARAM_POINTER;
  else if (d->is_array)
    param->kind = KDL_IMAGE_PARAM_VALUE;
  else if (d->size == pointer_size &&
           (param->kind == KDL_IMAGE_PARAM_INTEGER || param->kind == KDL_IMAGE_PARAM_VALUE))
    param->kind = KDL_IMAGE_PARAM_BYTES;
}

static kdl_status read_align(scanner *s, declaration *d) {
  uint32_t align = 0;
  KDL_TRY(read_count(s, ".align", &align));
  if (!d->is_pointer)
    d->align = align;
  return KDL_OK;
}

/* Reads up to the comma or parenthesis that ends a parameter, which is *out_end. */
static kdl_status ptx_read_param(scanner *s, declaration *d, token *out_end) {
  kdl_status status = KDL_OK;
  while (status == KDL_OK) {
    token t = ptx_next(s);
    *out_end = t;
    if (ptx_token_is(t, ",") || ptx_token_is(t, ")"))
      return d->has_type ? KDL_OK : ptx_unexpected(t, ".param", "a type such as .u64 before it");
    if (ptx_token_is(t, ".align"))
      status = read_align(s, d);
    else if (ptx_token_is(t, "["))
      status = read_array(s, d);
    else if (ptx_token_is(t, ".ptr"))
      d->is_pointer = true;
    else if (!ptx_read_type(t, d) && !ptx_is_name(t) && !(t.length && t.text[0] == '.'))
      return ptx_unexpected(t, ".param", "a parameter");
  }
  return status;
}

static kdl_status ptx_visit_params(scanner *s, uint32_t pointer_size, kdl_visit_param *visit,
                                   void *user) {
  token t = ptx_next(s);
  if (!ptx_token_is(t, "("))
    return KDL_OK; /* without a list there are no parameters */
  uint64_t end = 0;
  scanner inside = *s;
  if (ptx_token_is(ptx_next(&inside), ")"))
    return KDL_OK;
  do {
    declaration d = {.has_type = false};
    kdl_status status = ptx_read_param(s, &d, &t);
    if (status != KDL_OK)
      return status;
    ptx_layout_param(&d, pointer_size, &end);
    if (visit(user, &d.param))
      return KDL_OK;
  } while (ptx_token_is(t, ","));
  return KDL_OK;
}

static kdl_status ptx_read_params(const uint8_t *data, size_t size, kdl_string kernel,
                                  kdl_visit_param *visit, void *user) {
  scanner s = ptx_scan(data, size);
  uint32_t bits = 32;
  for (token t = ptx_next(&s); t.length; t = ptx_next(&s)) {
    if (ptx_token_is(t, ".address_size") && !ptx_parse_number(ptx_next(&s), 0, &bits))
      bits = 32;
    if (!ptx_token_is(t, ".entry"))
      continue;
    token name = ptx_next(&s);
    scanner list = s;
    if (name.length == kernel.length && memcmp(name.text, kernel.data, name.length) == 0 &&
        has_body(&s))
      return ptx_visit_params(&list, bits / 8, visit, user);
  }
  return kdl_no_such_kernel(kernel);
}

/* ------------------------------------------------------------------------------------------ */
/* Digests                                                                                      */

static bool ptx_token_starts(token t, const char *text, size_t length) {
  return t.length >= length && memcmp(t.text, text, length) == 0;
}

/* Labels have the number of the function in the module, and parameters the kernel's name: only what
 * follows counts. Lines of the source do not count. */
static void hash_ptx_token(scanner *s, token t, token kernel, kdl_code_hash *hash) {
  static const char label[] = "$L__";
  if (ptx_token_is(t, ".loc")) {
    s->at = find_char(s, '\n', s->size);
    return;
  }
  size_t skipped = 0;
  if (ptx_token_starts(t, label, sizeof label - 1)) {
    for (size_t i = 0; i < t.length; ++i)
      skipped = t.text[i] == '_' ? i : skipped;
  } else if (ptx_token_starts(t, kernel.text, kernel.length)) {
    skipped = kernel.length;
  }
  kdl_code_hash_add(hash, skipped != 0, t.length - skipped);
  kdl_code_hash_bytes(hash, t.text + skipped, t.length - skipped);
}

/* From after the opening brace to the closing one. */
static void hash_ptx_body(scanner *s, token kernel, kdl_code_hash *hash) {
  size_t depth = 1;
  for (token t = ptx_next(s); t.length && depth; t = ptx_next(s)) {
    depth += ptx_token_is(t, "{");
    depth -= ptx_token_is(t, "}");
    if (depth)
      hash_ptx_token(s, t, kernel, hash);
    else
      return;
  }
}

static int hash_ptx_param(void *user, const kdl_image_param *param) {
  uint64_t *hash = user;
  *hash = kdl_code_hash_param(*hash, param->size, param->offset);
  return 0;
}

static kdl_status ptx_read_digests(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                   void *user) {
  enum { pointer_size = 8 };
  scanner s = ptx_scan(data, size);
  finder entries = {.word = ".entry"};
  while (ptx_find(&s, &entries)) {
    token name = ptx_next(&s);
    if (!ptx_is_name(name))
      return ptx_unexpected(name, ".entry", "the name of a kernel");
    scanner list = s;
    if (!has_body(&s))
      continue;
    kdl_kernel_digest digest = {.params = KDL_NO_PARAMS_HASH};
    kdl_code_hash hash = kdl_code_hash_begin();
    KDL_TRY(ptx_visit_params(&list, pointer_size, hash_ptx_param, &digest.params));
    hash_ptx_body(&s, name, &hash);
    kdl_code_hash_end(&hash, digest.code);
    if (visit(user, (kdl_string){name.text, name.length}, &digest))
      break;
  }
  return KDL_OK;
}

const kdl_image_readers kdl_ptx_readers = {
    .target = ptx_read_target,
    .kernels = ptx_read_kernels,
    .params = ptx_read_params,
    .digests = ptx_read_digests,
    .unresolved = ptx_read_unresolved,
};
