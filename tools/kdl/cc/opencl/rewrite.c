/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/rewrite.h"

#include "base/error.h"
#include "cc/opencl/edits.h"

#include <kdl/kernel/narrow.h>

#include <stdlib.h>
#include <string.h>

static const char type_name[] = "__bf16";

/* kdl_bf16_f: as a float. kdl_bf16_n: from a float, to the nearest, ties to even; a NaN stays one.
 */
static const char functions[] =
    "static inline float kdl_bf16_f(ushort x) { return as_float((uint)x << 16); }\n"
    "static inline ushort kdl_bf16_n(float x) {\n"
    "  uint bits = as_uint(x), high = bits >> 16;\n"
    "  return (ushort)(x != x ? high | 64 : (bits + 0x7fff + (high & 1)) >> 16);\n"
    "}\n";

/* From a double: an odd last bit of the float remembers that it is not exact, so that rounding
 * twice is as good as once. */
static const char functions_of_double[] =
    "static inline ushort kdl_bf16_nd(double x) {\n"
    "  float near = (float)x;\n"
    "  double back = (double)near;\n"
    "  uint bits = as_uint(near) - (fabs(back) > fabs(x) ? 1u : 0u);\n"
    "  return kdl_bf16_n(as_float(bits | (back != x && x == x ? 1u : 0u)));\n"
    "}\n";

static const char *const spaces[] = {"__private", "__global", "__local"};
static const char operations[] = "+-*/";
enum { space_count = 3, operation_count = 4 };

typedef struct {
  kdl_string text;
  const cc_nodes *nodes;
  cc_edits edits;
  cc_rewrite_refusal refusal;
  bool needs_double;
  /* x op= y and x++ on numbers in memory, by place and operation: which functions are wanted. */
  bool assigns[space_count][operation_count][2]; /* with a float, with a double */
  bool steps[space_count];
  size_t constant_end; /* of the variable outside of functions that is under way */
} rewriter;

/* ------------------------------------------------------------------------------------------ */
/* Types                                                                                        */

static kdl_string without_qualifiers(kdl_string type) {
  static const char *const words[] = {"const ",   "volatile ",   "__private ", "__global ",
                                      "__local ", "__constant ", "__generic "};
  for (size_t i = 0; i < sizeof words / sizeof *words;) {
    if (kdl_text_starts(type, words[i])) {
      type = kdl_text_from(type, strlen(words[i]));
      i = 0;
    } else {
      ++i;
    }
  }
  return type;
}

static bool is_bf16(kdl_string type) {
  return kdl_text_is(without_qualifiers(type), type_name);
}

/* A plain pointer points to private memory. */
static size_t space_of(kdl_string type) {
  for (size_t i = 1; i < space_count; ++i) {
    if (kdl_text_contains(type, spaces[i]))
      return i;
  }
  return 0;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kdl_is_digit(c) || c == '_';
}

/* Where a word begins that is not part of a longer one, from `at` on and not in a string; the
 * text's length where it does not. */
static size_t find_word(kdl_string text, size_t at, const char *word) {
  size_t length = strlen(word);
  for (; at + length <= text.length; ++at) {
    if (text.data[at] == '"')
      at = kdl_text_find(text, at + 1, "\"\n");
    else if (memcmp(text.data + at, word, length) == 0 &&
             (at == 0 || !is_letter(text.data[at - 1])) &&
             (at + length == text.length || !is_letter(text.data[at + length])))
      return at;
  }
  return text.length;
}

/* Of a variable: of a pointer it is the pointer that is asked about. */
static bool is_constant(kdl_string type) {
  size_t star = type.length;
  while (star > 0 && type.data[star - 1] != '*')
    --star;
  return find_word(type, star, "const") < type.length;
}

/* ------------------------------------------------------------------------------------------ */
/* Edits                                                                                        */

static void refuse(rewriter *r, size_t at, const char *why) {
  if (!r->refusal.why)
    r->refusal = (cc_rewrite_refusal){why, at};
}

/* A node's own edits lie inside of those that its parent makes of it. */
static size_t own_depth(size_t node) {
  return 2 * node + 1;
}

