/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Each instruction is one line:
 *
 *     %20 = fadd contract bfloat %19, 0xR3F80, !dbg !7
 *
 * This becomes: widen both operands, add as float, narrow the result; each with the text that
 * follows the operands. Elsewhere types and constants are replaced as words.
 */
#include "compiler/text/ir_text.h"
#include "tools/common/lines.h"

static const char type_name[] = "bfloat";

bool ir_text_has_bf16(kdl_string ir) {
  return memmem(ir.data, ir.length, type_name, sizeof type_name - 1) != NULL;
}

/* Rounds to nearest, ties to even; a NaN stays a NaN. */
static const char rounding_functions[] =
    "\ndefine internal float @kdl.bf16.widen(i16 %x) alwaysinline nounwind {\n"
    "  %wide = zext i16 %x to i32\n"
    "  %bits = shl i32 %wide, 16\n"
    "  %value = bitcast i32 %bits to float\n"
    "  ret float %value\n"
    "}\n"
    "\ndefine internal i16 @kdl.bf16.narrow(float %x) alwaysinline nounwind {\n"
    "  %bits = bitcast float %x to i32\n"
    "  %high = lshr i32 %bits, 16\n"
    "  %odd = and i32 %high, 1\n"
    "  %half = add i32 %odd, 32767\n"
    "  %up = add i32 %bits, %half\n"
    "  %rounded = lshr i32 %up, 16\n"
    "  %quiet = or i32 %high, 64\n"
    "  %is.nan = fcmp uno float %x, 0.0\n"
    "  %kept = select i1 %is.nan, i32 %quiet, i32 %rounded\n"
    "  %narrow = trunc i32 %kept to i16\n"
    "  ret i16 %narrow\n"
    "}\n";

/* Rounds to odd first: an odd last bit of the float marks an inexact value, so that rounding twice
 * is as good as once. Subnormal and huge numbers are exact enough, or infinite, in any case. */
static const char double_rounding_functions[] =
    "\ndefine internal i16 @kdl.bf16.narrow.double(double %x) alwaysinline nounwind {\n"
    "  %near = fptrunc double %x to float\n"
    "  %back = fpext float %near to double\n"
    "  %bits = bitcast float %near to i32\n"
    "  %size = call double @llvm.fabs.f64(double %x)\n"
    "  %back.size = call double @llvm.fabs.f64(double %back)\n"
    "  %is.above = fcmp ogt double %back.size, %size\n"
    "  %less = sub i32 %bits, 1\n"
    "  %down = select i1 %is.above, i32 %less, i32 %bits\n"
    "  %is.inexact = fcmp one double %back, %x\n"
    "  %mark = zext i1 %is.inexact to i32\n"
    "  %odd = or i32 %down, %mark\n"
    "  %marked = bitcast i32 %odd to float\n"
    "  %narrow = call i16 @kdl.bf16.narrow(float %marked)\n"
    "  ret i16 %narrow\n"
    "}\n"
    "declare double @llvm.fabs.f64(double)\n";

typedef struct {
  FILE *out;
  ir_bf16_form form;
  bool needs_double, has_fabs, has_fmuladd, needs_fmuladd;
} writer;

/* ------------------------------------------------------------------------------------------ */
/* Words                                                                                        */

static bool is_ir_word(char c) {
  return cli_is_word(c) || c == '.';
}

/* Whether `word` is at `at`, as a word. */
static bool has_word_at(kdl_string line, size_t at, const char *word) {
  size_t length = strlen(word);
  return kdl_text_starts(kdl_text_substr(line, at), word) &&
         (at == 0 || !is_ir_word(line.data[at - 1])) &&
         (at + length == line.length || !is_ir_word(line.data[at + length]));
}

