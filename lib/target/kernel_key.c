/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/kernel_key.h"

#include "lib/target/condition.h"
#include "lib/target/fold_list.h"

static const struct {
  kdl_string name;
  const char *grammar;
} fields[KDL_KERNEL_FIELD_COUNT] = {
    [KDL_KERNEL_SIG] = {KDL_TEXT_ROW("sig"),
                        "types separated by spaces: iN uN fN bf16 ptr<T> bytes<N:align>"},
    [KDL_KERNEL_BLOCK] = {KDL_TEXT_ROW("block"), "one to three numbers joined by 'x': 256x1x1"},
    [KDL_KERNEL_TILE] = {KDL_TEXT_ROW("tile"), "one to three numbers joined by 'x': 256x1x1"},
    [KDL_KERNEL_SHARED] = {KDL_TEXT_ROW("shared"), "a number of bytes"},
    [KDL_KERNEL_HIDDEN] = {KDL_TEXT_ROW("hidden"), "a number of pointers up to 16"},
    [KDL_KERNEL_COOP] = {KDL_TEXT_ROW("coop"), "0 or 1"},
    [KDL_KERNEL_CLUSTER] = {KDL_TEXT_ROW("cluster"), "one to three numbers joined by 'x': 2x1x1"},
    [KDL_KERNEL_SUBGROUP] = {KDL_TEXT_ROW("subgroup"), "8, 16, 32 or 64"},
    [KDL_KERNEL_MIN_MEMORY] = {KDL_TEXT_ROW("min_memory"),
                               "a number of bytes, or with KB, MB, GB, KiB, MiB, GiB"},
    [KDL_KERNEL_REV] = {KDL_TEXT_ROW("rev"), "an unsigned number up to 4294967295"},
    [KDL_KERNEL_CONST] = {KDL_TEXT_ROW("const"),
                          "numbers of parameters, from 0, separated by spaces"},
    [KDL_KERNEL_NAMES] = {KDL_TEXT_ROW("names"), "names of all parameters, separated by spaces"},
    [KDL_KERNEL_WHEN] = {KDL_TEXT_ROW("when"), "a condition, as m<=16 & n%64==0"},
    [KDL_KERNEL_SHAPE] = {KDL_TEXT_ROW("shape"),
                          "up to 8 integer parameters in 'names', separated by spaces: m n k"},
    [KDL_KERNEL_EFFECTS] = {KDL_TEXT_ROW("effects"), "idempotent, add or atomic"},
    [KDL_KERNEL_TRIAL] = {KDL_TEXT_ROW("trial"), "safe"},
    [KDL_KERNEL_NUMERICS] = {KDL_TEXT_ROW("numerics"), "exact"},
    [KDL_KERNEL_SPECIALIZE] = {KDL_TEXT_ROW("specialize"), KDL_FOLD_GRAMMAR},
};

static const char field_grammar[] = "name=value; fields are separated by ';'";

/* ------------------------------------------------------------------------------------------ */
/* Signatures                                                                                   */

enum { max_depth = 4, max_align = 4096 };

static size_t skip_spaces(kdl_string text, size_t at) {
  while (at < text.length && text.data[at] == ' ')
    ++at;
  return at;
}

static bool expect(kdl_string text, size_t *at, char c) {
  if (*at >= text.length || text.data[*at] != c)
    return false;
  ++*at;
  return true;
}

/* Parses the width after a letter, if the letter permits it. */
static bool read_width(kdl_string text, size_t *at, uint32_t most, kdl_param *param) {
  uint32_t bits;
  size_t start = *at;
  if (!kdl_text_parse_number(text, at, &bits) || bits < 8 || bits > most || bits & (bits - 1)) {
    *at = start;
    return false;
  }
  param->size = param->align = bits / 8;
  return true;
}

static bool read_param_type(kdl_string text, size_t *at, unsigned depth, kdl_param *param);

static bool read_pointer_type(kdl_string text, size_t *at, unsigned depth, kdl_param *param) {
  *at += 4;
  param->kind = KDL_PARAM_PTR;
  kdl_param element;
  if (kdl_text_starts(kdl_text_substr(text, *at), "void>"))
    *at += 4;
  else if (depth == max_depth || !read_param_type(text, at, depth + 1, &element))
    return false;
  return expect(text, at, '>');
}