static bool has_place(rewriter *r, size_t operand, size_t within) {
  if (operand < r->nodes->count && r->nodes->items[operand].end > r->nodes->items[operand].begin)
    return true;
  refuse(r, r->nodes->items[within].begin,
         "a macro of OpenCL's own is computed with as __bf16; expected a variable that has its "
         "value");
  return false;
}

static void wrap(rewriter *r, size_t operand, size_t within, const char *function) {
  const cc_node *n = has_place(r, operand, within) ? &r->nodes->items[operand] : NULL;
  const char *before = n ? kdl_arena_format(r->edits.arena, "%s(", function) : NULL;
  r->edits.failed |= n && !before;
  if (before)
    cc_edits_wrap(&r->edits, operand == within ? own_depth(operand) : 2 * operand, n->begin, n->end,
                  before, ")");
}

static void widen(rewriter *r, size_t operand, size_t within) {
  if (operand < r->nodes->count && is_bf16(r->nodes->items[operand].type))
    wrap(r, operand, within, "kdl_bf16_f");
}

/* ------------------------------------------------------------------------------------------ */
/* Constants                                                                                    */

/* A number with signs and parentheses around it. */
static bool read_number(kdl_string text, double *out_value) {
  char digits[64];
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
  char *rest;
  double value = strtod(digits, &rest);
  *out_value = is_negative ? -value : value;
  return rest != digits && strspn(rest, "fFhHuUlL") == strlen(rest);
}

/* What initialises a variable outside of functions calls none. */
static void fold(rewriter *r, size_t operand, size_t within) {
  const cc_node *n = has_place(r, operand, within) ? &r->nodes->items[operand] : NULL;
  double value = 0.0;
  if (!n)
    return;
  if (!read_number((kdl_string){r->text.data + n->begin, n->end - n->begin}, &value)) {
    refuse(r, n->begin,
           "a __bf16 outside of functions is initialised by an expression; expected a number, in "
           "OpenCL C");
    return;
  }
  const char *bits =
      kdl_arena_format(r->edits.arena, "0x%04x", kdl_narrow_from_double(KDL_NARROW_BF16, value));
  r->edits.failed |= !bits;
  if (bits)
    cc_edits_add(&r->edits, (cc_edit){.at = n->begin,
                                      .removed = n->end - n->begin,
                                      .added = bits,
                                      .depth = own_depth(operand)});
}

/* ------------------------------------------------------------------------------------------ */
/* Expressions                                                                                  */

static void rewrite_cast(rewriter *r, size_t node) {
  const cc_node *n = &r->nodes->items[node];
  size_t child = cc_nodes_child(r->nodes, node, 0);
  if (child == r->nodes->count)
    return;
  kdl_string from = without_qualifiers(r->nodes->items[child].type);
  bool to_floating = kdl_text_contains(n->rest, "<FloatingCast>") ||
                     kdl_text_contains(n->rest, "<IntegralToFloating>");
  bool is_in_constant = n->begin < r->constant_end;
  if (to_floating && is_bf16(n->type)) {
    bool is_double = kdl_text_is(from, "double");
    if (is_in_constant) {
      fold(r, child, node);
      return;
    }
    r->needs_double |= is_double;
    wrap(r, child, node, is_double ? "kdl_bf16_nd" : "kdl_bf16_n");
  } else if (to_floating || kdl_text_contains(n->rest, "<FloatingToIntegral>") ||
             kdl_text_contains(n->rest, "<FloatingToBoolean>")) {
    widen(r, child, node);
  }
}

/* "'+'" of " '+' ComputeLHSTy='float'". */
static kdl_string operator_of(const cc_node *n) {
  size_t begin = kdl_text_find(n->rest, 0, "'") + 1;
  if (begin >= n->rest.length)
    return (kdl_string){"", 0};
  return (kdl_string){n->rest.data + begin, kdl_text_find(n->rest, begin, "'") - begin};
}

