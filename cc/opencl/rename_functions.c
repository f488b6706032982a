/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/opencl_c.h"
#include "tools/common/lines.h"

typedef struct {
  kdl_string text;
  size_t at;
  bool is_system;  /* the current text comes from a system header */
  unsigned nested; /* open braces and parentheses */
} name_scanner;

/* # 12 "folder/kernel.h" 1 3: flag 3 after the name marks a system header. */
static void read_system_flag(name_scanner *w, kdl_string line) {
  size_t quote = line.length;
  while (quote > 0 && line.data[quote - 1] != '"')
    --quote;
  kdl_string flags = kdl_text_substr(line, quote);
  if (kdl_text_starts(line, "# ") && quote)
    w->is_system = kdl_text_find(flags, 0, "3") < flags.length;
}

static void skip_quoted(name_scanner *w) {
  char quote = w->text.data[w->at++];
  while (w->at < w->text.length && w->text.data[w->at] != quote)
    w->at += w->text.data[w->at] == '\\' ? 2 : 1;
  ++w->at;
}

/* The next word that is not a number; false at the end. Skips line marks and strings. */
static bool next_word(name_scanner *w, kdl_string *out_word) {
  kdl_string text = w->text;
  while (w->at < text.length) {
    char c = text.data[w->at];
    size_t begin = w->at;
    if (c == '#' && (begin == 0 || text.data[begin - 1] == '\n')) {
      w->at = kdl_text_find(text, begin, "\n");
      read_system_flag(w, (kdl_string){text.data + begin, w->at - begin});
    } else if (c == '"' || c == '\'') {
      skip_quoted(w);
    } else if (cli_is_word(c)) {
      while (w->at < text.length && cli_is_word(text.data[w->at]))
        ++w->at;
      *out_word = (kdl_string){text.data + begin, w->at - begin};
      if (!kdl_is_digit(c))
        return true;
    } else {
      if (c == '{' || c == '(')
        ++w->nested;
      else if ((c == '}' || c == ')') && w->nested)
        --w->nested;
      ++w->at;
    }
  }
  return false;
}

/* The next character after the last word and blanks. */
static char next_character(const name_scanner *w) {
  size_t at = w->at;
  while (at < w->text.length && strchr(" \t\n", w->text.data[at]))
    ++at;
  return at < w->text.length ? w->text.data[at] : '\0';
}

typedef struct {
  kdl_string *items;
  size_t count, capacity;
} name_list;

static bool is_among(const name_list *names, kdl_string name) {
  for (size_t i = 0; i < names->count; ++i) {
    if (kdl_text_equal(names->items[i], name))
      return true;
  }
  return false;
}

/* At file scope, a name before a parenthesis is a function's. */
static void find_names(kdl_string text, const cc_kernels *kernels, name_list *names) {
  name_scanner w = {.text = text};
  kdl_string word;
  while (next_word(&w, &word)) {
    bool declares = w.nested == 0 && !w.is_system && next_character(&w) == '(';
    if (!declares || !cc_opencl_has_function(word) || cc_kernel_find(kernels, word) ||
        is_among(names, word))
      continue;
    names->items = xgrow(names->items, names->count, &names->capacity, 8, sizeof *names->items);
    names->items[names->count++] = word;
  }
}

void cc_opencl_rename(kdl_string text, const char *prefix, const cc_kernels *kernels, FILE *out) {
  name_list names = {.count = 0};
  find_names(text, kernels, &names);
  const char *written = text.data; /* up to here */
  name_scanner w = {.text = text};
  kdl_string word;
  while (names.count && next_word(&w, &word)) {
    if (w.is_system || !is_among(&names, word))
      continue;
    fwrite(written, 1, (size_t)(word.data - written), out);
    fputs(prefix, out);
    written = word.data;
  }
  fwrite(written, 1, text.length - (size_t)(written - text.data), out);
  free(names.items);
}

/* Whether a type precedes the name: its last word, or a star. */
static bool is_after_type(kdl_string text, size_t begin) {
  static const char *const others[] = {"const", "volatile", "restrict", "return", "else"};
  while (begin > 0 && strchr(" \t\n", text.data[begin - 1]))
    --begin;
  size_t end = begin;
  while (begin > 0 && cli_is_word(text.data[begin - 1]))
    --begin;
  kdl_string word = {text.data + begin, end - begin};
  if (word.length == 0)
    return end > 0 && text.data[end - 1] == '*';
  return !kdl_text_starts(word, "__") && !KDL_TEXT_AMONG(word, others);
}

bool cc_opencl_find_keyword(kdl_string text, kdl_string *out_keyword) {
  static const char *const keywords[] = {"constant",   "global",    "half",
                                         "kernel",     "local",     "private",
                                         "read_write", "read_only", "write_only"};
  name_scanner w = {.text = text};
  kdl_string word;
  while (next_word(&w, &word)) {
    char next = next_character(&w);
    if (!w.is_system && next && strchr(",;=[()", next) && KDL_TEXT_AMONG(word, keywords) &&
        is_after_type(text, (size_t)(word.data - text.data))) {
      *out_keyword = word;
      return true;
    }
  }
  return false;
}