static bool read_bytes_type(kdl_string text, size_t *at, kdl_param *param) {
  *at += 6;
  param->kind = KDL_PARAM_BYTES;
  size_t start = *at;
  if (!kdl_text_parse_number(text, at, &param->size) || !param->size) {
    *at = start;
    return false;
  }
  if (!expect(text, at, ':'))
    return false;
  start = *at;
  if (!kdl_text_parse_number(text, at, &param->align) || !param->align ||
      param->align > max_align || param->align & (param->align - 1)) {
    *at = start;
    return false;
  }
  return expect(text, at, '>');
}

/* On failure *at is the offset of the error. */
static bool read_param_type(kdl_string text, size_t *at, unsigned depth, kdl_param *param) {
  *param = (kdl_param){0};
  kdl_string rest = kdl_text_substr(text, *at);
  if (kdl_text_starts(rest, "ptr<"))
    return read_pointer_type(text, at, depth, param);
  if (kdl_text_starts(rest, "bytes<"))
    return read_bytes_type(text, at, param);
  if (kdl_text_starts(rest, "bf16")) {
    *at += 4;
    *param = (kdl_param){.kind = KDL_PARAM_FLOAT, .size = 2, .align = 2};
    return true;
  }
  char letter = rest.length ? rest.data[0] : 0;
  if (letter != 'i' && letter != 'u' && letter != 'f')
    return false;
  param->kind = letter == 'i' ? KDL_PARAM_INT : letter == 'u' ? KDL_PARAM_UINT : KDL_PARAM_FLOAT;
  ++*at;
  return read_width(text, at, letter == 'f' ? 64 : 128, param);
}

bool kdl_signature_next(kdl_string sig, size_t *at, kdl_param *out_param,
                        kdl_parse_error *out_error) {
  size_t start = skip_spaces(sig, *at);
  size_t end = start;
  if (start == sig.length) {
    *at = sig.length;
    return false;
  }
  if (!read_param_type(sig, &end, 0, out_param) || (end < sig.length && sig.data[end] != ' '))
    return kdl_parse_fail(out_error, end, fields[KDL_KERNEL_SIG].grammar);
  out_param->text = (kdl_string){sig.data + start, end - start};
  *at = end;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Fields                                                                                       */

typedef struct {
  kdl_string text; /* the whole value of the key */
  size_t at;
  size_t end; /* of the field's value */
} cursor;

static kdl_string field_text(const cursor *c) {
  return (kdl_string){c->text.data, c->end};
}

static bool read_bounded(cursor *c, uint32_t least, uint32_t most, uint32_t *out_number) {
  size_t start = c->at;
  if (!kdl_text_parse_number(field_text(c), &c->at, out_number))
    return false;
  if (*out_number < least || *out_number > most) {
    c->at = start;
    return false;
  }
  return true;
}

static bool read_extent_value(cursor *c, uint32_t out_extent[3]) {
  for (int i = 0; i < 3; ++i) {
    if (i && !expect(field_text(c), &c->at, 'x'))
      break;
    if (!read_bounded(c, 1, UINT32_MAX, &out_extent[i]))
      return false;
  }
  return true;
}

static bool read_size(cursor *c, uint64_t *out_size) {
  static const struct {
    const char *suffix;
    uint64_t unit;
  } units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
               {"KB", 1000},     {"MB", 1000000},  {"GB", 1000000000}};
  uint64_t number = 0;
  size_t start = c->at;
  for (; c->at < c->end && kdl_is_digit(c->text.data[c->at]); ++c->at) {
    uint64_t digit = (uint64_t)(c->text.data[c->at] - '0');
    if (number > (UINT64_MAX - digit) / 10)
      return false;
    number = number * 10 + digit;
  }
  if (c->at == start)
    return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
    if (kdl_text_starts(kdl_text_substr(field_text(c), c->at), units[i].suffix)) {
      if (number > UINT64_MAX / units[i].unit)
        return false;
      number *= units[i].unit;
      c->at += strlen(units[i].suffix);
      break;
    }
  }
  *out_size = number;
  return true;
}

