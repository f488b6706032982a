/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/image/intel/ze_info.h"
#include "support/base/text.h"

#include "lib/image/readers.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Lines                                                                                        */

typedef struct {
  const kdl_ze_info *info;
  size_t at, end;
} yaml_reader;

#define NO_DASH UINT32_MAX

/* "      - arg_type:   arg_byvalue": dash 6, column 8. */
typedef struct {
  size_t at; /* in the text */
  uint32_t dash;
  uint32_t column; /* of the key */
  kdl_string key;  /* "" where the line has none */
  kdl_string value;
} yaml_line;

static kdl_string trim(const char *from, const char *to) {
  while (from < to && (*from == ' ' || *from == '\t'))
    ++from;
  while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
    --to;
  return (kdl_string){from, (size_t)(to - from)};
}

static bool is_quoted(kdl_string text) {
  return text.length >= 2 && (text.data[0] == '\'' || text.data[0] == '"') &&
         text.data[text.length - 1] == text.data[0];
}

/* A '#' after a blank begins a comment, except in quotes. */
static kdl_string without_comment(kdl_string text) {
  if (text.length && (text.data[0] == '\'' || text.data[0] == '"'))
    return text;
  for (size_t i = 1; i < text.length; ++i) {
    if (text.data[i] == '#' && text.data[i - 1] == ' ')
      return trim(text.data, text.data + i);
  }
  return text;
}

static void split_yaml_line(const char *from, const char *to, yaml_line *out) {
  for (const char *at = from; at < to; ++at) {
    if (*at == ':' && (at + 1 == to || at[1] == ' ' || at[1] == '\r')) {
      out->key = trim(from, at);
      out->value = without_comment(trim(at + 1, to));
      return;
    }
  }
}

