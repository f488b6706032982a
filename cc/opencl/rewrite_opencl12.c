/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Works in two passes. The first goes over the nodes of the syntax tree and collects edits: at an
 * offset of the text, bytes to remove and text to insert. The second copies the text and applies
 * the edits in the order of their offsets. With a and b of type __bf16:
 *
 *     float f = a;        float f = kdl_bf16_f(a);                             widen
 *     a = 2.0f;           a = kdl_bf16_n(2.0f);                                narrow
 *     a = a + b;          a = kdl_bf16_n(kdl_bf16_f(a) + kdl_bf16_f(b));       both
 *     a += f;             kdl_bf16_to(&(a),+, f);                              assign
 *     p[i++] += f;        kdl_bf16_add_global(&(p[i++]), f);                   assign by a function
 *     a++;                kdl_bf16_step_private(&(a),1.0f);                    step
 *
 * Last, every word "__bf16" becomes "ushort".
 */
#include "cc/opencl/opencl_c.h"
#include "tools/common/lines.h"

#include <kdl/kernel/narrow.h>

static const char bf16_name[] = "__bf16";

/* kdl_bf16_f: widens to float. kdl_bf16_n: rounds a float to nearest, ties to even; a NaN stays a
 * NaN. */
static const char bf16_functions[] =
    "static inline float kdl_bf16_f(ushort x) { return as_float((uint)x << 16); }\n"
    "static inline ushort kdl_bf16_n(float x) {\n"
    "  uint bits = as_uint(x), high = bits >> 16;\n"
    "  return (ushort)(x != x ? high | 64 : (bits + 0x7fff + (high & 1)) >> 16);\n"
    "}\n";

/* From a double: an odd last bit of the float marks an inexact value, so that rounding twice is as
 * good as once. */
static const char bf16_functions_of_double[] =
    "static inline ushort kdl_bf16_nd(double x) {\n"
    "  float near = (float)x;\n"
    "  double back = (double)near;\n"
    "  uint bits = as_uint(near) - (fabs(back) > fabs(x) ? 1u : 0u);\n"
    "  return kdl_bf16_n(as_float(bits | (back != x && x == x ? 1u : 0u)));\n"
    "}\n";

/* Address spaces; the part after the first '_' ends the names of functions. */
static const char *const spaces[] = {"__private", "__global", "__local"};
static const char operators[] = "+-*/";
static const char *const operator_names[] = {"add", "sub", "mul", "div"};
enum { space_count = 3, operator_count = 4 };

typedef struct {
  size_t at;      /* offset in the text */
  size_t removed; /* bytes of the text to remove */
  const char *added;
  size_t depth; /* larger for what is nested deeper */
  bool closes;  /* it ends what an earlier edit began */
} edit;

typedef struct {
  kdl_arena *arena;
  kdl_string text;
  const cc_nodes *nodes;
  cli_list edits; /* edit */
  cc_rewrite_error error;
  size_t constant_end; /* of the current file-scope variable */
  /* Which functions the text calls: */
  bool needs_double;
  bool assigns[space_count][operator_count][2]; /* x op= y, of a float and of a double */
  bool steps[space_count];                      /* x++ and x-- */
} rewriter;

/* ------------------------------------------------------------------------------------------ */
/* Types                                                                                        */

static kdl_string without_qualifiers(kdl_string type) {
  static const char *const words[] = {"const ",   "volatile ",   "__private ", "__global ",
                                      "__local ", "__constant ", "__generic "};
  for (size_t i = 0; i < sizeof words / sizeof *words;) {
    if (kdl_text_starts(type, words[i])) {
      type = kdl_text_substr(type, strlen(words[i]));
      i = 0;
    } else {
      ++i;
    }
  }
  return type;
}

static bool is_bf16(kdl_string type) {
  return kdl_text_is(without_qualifiers(type), bf16_name);
}

/* The address space of an object of the type, as an index; private for a plain type. */
static size_t space_of_type(kdl_string type) {
  for (size_t i = 1; i < space_count; ++i) {
    if (kdl_text_contains(type, spaces[i]))
      return i;
  }
  return 0;
}

/* The offset of a word from `at` on, outside of strings; the text's length if there is none. */
static size_t find_word_in_code(kdl_string text, size_t at, const char *word) {
  for (; at < text.length; ++at) {
    if (text.data[at] == '"')
      at = kdl_text_find(text, at + 1, "\"\n");
    else if (cli_word_is_at(text, at, word))
      return at;
  }
  return text.length;
}

