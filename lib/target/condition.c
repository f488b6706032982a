/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/target/condition.h"

#include <string.h>

static const char grammar[] =
    "comparisons of parameters in 'names' or of items.x, items.y, items.z with numbers, joined by "
    "'&' and '|': m<=16 & n%64==0";

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

/* The next name of the list, from *at. False at its end. */
static bool next_name(kdl_string names, size_t *at, kdl_string *out_name) {
  size_t begin = *at;
  while (begin < names.length && names.data[begin] == ' ')
    ++begin;
  size_t end = begin;
  while (end < names.length && names.data[end] != ' ')
    ++end;
  *at = end;
  *out_name = (kdl_string){names.data + begin, end - begin};
  return end > begin;
}

long kdl_kernel_find_param(const kdl_kernel_key *key, kdl_string name) {
  const kdl_string names = kdl_kernel_field_text(key, KDL_KERNEL_NAMES);
  kdl_string found;
  size_t at = 0;
  for (long i = 0; next_name(names, &at, &found); ++i) {
    if (kdl_text_equal(found, name))
      return i;
  }
  return -1;
}

/* ------------------------------------------------------------------------------------------ */
/* Compiling                                                                                    */

typedef struct {
  const kdl_kernel_key *key;
  kdl_string text;
  size_t at;
} cursor;

static void skip_spaces(cursor *c) {
  while (c->at < c->text.length && c->text.data[c->at] == ' ')
    ++c->at;
}

static bool take(cursor *c, const char *word) {
  skip_spaces(c);
  if (!kdl_text_starts(kdl_text_substr(c->text, c->at), word))
    return false;
  c->at += strlen(word);
  return true;
}

static bool param_at(const kdl_kernel_key *key, long index, kdl_param *out_param) {
  size_t at = 0;
  do {
    if (!kdl_signature_next(key->sig, &at, out_param, NULL))
      return false;
  } while (index-- > 0);
  return true;
}

/* A parameter, which must be an integer of at most 8 bytes, or items.x. */
static bool read_factor(cursor *c, kdl_condition_factor *out_factor) {
  skip_spaces(c);
  size_t begin = c->at;
  while (c->at < c->text.length && kdl_is_name_char(c->text.data[c->at]))
    ++c->at;
  kdl_string name = {c->text.data + begin, c->at - begin};
  if (kdl_text_is(name, "items") && take(c, ".")) {
    char axis = c->at < c->text.length ? c->text.data[c->at] : 0;
    *out_factor = (kdl_condition_factor){.index = (uint16_t)(axis - 'x')};
    c->at += axis >= 'x' && axis <= 'z';
    return axis >= 'x' && axis <= 'z';
  }
  kdl_param param;
  long index = name.length ? kdl_kernel_find_param(c->key, name) : -1;
  bool is_integer = index >= 0 && param_at(c->key, index, &param) &&
                    (param.kind == KDL_PARAM_INT || param.kind == KDL_PARAM_UINT) &&
                    param.size <= sizeof(int64_t) && index <= UINT16_MAX;
  if (!is_integer) {
    c->at = begin;
    return false;
  }
  *out_factor = (kdl_condition_factor){.index = (uint16_t)index,
                                       .size = (uint8_t)param.size,
                                       .is_signed = param.kind == KDL_PARAM_INT};
  return true;
}

static bool read_operator(cursor *c, uint8_t *out_op) {
  static const struct {
    const char *word;
    kdl_comparison_op op;
  } operators[] = {{"<=", KDL_COMPARE_LESS_EQUAL}, {">=", KDL_COMPARE_GREATER_EQUAL},
                   {"==", KDL_COMPARE_EQUAL},      {"!=", KDL_COMPARE_NOT_EQUAL},
                   {"<", KDL_COMPARE_LESS},        {">", KDL_COMPARE_GREATER}};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
    if (take(c, operators[i].word)) {
      *out_op = (uint8_t)operators[i].op;
      return true;
    }
  }
  return false;
}

static bool read_integer(cursor *c, int64_t *out_number) {
  bool is_negative = take(c, "-");
  skip_spaces(c);
  size_t begin = c->at;
  int64_t number = 0;
  for (; c->at < c->text.length && kdl_is_digit(c->text.data[c->at]); ++c->at) {
    int64_t digit = c->text.data[c->at] - '0';
    if (number > (INT64_MAX - digit) / 10) {
      c->at = begin;
      return false;
    }
    number = number * 10 + digit;
  }
  *out_number = is_negative ? -number : number;
  return c->at > begin;
}

static bool read_modulus(cursor *c, uint32_t *out_modulus) {
  skip_spaces(c);
  size_t begin = c->at;
  if (kdl_text_parse_number(c->text, &c->at, out_modulus) && *out_modulus)
    return true;
  c->at = begin;
  return false;
}

static bool read_comparison(cursor *c, kdl_comparison *out_comparison) {
  *out_comparison = (kdl_comparison){.factor_count = 0};
  do {
    if (out_comparison->factor_count == KDL_CONDITION_FACTORS ||
        !read_factor(c, &out_comparison->factors[out_comparison->factor_count]))
      return false;
    ++out_comparison->factor_count;
  } while (take(c, "*"));
  if (take(c, "%") && !read_modulus(c, &out_comparison->modulus))
    return false;
  return read_operator(c, &out_comparison->op) && read_integer(c, &out_comparison->number);
}