/* The next line that is not empty, a comment, or the start of the document. */
static bool next_yaml_line(yaml_reader *r, yaml_line *out) {
  while (r->at < r->end) {
    const char *text = r->info->text, *start = text + r->at;
    const char *newline = memchr(start, '\n', r->end - r->at);
    const char *end = newline ? newline : text + r->end;
    const char *at = start;
    *out = (yaml_line){.at = r->at, .dash = NO_DASH, .key = {"", 0}, .value = {"", 0}};
    r->at = newline ? (size_t)(newline + 1 - text) : r->end;
    while (at < end && *at == ' ')
      ++at;
    if (end - at >= 2 && at[0] == '-' && at[1] == ' ') {
      out->dash = (uint32_t)(at - start);
      for (++at; at < end && *at == ' ';)
        ++at;
    }
    out->column = (uint32_t)(at - start);
    kdl_string rest = trim(at, end);
    if (kdl_text_is(rest, "..."))
      return false;
    if (rest.length == 0 || rest.data[0] == '#' || kdl_text_is(rest, "---"))
      continue;
    split_yaml_line(at, end, out);
    return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Values                                                                                       */

static kdl_status fail_at_line(const yaml_reader *r, const yaml_line *l, const char *expected) {
  kdl_string value = l->value;
  char field[64];
  snprintf(field, sizeof field, ".ze_info: %.*s", l->key.length < 40 ? (int)l->key.length : 40,
           l->key.data);
  return kdl_malformed_at(r->info->offset + l->at, field, "found \"%.*s\", expected %s",
                          value.length < 64 ? (int)value.length : 64, value.data, expected);
}

static bool parse_unsigned(kdl_string text, uint32_t *out_number) {
  uint64_t number = 0;
  if (text.length == 0 || text.length > 10)
    return false;
  for (size_t i = 0; i < text.length; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9')
      return false;
    number = number * 10 + (uint64_t)(text.data[i] - '0');
  }
  *out_number = (uint32_t)number;
  return number <= UINT32_MAX;
}

static kdl_status read_unsigned(const yaml_reader *r, const yaml_line *l, uint32_t *out_number) {
  return parse_unsigned(l->value, out_number) ? KDL_OK : fail_at_line(r, l, "a number");
}

/* "[ 64, 2, 1 ]" */
static kdl_status read_block(const yaml_reader *r, const yaml_line *l, uint32_t out_block[3]) {
  kdl_string value = l->value;
  if (value.length < 2 || value.data[0] != '[' || value.data[value.length - 1] != ']')
    return fail_at_line(r, l, "three numbers in brackets");
  const char *at = value.data + 1, *end = value.data + value.length - 1;
  uint32_t block[3];
  for (size_t i = 0; i < 3; ++i) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    if (!comma != (i == 2) || !parse_unsigned(trim(at, comma ? comma : end), &block[i]))
      return fail_at_line(r, l, "three numbers in brackets");
    at = comma ? comma + 1 : end;
  }
  memcpy(out_block, block, sizeof block);
  return KDL_OK;
}

/* 'it''s' means it's. A double-quoted name with escapes matches no kernel. */
static bool value_is_name(kdl_string value, kdl_string name) {
  if (!is_quoted(value))
    return kdl_text_equal(value, name);
  char quote = value.data[0];
  size_t used = 0;
  for (size_t i = 1; i + 1 < value.length; ++i, ++used) {
    if (quote == '\'' && value.data[i] == quote)
      ++i;
    if (used == name.length || value.data[i] != name.data[used])
      return false;
  }
  return used == name.length;
}

/* ------------------------------------------------------------------------------------------ */
/* The kernel                                                                                   */

/* '1.20'; minor versions add keys. */
static kdl_status check_ze_info_version(const yaml_line *l) {
  kdl_string value = l->value;
  if (is_quoted(value))
    value = (kdl_string){value.data + 1, value.length - 2};
  if (value.length >= 2 && value.data[0] == '1' && value.data[1] == '.')
    return KDL_OK;
  return kdl_fail(KDL_UNSUPPORTED, ".ze_info: found version \"%.*s\", expected 1.x",
                  value.length < 32 ? (int)value.length : 32, value.data);
}

/* The lines of the list `kernels`, entry by entry. */
typedef struct {
  yaml_reader lines;
  bool in_kernels;
  uint32_t dash; /* of the list; NO_DASH before its first entry */
} entry_reader;

/* One entry: its lines, the column of its keys, and the value of `name`. It begins with the list's
 * dash, and ends with the next one or with the list. */
typedef struct {
  yaml_reader lines;
  uint32_t column;
  kdl_string name;
  bool has_name;
} kernel_entry;

/* *out_found is false after the last. */
static kdl_status next_kernel_entry(entry_reader *r, kernel_entry *out, bool *out_found) {
  yaml_line l;
  *out = (kernel_entry){.lines = r->lines, .name = {"", 0}};
  *out_found = false;
  while (next_yaml_line(&r->lines, &l)) {
    bool is_top = l.dash == NO_DASH && l.column == 0;
    bool is_item = r->in_kernels && l.dash != NO_DASH && (r->dash == NO_DASH || l.dash == r->dash);
    if ((is_top || is_item) && *out_found) {
      out->lines.end = r->lines.at = l.at; /* read again as the next entry's */
      return KDL_OK;
    }
    if (is_top && kdl_text_is(l.key, "version"))
      KDL_TRY(check_ze_info_version(&l));
    if (is_top)
      r->in_kernels = kdl_text_is(l.key, "kernels");
    if (is_item) {
      *out_found = true;
      out->lines.at = l.at;
      out->column = l.column;
      r->dash = l.dash;
    }
    if (*out_found && l.column == out->column && kdl_text_is(l.key, "name")) {
      out->name = l.value;
      out->has_name = true;
    }
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

/* One entry of payload_arguments. A pointer has one entry per kind of use, a structure one per run
 * of members; arguments that the driver adds have no index. */
typedef struct {
  yaml_line first;
  kdl_string type, space;
  uint32_t index, size;
  bool is_open, has_index, is_part;
} payload;

static kdl_image_param_kind payload_kind(const payload *p) {
  if (kdl_text_is(p->type, "arg_byvalue"))
    return KDL_IMAGE_PARAM_VALUE;
  if (kdl_text_is(p->space, "local"))
    return KDL_IMAGE_PARAM_GROUP;
  if (kdl_text_is(p->space, "image") || kdl_text_is(p->space, "sampler"))
    return KDL_IMAGE_PARAM_OPAQUE;
  return KDL_IMAGE_PARAM_POINTER;
}

/* A structure may be longer than its used part. */
static uint32_t payload_size(const payload *p, kdl_image_param_kind kind, uint32_t pointer_size) {
  if (kind == KDL_IMAGE_PARAM_VALUE)
    return p->is_part ? 0 : p->size;
  return kind == KDL_IMAGE_PARAM_POINTER ? pointer_size : 0;
}

static kdl_status close_payload(const yaml_reader *r, payload *p, uint32_t pointer_size,
                                kdl_ze_kernel *kernel) {
  bool is_param =
      p->is_open && (kdl_text_is(p->type, "arg_byvalue") || kdl_text_is(p->type, "arg_bypointer") ||
                     kdl_text_is(p->type, "buffer_address"));
  p->is_open = false;
  if (!is_param)
    return KDL_OK;
  if (!p->has_index)
    return kdl_malformed_at(r->info->offset + p->first.at, ".ze_info: payload_arguments",
                            "found no arg_index, expected one for %.*s", (int)p->type.length,
                            p->type.data);
  if (p->index >= KDL_IMAGE_PARAM_LIMIT)
    return kdl_too_many_params();
  for (; kernel->param_count <= p->index; ++kernel->param_count)
    kernel->params[kernel->param_count] = (kdl_ze_param){KDL_IMAGE_PARAM_OPAQUE, 0};
  kdl_image_param_kind kind = payload_kind(p);
  kernel->params[p->index] = (kdl_ze_param){kind, payload_size(p, kind, pointer_size)};
  return KDL_OK;
}

static kdl_status read_payload_key(const yaml_reader *r, const yaml_line *l, payload *p) {
  if (kdl_text_is(l->key, "arg_type"))
    p->type = l->value;
  else if (kdl_text_is(l->key, "addrspace"))
    p->space = l->value;
  else if (kdl_text_is(l->key, "source_offset"))
    p->is_part = true;
  else if (kdl_text_is(l->key, "size"))
    return read_unsigned(r, l, &p->size);
  else if (kdl_text_is(l->key, "arg_index")) {
    p->has_index = true;
    return read_unsigned(r, l, &p->index);
  }
  return KDL_OK;
}

/* What a kernel uses, in execution_env. */
static kdl_status read_environment_key(const yaml_reader *r, const yaml_line *l,
                                       kdl_ze_kernel *kernel) {
  const struct {
    const char *key;
    uint32_t *value;
  } rows[] = {
      {"grf_count", &kernel->registers},   {"simd_size", &kernel->simd},
      {"slm_size", &kernel->shared},       {"barrier_count", &kernel->barriers},
      {"spill_size", &kernel->spill_size}, {"private_size", &kernel->private_size},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (kdl_text_is(l->key, rows[i].key))
      return read_unsigned(r, l, rows[i].value);
  }
  return KDL_OK;
}

/* per_thread_memory_buffers: an entry has a usage, then a size. */
static kdl_status read_buffer_key(const yaml_reader *r, const yaml_line *l, bool *is_spill,
                                  kdl_ze_kernel *kernel) {
  uint32_t size;
  if (l->dash != NO_DASH)
    *is_spill = false;
  if (kdl_text_is(l->key, "usage"))
    *is_spill = kdl_text_is(l->value, "spill_fill_space");
  if (!kdl_text_is(l->key, "size"))
    return KDL_OK;
  KDL_TRY(read_unsigned(r, l, &size));
  uint32_t *sum = *is_spill ? &kernel->spill_buffer : &kernel->private_buffer;
  *sum = size > UINT32_MAX - *sum ? UINT32_MAX : *sum + size;
  return KDL_OK;
}

static kdl_status read_kernel_entry(yaml_reader *r, uint32_t column, uint32_t pointer_size,
                                    kdl_ze_kernel *kernel) {
  yaml_line l;
  kdl_string part = {"", 0};
  payload p = {.is_open = false};
  bool is_spill = false;
  kdl_status status = KDL_OK;
  while (status == KDL_OK && next_yaml_line(r, &l)) {
    bool is_key = l.column == column;
    bool in_payload = kdl_text_is(part, "payload_arguments");
    if (is_key || l.dash != NO_DASH)
      status = close_payload(r, &p, pointer_size, kernel);
    if (status != KDL_OK)
      break;
    if (is_key)
      part = l.key;
    else if (in_payload && l.dash != NO_DASH)
      p = (payload){.first = l, .is_open = true, .type = {"", 0}, .space = {"", 0}};
    if (!is_key && in_payload)
      status = read_payload_key(r, &l, &p);
    else if (!is_key && (kdl_text_is(l.key, "required_work_group_size") ||
                         kdl_text_is(l.key, "reqd_work_group_size")))
      status = read_block(r, &l, kernel->block);
    else if (!is_key && kdl_text_is(part, "execution_env"))
      status = read_environment_key(r, &l, kernel);
    else if (!is_key && kdl_text_is(part, "per_thread_memory_buffers"))
      status = read_buffer_key(r, &l, &is_spill, kernel);
  }
  return status == KDL_OK ? close_payload(r, &p, pointer_size, kernel) : status;
}

static void begin_ze_kernel(kdl_ze_kernel *kernel) {
  kernel->param_count = 0;
  memset(kernel->block, 0, sizeof kernel->block);
  kernel->registers = kernel->simd = kernel->shared = kernel->barriers = 0;
  kernel->spill_size = kernel->private_size = UINT32_MAX;
  kernel->spill_buffer = kernel->private_buffer = 0;
}

kdl_status kdl_ze_info_read(const kdl_ze_info *info, kdl_string kernel, uint32_t pointer_size,
                            kdl_ze_kernel *out_kernel) {
  entry_reader r = {.lines = {info, 0, info->size}, .dash = NO_DASH};
  kernel_entry entry;
  bool found;
  do {
    KDL_TRY(next_kernel_entry(&r, &entry, &found));
  } while (found && !(entry.has_name && value_is_name(entry.name, kernel)));
  if (!found)
    return kdl_no_such_kernel(kernel);
  begin_ze_kernel(out_kernel);
  return read_kernel_entry(&entry.lines, entry.column, pointer_size, out_kernel);
}

kdl_status kdl_ze_info_visit(const kdl_ze_info *info, uint32_t pointer_size,
                             kdl_visit_ze_kernel *visit, void *user) {
  entry_reader r = {.lines = {info, 0, info->size}, .dash = NO_DASH};
  kernel_entry entry;
  bool found;
  for (;;) {
    kdl_ze_kernel kernel;
    KDL_TRY(next_kernel_entry(&r, &entry, &found));
    if (!found)
      return KDL_OK;
    begin_ze_kernel(&kernel);
    KDL_TRY(read_kernel_entry(&entry.lines, entry.column, pointer_size, &kernel));
    kdl_string name = entry.name;
    if (is_quoted(name))
      name = (kdl_string){name.data + 1, name.length - 2};
    if (entry.has_name && visit(user, name, &kernel))
      return KDL_OK;
  }
}