/* Whether a variable of the type is const: for a pointer, the pointer itself. */
static bool is_const_type(kdl_string type) {
  size_t star = type.length;
  while (star > 0 && type.data[star - 1] != '*')
    --star;
  return find_word_in_code(type, star, "const") < type.length;
}

/* ------------------------------------------------------------------------------------------ */
/* Edits                                                                                        */

static void add_edit(rewriter *r, edit made) {
  *(edit *)cli_list_add(r->arena, &r->edits, sizeof made) = made;
}

static void set_rewrite_error(rewriter *r, size_t at, const char *why) {
  if (!r->error.why)
    r->error = (cc_rewrite_error){why, at};
}

/* Children follow their parents in the list of nodes, so that a node's index is its depth: 2 * node
 * for the edits that its parent makes around it, and one more for its own, which are nested in
 * those. */
static size_t own_depth(size_t node) {
  return 2 * node + 1;
}

static const cc_node *node_at(const rewriter *r, size_t node) {
  return &r->nodes->items[node];
}

/* What comes from a macro of Clang's own headers has no offset in the text. */
static bool has_offsets(rewriter *r, size_t operand, size_t within) {
  if (operand < r->nodes->count && node_at(r, operand)->end > node_at(r, operand)->begin)
    return true;
  set_rewrite_error(
      r, node_at(r, within)->begin,
      "a macro of OpenCL's own is computed with as __bf16; expected a variable that has its value");
  return false;
}

/* Puts a call of `function` around an operand of the node `within`, or around that node itself. */
static void wrap_operand(rewriter *r, size_t operand, size_t within, const char *function) {
  if (!has_offsets(r, operand, within))
    return;
  const cc_node *n = node_at(r, operand);
  const char *opening = xarena_format(r->arena, "%s(", function);
  size_t depth = operand == within ? own_depth(operand) : 2 * operand;
  add_edit(r, (edit){.at = n->begin, .added = opening, .depth = depth});
  add_edit(r, (edit){.at = n->end, .added = ")", .depth = depth, .closes = true});
}

static void widen_operand(rewriter *r, size_t operand, size_t within) {
  if (operand < r->nodes->count && is_bf16(node_at(r, operand)->type))
    wrap_operand(r, operand, within, "kdl_bf16_f");
}

/* At one offset: closing edits first, innermost first; then opening ones, outermost first. */
static int compare_edits(const void *left, const void *right) {
  const edit *a = left, *b = right;
  if (a->at != b->at)
    return a->at < b->at ? -1 : 1;
  if (a->closes != b->closes)
    return a->closes ? -1 : 1;
  if (a->depth == b->depth)
    return 0;
  return (a->depth < b->depth) == a->closes ? 1 : -1;
}

static void write_edited(const rewriter *r, FILE *out) {
  const edit *edits = r->edits.items;
  size_t done = 0;
  if (r->edits.count)
    qsort(r->edits.items, r->edits.count, sizeof *edits, compare_edits);
  for (size_t i = 0; i < r->edits.count; ++i) {
    const edit *e = &edits[i];
    if (e->at > done) {
      fwrite(r->text.data + done, 1, e->at - done, out);
      done = e->at;
    }
    fputs(e->added, out);
    if (e->at + e->removed > done)
      done = e->at + e->removed;
  }
  fwrite(r->text.data + done, 1, r->text.length - done, out);
}

/* ------------------------------------------------------------------------------------------ */
/* Constants                                                                                    */

/* A number with signs and parentheses around it. */
static bool parse_constant(kdl_string text, double *out_value) {
  char digits[64], *rest;
  size_t at = 0, end = text.length;
  bool is_negative = false;
  while (at < end && strchr("+-( \t\n", text.data[at]))
    is_negative ^= text.data[at++] == '-';
  while (end > at && strchr(") \t\n", text.data[end - 1]))
    --end;
  if (end == at || end - at >= sizeof digits)
    return false;
  memcpy(digits, text.data + at, end - at);
  digits[end - at] = '\0';
  double value = strtod(digits, &rest);
  *out_value = is_negative ? -value : value;
  return rest != digits && strspn(rest, "fFhHuUlL") == strlen(rest);
}

/* A file-scope initialiser cannot call a function: its bits are computed here. */
static void fold_constant(rewriter *r, size_t operand, size_t within) {
  if (!has_offsets(r, operand, within))
    return;
  const cc_node *n = node_at(r, operand);
  size_t length = n->end - n->begin;
  double value;
  if (!parse_constant((kdl_string){r->text.data + n->begin, length}, &value)) {
    set_rewrite_error(r, n->begin,
                      "a __bf16 outside of functions is initialised by an expression; expected a "
                      "number, in OpenCL C");
    return;
  }
  const char *bits =
      xarena_format(r->arena, "0x%04x", kdl_narrow_from_double(KDL_NARROW_BF16, value));
  add_edit(r, (edit){n->begin, length, bits, own_depth(operand), false});
}

