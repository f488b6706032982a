/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/fold_list.h"

#include "lib/hooks.h"
#include "lib/inspect/launches.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const kdl_fold_kind kinds[] = {[KDL_PARAM_INT] = KDL_FOLD_INT,
                                      [KDL_PARAM_UINT] = KDL_FOLD_UINT,
                                      [KDL_PARAM_FLOAT] = KDL_FOLD_FLOAT,
                                      [KDL_PARAM_PTR] = KDL_FOLD_POINTER};

static bool read_fold(const kdl_kernel_key *key, kdl_string name, kdl_fold *out_fold) {
  kdl_param param;
  size_t at = 0;
  if (kdl_text_is(name, "block")) {
    *out_fold = (kdl_fold){.kind = KDL_FOLD_BLOCK, .name = name};
    return true;
  }
  long index = kdl_kernel_find_param(key, name);
  if (index < 0 || index > UINT16_MAX)
    return false;
  for (long i = 0; i <= index; ++i) {
    if (!kdl_signature_next(key->sig, &at, &param, NULL))
      return false;
  }
  if (param.kind == KDL_PARAM_BYTES || param.size > sizeof(uint64_t))
    return false;
  *out_fold = (kdl_fold){.kind = kinds[param.kind],
                         .index = (uint16_t)index,
                         .size = (uint8_t)(param.size ? param.size : sizeof(void *)),
                         .name = name};
  return true;
}

bool kdl_fold_list_read(const kdl_kernel_key *key, kdl_fold_list *out_list,
                        kdl_parse_error *out_error) {
  kdl_string text = kdl_kernel_field_text(key, KDL_KERNEL_SPECIALIZE);
  *out_list = (kdl_fold_list){.count = 0};
  for (size_t at = 0; at < text.length;) {
    size_t end = at;
    while (end < text.length && text.data[end] != ' ')
      ++end;
    if (end > at) {
      if (out_list->count == KDL_FOLD_LIMIT ||
          !read_fold(key, (kdl_string){text.data + at, end - at},
                     &out_list->items[out_list->count]))
        return kdl_parse_fail(out_error, (size_t)(text.data - key->text.data) + at,
                              KDL_FOLD_GRAMMAR);
      ++out_list->count;
    }
    at = end + 1;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

static void out_block(kdl_out *out, uint64_t word) {
  kdl_out_format(out, "block=%" PRIu32 "x%ux%u", (uint32_t)word,
                 (unsigned)(word >> 32 & UINT16_MAX), (unsigned)(word >> 48));
}

void kdl_fold_print(kdl_out *out, const kdl_fold *fold, uint64_t word) {
  if (fold->kind == KDL_FOLD_BLOCK) {
    out_block(out, word);
    return;
  }
  kdl_out_format(out, "%.*s=", (int)fold->name.length, fold->name.data);
  unsigned unused = 64 - fold->size * 8u;
  uint32_t bits = (uint32_t)word;
  float single;
  double number;
  memcpy(&single, &bits, sizeof single);
  memcpy(&number, &word, sizeof number);
  if (fold->kind == KDL_FOLD_POINTER)
    kdl_out_format(out, "aligned(%" PRIu64 ")", word);
  else if (fold->kind == KDL_FOLD_INT)
    kdl_out_format(out, "%" PRId64, (int64_t)(word << unused) >> unused);
  else if (fold->kind == KDL_FOLD_UINT)
    kdl_out_format(out, "%" PRIu64, word);
  else if (fold->size >= 4)
    kdl_out_format(out, "%.9g", fold->size == 4 ? (double)single : number);
  else
    kdl_out_format(out, "0x%04" PRIx32, bits);
}

void kdl_fold_print_line(kdl_out *out, const kdl_fold *fold, uint64_t word) {
  if (fold->kind == KDL_FOLD_BLOCK) {
    kdl_out_format(out, "fold ");
    out_block(out, word);
    kdl_out_format(out, "\n");
  } else if (fold->kind != KDL_FOLD_POINTER) {
    kdl_out_format(out, "fold %u=0x%0*" PRIx64 "\n", fold->index, fold->size * 2, word);
  } else if (word) {
    kdl_out_format(out, "fold %u=align%" PRIu64 "\n", fold->index, word);
  }
}

/* "4=0x0000002a" of a parameter in the list; other values are printed as they are. */
static void out_line_value(kdl_out *out, const kdl_fold_list *list, kdl_string value) {
  char text[64];
  unsigned index;
  uint64_t word;
  kdl_out_format(&(kdl_out){text, sizeof text, 0}, "%.*s", (int)value.length, value.data);
  bool is_bits = sscanf(text, "%u=0x%" SCNx64, &index, &word) == 2;
  bool is_alignment = !is_bits && sscanf(text, "%u=align%" SCNu64, &index, &word) == 2;
  for (size_t i = 0; (is_bits || is_alignment) && i < list->count; ++i) {
    const kdl_fold *fold = &list->items[i];
    if (fold->kind != KDL_FOLD_BLOCK && fold->index == index) {
      kdl_fold_print(out, fold, word);
      return;
    }
  }
  kdl_out_format(out, "%s", text);
}

bool kdl_fold_lines_print(const struct kdl_kernel_key *key, kdl_string lines, kdl_out *out) {
  static const char word[] = "fold ";
  kdl_fold_list list;
  const char *join = "";
  if (!kdl_kernel_has(key, KDL_KERNEL_SPECIALIZE) || !kdl_fold_list_read(key, &list, NULL))
    list.count = 0;
  for (size_t at = 0; at < lines.length;) {
    kdl_string line = {lines.data + at, kdl_text_find(lines, at, "\n") - at};
    at += line.length + 1;
    if (!kdl_text_starts(line, word))
      continue;
    kdl_out_format(out, "%s", join);
    out_line_value(out, &list, kdl_text_substr(line, sizeof word - 1));
    join = " ";
  }
  return *join;
}
