/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The text of IR is read by lines, as LLVM prints them: a global variable is a line that begins
 * with '@', a function goes from a line that begins with "define" to a line "}", and a call has its
 * line. Two passes: the first finds who needs what, the second writes.
 */
#include "cc/ir/group_variables.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char group_section[] = ", section \"kdl.group\"";
static const char address_of[] = "llvm.threadlocal.address.";

typedef struct {
  kdl_string name;
  kdl_string type;
  kdl_string align;
} variable;

typedef struct {
  kdl_string name;
  const cc_kernel *kernel; /* which it runs a group of; NULL for the rest */
  bool *needs;             /* by variable */
  bool is_addressed;       /* used otherwise than by a call */
  bool is_variadic;
} function;

typedef struct {
  size_t caller, callee;
} call;

typedef struct {
  kdl_arena *arena;
  const cc_kernels *kernels;
  variable *variables;
  size_t variable_count;
  function *functions; /* by name, once all are known */
  size_t function_count;
  call *calls;
  size_t call_count, call_capacity;
  kdl_string *cause; /* what is read or checked: where that fails, the reason */
} module;

static kdl_status no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for the IR of a kernel");
}

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

/* Takes the next line off `rest`, without its end. */
static bool next_line(kdl_string *rest, kdl_string *out_line) {
  if (rest->length == 0)
    return false;
  size_t end = kdl_text_find(*rest, 0, "\n");
  *out_line = (kdl_string){rest->data, end};
  *rest = kdl_text_from(*rest, end < rest->length ? end + 1 : end);
  return true;
}

/* Behind the string that begins at `at`, with its quotes; LLVM escapes quotes inside as \22. */
static size_t skip_string(kdl_string line, size_t at) {
  size_t end = kdl_text_find(line, at + 1, "\"");
  return end < line.length ? end + 1 : end;
}

static bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kdl_is_digit(c) || c == '-' ||
         c == '$' || c == '.' || c == '_';
}

/* Finds the next global name from *at on, outside of strings and comments, and moves *at behind it.
 * Names that need quotes keep them. */
static bool next_name(kdl_string line, size_t *at, kdl_string *out_name) {
  for (size_t i = *at; i < line.length; ++i) {
    if (line.data[i] == ';')
      break;
    if (line.data[i] == '"') {
      i = skip_string(line, i) - 1;
      continue;
    }
    if (line.data[i] != '@')
      continue;
    size_t begin = i + 1, end = begin;
    if (begin < line.length && line.data[begin] == '"')
      end = skip_string(line, begin);
    while (end < line.length && is_name_character(line.data[end]))
      ++end;
    *out_name = (kdl_string){line.data + begin, end - begin};
    *at = end;
    return true;
  }
  *at = line.length;
  return false;
}

/* The parenthesis that closes the one at `at`; the line's length where none does. */
static size_t closing(kdl_string line, size_t at) {
  int depth = 0;
  for (size_t i = at; i < line.length; ++i) {
    if (line.data[i] == '"')
      i = skip_string(line, i) - 1;
    else if (line.data[i] == '(')
      ++depth;
    else if (line.data[i] == ')' && --depth == 0)
      return i;
  }
  return line.length;
}

/* ------------------------------------------------------------------------------------------ */
/* What is there                                                                                */

static int compare_functions(const void *a, const void *b) {
  kdl_string left = ((const function *)a)->name, right = ((const function *)b)->name;
  size_t shorter = left.length < right.length ? left.length : right.length;
  int order = memcmp(left.data, right.data, shorter);
  return order ? order : (left.length > right.length) - (left.length < right.length);
}

static function *find_function(const module *m, kdl_string name) {
  function key = {.name = name};
  return m->function_count
             ? bsearch(&key, m->functions, m->function_count, sizeof key, compare_functions)
             : NULL;
}

static size_t find_variable(const module *m, kdl_string name) {
  size_t i = 0;
  while (i < m->variable_count && !kdl_text_equal(m->variables[i].name, name))
    ++i;
  return i;
}