/* ------------------------------------------------------------------------------------------ */
/* Expressions                                                                                  */

static void rewrite_cast(rewriter *r, size_t node) {
  const cc_node *n = node_at(r, node);
  size_t child = cc_ast_child(r->nodes, node, 0);
  if (child == r->nodes->count)
    return;
  bool to_floating = kdl_text_contains(n->details, "<FloatingCast>") ||
                     kdl_text_contains(n->details, "<IntegralToFloating>");
  if (to_floating && is_bf16(n->type)) {
    bool is_double = kdl_text_is(without_qualifiers(node_at(r, child)->type), "double");
    if (n->begin < r->constant_end) {
      fold_constant(r, child, node);
      return;
    }
    r->needs_double |= is_double;
    wrap_operand(r, child, node, is_double ? "kdl_bf16_nd" : "kdl_bf16_n");
  } else if (to_floating || kdl_text_contains(n->details, "<FloatingToIntegral>") ||
             kdl_text_contains(n->details, "<FloatingToBoolean>")) {
    widen_operand(r, child, node);
  }
}

/* "+" of " '+' ComputeLHSTy='float'". */
static kdl_string operator_of(const cc_node *n) {
  kdl_string rest;
  return cli_text_after(n->details, "'", &rest) ? cli_text_until(rest, "'") : rest;
}

static void rewrite_binary(rewriter *r, size_t node) {
  static const char *const arithmetic[] = {"+", "-", "*", "/"};
  static const char *const tests[] = {"<", ">", "<=", ">=", "==", "!=", "&&", "||"};
  kdl_string symbol = operator_of(node_at(r, node));
  bool computes = KDL_TEXT_AMONG(symbol, arithmetic) && is_bf16(node_at(r, node)->type);
  if (!computes && !KDL_TEXT_AMONG(symbol, tests))
    return;
  if (computes)
    wrap_operand(r, node, node, "kdl_bf16_n");
  widen_operand(r, cc_ast_child(r->nodes, node, 0), node);
  widen_operand(r, cc_ast_child(r->nodes, node, 1), node);
}

/* Whether an expression can be evaluated twice: it has no side effect. */
static bool has_no_effect(const cc_nodes *nodes, size_t node) {
  unsigned level = nodes->items[node].level;
  for (size_t i = node; i < nodes->count && (i == node || nodes->items[i].level > level); ++i) {
    const cc_node *n = &nodes->items[i];
    kdl_string symbol = operator_of(n);
    if (kdl_text_is(n->kind, "CallExpr") || kdl_text_is(n->kind, "CompoundAssignOperator") ||
        (kdl_text_is(n->kind, "BinaryOperator") && kdl_text_is(symbol, "=")) ||
        (kdl_text_is(n->kind, "UnaryOperator") &&
         (kdl_text_is(symbol, "++") || kdl_text_is(symbol, "--"))))
      return false;
  }
  return true;
}

/* x op= y, ++x and x++: replaces two tokens, the one before x and the one after it. */
typedef struct {
  size_t node, place;           /* the operator and x */
  size_t before, before_length; /* the token before x */
  size_t behind, behind_length; /* the token after x */
  size_t operator_index;        /* in `operators` */
  bool is_double;               /* the operation is in double */
  bool is_postfix;              /* its value is the old value of x */
  const char *by;               /* "1.0f)", or NULL if y follows in the source */
} assignment;

/* Calls a macro, which keeps the source's line for messages: "kdl_bf16_to(&(" x "),+," y. If x
 * cannot be evaluated twice, calls a function: "kdl_bf16_add_global(&(" x ")," y. */
static void write_assignment(rewriter *r, const assignment *a) {
  size_t space = space_of_type(node_at(r, a->place)->type);
  bool is_macro = !a->is_postfix && has_no_effect(r->nodes, a->place);
  const char *d = a->is_double ? "d" : "", *by = a->by ? a->by : "";
  r->needs_double |= a->is_double;
  r->steps[space] |= a->is_postfix;
  r->assigns[space][a->operator_index][a->is_double] |= !is_macro && !a->is_postfix;
  const char *before, *behind;
  if (is_macro) {
    before = xarena_format(r->arena, "kdl_bf16_to%s(&(", d);
    behind = xarena_format(r->arena, "),%c,%s", operators[a->operator_index], by);
  } else {
    before = xarena_format(r->arena, "kdl_bf16_%s%s%s(&(",
                           a->is_postfix ? "step" : operator_names[a->operator_index], d,
                           spaces[space] + 1);
    behind = xarena_format(r->arena, "),%s", by);
  }
  size_t depth = own_depth(a->node);
  add_edit(r, (edit){a->before, a->before_length, before, depth, false});
  add_edit(r, (edit){a->behind, a->behind_length, behind, depth, true});
}

