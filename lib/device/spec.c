/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec.h"

#include "lib/device/spec_values.h"
#include "lib/hooks.h"
#include "lib/inspect/targets.h"
#include "lib/target/families/cpu.h"
#include "lib/target/families/gpu.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* What a spec means                                                                            */

/* The base of a CPU's arch, before the first '+', determines its family. */
static kdl_target_family host_family(kdl_string arch) {
  kdl_feature_set set;
  kdl_string base = {arch.data, kdl_text_find(arch, 0, "+")};
  if (kdl_text_starts(base, "rv64") || kdl_text_starts(base, "rva2") ||
      kdl_text_starts(base, "riscv"))
    return KDL_FAMILY_RISCV;
  bool is_x86 = kdl_text_starts(base, "x86") || kdl_x86_parse(base, &set, NULL);
  return is_x86 ? KDL_FAMILY_X86_64 : KDL_FAMILY_AARCH64;
}

kdl_target_family kdl_device_spec_family(const kdl_device_spec *spec) {
  const kdl_backend_row *row = kdl_backend_row_of(spec->backend);
  kdl_string arch = kdl_text_of(spec->arch);
  if (spec->backend == KDL_BACKEND_HOST)
    return host_family(arch);
  bool is_other = row->other.start && kdl_text_starts(arch, row->other.start);
  return is_other ? row->other.family : row->family;
}

kdl_device_class kdl_device_spec_class(const kdl_device_spec *spec) {
  if (spec->device_class != KDL_DEVICE_CLASS_UNKNOWN)
    return spec->device_class;
  return spec->backend == KDL_BACKEND_HOST ? KDL_DEVICE_CPU : KDL_DEVICE_DISCRETE;
}

/* "13.0", or "6.4.43482" of which the first two count. */
static bool parse_driver_version(kdl_string text, uint32_t *out_version, size_t *out_at) {
  uint32_t part[2] = {0, 0};
  size_t at = 0;
  for (int i = 0; i < 2 && (i == 0 || at < text.length); ++i) {
    if (i && text.data[at] == '.')
      ++at;
    *out_at = at;
    if (!kdl_text_parse_number(text, &at, &part[i]) || part[i] > 0xffff)
      return false;
  }
  *out_version = KDL_VERSION_OF(part[0], part[1]);
  return true;
}

/* Suggests the CUDA version for a version number of NVIDIA's driver, which is larger than any CUDA
 * version. */
static const char *expected_cuda(uint32_t branch) {
#define KDL_CUDA_EXPECTED "a CUDA version for driver, as in 13.0; "
#define KDL_NVIDIA_DRIVER(number, cuda)                                                            \
  {number, KDL_CUDA_EXPECTED "that of NVIDIA's driver " #number " is " cuda},
  static const struct {
    uint32_t branch;
    const char *expected;
  } rows[] = {
#include "lib/device/nvidia_drivers.def"
  };
#undef KDL_NVIDIA_DRIVER
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].branch == branch)
      return rows[i].expected;
  }
  return KDL_CUDA_EXPECTED "nvidia-smi prints it as \"CUDA Version\"";
}

uint32_t kdl_device_spec_driver(const kdl_device_spec *spec) {
  uint32_t version;
  size_t at;
  bool known = kdl_backend_row_of(spec->backend)->has_driver_version &&
               parse_driver_version(kdl_text_of(spec->driver), &version, &at);
  return known ? version : 0;
}

/* The tokens that the spec lists, and those implied by its other keys. */
static void print_all_features(const kdl_device_spec *spec, kdl_out *out) {
  kdl_out_format(out, "%s", spec->features);
  if (kdl_families[kdl_device_spec_family(spec)].features != KDL_CLASS_GPU)
    return;
  const char *join = spec->features[0] ? "+" : "";
  for (uint32_t size = 8; size <= 64; size *= 2) {
    if (spec->subgroups & size) {
      kdl_out_format(out, "%ssubgroup_size_%" PRIu32, join, size);
      join = "+";
    }
  }
  if (spec->cooperative) {
    kdl_out_format(out, "%scooperative_launch", join);
    join = "+";
  }
  if (spec->cluster > 1)
    kdl_out_format(out, "%sclusters", join);
}

