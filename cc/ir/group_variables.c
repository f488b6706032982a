/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads IR line by line, as LLVM prints it: a global variable is a line that begins with '@', a
 * function extends from a line that begins with "define" to a line "}", and a call is one line. The
 * first pass finds which functions need which variables, the second writes.
 */
#include "cc/ir/ir_text.h"
#include "support/base/error.h"
#include "tools/common/lines.h"

static const char group_section[] = ", section \"kdl.group\"";
static const char thread_local_address[] = "llvm.threadlocal.address.";

typedef struct {
  kdl_string name;
  kdl_string type;
  kdl_string align;
} variable;

typedef struct {
  kdl_string name;
  const cc_kernel *kernel; /* the kernel that it runs a group of; NULL for other functions */
  bool *needs;             /* by variable */
  bool is_addressed;       /* used other than by a call */
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
  function *functions; /* sorted by name, once all are known */
  size_t function_count;
  cli_list calls;    /* call */
  kdl_string *cause; /* the name that an error is about */
} module;

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

/* The end of the string that begins at `at`, with its quotes; \22 is LLVM's escaped quote. */
static size_t skip_string(kdl_string line, size_t at) {
  size_t end = kdl_text_find(line, at + 1, "\"");
  return end < line.length ? end + 1 : end;
}