static void rewrite_assignment(rewriter *r, size_t node) {
  const cc_node *n = node_at(r, node);
  size_t left = cc_ast_child(r->nodes, node, 0), right = cc_ast_child(r->nodes, node, 1);
  kdl_string symbol = operator_of(n);
  bool to_bf16 = left < r->nodes->count && is_bf16(node_at(r, left)->type);
  if (!to_bf16 && kdl_text_contains(n->details, "ComputeLHSTy='__bf16'"))
    set_rewrite_error(r, n->begin,
                      "a number of another type is changed by a __bf16; expected x = x + y and the "
                      "like, in OpenCL C");
  if (!to_bf16 || !has_offsets(r, left, node) || !has_offsets(r, right, node))
    return;
  const cc_node *to = node_at(r, left), *by = node_at(r, right);
  const char *which = symbol.length == 2 ? strchr(operators, symbol.data[0]) : NULL;
  const char *found = by->begin > to->end ? memmem(r->text.data + to->end, by->begin - to->end,
                                                   symbol.data, symbol.length)
                                          : NULL;
  if (!which || !found) {
    set_rewrite_error(r, n->begin, "found an assignment to a __bf16 that OpenCL C cannot have");
    return;
  }
  write_assignment(
      r, &(assignment){.node = node,
                       .place = left,
                       .before = to->begin,
                       .behind = (size_t)(found - r->text.data),
                       .behind_length = symbol.length,
                       .operator_index = (size_t)(which - operators),
                       .is_double = kdl_text_contains(n->details, "ComputeLHSTy='double'")});
  add_edit(r, (edit){by->end, 0, ")", own_depth(node), true});
  widen_operand(r, right, node);
}

/* ++ and --. */
static void rewrite_step(rewriter *r, size_t node, bool is_up, bool is_postfix) {
  enum { token = 2 };
  const cc_node *n = node_at(r, node);
  size_t child = cc_ast_child(r->nodes, node, 0);
  if (!has_offsets(r, child, node) || !has_offsets(r, node, node))
    return;
  write_assignment(r, &(assignment){.node = node,
                                    .place = child,
                                    .before = n->begin,
                                    .before_length = is_postfix ? 0 : token,
                                    .behind = is_postfix ? n->end - token : node_at(r, child)->end,
                                    .behind_length = is_postfix ? token : 0,
                                    .is_postfix = is_postfix,
                                    .by = is_up ? "1.0f)" : "-1.0f)"});
}

static void rewrite_unary(rewriter *r, size_t node) {
  const cc_node *n = node_at(r, node);
  kdl_string symbol = operator_of(n);
  bool negates = is_bf16(n->type) && kdl_text_is(symbol, "-");
  if (negates)
    wrap_operand(r, node, node, "kdl_bf16_n");
  if (negates || kdl_text_is(symbol, "!"))
    widen_operand(r, cc_ast_child(r->nodes, node, 0), node);
  else if (is_bf16(n->type) && (kdl_text_is(symbol, "++") || kdl_text_is(symbol, "--")))
    rewrite_step(r, node, symbol.data[0] == '+', kdl_text_contains(n->details, "postfix"));
}

/* The conditions of if, while, do and for. Their other children are statements without a used
 * value. */