/* The error's texts are in `room` if its field is "features". */
static bool compile_spec(const kdl_device_spec *spec, char room[2 * KDL_SPEC_TOKENS],
                         kdl_device_rule *out_rule, kdl_device_error *out_error) {
  kdl_out features = {room, (size_t)2 * KDL_SPEC_TOKENS, 0};
  print_all_features(spec, &features);
  const kdl_backend_row *row = kdl_backend_row_of(spec->backend);
  kdl_device_desc desc = {
      .family = kdl_device_spec_family(spec),
      .arch = kdl_text_of(spec->arch),
      .features = {features.data, features.used},
      .os_off = kdl_text_of(spec->os_off),
      .refused = kdl_text_of(spec->refused),
      .driver = kdl_device_spec_driver(spec),
      .ptx = spec->ptx,
      .spirv = spec->il,
      .loads = row->loads,
      .refuses = row->only ? ~row->only : 0,
  };
  enum { most_cuda = 99 };
  uint32_t version = 0;
  kdl_parse_error parse = {0, "a version for driver, as in 13.0"};
  bool is_wrong = row->has_driver_version && spec->driver[0] &&
                  !parse_driver_version(kdl_text_of(spec->driver), &version, &parse.position);
  if (!is_wrong && desc.family == KDL_FAMILY_NVPTX && version >> 16 > most_cuda) {
    is_wrong = true;
    parse = (kdl_parse_error){0, expected_cuda(version >> 16)};
  }
  if (is_wrong) {
    *out_error = (kdl_device_error){"driver", kdl_text_of(spec->driver), parse};
    return false;
  }
  return kdl_device_compile(&desc, out_rule, out_error);
}

