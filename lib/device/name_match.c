/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the device of a product name. Names that differ by one character may be years of
 * architecture apart (A100 and A1000, RTX 6000 and RTX A6000), so nothing is guessed: a part of a
 * name matches only if all products with it have one architecture, and a misspelling only if its
 * digits are right. */
#include "lib/device/named_devices.h"

#include "support/base/error.h"
#include "support/base/text.h"

#include <ctype.h>
#include <string.h>

/* A name in lower case, letters and digits only. */
typedef struct {
  char text[96];
  size_t length;
  bool starts[96]; /* where a word begins */
} normal_name;

/* Words that vendors and drivers add to a name, or that describe how a board is built. A number of
 * gigabytes is one of them. */
static bool is_ignored_word(kdl_string word, kdl_string next) {
  static const char *const words[] = {
      "nvidia",      "geforce",     "tesla",   "amd",       "radeon", "instinct", "intel",
      "corporation", "r",           "tm",      "c",         "gpu",    "laptop",   "generation",
      "mobile",      "accelerator", "sxm",     "sxm2",      "sxm3",   "sxm4",     "sxm5",
      "sxm6",        "pcie",        "nvl",     "hbm2",      "hbm2e",  "hbm3",     "hbm3e",
      "server",      "workstation", "edition", "blackwell", "design", "with",     "graphics"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (kdl_text_is(word, words[i]))
      return true;
  }
  size_t digits = 0;
  while (digits < word.length && kdl_is_digit(word.data[digits]))
    ++digits;
  if (digits && kdl_text_is(kdl_text_substr(word, digits), "gb"))
    return true;
  return kdl_text_is(word, "maxq") || (kdl_text_is(word, "max") && kdl_text_is(next, "q"));
}

/* The next word of a lower-case name, and where it ends. */
static kdl_string next_name_word(const char *name, size_t length, size_t *at) {
  while (*at < length && !isalnum((unsigned char)name[*at]))
    ++*at;
  size_t start = *at;
  while (*at < length && isalnum((unsigned char)name[*at]))
    ++*at;
  return (kdl_string){name + start, *at - start};
}

static void append_word(normal_name *name, kdl_string word) {
  if (name->length + word.length >= sizeof name->text)
    return;
  name->starts[name->length] = true;
  memcpy(name->text + name->length, word.data, word.length);
  name->length += word.length;
}

/* All words of the name, or only those that identify a device. */
static normal_name normalize_name(kdl_string name, bool all_words) {
  char lower[96];
  size_t length = name.length < sizeof lower ? name.length : sizeof lower;
  for (size_t i = 0; i < length; ++i)
    lower[i] = (char)tolower((unsigned char)name.data[i]);
  normal_name result = {.length = 0};
  size_t at = 0;
  for (kdl_string word; (word = next_name_word(lower, length, &at)).length;) {
    size_t ahead = at;
    kdl_string next = next_name_word(lower, length, &ahead);
    if (all_words || !is_ignored_word(word, next))
      append_word(&result, word);
    else if (kdl_text_is(word, "max"))
      at = ahead;
  }
  result.starts[result.length] = true;
  return result;
}

static size_t word_count(const normal_name *name) {
  size_t count = 0;
  for (size_t i = 0; i < name->length; ++i)
    count += name->starts[i];
  return count;
}