static void rewrite_conditions(rewriter *r, size_t node) {
  enum { most = 5 }; /* children of a for statement */
  for (size_t i = 0, child; i < most && (child = cc_ast_child(r->nodes, node, i)) < r->nodes->count;
       ++i)
    widen_operand(r, child, node);
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

static void rewrite_global(rewriter *r, const cc_node *n, size_t node) {
  if (kdl_text_contains(n->type, "__constant"))
    return;
  if (!is_const_type(n->type)) {
    set_rewrite_error(r, n->begin,
                      "a variable outside of functions is not const: OpenCL C has constants there "
                      "alone; expected memory that the launch gives, or KDL_LOCAL");
    return;
  }
  const edit *edits = r->edits.items;
  for (size_t i = 0; i < r->edits.count; ++i) { /* several variables of one declaration begin at
                                                 * the same offset */
    if (edits[i].at == n->begin)
      return;
  }
  add_edit(r, (edit){.at = n->begin, .added = "__constant ", .depth = own_depth(node)});
}

static void rewrite_static(rewriter *r, const cc_node *n, size_t node) {
  static const char word[] = "static";
  if (!kdl_text_contains(n->details, " static") || kdl_text_contains(n->type, "__local") ||
      kdl_text_contains(n->type, "__constant"))
    return;
  if (!is_const_type(n->type)) {
    set_rewrite_error(r, n->begin,
                      "a static variable is not const: OpenCL C has none; expected memory that the "
                      "launch gives, or KDL_LOCAL");
    return;
  }
  size_t found = find_word_in_code(r->text, n->begin, word);
  if (found < n->end)
    add_edit(r, (edit){found, sizeof word - 1, "", own_depth(node), false});
}

/* ------------------------------------------------------------------------------------------ */
/* The rewriter                                                                                 */

static void rewrite_node(rewriter *r, size_t node) {
  const cc_node *n = node_at(r, node);
  if (n->end == n->begin)
    return;
  if (kdl_text_contains(n->type, "__bf16 __attribute__(("))
    set_rewrite_error(r, n->begin, "OpenCL C has no vectors of __bf16");
  if (kdl_text_is(n->kind, "VarDecl") && n->level == 1) {
    r->constant_end = n->end;
    rewrite_global(r, n, node);
  } else if (kdl_text_is(n->kind, "VarDecl")) {
    rewrite_static(r, n, node);
  } else if (kdl_text_is(n->kind, "ImplicitCastExpr") || kdl_text_is(n->kind, "CStyleCastExpr")) {
    rewrite_cast(r, node);
  } else if (kdl_text_is(n->kind, "BinaryOperator")) {
    rewrite_binary(r, node);
  } else if (kdl_text_is(n->kind, "CompoundAssignOperator")) {
    rewrite_assignment(r, node);
  } else if (kdl_text_is(n->kind, "UnaryOperator")) {
    rewrite_unary(r, node);
  } else if (kdl_text_is(n->kind, "IfStmt") || kdl_text_is(n->kind, "WhileStmt") ||
             kdl_text_is(n->kind, "DoStmt") || kdl_text_is(n->kind, "ForStmt")) {
    rewrite_conditions(r, node);
  }
}

bool cc_rewrite_has_bf16(kdl_string text) {
  return find_word_in_code(text, 0, bf16_name) < text.length;
}

/* The functions that the edits call. */
static void write_bf16_functions(const rewriter *r, FILE *out) {
  fprintf(out, "# 1 \"kdl_bf16.h\"\n%s%s", bf16_functions,
          r->needs_double ? bf16_functions_of_double : "");
  fputs("#define kdl_bf16_to(p, op, by) (*(p) = kdl_bf16_n(kdl_bf16_f(*(p)) op(by)))\n"
        "#define kdl_bf16_tod(p, op, by) (*(p) = kdl_bf16_nd(kdl_bf16_f(*(p)) op(by)))\n",
        out);
  for (size_t space = 0; space < space_count; ++space) {
    for (size_t i = 0; i < (size_t)operator_count * 2; ++i) {
      bool is_double = i % 2;
      if (r->assigns[space][i / 2][is_double])
        fprintf(out,
                "static inline ushort kdl_bf16_%s%s%s(volatile %s ushort *to, %s by) {\n"
                "  return kdl_bf16_to%s(to, %c, by);\n"
                "}\n",
                operator_names[i / 2], is_double ? "d" : "", spaces[space] + 1, spaces[space],
                is_double ? "double" : "float", is_double ? "d" : "", operators[i / 2]);
    }
    if (r->steps[space])
      fprintf(out,
              "static inline ushort kdl_bf16_step%s(volatile %s ushort *to, float by) {\n"
              "  ushort was = *to;\n"
              "  *to = kdl_bf16_n(kdl_bf16_f(was) + by);\n"
              "  return was;\n"
              "}\n",
              spaces[space] + 1, spaces[space]);
  }
}

cc_rewrite_error cc_rewrite_as_opencl12(kdl_arena *arena, kdl_string text, const cc_nodes *nodes,
                                        FILE *out) {
  rewriter r = {.arena = arena, .text = text, .nodes = nodes};
  for (size_t i = 0; i < nodes->count; ++i)
    rewrite_node(&r, i);
  bool has_bf16 = cc_rewrite_has_bf16(text);
  for (size_t at = 0; has_bf16 && (at = find_word_in_code(text, at, bf16_name)) < text.length; ++at)
    add_edit(&r, (edit){at, sizeof bf16_name - 1, "ushort", SIZE_MAX, false});
  if (r.error.why)
    return r.error;
  if (has_bf16)
    write_bf16_functions(&r, out);
  write_edited(&r, out);
  return r.error;
}