static bool read_sig(cursor *c, kdl_kernel_key *key) {
  kdl_param param;
  kdl_parse_error error;
  key->sig = (kdl_string){c->text.data + c->at, c->end - c->at};
  size_t at = 0;
  while (kdl_signature_next(key->sig, &at, &param, &error))
    ++key->param_count;
  c->at += at == key->sig.length ? at : error.position;
  return at == key->sig.length;
}

static bool read_const_list(cursor *c, kdl_string *out_constants) {
  uint32_t number;
  size_t start = c->at;
  while (read_bounded(c, 0, UINT32_MAX, &number)) {
    *out_constants = (kdl_string){c->text.data + start, c->at - start};
    if (c->at == c->end)
      return true;
    if (!expect(field_text(c), &c->at, ' '))
      return false;
    c->at = skip_spaces(field_text(c), c->at);
  }
  return false;
}

static bool read_names(cursor *c) {
  while (c->at < c->end && (kdl_is_name_char(c->text.data[c->at]) || c->text.data[c->at] == ' '))
    ++c->at;
  return true;
}

/* One of the words of an enumeration. */
static bool read_word(cursor *c, const char *const *words) {
  kdl_string found = {c->text.data + c->at, c->end - c->at};
  for (; *words; ++words) {
    if (kdl_text_is(found, *words)) {
      c->at = c->end;
      return true;
    }
  }
  return false;
}

static bool read_field_value(cursor *c, kdl_kernel_field field, kdl_kernel_key *key) {
  switch (field) {
  case KDL_KERNEL_SIG:
    return read_sig(c, key);
  case KDL_KERNEL_BLOCK:
    return read_extent_value(c, key->block);
  case KDL_KERNEL_TILE:
    return read_extent_value(c, key->tile);
  case KDL_KERNEL_SHARED:
    return read_size(c, &key->shared);
  case KDL_KERNEL_HIDDEN:
    return read_bounded(c, 0, 16, &key->hidden);
  case KDL_KERNEL_COOP:
    return read_bounded(c, 0, 1, &key->coop);
  case KDL_KERNEL_CLUSTER:
    return read_extent_value(c, key->cluster);
  case KDL_KERNEL_SUBGROUP: {
    size_t start = c->at;
    if (read_bounded(c, 8, 64, &key->subgroup) && !(key->subgroup & (key->subgroup - 1)))
      return true;
    c->at = start;
    return false;
  }
  case KDL_KERNEL_MIN_MEMORY:
    return read_size(c, &key->min_memory);
  case KDL_KERNEL_REV:
    return read_bounded(c, 0, UINT32_MAX, &key->rev);
  case KDL_KERNEL_CONST:
    return read_const_list(c, &key->constants);
  case KDL_KERNEL_NAMES:
    return read_names(c);
  case KDL_KERNEL_EFFECTS:
    return read_word(c, (const char *const[]){"idempotent", "add", "atomic", NULL});
  case KDL_KERNEL_TRIAL:
    return read_word(c, (const char *const[]){"safe", NULL});
  case KDL_KERNEL_NUMERICS:
    return read_word(c, (const char *const[]){"exact", NULL});
  case KDL_KERNEL_SHAPE: /* these are checked once the other fields are known */
  case KDL_KERNEL_SPECIALIZE:
  case KDL_KERNEL_WHEN:
    c->at = c->end;
    return true;
  case KDL_KERNEL_FIELD_COUNT: /* an unknown field is kept, so it must be text */
    while (c->at < c->end && (unsigned char)c->text.data[c->at] >= 0x20)
      ++c->at;
    break;
  }
  return true;
}

static kdl_kernel_field find_kernel_field(kdl_string name) {
  int field = 0;
  while (field < KDL_KERNEL_FIELD_COUNT &&
         (name.data[0] != fields[field].name.data[0] || !kdl_text_equal(name, fields[field].name)))
    ++field;
  return (kdl_kernel_field)field;
}