static void rewrite_binary(rewriter *r, size_t node) {
  static const char *const arithmetic[] = {"+", "-", "*", "/"};
  static const char *const tests[] = {"<", ">", "<=", ">=", "==", "!=", "&&", "||"};
  const cc_node *n = &r->nodes->items[node];
  kdl_string operation = operator_of(n);
  bool computes = KDL_TEXT_AMONG(operation, arithmetic) && is_bf16(n->type);
  if (!computes && !KDL_TEXT_AMONG(operation, tests))
    return;
  if (computes)
    wrap(r, node, node, "kdl_bf16_n");
  widen(r, cc_nodes_child(r->nodes, node, 0), node);
  widen(r, cc_nodes_child(r->nodes, node, 1), node);
}

static const char *const names_of_operations[] = {"add", "sub", "mul", "div"};

/* Whether it can be evaluated twice. */
static bool is_pure(const cc_nodes *nodes, size_t node) {
  unsigned level = nodes->items[node].level;
  for (size_t i = node; i < nodes->count && (i == node || nodes->items[i].level > level); ++i) {
    const cc_node *n = &nodes->items[i];
    kdl_string operation = operator_of(n);
    if (kdl_text_is(n->kind, "CallExpr") || kdl_text_is(n->kind, "CompoundAssignOperator") ||
        (kdl_text_is(n->kind, "BinaryOperator") && kdl_text_is(operation, "=")) ||
        (kdl_text_is(n->kind, "UnaryOperator") &&
         (kdl_text_is(operation, "++") || kdl_text_is(operation, "--"))))
      return false;
  }
  return true;
}

/* A change of what stands in memory: "kdl_bf16_to(&(" in the place of a token, what is changed, and
 * "),+," in that of another. A macro has the line of the source, which a checker can say; where the
 * place cannot be evaluated twice, it is a function: "kdl_bf16_add_global(&(" and "),". */
typedef struct {
  size_t node, place;    /* the operator and its operand */
  size_t begin, removed; /* the token before it */
  size_t end, dropped;   /* the token behind it */
  size_t operation;      /* in `operations` */
  bool is_double;        /* computed with as one */
  bool is_postfix;       /* its value is what was there before */
  const char *by;        /* "1.0f)", or NULL where it follows in the source */
} change;

static void write_change(rewriter *r, const change *c) {
  size_t space = space_of(r->nodes->items[c->place].type);
  bool is_macro = !c->is_postfix && is_pure(r->nodes, c->place);
  const char *d = c->is_double ? "d" : "";
  kdl_arena *arena = r->edits.arena;
  r->needs_double |= c->is_double;
  r->steps[space] |= c->is_postfix;
  r->assigns[space][c->operation][c->is_double] |= !is_macro && !c->is_postfix;
  const char *before =
      is_macro ? kdl_arena_format(arena, "kdl_bf16_to%s(&(", d)
               : kdl_arena_format(arena, "kdl_bf16_%s%s%s(&(",
                                  c->is_postfix ? "step" : names_of_operations[c->operation], d,
                                  spaces[space] + 1);
  const char *after =
      is_macro ? kdl_arena_format(arena, "),%c,%s", operations[c->operation], c->by ? c->by : "")
               : kdl_arena_format(arena, "),%s", c->by ? c->by : "");
  r->edits.failed |= !before || !after;
  if (!before || !after)
    return;
  size_t depth = own_depth(c->node);
  cc_edits_add(&r->edits, (cc_edit){c->begin, c->removed, before, depth, false});
  cc_edits_add(&r->edits, (cc_edit){c->end, c->dropped, after, depth, true});
}