/* The parenthesis that closes the one at `at`; the line's length if none does. */
static size_t closing_parenthesis(kdl_string line, size_t at) {
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
/* Reading                                                                                      */

static int compare_functions(const void *a, const void *b) {
  kdl_string left = ((const function *)a)->name, right = ((const function *)b)->name;
  size_t shorter = left.length < right.length ? left.length : right.length;
  int order = memcmp(left.data, right.data, shorter);
  return order ? order : (left.length > right.length) - (left.length < right.length);
}

static function *module_find_function(const module *m, kdl_string name) {
  function key = {.name = name};
  return m->function_count
             ? bsearch(&key, m->functions, m->function_count, sizeof key, compare_functions)
             : NULL;
}

static size_t module_find_variable(const module *m, kdl_string name) {
  size_t i = 0;
  while (i < m->variable_count && !kdl_text_equal(m->variables[i].name, name))
    ++i;
  return i;
}

static bool is_thread_local(kdl_string line) {
  size_t equals = kdl_text_find(line, 0, "=");
  size_t global = equals;
  /* Only up to the kind and the type, so that strings of the initialiser are not searched. */
  for (; global < line.length; ++global) {
    kdl_string rest = kdl_text_substr(line, global);
    if (kdl_text_starts(rest, " global ") || kdl_text_starts(rest, " constant ") ||
        kdl_text_starts(rest, " alias ") || kdl_text_starts(rest, " ifunc "))
      break;
  }
  return kdl_text_contains((kdl_string){line.data + equals, global - equals}, " thread_local");
}

/* The name in the source: see wrapper.h. */
static kdl_string source_name(kdl_string name) {
  static const char prefix[] = "kdl_cc_item_";
  return kdl_text_starts(name, prefix) ? kdl_text_substr(name, sizeof prefix - 1) : name;
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
  cc_ir_next_name(line, &at, &out->name);
  const char *section = memmem(line.data, line.length, group_section, sizeof group_section - 1);
  if (!section)
    return kdl_fail(KDL_BAD_FILE,
                    "the variable %.*s is _Thread_local, which an image for the CPU cannot have: "
                    "work-items run in any thread; KDL_LOCAL declares memory of the group",
                    CLI_STRING_ARGS(source_name(out->name)));
  const char *type = memmem(line.data, line.length, kind, sizeof kind - 1);
  const char *value = section;
  while (type && value > type && value[-1] != ' ')
    --value;
  if (!type || value <= type + sizeof kind ||
      !is_zero((kdl_string){value, (size_t)(section - value)}))
    return kdl_fail(KDL_BAD_FILE,
                    "the variable %.*s of the group has a value from the start, which memory of a "
                    "group cannot have",
                    CLI_STRING_ARGS(source_name(out->name)));
  kdl_string rest = kdl_text_substr(line, (size_t)(section - line.data) + sizeof group_section - 1);
  if (kdl_text_starts(rest, comdat)) /* for an inline function of C++ */
    rest = kdl_text_substr(rest, kdl_text_find(rest, sizeof comdat - 1, ","));
  if (!kdl_text_starts(rest, align))
    return kdl_fail(KDL_BAD_FILE, "the variable %.*s of the group has no alignment",
                    CLI_STRING_ARGS(source_name(out->name)));
  rest = kdl_text_substr(rest, sizeof align - 1);
  type += sizeof kind - 1;
  out->type = (kdl_string){type, (size_t)(value - 1 - type)};
  out->align = (kdl_string){rest.data, kdl_text_find(rest, 0, ",")};
  return KDL_OK;
}

static int hex_digit(char c) {
  return kdl_is_digit(c) ? c - '0' : c - 'A' + 10;
}

/* "\C3\A9" is LLVM's name for a function that C names by that letter. */
static bool has_name(kdl_string name, const char *plain) {
  if (name.length == 0 || name.data[0] != '"')
    return kdl_text_is(name, plain);
  for (size_t i = 1; i + 1 < name.length; ++plain) {
    bool is_escaped = name.data[i] == '\\' && i + 3 < name.length;
    int c = is_escaped ? hex_digit(name.data[i + 1]) << 4 | hex_digit(name.data[i + 2])
                       : (unsigned char)name.data[i];
    if (c != (unsigned char)*plain)
      return false;
    i += is_escaped ? 3 : 1;
  }
  return *plain == '\0';
}

static function read_function(const module *m, kdl_string line) {
  function read = {.kernel = NULL};
  size_t at = 0;
  cc_ir_next_name(line, &at, &read.name);
  size_t end = closing_parenthesis(line, at);
  read.is_variadic = end >= 3 && memcmp(line.data + end - 3, "...", 3) == 0;
  for (size_t i = 0; i < m->kernels->count && !read.kernel; ++i) {
    if (has_name(read.name, m->kernels->items[i].name))
      read.kernel = &m->kernels->items[i];
  }
  return read;
}

static kdl_status read_definitions(module *m, kdl_string ir) {
  cli_list functions = {.count = 0}, variables = {.count = 0};
  kdl_string line;
  while (cli_next_line(&ir, &line)) {
    if (kdl_text_starts(line, "define ")) {
      *(function *)cli_list_add(m->arena, &functions, sizeof(function)) = read_function(m, line);
    } else if (kdl_text_starts(line, "@") && is_thread_local(line)) {
      variable *read = cli_list_add(m->arena, &variables, sizeof *read);
      kdl_status status = read_variable(line, read);
      *m->cause = read->name;
      KDL_TRY(status);
    }
  }
  m->variables = variables.items;
  m->variable_count = variables.count;
  m->functions = functions.items;
  m->function_count = functions.count;
  size_t size = functions.count * variables.count + 1;
  bool *needs = memset(xarena_alloc(m->arena, size), 0, size);
  if (functions.count)
    qsort(m->functions, m->function_count, sizeof *m->functions, compare_functions);
  for (size_t i = 0; i < m->function_count; ++i)
    m->functions[i].needs = needs + i * variables.count;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Uses                                                                                         */

/* Whether the name that ends at `end` is called, with its own type: a call that does not know the
 * parameters has its type in parentheses. */
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

static void read_body_line(module *m, kdl_string line, function *in) {
  kdl_string name;
  for (size_t at = 0; cc_ir_next_name(line, &at, &name);) {
    if (kdl_text_starts(name, thread_local_address))
      continue; /* the variable's name follows */
    size_t number = module_find_variable(m, name);
    if (number < m->variable_count && in) {
      in->needs[number] = true;
      continue;
    }
    function *used = module_find_function(m, name);
    if (!used || is_label_address(line, name))
      continue;
    if (!in || !is_plain_call(line, name, at)) {
      used->is_addressed = true;
      continue;
    }
    *(call *)cli_list_add(m->arena, &m->calls, sizeof(call)) =
        (call){(size_t)(in - m->functions), (size_t)(used - m->functions)};
  }
}

/* Lists that keep functions from being removed are not uses. */
static bool is_used_list(kdl_string line) {
  return kdl_text_starts(line, "@llvm.used") || kdl_text_starts(line, "@llvm.compiler.used");
}

static void read_module_uses(module *m, kdl_string ir) {
  function *in = NULL;
  kdl_string line;
  for (kdl_string rest = ir; cli_next_line(&rest, &line);) {
    if (kdl_text_starts(line, "define ")) {
      kdl_string name;
      size_t at = 0;
      cc_ir_next_name(line, &at, &name);
      in = module_find_function(m, name);
    } else if (kdl_text_is(line, "}")) {
      in = NULL;
    } else if (in ||
               (kdl_text_starts(line, "@") && !is_thread_local(line) && !is_used_list(line))) {
      read_body_line(m, line, in);
    }
  }
}

static void propagate_needs(module *m) {
  const call *calls = m->calls.items;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < m->calls.count; ++i) {
      function *caller = &m->functions[calls[i].caller];
      const function *callee = &m->functions[calls[i].callee];
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
    size_t item = module_find_variable(m, KDL_TEXT("kdl_item"));
    if (f->kernel && f->kernel->is_group_function && item < m->variable_count && f->needs[item])
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
                      CLI_STRING_ARGS(source_name(f->name)),
                      f->is_variadic ? "takes a variable number of arguments"
                                     : "is used through a pointer");
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static void print_text(FILE *out, kdl_string text) {
  fwrite(text.data, 1, text.length, out);
}

/* The parameters or arguments that are added at the end. */
static void print_group_arguments(const module *m, const function *f, bool is_first, FILE *out) {
  for (size_t v = 0; v < m->variable_count; ++v) {
    if (!f->needs[v])
      continue;
    fprintf(out, "%sptr %%kdl.group.%zu", is_first ? "" : ", ", v);
    is_first = false;
  }
}

/* The function becomes internal: it has more parameters than another module could know about. */
static kdl_string print_linkage(kdl_string line, FILE *out) {
  static const char *const dropped[] = {"define",   "private",  "internal",  "available_externally",
                                        "linkonce", "weak",     "common",    "linkonce_odr",
                                        "weak_odr", "external", "dso_local", "dso_preemptable",
                                        "default",  "hidden",   "protected"};
  fputs("define internal", out);
  for (;;) {
    size_t end = kdl_text_find(line, 0, " ");
    if (end == line.length || !KDL_TEXT_AMONG(((kdl_string){line.data, end}), dropped))
      break;
    line = kdl_text_substr(line, end + 1);
  }
  fputs(" ", out);
  return line;
}

static void print_definition(const module *m, kdl_string line, FILE *out) {
  kdl_string name;
  size_t at = 0;
  cc_ir_next_name(line, &at, &name);
  const function *f = module_find_function(m, name);
  if (f->kernel || !needs_any(m, f)) {
    print_text(out, line);
    return;
  }
  line = print_linkage(line, out);
  at = 0;
  cc_ir_next_name(line, &at, &name);
  size_t end = closing_parenthesis(line, at);
  print_text(out, (kdl_string){line.data, end});
  print_group_arguments(m, f, line.data[end - 1] == '(', out);
  print_text(out, kdl_text_substr(line, end));
}

static void print_locals(const module *m, const function *f, FILE *out) {
  for (size_t v = 0; v < m->variable_count; ++v) {
    const variable *one = &m->variables[v];
    if (f->needs[v])
      fprintf(out, "  %%kdl.group.%zu = alloca %.*s, align %.*s\n", v, CLI_STRING_ARGS(one->type),
              CLI_STRING_ARGS(one->align));
  }
}

/* A line of a function: replaces addresses of variables, extends calls of functions that need
 * some. */
static void print_body_line(const module *m, kdl_string line, FILE *out) {
  kdl_string name;
  size_t printed = 0;
  for (size_t at = 0; cc_ir_next_name(line, &at, &name);) {
    if (kdl_text_starts(name, thread_local_address) && cc_ir_next_name(line, &at, &name)) {
      size_t number = module_find_variable(m, name);
      const char *equals = memmem(line.data, line.length, " = ", 3);
      if (number == m->variable_count || !equals)
        continue;
      print_text(out, (kdl_string){line.data, (size_t)(equals - line.data) + 3});
      fprintf(out, "getelementptr i8, ptr %%kdl.group.%zu, i64 0\n", number);
      return;
    }
    const function *used = module_find_function(m, name);
    if (!used || used->kernel || !needs_any(m, used) || is_label_address(line, name))
      continue;
    size_t end = closing_parenthesis(line, at);
    print_text(out, (kdl_string){line.data + printed, end - printed});
    print_group_arguments(m, used, line.data[end - 1] == '(', out);
    printed = at = end;
  }
  print_text(out, kdl_text_substr(line, printed));
  fputs("\n", out);
}

/* Functions that the source declares const may query the work-item, and so read memory now. */
static void print_attributes(kdl_string line, FILE *out) {
  static const char word[] = "memory(none) ";
  kdl_string rest;
  if (cli_text_after(line, word, &rest)) {
    print_text(out, (kdl_string){line.data, (size_t)(rest.data - line.data) - (sizeof word - 1)});
    line = rest;
  }
  print_text(out, line);
}

static bool is_label(kdl_string line) {
  size_t at = 0;
  if (line.length && line.data[0] == '"')
    at = skip_string(line, 0);
  while (at < line.length && (cli_is_word(line.data[at]) || kdl_is_one_of(line.data[at], "-$.")))
    ++at;
  return at > 0 && at < line.length && line.data[at] == ':';
}

static void write_module(const module *m, kdl_string ir, FILE *out) {
  const function *begun = NULL; /* its local variables are still to be written */
  bool is_body = false;
  kdl_string line;
  for (kdl_string rest = ir; cli_next_line(&rest, &line);) {
    if (kdl_text_starts(line, "@") && is_thread_local(line))
      continue;
    if (begun && !is_label(line)) {
      print_locals(m, begun, out);
      begun = NULL;
    }
    if (kdl_text_starts(line, "define ")) {
      kdl_string name;
      size_t at = 0;
      cc_ir_next_name(line, &at, &name);
      begun = module_find_function(m, name);
      begun = begun->kernel ? begun : NULL;
      is_body = true;
      print_definition(m, line, out);
    } else if (is_body && !kdl_text_is(line, "}")) {
      print_body_line(m, line, out);
      continue;
    } else {
      is_body = false;
      if (kdl_text_starts(line, "attributes #"))
        print_attributes(line, out);
      else
        print_text(out, line);
    }
    fputs("\n", out);
  }
}

kdl_status cc_ir_write_group_variables(kdl_arena *arena, kdl_string ir, const cc_kernels *kernels,
                                       FILE *out, kdl_string *out_cause) {
  module m = {.arena = arena, .kernels = kernels, .cause = out_cause};
  KDL_TRY(read_definitions(&m, ir));
  if (m.variable_count == 0) {
    print_text(out, ir);
    return KDL_OK;
  }
  read_module_uses(&m, ir);
  propagate_needs(&m);
  KDL_TRY(check_functions(&m));
  write_module(&m, ir, out);
  return KDL_OK;
}
