/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Names of kernels, each once. nvcc puts a hash of the file and the number of its process into the
 * names of functions that are local to a file:
 *
 *     _ZN57_INTERNAL_8cf5b5ca_16_ActivationGlu_cu_b4a7e4c6_28454gateEv
 *
 * CUB and Thrust have a namespace with their version and the architectures of the build. Other
 * generators add a hash to a name of their own. Such names are matched without these.
 */
#include "pack/diff/diff.h"
#include "support/base/hash.h"
#include "support/base/text.h"

#include <string.h>

enum { shortest_hash = 8 };

static bool is_hex(char c) {
  return kdl_is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_separator(char c) {
  return c == '_' || c == '.' || c == '$' || c == '-';
}

/* The length of a hash at `at`: hexadecimal digits between separators, one of them 0 to 9; else
 * 0. */
static size_t hash_at(kdl_string text, size_t at) {
  size_t end = at;
  bool has_digit = false;
  for (; end < text.length && is_hex(text.data[end]); ++end)
    has_digit |= kdl_is_digit(text.data[end]);
  bool is_bounded = (at == 0 || is_separator(text.data[at - 1])) &&
                    (end == text.length || is_separator(text.data[end]));
  return is_bounded && has_digit && end - at >= shortest_hash ? end - at : 0;
}

/* Copies text without hashes. */
static size_t copy_without_hashes(kdl_string text, char *out) {
  size_t used = 0;
  for (size_t at = 0; at < text.length;) {
    size_t hash = hash_at(text, at);
    if (hash)
      out[used++] = '#';
    else
      out[used++] = text.data[at];
    at += hash ? hash : 1;
  }
  return used;
}

/* The namespaces of CUB and Thrust have their version, and the architectures that they are compiled
 * for: CUB_300102_SM_750_800. Returns the length of the part before, or 0. */
static size_t versioned_name_length(kdl_string name) {
  static const char *const libraries[] = {"CUB_", "THRUST_"};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; ++i) {
    size_t length = strlen(libraries[i]);
    if (kdl_text_starts(name, libraries[i]) && name.length > length &&
        kdl_is_digit(name.data[length]))
      return length;
  }
  return 0;
}

/* The identifier of an unnamed namespace or of a version at `at`, after its length; empty where
 * there is none. */
static kdl_string local_name_at(kdl_string text, size_t at, size_t *out_start) {
  const kdl_string none = {NULL, 0};
  uint32_t length;
  size_t start = at;
  if (!kdl_is_digit(text.data[at]) || !kdl_text_parse_number(text, &start, &length) ||
      length > text.length - start)
    return none;
  kdl_string name = {text.data + start, length};
  *out_start = start;
  bool is_local = kdl_text_starts(name, "_INTERNAL_") || kdl_text_starts(name, "_GLOBAL__N__");
  return is_local || versioned_name_length(name) ? name : none;
}

/* The last part is the number of a process. */
static kdl_string without_process(kdl_string name) {
  size_t end = name.length;
  while (end && kdl_is_digit(name.data[end - 1]))
    --end;
  bool has_number = end && end < name.length && name.data[end - 1] == '_';
  return (kdl_string){name.data, has_number ? end - 1 : name.length};
}

size_t diff_name_normalise(kdl_string text, char *out) {
  size_t used = 0, done = 0;
  for (size_t at = 0; at < text.length; ++at) {
    size_t start;
    if (at && kdl_is_digit(text.data[at - 1]))
      continue;
    kdl_string local = local_name_at(text, at, &start);
    if (!local.data)
      continue;
    size_t end = start + local.length;
    used += copy_without_hashes((kdl_string){text.data + done, at - done}, out + used);
    size_t kept = versioned_name_length(local);
    if (kept)
      local.length = kept;
    used += copy_without_hashes(without_process(local), out + used);
    done = end;
    at = done - 1;
  }
  return used + copy_without_hashes(kdl_text_substr(text, done), out + used);
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static size_t slot_of(const diff_names *names, kdl_string text) {
  size_t at = (size_t)kdl_hash_text(text) & (names->slot_count - 1);
  while (names->slots[at] && !kdl_text_equal(names->items[names->slots[at] - 1].text, text))
    at = (at + 1) & (names->slot_count - 1);
  return at;
}

static void grow_slots(diff_names *names) {
  free(names->slots);
  names->slot_count = names->slot_count ? names->slot_count * 2 : 1024;
  names->slots = xcalloc(names->slot_count, sizeof *names->slots);
  for (size_t i = 0; i < names->count; ++i)
    names->slots[slot_of(names, names->items[i].text)] = (uint32_t)i + 1;
}

uint32_t diff_names_add(diff_names *names, kdl_string text) {
  if ((names->count + 1) * 2 > names->slot_count)
    grow_slots(names);
  size_t slot = slot_of(names, text);
  if (names->slots[slot])
    return names->slots[slot] - 1;
  if (names->count == DIFF_LIMIT_NAMES)
    cli_fatal("too many names of kernels");
  names->items = xgrow(names->items, names->count, &names->capacity, 1024, sizeof *names->items);
  names->items[names->count] =
      (diff_name){xarena_string(&names->arena, text.data, text.length), (uint32_t)names->count};
  names->slots[slot] = (uint32_t)++names->count;
  return (uint32_t)names->count - 1;
}

uint32_t diff_names_add_kernel(diff_names *names, kdl_string text) {
  size_t before = names->count;
  uint32_t number = diff_names_add(names, text);
  if (number < before)
    return number;
  char *plain = xmalloc(text.length + 1);
  size_t length = diff_name_normalise(text, plain);
  if (length != text.length || memcmp(plain, text.data, length) != 0) {
    uint32_t key = diff_names_add(names, (kdl_string){plain, length});
    names->items[number].key = key;
  }
  free(plain);
  return number;
}

void diff_names_free(diff_names *names) {
  free(names->items);
  free(names->slots);
  kdl_arena_free(&names->arena);
}