static bool same_name(const normal_name *a, const normal_name *b) {
  return a->length && a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* The first number in a name, as text; "" where it has none. Devices without this number cannot
 * match, which is cheap to check. */
typedef struct {
  char digits[16];
} number_text;

static number_text number_in(const normal_name *name) {
  number_text number = {""};
  size_t at = 0, length = 0;
  while (at < name->length && !kdl_is_digit(name->text[at]))
    ++at;
  for (; at < name->length && kdl_is_digit(name->text[at]); ++at) {
    if (length + 1 < sizeof number.digits)
      number.digits[length++] = name->text[at];
  }
  return number;
}

/* How well a row matches the name, best first. */
typedef enum { IS_NAME, IS_PRODUCT, HAS_WORDS, HAS_START, IS_OTHER } closeness;

/* Whether the words of `part` are in `whole`; the last may be the start of a word if it has a
 * number, as "mi300". */
static closeness find_part(const normal_name *whole, const normal_name *part) {
  closeness best = IS_OTHER;
  for (size_t at = 0; part->length && at + part->length <= whole->length; ++at) {
    size_t end = at + part->length;
    if (!whole->starts[at] || memcmp(whole->text + at, part->text, part->length) != 0)
      continue;
    if (whole->starts[end])
      return HAS_WORDS;
    if (kdl_is_digit(part->text[part->length - 1]) && !kdl_is_digit(whole->text[end]))
      best = HAS_START;
  }
  return best;
}

static closeness compare_device(const kdl_named_device *row, const normal_name *asked,
                                const normal_name *asked_whole) {
  normal_name name = normalize_name(kdl_text_of(row->name), true);
  normal_name product = normalize_name(kdl_text_of(row->product), false);
  if (same_name(&name, asked) || same_name(&name, asked_whole))
    return IS_NAME;
  if (same_name(&product, asked))
    return IS_PRODUCT;
  closeness by_name = find_part(&name, asked);
  closeness by_product = find_part(&product, asked);
  return by_name < by_product ? by_name : by_product;
}

/* The result of a search: the first of the rows that match best. */
typedef struct {
  closeness how;
  const kdl_named_device *row;
  bool is_one; /* all of them have one architecture */
} found_row;

static found_row find_closest(kdl_string name) {
  enum { shortest_part = 3 };
  normal_name asked = normalize_name(name, false);
  normal_name whole = normalize_name(name, true);
  number_text number = number_in(&asked);
  found_row found = {IS_OTHER, NULL, true};
  const kdl_named_device *row;
  for (size_t i = 0; (row = kdl_named_device_at(i)); ++i) {
    if (!strstr(row->name, number.digits) && !strstr(row->product, number.digits))
      continue;
    closeness how = compare_device(row, &asked, &whole);
    if (how > IS_PRODUCT && asked.length < shortest_part)
      continue;
    if (how < found.how)
      found = (found_row){how, row, true};
    else if (how == found.how && how != IS_OTHER && how != IS_NAME)
      found.is_one &= kdl_named_device_same_target(found.row, row);
  }
  /* One word without a number names at most a series. */
  if (found.how > IS_PRODUCT && !number.digits[0] && word_count(&asked) < 2)
    found.is_one = false;
  return found;
}

/* Lists the first device of every architecture that has the name. */
static kdl_status fail_ambiguous(kdl_string name, closeness how) {
  enum { most = 8 };
  normal_name asked = normalize_name(name, false);
  const kdl_named_device *listed[most];
  size_t count = 0;
  char names[most * 24] = "";
  kdl_out out = {names, sizeof names, 0};
  const kdl_named_device *row;
  for (size_t i = 0; (row = kdl_named_device_at(i)) && count < most; ++i) {
    bool is_new = compare_device(row, &asked, &asked) == how;
    for (size_t k = 0; is_new && k < count; ++k)
      is_new = !kdl_named_device_same_target(listed[k], row);
    if (!is_new)
      continue;
    listed[count++] = row;
    kdl_out_format(&out, "%s%s", out.used ? ", " : "", row->name);
  }
  return kdl_fail(KDL_BAD_CALL,
                  "device '%.*s': found several devices of that name, expected one of them, as %s",
                  (int)(name.length < 64 ? name.length : 64), name.data, names);
}

/* Whether the names differ by one inserted, missing or replaced letter, or by two swapped ones;
 * never by a digit. */
static bool is_misspelling(const normal_name *a, const normal_name *b) {
  size_t start = 0, end = 0;
  while (start < a->length && start < b->length && a->text[start] == b->text[start])
    ++start;
  while (end < a->length - start && end < b->length - start &&
         a->text[a->length - 1 - end] == b->text[b->length - 1 - end])
    ++end;
  size_t left_a = a->length - start - end;
  size_t left_b = b->length - start - end;
  for (size_t i = 0; i < left_a; ++i) {
    if (kdl_is_digit(a->text[start + i]))
      return false;
  }
  for (size_t i = 0; i < left_b; ++i) {
    if (kdl_is_digit(b->text[start + i]))
      return false;
  }
  bool swapped = left_a == 2 && left_b == 2 && a->text[start] == b->text[start + 1] &&
                 a->text[start + 1] == b->text[start];
  return swapped || (left_a <= 1 && left_b <= 1);
}

const char *kdl_named_device_suggest(kdl_string name) {
  enum { shortest = 5 }; /* in short names one letter is another product: A40, L40, M40 */
  normal_name asked = normalize_name(name, true);
  number_text number = number_in(&asked);
  const kdl_named_device *row;
  const kdl_named_device *suggested = NULL;
  for (size_t i = 0; asked.length >= shortest && (row = kdl_named_device_at(i)); ++i) {
    if (!strstr(row->name, number.digits))
      continue;
    normal_name other = normalize_name(kdl_text_of(row->name), true);
    bool is_longer = asked.length == other.length + 1 && /* h100x, but not l40x */
                     other.length + 1 >= shortest &&
                     memcmp(asked.text, other.text, other.length) == 0;
    if ((other.length < shortest && !is_longer) || !is_misspelling(&asked, &other))
      continue;
    if (suggested && !kdl_named_device_same_target(suggested, row))
      return NULL;
    suggested = suggested ? suggested : row;
  }
  return suggested ? suggested->name : NULL;
}

kdl_status kdl_named_device_find(kdl_string name, const kdl_named_device **out_row) {
  for (size_t i = 0; kdl_named_device_at(i); ++i) { /* exact names, the usual case */
    if (kdl_text_is(name, kdl_named_device_at(i)->name)) {
      *out_row = kdl_named_device_at(i);
      return KDL_OK;
    }
  }
  found_row found = find_closest(name);
  if (found.row && found.is_one) {
    *out_row = found.row;
    return KDL_OK;
  }
  if (found.row)
    return fail_ambiguous(name, found.how);
  const char *suggested = kdl_named_device_suggest(name);
  bool is_list = !suggested && memchr(name.data, ',', name.length);
  return kdl_fail(KDL_BAD_CALL,
                  "device '%.*s': found no device of that name%s%s%s, expected one as 'h200' or "
                  "'rx7900xtx' ('kdl devices --known' lists them), an architecture as sm_90, "
                  "BACKEND:ARCH [KEY=VALUE]..., or @FILE",
                  (int)(name.length < 64 ? name.length : 64), name.data,
                  suggested ? " (did you mean '" : "", suggested ? suggested : "",
                  suggested ? "'?)"
                  : is_list ? " (it is a list: name each device on its own)"
                            : "");
}
