/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The dump has one line per node, indented by two characters per level:
 *
 *     |-FunctionDecl 0x55e0 <line:7:1, line:12:1> line:8:19 saxpy 'void (float, uint32_t)'
 *     | |-ParmVarDecl 0x55d8 <col:25, col:31> col:31 used a 'float'
 *     | |-ParmVarDecl 0x55d9 <col:95, col:104> col:104 used n 'uint32_t':'unsigned int'
 *     | |-CompoundStmt 0x55e8 <col:181, line:12:1>
 *     | | `-DeclRefExpr 0x55e9 <col:3> 'void (void)' Function 0x5588 'bar' 'void (void)'
 *     | |-AnnotateAttr 0x55f0 <line:6:33, col:60> "kdl.block"
 *     | | |-ConstantExpr 0x55f2 <line:6:5> 'int'
 *     | | | |-value: Int 256
 *
 * In C++, each namespace or extern "C" around a function adds one level.
 */
#include "cc/ast/clang_ast.h"
#include "tools/common/lines.h"

enum { child_level = 1, value_level = 3 }; /* levels below a function's */
enum { max_scopes = 16 };

typedef struct {
  kdl_string name;
  size_t first_call; /* index in calls; they end at the next function's first */
} function;

typedef struct {
  kdl_arena *arena;
  cli_list functions;    /* function */
  cli_list calls;        /* kdl_string */
  cli_list kernels;      /* cc_kernel */
  cli_list owners;       /* size_t: the function of each kernel, by index */
  cli_list params;       /* cc_param: of the current function */
  cli_list microkernels; /* const char * */
  struct {
    kdl_string name; /* empty if it has none */
    bool is_c;
  } scopes[max_scopes]; /* C++: namespaces and extern "C" around it */
  unsigned depth;       /* how many of them */
  cc_location last;     /* the last one that the dump printed */
  cc_kernel current;    /* the current function */
  bool is_kernel, is_microkernel, has_body;
  kdl_string annotation; /* the current one; empty if none */
  unsigned value_count;
} reader;

/* ------------------------------------------------------------------------------------------ */
/* Lines                                                                                        */

/* The text between the quotes at `from`; *out_end is after the second quote. */
static bool read_quoted(kdl_string line, size_t from, char quote, kdl_string *out_text,
                        size_t *out_end) {
  const char set[] = {quote, '\0'};
  size_t begin = kdl_text_find(line, from, set);
  size_t end = begin < line.length ? kdl_text_find(line, begin + 1, set) : line.length;
  if (end >= line.length)
    return false;
  *out_text = (kdl_string){line.data + begin + 1, end - begin - 1};
  *out_end = end + 1;
  return true;
}

/* The word before the first type, which is a declaration's name; empty for a location such as
 * "col:31". */
static kdl_string parse_declaration_name(kdl_string line) {
  size_t end = 0;
  while (end + 1 < line.length && !(line.data[end] == ' ' && line.data[end + 1] == '\''))
    ++end;
  size_t begin = end;
  while (begin > 0 && line.data[begin - 1] != ' ')
    --begin;
  kdl_string name = {line.data + begin, end - begin};
  return kdl_text_find(name, 0, ":>") < name.length ? (kdl_string){"", 0} : name;
}

static const char *copy_text(reader *r, kdl_string text) {
  return xarena_string(r->arena, text.data, text.length).data;
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

/* OpenCL prints the address space of the parameter itself: '__private uint32_t', '__global float
 * *__private'. */
static const char *copy_type(reader *r, kdl_string text) {
  static const char word[] = "__private";
  char *copy = xarena_alloc(r->arena, text.length + 1);
  size_t used = 0;
  for (size_t at = 0; at < text.length;) {
    if (kdl_text_starts(kdl_text_substr(text, at), word))
      at += sizeof word - 1;
    else
      copy[used++] = text.data[at++];
  }
  while (used && copy[used - 1] == ' ')
    --used;
  copy[used] = '\0';
  return copy + strspn(copy, " ");
}

/* Whether a type is a pointer: its last word is '*', not counting qualifiers of the pointer
 * itself. */
static bool is_pointer(const char *type) {
  static const char *const qualifiers[] = {"const", "volatile", "__restrict", "restrict", " "};
  size_t length = strlen(type);
  for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers;) {
    size_t size = strlen(qualifiers[i]);
    if (length > size && memcmp(type + length - size, qualifiers[i], size) == 0) {
      length -= size;
      i = 0;
    } else {
      ++i;
    }
  }
  return length && type[length - 1] == '*';
}

static void add_param(reader *r, kdl_string line, cc_location location) {
  kdl_string type, is;
  size_t end;
  if (!read_quoted(line, 0, '\'', &type, &end))
    return;
  bool has_other =
      end < line.length && line.data[end] == ':' && read_quoted(line, end, '\'', &is, &end);
  cc_param *param = cli_list_add(r->arena, &r->params, sizeof *param);
  *param = (cc_param){.name = copy_text(r, parse_declaration_name(line)),
                      .type = copy_type(r, type),
                      .location = location};
  param->canonical_type = has_other ? copy_type(r, is) : param->type;
  param->is_pointer = is_pointer(param->canonical_type);
}

/* ------------------------------------------------------------------------------------------ */
/* Attributes                                                                                   */

static void parse_attribute_value(reader *r, kdl_string line) {
  static const struct {
    const char *name;
    cc_field field;
  } fields[] = {{"kdl.block", CC_BLOCK},
                {"kdl.tile", CC_TILE},
                {"kdl.subgroup", CC_SUBGROUP},
                {"kdl.shared", CC_SHARED},
                {"kdl.rev", CC_REV}};
  uint32_t number;
  size_t at = strlen("value: Int ");
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
    if (!kdl_text_is(r->annotation, fields[i].name) || !kdl_text_parse_number(line, &at, &number))
      continue;
    uint32_t *values = r->current.values[fields[i].field];
    if (r->value_count == 3) {
      r->current.excess_fields |= 1u << fields[i].field;
      return;
    }
    if (r->value_count == 0)
      values[1] = values[2] = 1;
    values[r->value_count++] = number;
    r->current.fields |= 1u << fields[i].field;
  }
}

/* An attribute of the current function. */
static void parse_attribute(reader *r, kdl_string line) {
  size_t end;
  if (kdl_text_starts(line, "DeviceKernelAttr") || kdl_text_starts(line, "CUDAGlobalAttr")) {
    r->is_kernel = true;
  } else if (kdl_text_starts(line, "VisibilityAttr")) {
    r->is_microkernel = kdl_text_contains(line, "Hidden");
  } else if (kdl_text_starts(line, "AnnotateAttr")) {
    if (!read_quoted(line, 0, '"', &r->annotation, &end))
      r->annotation = (kdl_string){"", 0};
    r->current.is_group_function |= kdl_text_is(r->annotation, "kdl.group");
    r->is_kernel |= r->current.is_group_function || kdl_text_is(r->annotation, "kdl.kernel");
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

/* KDL_KERNEL's function is named after the kernel, and its first parameter is the group. */
static void adapt_group_function(reader *r, cc_kernel *kernel) {
  static const char suffix[] = "_group";
  size_t length = strlen(kernel->function);
  if (!kernel->is_group_function || length < sizeof suffix || kernel->param_count == 0)
    return;
  kernel->name = copy_text(r, (kdl_string){kernel->function, length - (sizeof suffix - 1)});
  ++kernel->params;
  --kernel->param_count;
}

/* A function that is only declared is ignored. */
static void end_function(reader *r) {
  if (!r->has_body)
    return;
  if (r->is_kernel) {
    cc_kernel *kernel = cli_list_add(r->arena, &r->kernels, sizeof *kernel);
    size_t *owner = cli_list_add(r->arena, &r->owners, sizeof *owner);
    *owner = r->functions.count - 1;
    *kernel = r->current;
    kernel->params = r->params.items;
    kernel->param_count = r->params.count;
    adapt_group_function(r, kernel);
  } else if (r->is_microkernel) {
    *(const char **)cli_list_add(r->arena, &r->microkernels, sizeof(const char *)) =
        r->current.name;
  }
}

/* "a::b", without extern "C" scopes. */
static const char *namespace_of(reader *r, bool *out_has_c_name) {
  char text[512] = "";
  kdl_out out = {text, sizeof text, 0};
  for (unsigned i = 0; i < r->depth; ++i) {
    kdl_string name = r->scopes[i].name;
    *out_has_c_name |= r->scopes[i].is_c;
    if (name.length)
      kdl_out_format(&out, "%s%.*s", *text ? "::" : "", (int)name.length, name.data);
  }
  return copy_text(r, kdl_text_of(text));
}

/* 'void (float, uint32_t)' static inline: the return type, and the specifiers after the type. */
static void parse_function_type(reader *r, kdl_string line) {
  kdl_string type;
  size_t end;
  if (!read_quoted(line, 0, '\'', &type, &end))
    return;
  size_t parameters = kdl_text_find(type, 0, "(");
  if (parameters > 0 && parameters < type.length)
    r->current.returns = (kdl_string){type.data, parameters - 1};
  r->current.is_static = kdl_text_contains(kdl_text_substr(line, end), " static");
}

static void begin_function(reader *r, kdl_string line, cc_location location) {
  kdl_string name = parse_declaration_name(line);
  *(function *)cli_list_add(r->arena, &r->functions, sizeof(function)) =
      (function){name, r->calls.count};
  r->current = (cc_kernel){.name = copy_text(r, name), .function = NULL, .location = location};
  r->current.function = r->current.name;
  parse_function_type(r, line);
  r->current.namespace_name = namespace_of(r, &r->current.has_c_name);
  r->params = (cli_list){.items = NULL}; /* a kernel may own the previous ones */
  r->has_body = false;
}

static kdl_string last_word(kdl_string line) {
  size_t at = line.length;
  while (at > 0 && line.data[at - 1] != ' ')
    --at;
  return kdl_text_substr(line, at);
}

/* A namespace or extern "C" scope, whose declarations are one level deeper. */
static void enter_scope(reader *r, kdl_string line) {
  kdl_string word = last_word(line); /* "C", a name, or a location if it has no name */
  /* Clang 23 adds words like "external-linkage" and "hidden-visibility". */
  while (kdl_text_contains(word, "-") && line.length > word.length) {
    line.length -= word.length + 1;
    word = last_word(line);
  }
  bool is_named = kdl_text_find(word, 0, ":>") == word.length;
  bool is_space = kdl_text_starts(line, "NamespaceDecl ");
  if (r->depth == max_scopes)
    return;
  r->scopes[r->depth].name = is_space && is_named ? word : (kdl_string){"", 0};
  r->scopes[r->depth++].is_c = !is_space && kdl_text_is(word, "C");
}

/* Every function that is mentioned counts as called: any of them may reach a barrier. */
static void add_call(reader *r, kdl_string line) {
  kdl_string rest, name;
  size_t end;
  if (cli_text_after(line, " Function 0x", &rest) && read_quoted(rest, 0, '\'', &name, &end))
    *(kdl_string *)cli_list_add(r->arena, &r->calls, sizeof name) = name;
}

/* A node outside of functions. Leaves the scopes that end before its level. */
static void read_declaration(reader *r, unsigned level, kdl_string line, cc_location location) {
  end_function(r);
  r->is_kernel = r->is_microkernel = false;
  r->annotation = (kdl_string){"", 0};
  r->current = (cc_kernel){.name = NULL};
  r->depth = level ? level - 1 : 0;
  if (kdl_text_starts(line, "FunctionDecl "))
    begin_function(r, line, location);
  else if (kdl_text_starts(line, "NamespaceDecl ") || kdl_text_starts(line, "LinkageSpecDecl "))
    enter_scope(r, line);
}

static void read_kernel_node(reader *r, unsigned level, kdl_string line) {
  cc_location location = cc_dump_read_locations(line, &r->last).name;
  unsigned outer = r->depth + 1; /* the level of functions */
  if (level <= outer) {
    read_declaration(r, level, line, location);
  } else if (!r->current.name) {
    return;
  } else if (level == outer + child_level) {
    r->annotation = (kdl_string){"", 0};
    r->value_count = 0;
    r->has_body |= kdl_text_starts(line, "CompoundStmt ");
    if (kdl_text_starts(line, "ParmVarDecl "))
      add_param(r, line, location);
    else
      parse_attribute(r, line);
  } else if (level == outer + value_level && r->annotation.length &&
             kdl_text_starts(line, "value: Int ")) {
    parse_attribute_value(r, line);
  } else if (kdl_text_starts(line, "DeclRefExpr ")) {
    add_call(r, line);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Barriers                                                                                     */

static size_t calls_end(const reader *r, const function *f) {
  const function *last = (const function *)r->functions.items + r->functions.count - 1;
  return f < last ? f[1].first_call : r->calls.count;
}

static const function *find_called_function(const reader *r, kdl_string name) {
  const function *functions = r->functions.items;
  const function *found = NULL; /* the last one: a definition follows its declarations */
  for (size_t i = 0; i < r->functions.count; ++i) {
    if (kdl_text_equal(functions[i].name, name))
      found = &functions[i];
  }
  return found;
}

/* `seen` has a byte for each function. */
static bool calls_barrier(const reader *r, const function *f, char *seen) {
  const kdl_string *calls = r->calls.items;
  size_t index = (size_t)(f - (const function *)r->functions.items);
  if (seen[index])
    return false;
  seen[index] = 1;
  for (size_t i = f->first_call; i < calls_end(r, f); ++i) {
    const function *called = find_called_function(r, calls[i]);
    if (kdl_text_is(calls[i], "__gpu_sync_threads") || (called && calls_barrier(r, called, seen)))
      return true;
  }
  return false;
}

static bool uses_dynamic_local(const reader *r, const function *f) {
  const kdl_string *calls = r->calls.items;
  for (size_t i = f->first_call; i < calls_end(r, f); ++i) {
    if (kdl_text_is(calls[i], "kdl_local_dynamic"))
      return true;
  }
  return false;
}

static void find_barriers(reader *r) {
  const function *functions = r->functions.items;
  const size_t *owners = r->owners.items;
  cc_kernel *kernels = r->kernels.items;
  char *seen = xarena_alloc(r->arena, r->functions.count + 1);
  for (size_t i = 0; i < r->kernels.count; ++i) {
    memset(seen, 0, r->functions.count + 1);
    kernels[i].has_barrier = calls_barrier(r, &functions[owners[i]], seen);
    kernels[i].has_dynamic_local = uses_dynamic_local(r, &functions[owners[i]]);
  }
}

cc_kernels cc_ast_kernels(kdl_arena *arena, kdl_string dump) {
  reader r = {.arena = arena};
  kdl_string line;
  while (cli_next_line(&dump, &line)) {
    unsigned level = cc_dump_level(&line);
    read_kernel_node(&r, level, line);
  }
  read_kernel_node(&r, 0, (kdl_string){"", 0});
  find_barriers(&r);
  return (cc_kernels){.items = r.kernels.items,
                      .count = r.kernels.count,
                      .microkernels = r.microkernels.items,
                      .microkernel_count = r.microkernels.count};
}