kdl_status kdl_device_spec_compile(const kdl_device_spec *spec, kdl_device_rule *out_rule) {
  char room[2 * KDL_SPEC_TOKENS];
  kdl_device_error error;
  if (compile_spec(spec, room, out_rule, &error))
    return KDL_OK;
  char message[512];
  kdl_out out = {message, sizeof message, 0};
  kdl_out_parse_error(&out, error.text, error.parse);
  return kdl_fail(KDL_BAD_CALL, "%s device, %s: %s", kdl_backend_name(spec->backend), error.field,
                  message);
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

static bool needs_quotes(const char *text) {
  return *text == '\0' || strpbrk(text, " \"\\") != NULL;
}

static void print_value(kdl_out *out, const char *value) {
  if (!needs_quotes(value)) {
    kdl_out_format(out, "%s", value);
    return;
  }
  kdl_out_format(out, "\"");
  for (; *value; ++value)
    kdl_out_format(out, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
  kdl_out_format(out, "\"");
}

/* Before an arch that is a number. */
static const char *ip_prefix(const kdl_device_spec *spec) {
  bool is_ip = kdl_device_spec_family(spec) == KDL_FAMILY_INTEL && kdl_is_digit(spec->arch[0]);
  return is_ip ? "ip=" : "";
}

void kdl_device_spec_print(const kdl_device_spec *spec, kdl_out *out) {
  kdl_out_format(out, "%s:%s%s", kdl_backend_name(spec->backend), ip_prefix(spec), spec->arch);
  size_t count;
  const kdl_spec_key *keys = kdl_spec_keys(&count);
  for (size_t i = 0; i < count; ++i) {
    if (!kdl_spec_value_known(spec, &keys[i]))
      continue;
    char text[KDL_SPEC_TOKENS];
    kdl_out value = {text, sizeof text, 0};
    kdl_spec_value_print(spec, &keys[i], &value);
    kdl_out_format(out, " %s=", keys[i].name);
    print_value(out, text);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

enum {
#define KDL_SPEC_KEY(name, kind, field) +1
  key_count = 0
#include "lib/device/spec_keys.def"
#undef KDL_SPEC_KEY
};

typedef struct {
  kdl_string line;
  size_t at;
  size_t arch_at;             /* offset of the arch in the line */
  size_t value_at[key_count]; /* offset of each key's value; 0 where the line lacks the key */
} parser;

static size_t key_index(const kdl_spec_key *key) {
  size_t count;
  return (size_t)(key - kdl_spec_keys(&count));
}

static bool has_value(const parser *p, const kdl_spec_key *key) {
  return p->value_at[key_index(key)] != 0;
}

/* The offset of a key's value, after the quote if there is one. */
static size_t value_offset(const parser *p, const kdl_spec_key *key) {
  size_t at = p->value_at[key_index(key)];
  return at + (at < p->line.length && p->line.data[at] == '"');
}

static bool is_spec_blank(char c) {
  return c == ' ' || c == '\t';
}

static void skip_spec_blanks(parser *p) {
  while (p->at < p->line.length && is_spec_blank(p->line.data[p->at]))
    ++p->at;
}

/* The word that starts at `at`: what a message shows as found. */
static kdl_string word_at(const parser *p, size_t at, const char *stops) {
  return (kdl_string){p->line.data + at, kdl_text_find(p->line, at, stops) - at};
}

/* Input in single quotes, because specs contain double ones; unprintable bytes as \xNN. */
static void print_quoted(kdl_out *out, kdl_string text) {
  enum { shown = 80 };
  kdl_out_format(out, "'");
  for (size_t i = 0; i < text.length && i < shown; ++i) {
    unsigned char c = (unsigned char)text.data[i];
    kdl_out_format(out, c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
  }
  kdl_out_format(out, text.length > shown ? "...'" : "'");
}

/* "device spec '...': offset 5: found 'x', expected ...; did you mean 'y'? (grammar)" */
static kdl_status fail_at(const parser *p, size_t at, const char *stops, const char *suggestion,
                          const char *expected) {
  char message[1024];
  kdl_out out = {message, sizeof message, 0};
  kdl_out_format(&out, "device spec ");
  print_quoted(&out, p->line);
  kdl_out_format(&out, ": offset %zu: found ", at);
  kdl_string found = word_at(p, at, stops);
  if (at >= p->line.length)
    kdl_out_format(&out, "the end");
  else
    print_quoted(&out, found.length ? found : (kdl_string){found.data, 1});
  kdl_out_format(&out, ", expected %s", expected);
  if (suggestion)
    kdl_out_format(&out, "; did you mean '%s'?", suggestion);
  return kdl_fail(KDL_BAD_CALL, "%s (grammar: BACKEND:ARCH [KEY=VALUE]...)", message);
}

static kdl_status parse_backend(parser *p, kdl_device_spec *spec) {
  size_t start = p->at;
  kdl_string name = word_at(p, start, ": \t");
  p->at += name.length;
  bool known = kdl_backend_parse(name, &spec->backend);
  if (known && p->at < p->line.length && p->line.data[p->at] == ':') {
    ++p->at;
    return KDL_OK;
  }
  if (known)
    return fail_at(p, p->at, ": \t", NULL, "':' and an arch after the backend");
  kdl_nearest nearest = kdl_nearest_to(name);
  char expected[128];
  kdl_out out = {expected, sizeof expected, 0};
  kdl_out_format(&out, "a backend: ");
  kdl_out_backends(&out, " ");
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i)
    kdl_nearest_add(&nearest, kdl_backend_name((kdl_backend)i));
  return fail_at(p, start, ": \t", nearest.best, expected);
}

static kdl_status parse_arch(parser *p, kdl_device_spec *spec) {
  if (kdl_backend_row_of(spec->backend)->family == KDL_FAMILY_INTEL &&
      kdl_text_starts(kdl_text_substr(p->line, p->at), "ip="))
    p->at += 3;
  p->arch_at = p->at;
  kdl_string arch = word_at(p, p->at, " \t");
  if (arch.length == 0 || arch.length >= sizeof spec->arch) {
    char expected[96];
    snprintf(expected, sizeof expected, "an arch of at most %zu bytes, as in %s:%s",
             sizeof spec->arch - 1, kdl_backend_name(spec->backend),
             kdl_backend_row_of(spec->backend)->example);
    return fail_at(p, p->at, " \t", NULL, expected);
  }
  memcpy(spec->arch, arch.data, arch.length);
  spec->arch[arch.length] = '\0';
  p->at += arch.length;
  return KDL_OK;
}

static kdl_status unknown_key(const parser *p, size_t at) {
  size_t count;
  const kdl_spec_key *keys = kdl_spec_keys(&count);
  char expected[512];
  kdl_out out = {expected, sizeof expected, 0};
  kdl_nearest nearest = kdl_nearest_to(word_at(p, at, "= \t"));
  kdl_out_format(&out, "a key:");
  for (size_t i = 0; i < count; ++i) {
    kdl_nearest_add(&nearest, keys[i].name);
    kdl_out_format(&out, " %s", keys[i].name);
  }
  return fail_at(p, at, "= \t", nearest.best, expected);
}

/* Parses a quoted value and its escapes; p->at is at the opening quote. */
static kdl_status parse_quoted(parser *p, char *room, kdl_string *out_value) {
  size_t start = p->at++;
  size_t used = 0;
  for (; p->at < p->line.length && p->line.data[p->at] != '"'; ++p->at) {
    bool escaped = p->line.data[p->at] == '\\';
    p->at += escaped;
    if (escaped && (p->at >= p->line.length || !strchr("\"\\", p->line.data[p->at])))
      return fail_at(p, p->at, " \t", NULL, "'\"' or '\\' after a backslash");
    room[used++] = p->line.data[p->at];
  }
  if (p->at >= p->line.length)
    return fail_at(p, start, "", NULL, "'\"' at the end of the value");
  ++p->at;
  if (p->at < p->line.length && !is_spec_blank(p->line.data[p->at]))
    return fail_at(p, p->at, " \t", NULL, "a blank after the value");
  *out_value = (kdl_string){room, used};
  return KDL_OK;
}

static kdl_status parse_value(parser *p, const kdl_spec_key *key, kdl_device_spec *spec) {
  char room[KDL_SPEC_LINE];
  size_t start = p->at;
  bool quoted = start < p->line.length && p->line.data[start] == '"';
  kdl_string value = word_at(p, start, " \t");
  if (quoted) {
    kdl_status status = parse_quoted(p, room, &value);
    if (status != KDL_OK)
      return status;
  } else {
    p->at += value.length;
    size_t quote = kdl_text_find(value, 0, "\"");
    if (quote < value.length)
      return fail_at(p, start + quote, " \t", NULL, "quotes around the whole value");
    if (value.length == 0)
      return fail_at(p, start, " \t", NULL, "a value; an empty one is \"\"");
  }
  kdl_parse_error error;
  if (kdl_spec_value_parse(spec, key, value, &error))
    return KDL_OK;
  char expected[160];
  snprintf(expected, sizeof expected, "for %s: %s", key->name, error.expected);
  return fail_at(p, start + quoted + error.position, quoted ? "\"" : " \t", NULL, expected);
}

static kdl_status parse_pair(parser *p, kdl_device_spec *spec) {
  size_t start = p->at;
  kdl_string name = word_at(p, start, "= \t");
  const kdl_spec_key *key = kdl_spec_key_find(name);
  if (!key)
    return unknown_key(p, start);
  p->at += name.length;
  if (p->at >= p->line.length || p->line.data[p->at] != '=')
    return fail_at(p, p->at, " \t", NULL, "'=' and a value after the key");
  if (has_value(p, key))
    return fail_at(p, start, "= \t", NULL, "each key once");
  p->value_at[key_index(key)] = ++p->at;
  return parse_value(p, key, spec);
}

/* The token of the class that is nearest to a misspelled one. */
static const char *nearest_token(kdl_feature_class which, kdl_string word) {
  kdl_nearest nearest = kdl_nearest_to(word);
  for (unsigned bit = 0; bit < 128; ++bit) {
    const char *name = kdl_feature_name(which, bit);
    if (name)
      kdl_nearest_add(&nearest, name);
  }
  return nearest.best;
}

/* The processor or CPU that is nearest to a misspelled one. */
static const char *nearest_arch(const kdl_device_spec *spec, kdl_string word) {
  kdl_nearest nearest = kdl_nearest_to(word);
  kdl_target_family family = kdl_device_spec_family(spec);
  if (family == KDL_FAMILY_AMDGCN) {
    for (size_t i = 0; kdl_amdgcn_at(i); ++i)
      kdl_nearest_add(&nearest, kdl_amdgcn_at(i)->name);
  } else if (kdl_families[family].features != KDL_CLASS_GPU) {
    for (size_t i = 0; kdl_x86_cpu_at(i); ++i)
      kdl_nearest_add(&nearest, kdl_x86_cpu_at(i));
    for (size_t i = 0; kdl_aarch64_base_at(i); ++i)
      kdl_nearest_add(&nearest, kdl_aarch64_base_at(i));
  }
  return nearest.best;
}

/* Reports an error found by the device's family, at its offset in the line. */
static kdl_status fail_compile(const parser *p, const kdl_device_spec *spec,
                               const kdl_device_error *error) {
  const kdl_spec_key *key = kdl_spec_key_find(kdl_text_of(error->field));
  if (!key && error->parse.position == 0) {
    const char *expected = error->parse.expected;
    if (spec->backend == KDL_BACKEND_HOST)
      expected = "x86-64 to x86-64-v4, armv8-a to armv9.4-a or a CPU, then +features";
    const char *suggestion = nearest_arch(spec, word_at(p, p->arch_at, ":+ \t"));
    return fail_at(p, p->arch_at, " \t", suggestion, expected);
  }
  size_t at = (key ? value_offset(p, key) : p->arch_at) + error->parse.position;
  const char *suggestion = NULL;
  if (!key || key->kind == KDL_SPEC_KIND_TOKENS)
    suggestion = nearest_token(kdl_families[kdl_device_spec_family(spec)].features,
                               word_at(p, at, "+ \t\""));
  return fail_at(p, at, "+ \t\"", suggestion, error->parse.expected);
}

static kdl_status check_compiles(const parser *p, const kdl_device_spec *spec) {
  char room[2 * KDL_SPEC_TOKENS];
  kdl_device_rule rule;
  kdl_device_error error;
  return compile_spec(spec, room, &rule, &error) ? KDL_OK : fail_compile(p, spec, &error);
}

/* Whether the next word is the '|' before a further route. */
static bool at_route(const parser *p) {
  return kdl_text_is(word_at(p, p->at, " \t"), "|");
}

static kdl_status parse_keys(parser *p, kdl_device_spec *spec) {
  kdl_status status = KDL_OK;
  memset(p->value_at, 0, sizeof p->value_at);
  for (skip_spec_blanks(p); status == KDL_OK && p->at < p->line.length && !at_route(p);
       skip_spec_blanks(p))
    status = parse_pair(p, spec);
  return status == KDL_OK ? check_compiles(p, spec) : status;
}

static kdl_status parse_spec(parser *p, kdl_device_spec *out_spec) {
  *out_spec = (kdl_device_spec){0};
  skip_spec_blanks(p);
  kdl_status status = parse_backend(p, out_spec);
  if (status == KDL_OK)
    status = parse_arch(p, out_spec);
  return status == KDL_OK ? parse_keys(p, out_spec) : status;
}

/* Parses the specs after the first, if the line has some. */
static kdl_status parse_more_routes(parser *p, kdl_device_routes *routes) {
  if (p->at < p->line.length)
    routes->count = 1;
  while (p->at < p->line.length) {
    if (routes->count == KDL_LIMIT_ROUTES)
      return fail_at(p, p->at, " \t", NULL, "at most 8 routes");
    ++p->at;
    KDL_TRY(parse_spec(p, &routes->specs[routes->count++]));
  }
  return KDL_OK;
}

static kdl_status check_length(kdl_string line) {
  if (line.length < KDL_SPEC_LINE)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "device spec: found %zu bytes, expected at most %d", line.length,
                  KDL_SPEC_LINE - 1);
}

kdl_status kdl_device_spec_parse(const char *line, kdl_device_spec *out_spec) {
  parser p = {.line = kdl_text_of(line)};
  kdl_device_spec spec;
  KDL_TRY(check_length(p.line));
  KDL_TRY(parse_spec(&p, &spec));
  if (p.at < p.line.length)
    KDL_TRY(fail_at(&p, p.at, " \t", NULL, "one route"));
  *out_spec = spec;
  return KDL_OK;
}

kdl_status kdl_device_routes_parse(const char *line, kdl_device_routes *out_routes) {
  parser p = {.line = kdl_text_of(line)};
  kdl_status status = check_length(p.line);
  if (status == KDL_OK)
    status = parse_spec(&p, &out_routes->specs[0]);
  out_routes->count = 1;
  return status == KDL_OK ? parse_more_routes(&p, out_routes) : status;
}

kdl_status kdl_device_routes_parse_keys(const char *line, size_t at, kdl_device_routes *routes) {
  parser p = {.line = kdl_text_of(line), .at = at};
  kdl_status status = check_length(p.line);
  if (status == KDL_OK)
    status = parse_keys(&p, &routes->specs[0]);
  return status == KDL_OK ? parse_more_routes(&p, routes) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Labels                                                                                       */

static void print_spec_arch(const kdl_device_spec *spec, kdl_out *out) {
  kdl_string arch = kdl_text_of(spec->arch);
  size_t length = spec->backend == KDL_BACKEND_HOST ? kdl_text_find(arch, 0, "+") : arch.length;
  kdl_out_format(out, "%s%.*s", ip_prefix(spec), (int)length, arch.data);
}

void kdl_device_spec_summary(const kdl_device_spec *spec, kdl_out *out) {
  kdl_out_format(out, "%s:", kdl_backend_name(spec->backend));
  print_spec_arch(spec, out);
}

void kdl_device_spec_label(const kdl_device_spec *spec, kdl_out *out) {
  kdl_device_spec_summary(spec, out);
  if (spec->name[0])
    kdl_out_format(out, " (%s)", spec->name);
}

void kdl_device_spec_name(const kdl_device_spec *spec, kdl_out *out) {
  if (spec->backend == KDL_BACKEND_HOST || !spec->ordinal.known) {
    kdl_device_spec_label(spec, out);
    return;
  }
  kdl_out_format(out, "%s:%u ", kdl_backend_name(spec->backend), (unsigned)spec->ordinal.value);
  print_spec_arch(spec, out);
  if (spec->name[0])
    kdl_out_format(out, " (%s)", spec->name);
}

/* ------------------------------------------------------------------------------------------ */
/* Values from drivers                                                                          */

void kdl_spec_set_text(char *field, size_t size, const char *text, size_t length) {
  while (length && text[0] == ' ') {
    ++text;
    --length;
  }
  while (length && text[length - 1] == ' ')
    --length;
  size_t used = 0;
  for (size_t at = 0, step; at < length; at += step) {
    step = kdl_utf8_length(text + at, length - at);
    size_t bad;
    bool clean = step && kdl_spec_text_is_clean((kdl_string){text + at, step}, &bad);
    step = step ? step : 1;
    size_t bytes = clean ? step : 1;
    if (used + bytes >= size)
      break;
    memcpy(field + used, clean ? text + at : "?", bytes);
    used += bytes;
  }
  field[used] = '\0';
}

void kdl_spec_add_token(char *field, size_t size, const char *token) {
  size_t used = strlen(field);
  size_t length = strlen(token);
  for (const char *at = field; (at = strstr(at, token)) != NULL; at += length) {
    bool starts = at == field || at[-1] == '+';
    if (starts && (at[length] == '\0' || at[length] == '+'))
      return;
  }
  if (used + 1 + length >= size)
    return;
  snprintf(field + used, size - used, "%s%s", used ? "+" : "", token);
}

void kdl_spec_set_uuid(kdl_spec_uuid *field, const void *bytes) {
  static const uint8_t none[16];
  field->known = memcmp(bytes, none, sizeof none) != 0;
  memcpy(field->bytes, bytes, sizeof field->bytes);
}

void kdl_spec_set_pci(kdl_spec_pci *field, uint32_t domain, uint32_t bus, uint32_t device,
                      uint32_t function) {
  bool possible = bus <= 0xff && device <= 0x1f && function <= 7;
  *field = (kdl_spec_pci){possible && (domain | bus | device | function), domain, (uint8_t)bus,
                          (uint8_t)device, (uint8_t)function};
}