/* The text with the type and its constants replaced, outside of strings. */
static void write_as_integers(writer *w, kdl_string text) {
  for (size_t at = 0; at < text.length;) {
    if (text.data[at] == '"') {
      size_t end = kdl_text_find(text, at + 1, "\"");
      end = end < text.length ? end + 1 : end;
      fwrite(text.data + at, 1, end - at, w->out);
      at = end;
    } else if (has_word_at(text, at, type_name)) {
      fputs("i16", w->out);
      at += sizeof type_name - 1;
    } else if (kdl_text_starts(kdl_text_substr(text, at), "0xR") && at + 7 <= text.length) {
      char digits[5] = {0};
      memcpy(digits, text.data + at + 3, 4);
      fprintf(w->out, "%lu", strtoul(digits, NULL, 16));
      at += 7;
    } else {
      fputc(text.data[at++], w->out);
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Instructions                                                                                 */

typedef struct {
  kdl_string result;    /* "20" of "%20" */
  kdl_string operation; /* with its flags: "fadd contract", "fcmp ogt" */
  kdl_string operands[3];
  size_t count;
  kdl_string other; /* the other type of a conversion */
  kdl_string rest;  /* ", !dbg !7" */
} instruction;

/* Up to the next of `ends`; moves *at there. */
static kdl_string take_until(kdl_string line, size_t *at, const char *ends) {
  size_t end = kdl_text_find(line, *at, ends);
  kdl_string text = {line.data + *at, end - *at};
  *at = end;
  return text;
}

static bool consume_prefix(kdl_string line, size_t *at, const char *words) {
  if (!kdl_text_starts(kdl_text_substr(line, *at), words))
    return false;
  *at += strlen(words);
  return true;
}

/* "  %20 = ": the result; moves *at past it. */
static bool read_result(kdl_string line, size_t *at, kdl_string *out_result) {
  while (*at < line.length && line.data[*at] == ' ')
    ++*at;
  if (!consume_prefix(line, at, "%"))
    return false;
  *out_result = take_until(line, at, " ");
  return consume_prefix(line, at, " = ");
}

/* Whether one of the words is at `at`. */
static bool has_word_among(kdl_string line, size_t at, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (has_word_at(line, at, words[i]))
      return true;
  }
  return false;
}

/* Arithmetic on the type: "fadd bfloat %1, %2" and "fcmp ogt bfloat %1, %2". */
static bool read_arithmetic(kdl_string line, size_t at, instruction *out) {
  static const char *const words[] = {"fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp"};
  if (!has_word_among(line, at, words, sizeof words / sizeof *words))
    return false;
  size_t type = at;
  while (type < line.length && !has_word_at(line, type, type_name))
    ++type;
  if (type >= line.length || type == at || line.data[type - 1] != ' ')
    return false;
  out->operation = (kdl_string){line.data + at, type - 1 - at};
  at = type + sizeof type_name; /* and a blank */
  out->operands[out->count++] = take_until(line, &at, ",");
  if (!kdl_text_starts(out->operation, "fneg") && consume_prefix(line, &at, ", "))
    out->operands[out->count++] = take_until(line, &at, ",");
  out->rest = kdl_text_substr(line, at);
  return true;
}

/* "fpext bfloat %1 to float" and "sitofp i32 %1 to bfloat". */
static bool read_conversion(kdl_string line, size_t at, instruction *out, bool *out_is_from) {
  static const char *const words[] = {"fpext", "fptrunc", "sitofp", "uitofp", "fptosi", "fptoui"};
  if (!has_word_among(line, at, words, sizeof words / sizeof *words))
    return false;
  kdl_string before = take_until(line, &at, "%0123456789-"); /* "fpext bfloat ", "sitofp i" */
  while (at > 0 && line.data[at - 1] != ' ')                 /* i32 has digits */
    --at;
  if (line.data[at] == 'i')
    at = kdl_text_find(line, at, " ") + 1;
  const char *start = before.data;
  size_t begin = (size_t)(start - line.data);
  kdl_string head = {start, at - begin}; /* "sitofp nneg i32 " */
  out->operands[out->count++] = take_until(line, &at, " ");
  if (!consume_prefix(line, &at, " to "))
    return false;
  kdl_string to = take_until(line, &at, ",");
  out->rest = kdl_text_substr(line, at);
  size_t blank = head.length - 1; /* the last word of the head is the source type */
  while (blank > 0 && head.data[blank - 1] != ' ')
    --blank;
  kdl_string from = {head.data + blank, head.length - 1 - blank};
  out->operation = (kdl_string){head.data, blank ? blank - 1 : 0};
  *out_is_from = kdl_text_is(from, type_name);
  out->other = *out_is_from ? to : from;
  return *out_is_from || kdl_text_is(to, type_name);
}

/* "call bfloat @llvm.fmuladd.bf16(bfloat %1, bfloat %2, bfloat %3)". */
static bool read_fmuladd(kdl_string line, size_t at, instruction *out) {
  kdl_string rest;
  if (!kdl_text_contains(kdl_text_substr(line, at), "call ") ||
      !cli_text_after(line, "@llvm.fmuladd.bf16(", &rest))
    return false;
  at = (size_t)(rest.data - line.data);
  while (out->count < 3 && consume_prefix(line, &at, "bfloat ")) {
    out->operands[out->count++] = take_until(line, &at, ",)");
    consume_prefix(line, &at, ", ");
  }
  out->rest = kdl_text_substr(line, kdl_text_find(line, at, ")") + 1);
  out->rest = kdl_text_substr(out->rest, kdl_text_find(out->rest, 0, ",!")); /* after attributes */
  return out->count == 3;
}

static void write_widened(writer *w, const instruction *i, size_t operand) {
  fprintf(w->out, "  %%kdl.%.*s.%zu = call float @kdl.bf16.widen(i16 ", CLI_STRING_ARGS(i->result),
          operand);
  write_as_integers(w, i->operands[operand]);
  fprintf(w->out, ")%.*s\n", CLI_STRING_ARGS(i->rest));
}

/* Narrows the float "%kdl.20.f" to the result. */
static void write_narrowed(writer *w, const instruction *i, const char *type) {
  fprintf(w->out, "  %%%.*s = call i16 @kdl.bf16.narrow%s(%s %%kdl.%.*s.f)%.*s\n",
          CLI_STRING_ARGS(i->result), strcmp(type, "double") == 0 ? ".double" : "", type,
          CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->rest));
}

static void write_arithmetic(writer *w, const instruction *i) {
  if (kdl_text_starts(i->operation, "fneg")) {
    fprintf(w->out, "  %%%.*s = xor i16 ", CLI_STRING_ARGS(i->result));
    write_as_integers(w, i->operands[0]);
    fprintf(w->out, ", -32768%.*s\n", CLI_STRING_ARGS(i->rest));
    return;
  }
  bool compares = kdl_text_starts(i->operation, "fcmp");
  write_widened(w, i, 0);
  write_widened(w, i, 1);
  fprintf(w->out, compares ? "  %%%.*s" : "  %%kdl.%.*s.f", CLI_STRING_ARGS(i->result));
  fprintf(w->out, " = %.*s float %%kdl.%.*s.0, %%kdl.%.*s.1%.*s\n", CLI_STRING_ARGS(i->operation),
          CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->rest));
  if (!compares)
    write_narrowed(w, i, "float");
}