static bool is_thread_local(kdl_string line) {
  size_t equals = kdl_text_find(line, 0, "=");
  size_t global = equals;
  /* Before the kind and the type, so that no string of the initialiser is looked at. */
  for (; global < line.length; ++global) {
    kdl_string rest = kdl_text_from(line, global);
    if (kdl_text_starts(rest, " global ") || kdl_text_starts(rest, " constant ") ||
        kdl_text_starts(rest, " alias ") || kdl_text_starts(rest, " ifunc "))
      break;
  }
  return kdl_text_contains((kdl_string){line.data + equals, global - equals}, " thread_local");
}

/* As the source has it: see wrapper.h. */
static kdl_string shown(kdl_string name) {
  static const char prefix[] = "kdl_cc_item_";
  return kdl_text_starts(name, prefix) ? kdl_text_from(name, sizeof prefix - 1) : name;
}

/* Zero in any type, as LLVM prints it: 0, 0.000000e+00, 0xH0000, null, zeroinitializer. */
static bool is_zero(kdl_string value) {
  return kdl_text_is(value, "zeroinitializer") || kdl_text_is(value, "null") ||
         (value.length > 0 && strspn(value.data, "0.xeHRKLM+") >= value.length);
}

/* @reduce.scratch = internal thread_local global [256 x float] zeroinitializer, section
 * "kdl.group", align 16 */
static kdl_status read_variable(kdl_string line, variable *out) {
  static const char kind[] = " global ", align[] = ", align ", comdat[] = ", comdat";
  size_t at = 0;
  next_name(line, &at, &out->name);
  const char *section = memmem(line.data, line.length, group_section, sizeof group_section - 1);
  if (!section)
    return kdl_fail(KDL_BAD_FILE,
                    "the variable %.*s is _Thread_local, which an image for the CPU cannot have: "
                    "work-items run in any thread; KDL_LOCAL declares memory of the group",
                    (int)shown(out->name).length, shown(out->name).data);
  const char *type = memmem(line.data, line.length, kind, sizeof kind - 1);
  const char *value = section;
  while (type && value > type && value[-1] != ' ')
    --value;
  if (!type || value <= type + sizeof kind ||
      !is_zero((kdl_string){value, (size_t)(section - value)}))
    return kdl_fail(KDL_BAD_FILE,
                    "the variable %.*s of the group has a value from the start, which memory of a "
                    "group cannot have",
                    (int)shown(out->name).length, shown(out->name).data);
  kdl_string rest = kdl_text_from(line, (size_t)(section - line.data) + sizeof group_section - 1);
  if (kdl_text_starts(rest, comdat)) /* of an inline function of C++ */
    rest = kdl_text_from(rest, kdl_text_find(rest, sizeof comdat - 1, ","));
  if (!kdl_text_starts(rest, align))
    return kdl_fail(KDL_BAD_FILE, "the variable %.*s of the group has no alignment",
                    (int)shown(out->name).length, shown(out->name).data);
  rest = kdl_text_from(rest, sizeof align - 1);
  type += sizeof kind - 1;
  out->type = (kdl_string){type, (size_t)(value - 1 - type)};
  out->align = (kdl_string){rest.data, kdl_text_find(rest, 0, ",")};
  return KDL_OK;
}

static int digit_of(char c) {
  return kdl_is_digit(c) ? c - '0' : c - 'A' + 10;
}

/* "\C3\A9" is the name of a function that C calls by that letter. */
static bool is_named(kdl_string name, const char *plain) {
  if (name.length == 0 || name.data[0] != '"')
    return kdl_text_is(name, plain);
  for (size_t i = 1; i + 1 < name.length; ++plain) {
    bool is_escaped = name.data[i] == '\\' && i + 3 < name.length;
    int c = is_escaped ? digit_of(name.data[i + 1]) << 4 | digit_of(name.data[i + 2])
                       : (unsigned char)name.data[i];
    if (c != (unsigned char)*plain)
      return false;
    i += is_escaped ? 3 : 1;
  }
  return *plain == '\0';
}