static bool read_condition(cursor *c, kdl_condition *out_condition) {
  out_condition->count = 0;
  for (;;) {
    if (out_condition->count == KDL_CONDITION_COMPARISONS)
      return false;
    kdl_comparison *comparison = &out_condition->comparisons[out_condition->count++];
    if (!read_comparison(c, comparison))
      return false;
    if (take(c, "&"))
      continue;
    comparison->is_last = true;
    if (!take(c, "|"))
      break;
  }
  skip_spaces(c);
  return c->at == c->text.length;
}

bool kdl_condition_compile(const kdl_kernel_key *key, kdl_condition *out_condition,
                           kdl_parse_error *out_error) {
  cursor c = {key, kdl_kernel_field_text(key, KDL_KERNEL_WHEN), 0};
  if (read_condition(&c, out_condition))
    return true;
  return kdl_parse_fail(out_error, (size_t)(c.text.data - key->text.data) + c.at, grammar);
}

bool kdl_shape_compile(const kdl_kernel_key *key, kdl_shape *out_shape,
                       kdl_parse_error *out_error) {
  *out_shape = (kdl_shape){.count = 0};
  cursor c = {key, kdl_kernel_field_text(key, KDL_KERNEL_SHAPE), 0};
  for (skip_spaces(&c); c.at < c.text.length; skip_spaces(&c)) {
    size_t begin = c.at;
    if (out_shape->count < KDL_SHAPE_PARAMS &&
        read_factor(&c, &out_shape->params[out_shape->count]) &&
        out_shape->params[out_shape->count].size) {
      ++out_shape->count;
      continue;
    }
    return kdl_parse_fail(out_error, (size_t)(c.text.data - key->text.data) + begin,
                          "up to 8 integer parameters in 'names', separated by spaces: m n k");
  }
  return true;
}

bool kdl_condition_check(const kdl_kernel_key *key, kdl_parse_error *out_error) {
  kdl_condition condition;
  return kdl_condition_compile(key, &condition, out_error);
}

/* ------------------------------------------------------------------------------------------ */
/* Evaluating                                                                                   */

static int64_t saturate(uint64_t value) {
  return value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

static int64_t read_argument(const kdl_condition_factor *factor, const void *value) {
  uint64_t bits = 0;
  switch (factor->size) {
  case 1:
    bits = *(const uint8_t *)value;
    return factor->is_signed ? (int8_t)bits : (int64_t)bits;
  case 2: {
    uint16_t half;
    memcpy(&half, value, sizeof half);
    return factor->is_signed ? (int16_t)half : (int64_t)half;
  }
  case 4: {
    uint32_t word;
    memcpy(&word, value, sizeof word);
    return factor->is_signed ? (int32_t)word : (int64_t)word;
  }
  default:
    memcpy(&bits, value, sizeof bits);
    return factor->is_signed ? (int64_t)bits : saturate(bits);
  }
}

/* False where the value is not known. */
static bool read_value(const kdl_condition_factor *factor, const kdl_extent *items,
                       const kdl_args *args, int64_t *out_value) {
  if (factor->size == 0) {
    if (!items)
      return false;
    *out_value = saturate(factor->index == 0 ? items->x : factor->index == 1 ? items->y : items->z);
    return true;
  }
  if (factor->index >= args->count || !args->pointers[factor->index])
    return false;
  *out_value = read_argument(factor, args->pointers[factor->index]);
  return true;
}

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product))
    return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static bool compare(kdl_comparison_op op, int64_t a, int64_t b) {
  switch (op) {
  case KDL_COMPARE_LESS:
    return a < b;
  case KDL_COMPARE_LESS_EQUAL:
    return a <= b;
  case KDL_COMPARE_GREATER:
    return a > b;
  case KDL_COMPARE_GREATER_EQUAL:
    return a >= b;
  case KDL_COMPARE_EQUAL:
    return a == b;
  case KDL_COMPARE_NOT_EQUAL:
    break;
  }
  return a != b;
}

static bool comparison_holds(const kdl_comparison *comparison, const kdl_extent *items,
                             const kdl_args *args) {
  int64_t product;
  if (!read_value(&comparison->factors[0], items, args, &product))
    return false;
  for (unsigned i = 1; i < comparison->factor_count; ++i) {
    int64_t value;
    if (!read_value(&comparison->factors[i], items, args, &value))
      return false;
    product = multiply(product, value);
  }
  if (comparison->modulus) {
    product %= comparison->modulus;
    product += product < 0 ? comparison->modulus : 0;
  }
  return compare((kdl_comparison_op)comparison->op, product, comparison->number);
}

bool kdl_condition_holds(const kdl_condition *condition, const kdl_extent *items,
                         const kdl_args *args) {
  bool holds = true;
  for (size_t i = 0; i < condition->count; ++i) {
    const kdl_comparison *comparison = &condition->comparisons[i];
    holds = holds && comparison_holds(comparison, items, args);
    if (!comparison->is_last)
      continue;
    if (holds)
      return true;
    holds = true;
  }
  return false;
}

bool kdl_kernel_is_for_launch(const kdl_kernel_key *key, const kdl_extent *items,
                              const kdl_args *args) {
  kdl_condition condition;
  return !kdl_kernel_has(key, KDL_KERNEL_WHEN) || (kdl_condition_compile(key, &condition, NULL) &&
                                                   kdl_condition_holds(&condition, items, args));
}
