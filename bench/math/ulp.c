/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ulp POINTS LABEL=ROUTE=LIBRARY...: how far the math functions of kernels.c, compiled into LIBRARY
 * and run on ROUTE, a device or the first of a driver, are from MPFR's, at so many points of every
 * function. Prints a table in Markdown: a row for each function and type, a column for each LABEL.
 *
 * A number of the table is the largest distance in units in the last place, over arguments and
 * results that are normal numbers. Behind it stands
 *
 *     z    results that are subnormal were 0 somewhere
 *     s    subnormal arguments or results gave one that is further off than that
 *     !    a NaN, an infinity or a zero was something else, or the other way round
 */
#include "reference.h"

#include <kdl/kdl.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { precision = 200, most_columns = 16 };

typedef struct {
  const char *label;
  kdl_device *device;
  kdl_queue *queue;
  kdl_library *library;
} column;

typedef struct {
  bool is_double;
  int digits, smallest, largest; /* bits of the significand; exponents of normal numbers */
  size_t size;
} real;

static const real types[] = {{false, 24, -126, 127, 4}, {true, 53, -1022, 1023, 8}};

/* What is asked: arguments, and where the exact results lie. */
typedef struct {
  size_t count;
  double *x, *y; /* each a number of the type */
  mpfr_t *exact;
} sweep;

typedef struct {
  double ulp, at;
  size_t flushed, subnormal_off, special_off;
  bool is_run;
} outcome;

static void exit_with_error(const char *what, const char *words) {
  fprintf(stderr, "ulp: %s: %s\n", what, words);
  exit(2);
}

/* ------------------------------------------------------------------------------------------ */
/* Points                                                                                       */

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t random_bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static double random_unit(void) {
  return (double)(random_bits() >> 11) * 0x1p-53;
}

static double stored(const real *type, double value) {
  return type->is_double ? value : (double)(float)value;
}

/* A number with an exponent, and any significand. */
static double with_exponent(const real *type, int exponent) {
  return stored(type, ldexp(1 + random_unit(), exponent));
}

/* The exponent of point i: all from `first` to `last`, over and over. */
static int exponent_of(size_t i, int first, int last) {
  return first + (int)(i % (size_t)(last - first + 1));
}

static double sign_of(size_t i) {
  return i & 1 ? -1 : 1;
}

static void choose_point(const function *f, const real *type, size_t i, double *x, double *y) {
  int least = type->smallest - type->digits + 1; /* subnormal ones too */
  double wide;
  *y = 0;
  switch (f->range) {
  case ANY:
    *x = sign_of(random_bits()) * with_exponent(type, exponent_of(i, least, type->largest));
    if (i % 2) /* half of them where most functions do something */
      *x = sign_of(random_bits()) * with_exponent(type, exponent_of(i / 2, -12, 10));
    break;
  case POSITIVE:
    *x = i % 3 ? with_exponent(type, exponent_of(i, least, type->largest))
               : stored(type, 0.5 + 1.5 * random_unit());
    break;
  case UNIT:
    *x = sign_of(random_bits()) *
         (i % 2 ? stored(type, random_unit()) : with_exponent(type, exponent_of(i / 2, -60, -1)));
    break;
  case ABOVE_1:
    *x = i % 2 ? stored(type, 1 + random_unit())
               : with_exponent(type, exponent_of(i / 2, 0, type->largest));
    break;
  case GAMMA:
    wide = type->is_double ? 170 : 35;
    *x = stored(type, i % 4 ? ldexp(1, -10) + wide * random_unit() : -20 * random_unit());
    break;
  case TURNS:
    *x = sign_of(random_bits()) * with_exponent(type, exponent_of(i, -30, 19));
    break;
  case PAIRS:
    *x = sign_of(random_bits()) *
         with_exponent(type, exponent_of(i, type->smallest + 32, type->largest - 32));
    *y = sign_of(random_bits()) * with_exponent(type, ilogb(*x) + (int)(random_bits() % 61) - 30);
    break;
  case POWERS:
    *x = i % 2 ? with_exponent(type, exponent_of(i / 2, type->smallest, type->largest))
               : stored(type, 0.5 + 1.5 * random_unit());
    wide = (type->largest - 2) / fmax(fabs(log2(*x)), 1e-4);
    *y = stored(type, (2 * random_unit() - 1) * wide);
    break;
  case INTEGERS:
    *x = sign_of(random_bits()) * with_exponent(type, exponent_of(i, -30, 30));
    *y = (double)(1 + random_bits() % 40) * sign_of(random_bits());
    break;
  }
}