static void rewrite_assignment(rewriter *r, size_t node) {
  const cc_node *n = &r->nodes->items[node];
  size_t left = cc_nodes_child(r->nodes, node, 0), right = cc_nodes_child(r->nodes, node, 1);
  kdl_string operation = operator_of(n);
  bool is_mine = left < r->nodes->count && is_bf16(r->nodes->items[left].type);
  if (!is_mine && kdl_text_contains(n->rest, "ComputeLHSTy='__bf16'"))
    refuse(r, n->begin,
           "a number of another type is changed by a __bf16; expected x = x + y and the like, in "
           "OpenCL C");
  if (!is_mine || !has_place(r, left, node) || !has_place(r, right, node))
    return;
  const cc_node *to = &r->nodes->items[left], *by = &r->nodes->items[right];
  const char *which = operation.length == 2 ? strchr(operations, operation.data[0]) : NULL;
  const char *found = by->begin > to->end ? memmem(r->text.data + to->end, by->begin - to->end,
                                                   operation.data, operation.length)
                                          : NULL;
  if (!which || !found) {
    refuse(r, n->begin, "found an assignment to a __bf16 that OpenCL C cannot have");
    return;
  }
  write_change(r, &(change){.node = node,
                            .place = left,
                            .begin = to->begin,
                            .end = (size_t)(found - r->text.data),
                            .dropped = operation.length,
                            .operation = (size_t)(which - operations),
                            .is_double = kdl_text_contains(n->rest, "ComputeLHSTy='double'")});
  cc_edits_add(&r->edits, (cc_edit){by->end, 0, ")", own_depth(node), true});
  widen(r, right, node);
}

/* ++ and --. */
static void rewrite_step(rewriter *r, size_t node, bool is_up, bool is_postfix) {
  enum { token = 2 };
  const cc_node *n = &r->nodes->items[node];
  size_t child = cc_nodes_child(r->nodes, node, 0);
  if (!has_place(r, child, node) || !has_place(r, node, node))
    return;
  write_change(r, &(change){.node = node,
                            .place = child,
                            .begin = n->begin,
                            .removed = is_postfix ? 0 : token,
                            .end = is_postfix ? n->end - token : r->nodes->items[child].end,
                            .dropped = is_postfix ? token : 0,
                            .is_postfix = is_postfix,
                            .by = is_up ? "1.0f)" : "-1.0f)"});
}

static void rewrite_unary(rewriter *r, size_t node) {
  const cc_node *n = &r->nodes->items[node];
  kdl_string operation = operator_of(n);
  if (kdl_text_is(operation, "!"))
    widen(r, cc_nodes_child(r->nodes, node, 0), node);
  if (!is_bf16(n->type))
    return;
  if (kdl_text_is(operation, "-")) {
    wrap(r, node, node, "kdl_bf16_n");
    widen(r, cc_nodes_child(r->nodes, node, 0), node);
  } else if (kdl_text_is(operation, "++") || kdl_text_is(operation, "--")) {
    rewrite_step(r, node, operation.data[0] == '+', kdl_text_contains(n->rest, "postfix"));
  }
}

