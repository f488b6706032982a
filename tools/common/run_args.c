/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/run_args.h"

#include "support/base/error.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/text.h"

#include <kdl/kernel/narrow.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Types                                                                                        */

typedef enum { SIGNED, UNSIGNED, REAL, HALF, BF16 } number_kind;

typedef struct cli_run_type {
  const char *name;
  number_kind kind;
  size_t size;
  cli_tolerance tolerance; /* default tolerance: that of torch.testing.assert_close */
} run_type;

static const run_type types[] = {
    {"i8", SIGNED, 1, {0, 0}},        {"i16", SIGNED, 2, {0, 0}},
    {"i32", SIGNED, 4, {0, 0}},       {"i64", SIGNED, 8, {0, 0}},
    {"u8", UNSIGNED, 1, {0, 0}},      {"u16", UNSIGNED, 2, {0, 0}},
    {"u32", UNSIGNED, 4, {0, 0}},     {"u64", UNSIGNED, 8, {0, 0}},
    {"f32", REAL, 4, {1.3e-6, 1e-5}}, {"f64", REAL, 8, {1e-7, 1e-7}},
    {"f16", HALF, 2, {1e-3, 1e-5}},   {"bf16", BF16, 2, {1.6e-2, 1e-5}},
};

static const run_type bytes_type = {"bytes", UNSIGNED, 1, {0, 0}};

static const run_type *find_type(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
      return &types[i];
  }
  return NULL;
}

/* Only little-endian machines are supported: the low bytes come first. */
static void store_integer(const run_type *type, uint64_t value, void *at) {
  memcpy(at, &value, type->size);
}

static kdl_narrow_format format_of(const run_type *type) {
  return type->kind == HALF ? KDL_NARROW_F16 : KDL_NARROW_BF16;
}

static bool is_real(const run_type *type) {
  return type->kind >= REAL;
}

static void store_real(const run_type *type, double value, void *at) {
  uint16_t bits = type->kind == REAL ? 0 : kdl_narrow_from_double(format_of(type), value);
  float narrow = (float)value;
  if (type->size == sizeof bits)
    memcpy(at, &bits, sizeof bits);
  else if (type->size == sizeof narrow)
    memcpy(at, &narrow, sizeof narrow);
  else
    memcpy(at, &value, sizeof value);
}

static double load_real(const run_type *type, const void *at) {
  uint16_t bits;
  float narrow;
  double wide;
  if (type->size == sizeof bits) {
    memcpy(&bits, at, sizeof bits);
    return kdl_narrow_to_double(format_of(type), bits);
  }
  if (type->size == sizeof narrow) {
    memcpy(&narrow, at, sizeof narrow);
    return (double)narrow;
  }
  memcpy(&wide, at, sizeof wide);
  return wide;
}

static int64_t largest_signed(const run_type *type) {
  return INT64_MAX >> (64 - type->size * 8);
}

static uint64_t largest_unsigned(const run_type *type) {
  return UINT64_MAX >> (64 - type->size * 8);
}

/* A number and nothing after it; errno is ERANGE where the type cannot hold it. */
static bool parse_typed_number(const run_type *type, const char *words, void *at) {
  char *end = NULL;
  bool fits = true;
  errno = 0;
  if (is_real(type)) {
    store_real(type, strtod(words, &end), at);
  } else if (type->kind == SIGNED) {
    int64_t value = strtoll(words, &end, 0);
    int64_t limit = largest_signed(type);
    fits = value <= limit && value >= -limit - 1;
    store_integer(type, (uint64_t)value, at);
  } else {
    uint64_t value = strtoull(words, &end, 0);
    fits = !strchr(words, '-') && value <= largest_unsigned(type);
    store_integer(type, value, at);
  }
  bool is_number = end != words && !*end;
  errno = !is_number ? 0 : fits ? errno : ERANGE;
  return is_number && errno == 0;
}