static void make_sweep(const function *f, const real *type, size_t count, sweep *out) {
  mpfr_t x, y;
  mpfr_inits2(precision, x, y, (mpfr_ptr)0);
  out->count = count;
  for (size_t i = 0; i < count; ++i) {
    choose_point(f, type, i, &out->x[i], &out->y[i]);
    mpfr_set_d(x, out->x[i], MPFR_RNDN);
    mpfr_set_d(y, out->y[i], MPFR_RNDN);
    if (f->one)
      f->one(out->exact[i], x, MPFR_RNDN);
    else if (f->two)
      f->two(out->exact[i], x, y, MPFR_RNDN);
    else
      f->with_int(out->exact[i], x, (long)out->y[i], MPFR_RNDN);
  }
  mpfr_clears(x, y, (mpfr_ptr)0);
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

static void to_memory(const real *type, const double *from, size_t count, void *to) {
  for (size_t i = 0; i < count; ++i) {
    if (type->is_double)
      ((double *)to)[i] = from[i];
    else
      ((float *)to)[i] = (float)from[i];
  }
}

static kdl_status run_math_kernel(const column *c, const char *kernel_name, bool takes_two,
                                  const real *type, const sweep *s, void *memory) {
  kdl_buffer x, y, out;
  kdl_kernel *kernel;
  size_t bytes = s->count * type->size;
  uint32_t count = (uint32_t)s->count;
  kdl_status status = kdl_sym(c->library, c->device, kernel_name, NULL, &kernel);
  if (status != KDL_OK)
    return status;
  if (kdl_alloc(c->device, bytes, &x) != KDL_OK || kdl_alloc(c->device, bytes, &y) != KDL_OK ||
      kdl_alloc(c->device, bytes, &out) != KDL_OK)
    exit_with_error(kernel_name, kdl_error_message());
  to_memory(type, s->x, s->count, memory);
  status = kdl_write(c->queue, &x, 0, memory, bytes);
  if (status == KDL_OK)
    status = kdl_sync(c->queue);
  to_memory(type, s->y, s->count, memory);
  if (status == KDL_OK)
    status = kdl_write(c->queue, &y, 0, memory, bytes);
  if (status == KDL_OK)
    status = takes_two ? kdl_launch_items(kernel, c->queue, kdl_extent1(s->count),
                                          KDL_ARGS(&x, &y, &out, &count))
                       : kdl_launch_items(kernel, c->queue, kdl_extent1(s->count),
                                          KDL_ARGS(&x, &out, &count));
  if (status == KDL_OK)
    status = kdl_read(c->queue, memory, &out, 0, bytes);
  if (status == KDL_OK)
    status = kdl_sync(c->queue);
  kdl_free(&x);
  kdl_free(&y);
  kdl_free(&out);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

static bool is_subnormal(const real *type, double value) {
  return value != 0 && fabs(value) < ldexp(1, type->smallest);
}

/* Whether one of the two is no number or infinite, so that there is no distance to measure. Behind
 * the largest number, infinity counts as the number that would follow it. */
static bool compare_special(double found, mpfr_srcptr exact, double limit, outcome *out) {
  const bool is_nan = mpfr_nan_p(exact) != 0;
  bool is_huge = mpfr_cmp_d(exact, limit) > 0 || mpfr_cmp_d(exact, -limit) < 0; /* and no NaN */
  if (is_nan || isnan(found))
    out->special_off += !(is_nan && isnan(found));
  else if (is_huge && isinf(found))
    out->special_off += (mpfr_cmp_d(exact, 0) < 0) != (found < 0);
  else if (mpfr_inf_p(exact) ||
           (isinf(found) && fabs(mpfr_get_d(exact, MPFR_RNDN)) < limit / 1.001))
    ++out->special_off;
  else
    return false;
  return true;
}

static void compare_ulp(const real *type, double x, double y, double found, mpfr_srcptr exact,
                        outcome *out) {
  mpfr_t apart;
  double limit = type->is_double ? DBL_MAX : (double)FLT_MAX;
  if (compare_special(found, exact, limit, out))
    return;
  mpfr_init2(apart, precision);
  long exponent = mpfr_zero_p(exact) ? type->smallest : mpfr_get_exp(exact) - 1;
  bool is_below = exponent < type->smallest;
  if (is_below)
    exponent = type->smallest;
  double shown = isinf(found) ? copysign(1, found) * limit : found;
  mpfr_sub_d(apart, exact, shown, MPFR_RNDN);
  mpfr_mul_2si(apart, apart, type->digits - 1 - exponent, MPFR_RNDN);
  double ulp = fabs(mpfr_get_d(apart, MPFR_RNDN));
  mpfr_clear(apart);
  if (is_below || is_subnormal(type, x) || is_subnormal(type, y) || is_subnormal(type, found)) {
    out->flushed += is_below && found == 0 && ulp > 1;
    out->subnormal_off += ulp > 4 && found != 0;
  } else if (ulp > out->ulp) {
    out->ulp = ulp;
    out->at = x;
  }
}

static outcome measure_function(const column *c, const function *f, const real *type,
                                const sweep *s, void *memory) {
  char name[64];
  outcome out = {.ulp = 0};
  snprintf(name, sizeof name, "ulp_%s%s", f->name, type->is_double ? "" : "f");
  kdl_selection choice = {.size = sizeof choice};
  if (kdl_select(c->library, c->device, name, NULL, &choice) != KDL_OK)
    return out;
  if (run_math_kernel(c, name, !f->one, type, s, memory) != KDL_OK)
    exit_with_error(name, kdl_error_message());
  out.is_run = true;
  for (size_t i = 0; i < s->count; ++i) {
    double found = type->is_double ? ((double *)memory)[i] : (double)((float *)memory)[i];
    compare_ulp(type, s->x[i], s->y[i], found, s->exact[i], &out);
  }
  return out;
}

static void print_outcome(const outcome *o) {
  char number[32];
  if (!o->is_run) {
    printf(" - |");
    return;
  }
  if (o->ulp <= 0.5) /* as near as can be */
    snprintf(number, sizeof number, "0.5");
  else
    snprintf(number, sizeof number, o->ulp < 1000 ? "%.2f" : "%.1e", o->ulp);
  printf(" %s%s%s%s |", number, o->flushed ? " z" : "", o->subnormal_off ? " s" : "",
         o->special_off ? " !" : "");
}

static void open_column(char *words, column *out) {
  char *route = strchr(words, '=');
  char *path = route ? strchr(route + 1, '=') : NULL;
  char device[64];
  if (!path)
    exit_with_error(words, "expected LABEL=ROUTE=LIBRARY");
  *route++ = *path++ = '\0';
  snprintf(device, sizeof device, strchr(route, ':') ? "%s" : "%s:0", route);
  *out = (column){.label = words};
  if (kdl_device_find(device, &out->device) != KDL_OK ||
      kdl_queue_create(out->device, NULL, &out->queue) != KDL_OK ||
      kdl_open(path, NULL, &out->library) != KDL_OK)
    exit_with_error(words, kdl_error_message());
  fprintf(stderr, "%s: %s\n", words, kdl_device_spec_text(out->device));
}

int main(int argc, char **argv) {
  size_t count = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
  column columns[most_columns];
  size_t column_count = (size_t)(argc - 2);
  if (count == 0 || column_count > most_columns)
    exit_with_error("usage", "ulp POINTS LABEL=ROUTE=LIBRARY...");
  printf("| |");
  for (size_t i = 0; i < column_count; ++i) {
    open_column(argv[i + 2], &columns[i]);
    printf(" %s |", columns[i].label);
  }
  printf("\n|---|");
  for (size_t i = 0; i < column_count; ++i)
    printf("---|");
  putchar('\n');
  sweep s = {.x = calloc(count, sizeof *s.x), .y = calloc(count, sizeof *s.y)};
  void *memory = calloc(count, sizeof(double));
  s.exact = calloc(count, sizeof *s.exact);
  if (!s.x || !s.y || !s.exact || !memory)
    exit_with_error("memory", "out of it");
  for (size_t i = 0; i < count; ++i)
    mpfr_init2(s.exact[i], precision);
  for (size_t k = 0; k < function_count; ++k) {
    for (size_t t = 0; t < 2 - (size_t)functions[k].is_native; ++t) {
      make_sweep(&functions[k], &types[t], count, &s);
      printf("| `%s%s` |", functions[k].name, t ? "" : "f");
      for (size_t i = 0; i < column_count; ++i) {
        outcome o = measure_function(&columns[i], &functions[k], &types[t], &s, memory);
        print_outcome(&o);
      }
      putchar('\n');
      fflush(stdout);
    }
  }
  for (size_t i = 0; i < count; ++i)
    mpfr_clear(s.exact[i]);
  free(s.exact);
  free(s.x);
  free(s.y);
  free(memory);
  return 0;
}