/* Conditions; of a statement that is none the value is not used. */
static void rewrite_conditions(rewriter *r, size_t node) {
  enum { most = 5 }; /* children of a for statement */
  for (size_t i = 0; i < most; ++i) {
    size_t child = cc_nodes_child(r->nodes, node, i);
    if (child == r->nodes->count)
      return;
    widen(r, child, node);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

static void rewrite_global(rewriter *r, const cc_node *n, size_t node) {
  if (kdl_text_contains(n->type, "__constant"))
    return;
  if (!is_constant(n->type)) {
    refuse(r, n->begin,
           "a variable outside of functions is not const: OpenCL C has constants there alone; "
           "expected memory that the launch gives, or KDL_LOCAL");
    return;
  }
  for (size_t i = 0; i < r->edits.count; ++i) { /* several in one declaration begin alike */
    if (r->edits.items[i].at == n->begin)
      return;
  }
  cc_edits_add(&r->edits,
               (cc_edit){.at = n->begin, .added = "__constant ", .depth = own_depth(node)});
}

static void rewrite_static(rewriter *r, const cc_node *n, size_t node) {
  static const char word[] = "static";
  if (!kdl_text_contains(n->rest, " static") || kdl_text_contains(n->type, "__local") ||
      kdl_text_contains(n->type, "__constant"))
    return;
  if (!is_constant(n->type)) {
    refuse(r, n->begin,
           "a static variable is not const: OpenCL C has none; expected memory that the launch "
           "gives, or KDL_LOCAL");
    return;
  }
  size_t found = find_word(r->text, n->begin, word);
  if (found < n->end)
    cc_edits_add(
        &r->edits,
        (cc_edit){.at = found, .removed = sizeof word - 1, .added = "", .depth = own_depth(node)});
}

static void rewrite_variable(rewriter *r, size_t node) {
  const cc_node *n = &r->nodes->items[node];
  if (n->level == 1) {
    r->constant_end = n->end;
    rewrite_global(r, n, node);
  } else {
    rewrite_static(r, n, node);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* The whole                                                                                    */

static void rewrite_node(rewriter *r, size_t node) {
  const cc_node *n = &r->nodes->items[node];
  if (n->end == n->begin)
    return;
  if (kdl_text_contains(n->type, "__bf16 __attribute__(("))
    refuse(r, n->begin, "OpenCL C has no vectors of __bf16");
  if (kdl_text_is(n->kind, "VarDecl"))
    rewrite_variable(r, node);
  else if (kdl_text_is(n->kind, "ImplicitCastExpr") || kdl_text_is(n->kind, "CStyleCastExpr"))
    rewrite_cast(r, node);
  else if (kdl_text_is(n->kind, "BinaryOperator"))
    rewrite_binary(r, node);
  else if (kdl_text_is(n->kind, "CompoundAssignOperator"))
    rewrite_assignment(r, node);
  else if (kdl_text_is(n->kind, "UnaryOperator"))
    rewrite_unary(r, node);
  else if (kdl_text_is(n->kind, "IfStmt") || kdl_text_is(n->kind, "WhileStmt") ||
           kdl_text_is(n->kind, "DoStmt") || kdl_text_is(n->kind, "ForStmt"))
    rewrite_conditions(r, node);
}

bool cc_rewrite_has_bf16(kdl_string text) {
  return find_word(text, 0, type_name) < text.length;
}

static void write_changes(const rewriter *r, FILE *out) {
  fputs("#define kdl_bf16_to(p, op, by) (*(p) = kdl_bf16_n(kdl_bf16_f(*(p)) op(by)))\n"
        "#define kdl_bf16_tod(p, op, by) (*(p) = kdl_bf16_nd(kdl_bf16_f(*(p)) op(by)))\n",
        out);
  for (size_t space = 0; space < space_count; ++space) {
    for (size_t i = 0; i < (size_t)operation_count * 2; ++i) {
      bool is_double = i % 2;
      if (r->assigns[space][i / 2][is_double])
        fprintf(out,
                "static inline ushort kdl_bf16_%s%s%s(volatile %s ushort *to, %s by) {\n"
                "  return kdl_bf16_to%s(to, %c, by);\n"
                "}\n",
                names_of_operations[i / 2], is_double ? "d" : "", spaces[space] + 1, spaces[space],
                is_double ? "double" : "float", is_double ? "d" : "", operations[i / 2]);
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

kdl_status cc_rewrite_write(kdl_arena *arena, kdl_string text, const cc_nodes *nodes, FILE *out,
                            cc_rewrite_refusal *out_refusal) {
  rewriter r = {.text = text, .nodes = nodes, .edits = {.arena = arena}};
  for (size_t i = 0; i < nodes->count; ++i)
    rewrite_node(&r, i);
  bool has_bf16 = cc_rewrite_has_bf16(text);
  for (size_t at = 0; has_bf16 && (at = find_word(text, at, type_name)) < text.length; ++at)
    cc_edits_add(
        &r.edits,
        (cc_edit){.at = at, .removed = sizeof type_name - 1, .added = "ushort", .depth = SIZE_MAX});
  *out_refusal = r.refusal;
  if (r.edits.failed)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a kernel in OpenCL C");
  if (r.refusal.why)
    return kdl_fail(KDL_BAD_FILE, "%s", r.refusal.why);
  if (has_bf16) {
    fprintf(out, "# 1 \"kdl_bf16.h\"\n%s%s", functions, r.needs_double ? functions_of_double : "");
    write_changes(&r, out);
  }
  cc_edits_write(&r.edits, text, out);
  return KDL_OK;
}