static void print_number(const run_type *type, const void *at) {
  uint64_t bits = 0;
  memcpy(&bits, at, type->size);
  unsigned unused = (unsigned)(64 - type->size * 8);
  if (type->kind == UNSIGNED) {
    printf("%" PRIu64, bits);
  } else if (type->kind == SIGNED) {
    printf("%" PRId64, (int64_t)(bits << unused) >> unused);
  } else {
    /* Enough digits to be exact, and no more than short numbers need. */
    int digits = type->size == 8 ? 17 : type->size == 4 ? 9 : type->kind == HALF ? 5 : 4;
    printf("%.*g", digits, load_real(type, at));
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

#define GRAMMAR                                                                                    \
  "use TYPE:VALUE or buf:TYPE[COUNT]=zero|iota|VALUE|@FILE with TYPE one of i8 i16 i32 i64 "       \
  "u8 u16 u32 u64 f16 bf16 f32 f64"

static kdl_status fail_argument(const char *words) {
  return kdl_fail(KDL_BAD_CALL, "--arg: bad value '%s': " GRAMMAR, words);
}

static kdl_status parse_element(const char *words, const run_type *type, const char *number,
                                void *at) {
  if (parse_typed_number(type, number, at))
    return KDL_OK;
  if (errno != ERANGE)
    return fail_argument(words);
  if (is_real(type))
    return kdl_fail(KDL_BAD_CALL, "--arg: '%s' is out of the range of %s", words, type->name);
  bool is_signed = type->kind == SIGNED;
  char least[24] = "0";
  if (is_signed)
    snprintf(least, sizeof least, "%" PRId64, -largest_signed(type) - 1);
  return kdl_fail(KDL_BAD_CALL, "--arg: '%s' is out of the range of %s: use %s to %" PRIu64, words,
                  type->name, least,
                  is_signed ? (uint64_t)largest_signed(type) : largest_unsigned(type));
}

static kdl_status fill_from_file(const char *path, cli_run_arg *arg) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_status status = KDL_OK;
  if (bytes.size != cli_run_arg_size(arg))
    status = kdl_fail(KDL_BAD_FILE, "%s: found %zu bytes, expected %zu", path, bytes.size,
                      cli_run_arg_size(arg));
  else if (bytes.size)
    memcpy(arg->host, bytes.data, bytes.size);
  cli_bytes_free(&bytes);
  return status;
}

static kdl_status fill_buffer(const char *words, const char *how, cli_run_arg *arg) {
  char *at = arg->host;
  if (how[0] == '@')
    return fill_from_file(how + 1, arg);
  if (strcmp(how, "zero") == 0)
    return KDL_OK;
  bool counts = strcmp(how, "iota") == 0;
  for (size_t i = 0; i < arg->count; ++i, at += arg->type->size) {
    if (counts && is_real(arg->type))
      store_real(arg->type, (double)i, at);
    else if (counts)
      store_integer(arg->type, i, at);
    else
      KDL_TRY(parse_element(words, arg->type, how, at));
  }
  return KDL_OK;
}

static kdl_status parse_buffer(const char *words, cli_run_arg *arg) {
  const char *open = strchr(words, '[');
  const char *close = open ? strchr(open, ']') : NULL;
  char *end = NULL;
  errno = 0;
  arg->type = open ? find_type(words + 4, (size_t)(open - words - 4)) : NULL;
  uint64_t count = open ? strtoull(open + 1, &end, 10) : 0;
  if (!arg->type || !close || end != close || end == open + 1 || open[1] == '-' || errno ||
      (close[1] && close[1] != '='))
    return fail_argument(words);
  if (count > SIZE_MAX / 2 / arg->type->size)
    return kdl_fail(KDL_NO_MEMORY, "--arg: '%s' is too large", words);
  arg->is_buffer = true;
  arg->count = (size_t)count;
  arg->host = xcalloc(arg->count + 1, arg->type->size);
  return fill_buffer(words, close[1] ? close + 2 : "zero", arg);
}

kdl_status cli_run_arg_parse(const char *words, cli_run_arg *out_arg) {
  *out_arg = (cli_run_arg){.count = 1};
  if (strncmp(words, "buf:", 4) == 0)
    return parse_buffer(words, out_arg);
  const char *colon = strchr(words, ':');
  out_arg->type = colon ? find_type(words, (size_t)(colon - words)) : NULL;
  if (!out_arg->type)
    return fail_argument(words);
  out_arg->host = xcalloc(1, sizeof(uint64_t));
  return parse_element(words, out_arg->type, colon + 1, out_arg->host);
}

kdl_status cli_run_arg_parse_bytes(const char *words, cli_run_arg *out_arg) {
  *out_arg = (cli_run_arg){.type = &bytes_type};
  if (strncmp(words, "bytes:@", 7) != 0)
    return cli_run_arg_parse(words, out_arg);
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(words + 7, &bytes));
  out_arg->count = bytes.size;
  out_arg->host = xmalloc(bytes.size + 1);
  if (bytes.size)
    memcpy(out_arg->host, bytes.data, bytes.size);
  cli_bytes_free(&bytes);
  return KDL_OK;
}