kdl_string kdl_kernel_field_text(const kdl_kernel_key *key, kdl_kernel_field field) {
  kdl_string text = key->text, name = fields[field].name;
  size_t at = 0;
  if (!kdl_kernel_has(key, field))
    return (kdl_string){NULL, 0};
  for (;;) {
    at = skip_spaces(text, at);
    const char *semicolon = memchr(text.data + at, ';', text.length - at);
    size_t end = semicolon ? (size_t)(semicolon - text.data) : text.length;
    if (end - at > name.length && text.data[at + name.length] == '=' &&
        memcmp(text.data + at, name.data, name.length) == 0) {
      at += name.length + 1;
      while (end > at && text.data[end - 1] == ' ')
        --end;
      return (kdl_string){text.data + at, end - at};
    }
    at = end + 1;
  }
}

/* One field from c->at to the next ';': its name, and the bounds of its value in the cursor. */
static bool read_field_name(cursor *c, kdl_string *out_name, kdl_parse_error *out_error) {
  c->at = skip_spaces(c->text, c->at);
  const char *rest = c->text.data + c->at;
  const char *semicolon = memchr(rest, ';', c->text.length - c->at);
  size_t end = semicolon ? (size_t)(semicolon - c->text.data) : c->text.length;
  size_t equals = c->at;
  while (equals < end && ((c->text.data[equals] >= 'a' && c->text.data[equals] <= 'z') ||
                          c->text.data[equals] == '_'))
    ++equals;
  if (equals == c->at || equals == end || c->text.data[equals] != '=')
    return kdl_parse_fail(out_error, equals, field_grammar);
  *out_name = (kdl_string){c->text.data + c->at, equals - c->at};
  c->at = equals + 1;
  c->end = end;
  while (c->end > c->at && c->text.data[c->end - 1] == ' ')
    --c->end;
  return true;
}