static const cc_kernel *kernel_of(const module *m, kdl_string name) {
  for (size_t i = 0; i < m->kernels->count; ++i) {
    if (is_named(name, m->kernels->items[i].name))
      return &m->kernels->items[i];
  }
  return NULL;
}

static void read_function(const module *m, kdl_string line, function *out) {
  size_t at = 0;
  *out = (function){0};
  next_name(line, &at, &out->name);
  size_t end = closing(line, at);
  out->kernel = kernel_of(m, out->name);
  out->is_variadic = end >= 3 && memcmp(line.data + end - 3, "...", 3) == 0;
}

static kdl_status read_definitions(module *m, kdl_string ir) {
  size_t variables = 0, functions = 0;
  kdl_string line;
  for (kdl_string rest = ir; next_line(&rest, &line);) {
    variables += kdl_text_starts(line, "@") && is_thread_local(line);
    functions += kdl_text_starts(line, "define ");
  }
  m->variables = kdl_arena_alloc(m->arena, (variables + 1) * sizeof *m->variables);
  m->functions = kdl_arena_alloc(m->arena, (functions + 1) * sizeof *m->functions);
  bool *needs = kdl_arena_alloc(m->arena, functions * variables + 1);
  if (!m->variables || !m->functions || !needs)
    return no_memory();
  memset(needs, 0, functions * variables + 1);
  kdl_status status = KDL_OK;
  for (kdl_string rest = ir; status == KDL_OK && next_line(&rest, &line);) {
    if (kdl_text_starts(line, "define ")) {
      read_function(m, line, &m->functions[m->function_count++]);
    } else if (kdl_text_starts(line, "@") && is_thread_local(line)) {
      status = read_variable(line, &m->variables[m->variable_count]);
      *m->cause = m->variables[m->variable_count++].name;
    }
  }
  qsort(m->functions, m->function_count, sizeof *m->functions, compare_functions);
  for (size_t i = 0; i < m->function_count; ++i)
    m->functions[i].needs = needs + i * variables;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Who needs what                                                                               */

static kdl_status note_call(module *m, const function *caller, const function *callee) {
  if (m->call_count == m->call_capacity) {
    size_t capacity = m->call_capacity ? m->call_capacity * 2 : 64;
    call *calls = kdl_arena_alloc(m->arena, capacity * sizeof *calls);
    if (!calls)
      return no_memory();
    if (m->call_count)
      memcpy(calls, m->calls, m->call_count * sizeof *calls);
    m->calls = calls;
    m->call_capacity = capacity;
  }
  m->calls[m->call_count++] =
      (call){(size_t)(caller - m->functions), (size_t)(callee - m->functions)};
  return KDL_OK;
}

/* Whether the name that ends at `end` is called there, by its own type: the type of a call that
 * does not know the parameters is in parentheses. */
static bool is_plain_call(kdl_string line, kdl_string name, size_t end) {
  const char *before = name.data - 2; /* the space, then '@' */
  return end < line.length && line.data[end] == '(' && before > line.data && before[0] == ' ' &&
         before[-1] != ')';
}

static bool is_label_address(kdl_string line, kdl_string name) {
  static const char mark[] = "blockaddress(@";
  size_t before = (size_t)(name.data - line.data);
  return before >= sizeof mark - 1 &&
         memcmp(name.data - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
}

static kdl_status read_line(module *m, kdl_string line, function *in) {
  kdl_string name;
  for (size_t at = 0; next_name(line, &at, &name);) {
    if (kdl_text_starts(name, address_of))
      continue; /* the variable's name follows */
    size_t number = find_variable(m, name);
    if (number < m->variable_count && in) {
      in->needs[number] = true;
      continue;
    }
    function *used = find_function(m, name);
    if (!used || is_label_address(line, name))
      continue;
    if (!in || !is_plain_call(line, name, at)) {
      used->is_addressed = true;
      continue;
    }
    kdl_status status = note_call(m, in, used);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* Tables that keep functions from being removed use none. */
static bool is_keeping(kdl_string line) {
  return kdl_text_starts(line, "@llvm.used") || kdl_text_starts(line, "@llvm.compiler.used");
}

static kdl_status read_uses(module *m, kdl_string ir) {
  function *in = NULL;
  kdl_string line;
  for (kdl_string rest = ir; next_line(&rest, &line);) {
    if (kdl_text_starts(line, "define ")) {
      kdl_string name;
      size_t at = 0;
      next_name(line, &at, &name);
      in = find_function(m, name);
    } else if (kdl_text_is(line, "}")) {
      in = NULL;
    } else if (in || (kdl_text_starts(line, "@") && !is_thread_local(line) && !is_keeping(line))) {
      KDL_TRY(read_line(m, line, in));
    }
  }
  return KDL_OK;
}

static void spread_needs(module *m) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < m->call_count; ++i) {
      function *caller = &m->functions[m->calls[i].caller];
      const function *callee = &m->functions[m->calls[i].callee];
      for (size_t v = 0; v < m->variable_count && !callee->kernel; ++v) {
        changed |= callee->needs[v] && !caller->needs[v];
        caller->needs[v] |= callee->needs[v];
      }
    }
  }
}

static bool needs_any(const module *m, const function *f) {
  for (size_t v = 0; v < m->variable_count; ++v) {
    if (f->needs[v])
      return true;
  }
  return false;
}

static kdl_status check_functions(const module *m) {
  for (size_t i = 0; i < m->function_count; ++i) {
    const function *f = &m->functions[i];
    *m->cause = f->name;
    size_t item = find_variable(m, KDL_TEXT("kdl_item"));
    if (f->kernel && f->kernel->does_group && item < m->variable_count && f->needs[item])
      return kdl_fail(KDL_BAD_FILE,
                      "kernel %s does a whole group in one call (KDL_KERNEL), where there is no "
                      "work-item: found a call of __gpu_thread_id, __gpu_block_id or their kind, "
                      "expected kdl_group",
                      f->kernel->name);
    if (!f->kernel && needs_any(m, f) && (f->is_addressed || f->is_variadic))
      return kdl_fail(KDL_BAD_FILE,
                      "the function %.*s asks which work-item runs, or has memory of the group, "
                      "and %s: on the CPU such a function is called by its name, with the "
                      "parameters that it declares",
                      (int)shown(f->name).length, shown(f->name).data,
                      f->is_variadic ? "takes a variable number of arguments"
                                     : "is used through a pointer");
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static void print(FILE *out, kdl_string text) {
  fwrite(text.data, 1, text.length, out);
}

/* What follows the last parameter or argument. */
static void print_needed(const module *m, const function *f, bool is_first, FILE *out) {
  for (size_t v = 0; v < m->variable_count; ++v) {
    if (!f->needs[v])
      continue;
    fprintf(out, "%sptr %%kdl.group.%zu", is_first ? "" : ", ", v);
    is_first = false;
  }
}

/* It is called from here alone, with more parameters than another module could know of. */
static kdl_string print_linkage(kdl_string line, FILE *out) {
  static const char *const dropped[] = {"define",   "private",  "internal",  "available_externally",
                                        "linkonce", "weak",     "common",    "linkonce_odr",
                                        "weak_odr", "external", "dso_local", "dso_preemptable",
                                        "default",  "hidden",   "protected"};
  fputs("define internal", out);
  for (;;) {
    size_t end = kdl_text_find(line, 0, " ");
    size_t i = 0;
    while (i < sizeof dropped / sizeof *dropped &&
           !kdl_text_is((kdl_string){line.data, end}, dropped[i]))
      ++i;
    if (i == sizeof dropped / sizeof *dropped || end == line.length)
      break;
    line = kdl_text_from(line, end + 1);
  }
  fputs(" ", out);
  return line;
}

static void print_definition(const module *m, kdl_string line, FILE *out) {
  kdl_string name;
  size_t at = 0;
  next_name(line, &at, &name);
  const function *f = find_function(m, name);
  if (f->kernel || !needs_any(m, f)) {
    print(out, line);
    return;
  }
  line = print_linkage(line, out);
  at = 0;
  next_name(line, &at, &name);
  size_t end = closing(line, at);
  print(out, (kdl_string){line.data, end});
  print_needed(m, f, line.data[end - 1] == '(', out);
  print(out, kdl_text_from(line, end));
}

static void print_locals(const module *m, const function *f, FILE *out) {
  for (size_t v = 0; v < m->variable_count; ++v) {
    const variable *one = &m->variables[v];
    if (f->needs[v])
      fprintf(out, "  %%kdl.group.%zu = alloca %.*s, align %.*s\n", v, (int)one->type.length,
              one->type.data, (int)one->align.length, one->align.data);
  }
}

/* A line of a function: addresses of variables, and calls of functions that need some. */
static void print_body(const module *m, kdl_string line, FILE *out) {
  kdl_string name;
  size_t printed = 0;
  for (size_t at = 0; next_name(line, &at, &name);) {
    if (kdl_text_starts(name, address_of) && next_name(line, &at, &name)) {
      size_t number = find_variable(m, name);
      const char *equals = memmem(line.data, line.length, " = ", 3);
      if (number == m->variable_count || !equals)
        continue;
      print(out, (kdl_string){line.data, (size_t)(equals - line.data) + 3});
      fprintf(out, "getelementptr i8, ptr %%kdl.group.%zu, i64 0\n", number);
      return;
    }
    const function *used = find_function(m, name);
    if (!used || used->kernel || !needs_any(m, used) || is_label_address(line, name))
      continue;
    size_t end = closing(line, at);
    print(out, (kdl_string){line.data + printed, end - printed});
    print_needed(m, used, line.data[end - 1] == '(', out);
    printed = at = end;
  }
  print(out, kdl_text_from(line, printed));
  fputs("\n", out);
}

/* Functions that a source calls constant may ask which work-item runs, and so read memory now. */
static void print_attributes(kdl_string line, FILE *out) {
  static const char word[] = "memory(none) ";
  const char *found = memmem(line.data, line.length, word, sizeof word - 1);
  if (found) {
    size_t before = (size_t)(found - line.data);
    print(out, (kdl_string){line.data, before});
    line = kdl_text_from(line, before + sizeof word - 1);
  }
  print(out, line);
}

static bool is_label(kdl_string line) {
  size_t at = 0;
  if (line.length && line.data[0] == '"')
    at = skip_string(line, 0);
  while (at < line.length && is_name_character(line.data[at]))
    ++at;
  return at > 0 && at < line.length && line.data[at] == ':';
}

static void write_module(const module *m, kdl_string ir, FILE *out) {
  const function *begun = NULL; /* whose local variables are still to be written */
  bool is_inside = false;
  kdl_string line;
  for (kdl_string rest = ir; next_line(&rest, &line);) {
    if (kdl_text_starts(line, "@") && is_thread_local(line))
      continue;
    if (begun && !is_label(line)) {
      print_locals(m, begun, out);
      begun = NULL;
    }
    if (kdl_text_starts(line, "define ")) {
      kdl_string name;
      size_t at = 0;
      next_name(line, &at, &name);
      begun = find_function(m, name);
      begun = begun->kernel ? begun : NULL;
      is_inside = true;
      print_definition(m, line, out);
    } else if (is_inside && !kdl_text_is(line, "}")) {
      print_body(m, line, out);
      continue;
    } else {
      is_inside = false;
      if (kdl_text_starts(line, "attributes #"))
        print_attributes(line, out);
      else
        print(out, line);
    }
    fputs("\n", out);
  }
}

kdl_status cc_group_variables_write(kdl_arena *arena, kdl_string ir, const cc_kernels *kernels,
                                    FILE *out, kdl_string *out_cause) {
  module m = {.arena = arena, .kernels = kernels, .cause = out_cause};
  KDL_TRY(read_definitions(&m, ir));
  if (m.variable_count == 0) {
    print(out, ir);
    return KDL_OK;
  }
  KDL_TRY(read_uses(&m, ir));
  spread_needs(&m);
  KDL_TRY(check_functions(&m));
  write_module(&m, ir, out);
  return KDL_OK;
}