bool cli_run_arg_is_bytes(const cli_run_arg *arg) {
  return arg->type == &bytes_type;
}

void cli_run_arg_free(cli_run_arg *arg) {
  kdl_free(&arg->buffer);
  free(arg->host);
}

size_t cli_run_arg_size(const cli_run_arg *arg) {
  return arg->count * arg->type->size;
}

const char *cli_run_arg_type(const cli_run_arg *arg) {
  return arg->type->name;
}

bool cli_run_arg_is_negative(const cli_run_arg *arg) {
  const unsigned char *bytes = arg->host;
  return !arg->is_buffer && arg->type->kind == SIGNED && bytes[arg->type->size - 1] >> 7;
}

void cli_run_arg_print(const cli_run_arg *arg, const char *name) {
  cli_text_print((kdl_string){name, strlen(name)}, " =");
  for (size_t i = 0; i < arg->count; ++i) {
    putchar(' ');
    print_number(arg->type, (const char *)arg->host + i * arg->type->size);
  }
  putchar('\n');
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

kdl_status cli_tolerance_parse(const char *words, cli_tolerance *out_tolerance) {
  char *end = NULL;
  cli_tolerance made = {strtod(words, &end), 0};
  bool is_number = end != words;
  if (is_number && *end == ',') {
    const char *second = end + 1;
    made.absolute = strtod(second, &end);
    is_number = end != second;
  }
  if (!is_number || *end || !(made.relative >= 0 && made.absolute >= 0))
    return kdl_fail(KDL_BAD_CALL,
                    "--tolerance: bad value '%s': use RELATIVE or RELATIVE,ABSOLUTE, numbers of "
                    "at least 0",
                    words);
  *out_tolerance = made;
  return KDL_OK;
}

/* NaNs and infinities only match themselves. */
static bool is_within_tolerance(double found, double expected, const cli_tolerance *tolerance) {
  if (isnan(found) || isnan(expected))
    return isnan(found) && isnan(expected);
  if (isinf(found) || isinf(expected))
    return found == expected;
  return fabs(found - expected) <= tolerance->absolute + tolerance->relative * fabs(expected);
}

static bool is_alike(const run_type *type, const void *found, const void *expected,
                     const cli_tolerance *tolerance) {
  return memcmp(found, expected, type->size) == 0 ||
         (is_real(type) &&
          is_within_tolerance(load_real(type, found), load_real(type, expected), tolerance));
}

static kdl_status report_difference(const cli_run_arg *arg, const cli_run_arg *expected,
                                    const char *name, const char *path, size_t first, size_t count,
                                    const cli_tolerance *tolerance) {
  size_t at = first * arg->type->size;
  char allowed[96] = "";
  cli_text_print((kdl_string){name, strlen(name)}, "");
  printf("[%zu]: found ", first);
  print_number(arg->type, (const char *)arg->host + at);
  fputs(", expected ", stdout);
  print_number(arg->type, (const char *)expected->host + at);
  putchar('\n');
  if (is_real(arg->type))
    snprintf(allowed, sizeof allowed, ", by more than %g of the expected and %g",
             tolerance->relative, tolerance->absolute);
  return kdl_fail(KDL_BAD_FILE, "%s differs from %s from element %zu on, in %zu of %zu%s", name,
                  path, first, count, arg->count, allowed);
}

kdl_status cli_run_arg_check(const cli_run_arg *arg, const char *name, const char *path,
                             const cli_tolerance *tolerance) {
  cli_run_arg expected = *arg;
  expected.host = xmalloc(cli_run_arg_size(arg) + 1);
  kdl_status status = fill_from_file(path, &expected);
  size_t size = arg->type->size, first = 0, count = 0;
  if (!tolerance)
    tolerance = &arg->type->tolerance;
  for (size_t i = 0; i < arg->count && status == KDL_OK; ++i) {
    if (is_alike(arg->type, (char *)arg->host + i * size, (char *)expected.host + i * size,
                 tolerance))
      continue;
    if (count++ == 0)
      first = i;
  }
  if (count)
    status = report_difference(arg, &expected, name, path, first, count, tolerance);
  free(expected.host);
  return status;
}