bool kdl_kernel_parse(kdl_string value, kdl_kernel_key *out_key, kdl_parse_error *out_error) {
  kdl_kernel_key key = {.text = value, .block = {1, 1, 1}, .tile = {1, 1, 1}, .cluster = {1, 1, 1}};
  cursor c = {value, 0, 0};
  for (;;) {
    kdl_string name;
    if (!read_field_name(&c, &name, out_error))
      return false;
    kdl_kernel_field field = find_kernel_field(name);
    if (field != KDL_KERNEL_FIELD_COUNT && kdl_kernel_has(&key, field))
      return kdl_parse_fail(out_error, (size_t)(name.data - value.data), "each field once");
    bool known = field != KDL_KERNEL_FIELD_COUNT;
    if (!read_field_value(&c, field, &key) || c.at != c.end)
      return kdl_parse_fail(out_error, c.at, known ? fields[field].grammar : "printable text");
    key.present |= known ? 1u << field : 0;
    c.at = skip_spaces(value, c.end);
    if (c.at == value.length)
      break;
    ++c.at; /* the ';' */
  }
  if (kdl_kernel_has(&key, KDL_KERNEL_WHEN) && !kdl_condition_check(&key, out_error))
    return false;
  kdl_shape shape;
  if (kdl_kernel_has(&key, KDL_KERNEL_SHAPE) && !kdl_shape_compile(&key, &shape, out_error))
    return false;
  kdl_fold_list folds;
  if (kdl_kernel_has(&key, KDL_KERNEL_SPECIALIZE) && !kdl_fold_list_read(&key, &folds, out_error))
    return false;
  *out_key = key;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

bool kdl_kernel_is_variant(const kdl_kernel_key *a, const kdl_kernel_key *b) {
  if (kdl_kernel_has(a, KDL_KERNEL_REV) && kdl_kernel_has(b, KDL_KERNEL_REV) && a->rev != b->rev)
    return false;
  if (!kdl_kernel_has(a, KDL_KERNEL_SIG) || !kdl_kernel_has(b, KDL_KERNEL_SIG))
    return true;
  if (a->param_count != b->param_count)
    return false;
  kdl_param left;
  kdl_param right;
  size_t at = 0;
  size_t other = 0;
  while (kdl_signature_next(a->sig, &at, &left, NULL) &&
         kdl_signature_next(b->sig, &other, &right, NULL)) {
    if (!kdl_text_equal(left.text, right.text))
      return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Whether a device has what a kernel needs                                                     */

static uint64_t product(const uint32_t extent[3]) {
  uint64_t area = (uint64_t)extent[0] * extent[1];
  return area && extent[2] > UINT64_MAX / area ? UINT64_MAX : area * extent[2];
}

static bool is_block_too_large(const kdl_kernel_key *key, const kdl_device_limits *limits) {
  if (limits->threads && product(key->block) > limits->threads)
    return true;
  for (int i = 0; i < 3; ++i) {
    if (limits->block[i] && key->block[i] > limits->block[i])
      return true;
  }
  return false;
}

static bool device_has(const kdl_device_rule *device, unsigned gpu_feature) {
  return kdl_families[device->family].features == KDL_CLASS_GPU &&
         !kdl_feature_has(device->lacks, gpu_feature);
}

static bool has_subgroup(const kdl_device_rule *device, uint32_t size) {
  static const struct {
    uint32_t size;
    unsigned feature;
  } sizes[] = {{8, KDL_GPU_SUBGROUP_SIZE_8},
               {16, KDL_GPU_SUBGROUP_SIZE_16},
               {32, KDL_GPU_SUBGROUP_SIZE_32},
               {64, KDL_GPU_SUBGROUP_SIZE_64}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (sizes[i].size == size)
      return device_has(device, sizes[i].feature);
  }
  return false;
}

uint64_t kdl_kernel_reasons(const kdl_kernel_key *key, const kdl_device_rule *device,
                            const kdl_device_limits *limits) {
  uint64_t reasons = 0;
  if (is_block_too_large(key, limits))
    reasons |= KDL_REASON(BLOCK_TOO_LARGE);
  if (limits->shared && key->shared > limits->shared)
    reasons |= KDL_REASON(SHARED_TOO_LARGE);
  if (key->coop && !device_has(device, KDL_GPU_COOPERATIVE_LAUNCH))
    reasons |= KDL_REASON(NO_COOPERATIVE_LAUNCH);
  uint64_t cluster = product(key->cluster);
  if (cluster > 1 &&
      (!device_has(device, KDL_GPU_CLUSTERS) || (limits->cluster && cluster > limits->cluster)))
    reasons |= KDL_REASON(NO_CLUSTERS);
  if (key->subgroup && !has_subgroup(device, key->subgroup))
    reasons |= KDL_REASON(SUBGROUP_SIZE);
  if (limits->memory && key->min_memory > limits->memory)
    reasons |= KDL_REASON(TOO_LITTLE_MEMORY);
  return reasons;
}

size_t kdl_kernel_reason_words(const kdl_kernel_key *key, const kdl_device_limits *limits,
                               unsigned reason, char *buffer, size_t size) {
  kdl_out out = {buffer, size, 0};
  if (size)
    buffer[0] = '\0';
  switch (reason) {
  case KDL_REASON_BLOCK_TOO_LARGE:
    kdl_out_format(&out, "block=%ux%ux%u is %llu work-items", key->block[0], key->block[1],
                   key->block[2], (unsigned long long)product(key->block));
    kdl_out_format(&out, "; the device has groups of at most ");
    if (limits->threads)
      kdl_out_format(&out, "%u", limits->threads);
    if (limits->block[0])
      kdl_out_format(&out, limits->threads ? " (%ux%ux%u)" : "%ux%ux%u", limits->block[0],
                     limits->block[1], limits->block[2]);
    break;
  case KDL_REASON_SHARED_TOO_LARGE:
    kdl_out_format(&out, "shared=%llu; a group on the device has at most %llu bytes",
                   (unsigned long long)key->shared, (unsigned long long)limits->shared);
    break;
  case KDL_REASON_NO_COOPERATIVE_LAUNCH:
    kdl_out_format(&out, "coop=1; the device has no cooperative launch");
    break;
  case KDL_REASON_NO_CLUSTERS:
    kdl_out_format(&out, "cluster=%ux%ux%u; the device has clusters of at most %u groups",
                   key->cluster[0], key->cluster[1], key->cluster[2],
                   limits->cluster ? limits->cluster : 1);
    break;
  case KDL_REASON_SUBGROUP_SIZE:
    kdl_out_format(&out, "subgroup=%u; the device has no subgroups of that size", key->subgroup);
    break;
  case KDL_REASON_TOO_LITTLE_MEMORY:
    kdl_out_format(&out, "min_memory=%llu; the device has %llu bytes",
                   (unsigned long long)key->min_memory, (unsigned long long)limits->memory);
    break;
  default:
    break;
  }
  return out.used;
}