static void write_conversion_from_bf16(writer *w, const instruction *i) {
  kdl_string operation = kdl_text_is(i->other, "float") ? KDL_TEXT("bitcast") : i->operation;
  write_widened(w, i, 0);
  fprintf(w->out, "  %%%.*s = %.*s float %%kdl.%.*s.0 to %.*s%.*s\n", CLI_STRING_ARGS(i->result),
          CLI_STRING_ARGS(operation), CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->other),
          CLI_STRING_ARGS(i->rest));
}

static void write_conversion_to_bf16(writer *w, const instruction *i) {
  bool is_double = kdl_text_is(i->other, "double");
  const char *type = is_double ? "double" : "float";
  kdl_string operation = is_double || kdl_text_is(i->other, "float") ? KDL_TEXT("bitcast")
                         : kdl_text_is(i->other, "half")             ? KDL_TEXT("fpext")
                                                                     : i->operation;
  w->needs_double |= is_double;
  fprintf(w->out, "  %%kdl.%.*s.f = %.*s %.*s %.*s to %s%.*s\n", CLI_STRING_ARGS(i->result),
          CLI_STRING_ARGS(operation), CLI_STRING_ARGS(i->other), CLI_STRING_ARGS(i->operands[0]),
          type, CLI_STRING_ARGS(i->rest));
  write_narrowed(w, i, type);
}

static void write_fmuladd(writer *w, const instruction *i) {
  for (size_t k = 0; k < 3; ++k)
    write_widened(w, i, k);
  fprintf(w->out,
          "  %%kdl.%.*s.f = call float @llvm.fmuladd.f32(float %%kdl.%.*s.0, float %%kdl.%.*s.1, "
          "float %%kdl.%.*s.2)%.*s\n",
          CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->result),
          CLI_STRING_ARGS(i->result), CLI_STRING_ARGS(i->rest));
  write_narrowed(w, i, "float");
  w->needs_fmuladd = true;
}

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

static bool write_integer_instruction(writer *w, kdl_string line) {
  instruction arithmetic = {.count = 0};
  bool is_from = false;
  size_t at = 0;
  if (!read_result(line, &at, &arithmetic.result))
    return false;
  instruction conversion = arithmetic;
  instruction fmuladd = arithmetic;
  if (read_arithmetic(line, at, &arithmetic))
    write_arithmetic(w, &arithmetic);
  else if (read_conversion(line, at, &conversion, &is_from))
    (is_from ? write_conversion_from_bf16 : write_conversion_to_bf16)(w, &conversion);
  else if (read_fmuladd(line, at, &fmuladd))
    write_fmuladd(w, &fmuladd);
  else
    return false;
  return true;
}

/* For targets with the type: rounds the bits with integers, and bitcasts them to the type. */
static bool write_rounded_truncation(writer *w, kdl_string line) {
  instruction i = {.count = 0};
  bool is_from = false;
  size_t at = 0;
  if (!read_result(line, &at, &i.result) || !has_word_at(line, at, "fptrunc") ||
      !read_conversion(line, at, &i, &is_from) || is_from || !kdl_text_is(i.other, "float"))
    return false;
  fprintf(w->out,
          "  %%kdl.%.*s.i = call i16 @kdl.bf16.narrow(float %.*s)%.*s\n"
          "  %%%.*s = bitcast i16 %%kdl.%.*s.i to bfloat%.*s\n",
          CLI_STRING_ARGS(i.result), CLI_STRING_ARGS(i.operands[0]), CLI_STRING_ARGS(i.rest),
          CLI_STRING_ARGS(i.result), CLI_STRING_ARGS(i.result), CLI_STRING_ARGS(i.rest));
  return true;
}

static void write_lowered_line(writer *w, kdl_string line) {
  w->has_fabs |= kdl_text_starts(line, "declare double @llvm.fabs.f64(");
  w->has_fmuladd |= kdl_text_starts(line, "declare float @llvm.fmuladd.f32(");
  if (kdl_text_starts(line, "declare bfloat @llvm.fmuladd.bf16(") && w->form == IR_BF16_INTEGERS)
    return;
  if (ir_text_has_bf16(line) && (w->form == IR_BF16_INTEGERS ? write_integer_instruction(w, line)
                                                             : write_rounded_truncation(w, line)))
    return;
  if (w->form == IR_BF16_INTEGERS)
    write_as_integers(w, line);
  else
    fwrite(line.data, 1, line.length, w->out);
  fputc('\n', w->out);
}

static void write_functions(writer *w) {
  static const char declared[] = "declare double @llvm.fabs.f64(double)\n";
  fputs(rounding_functions, w->out);
  if (w->needs_double)
    fprintf(w->out, "%.*s",
            (int)(strlen(double_rounding_functions) - (w->has_fabs ? strlen(declared) : 0)),
            double_rounding_functions);
  if (w->needs_fmuladd && !w->has_fmuladd)
    fputs("declare float @llvm.fmuladd.f32(float, float, float)\n", w->out);
}

kdl_string ir_text_lower_bf16(kdl_arena *arena, kdl_string ir, ir_bf16_form form) {
  char *text;
  size_t size;
  kdl_string line;
  writer w = {.out = xtext_stream(&text, &size), .form = form};
  while (cli_next_line(&ir, &line))
    write_lowered_line(&w, line);
  write_functions(&w);
  return cli_text_close(arena, w.out, &text, &size);
}
