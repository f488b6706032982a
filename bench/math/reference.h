/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the functions of <kdl/math.h> are, by MPFR, and for which numbers they are asked. */
#ifndef KDL_BENCH_MATH_REFERENCE_H
#define KDL_BENCH_MATH_REFERENCE_H

#include <mpfr.h>

#include <stdbool.h>
#include <stddef.h>

/* Which numbers a function is asked for. */
typedef enum range {
  ANY,      /* every exponent of the type, both signs */
  POSITIVE, /* every exponent */
  UNIT,     /* -1 to 1, every exponent below */
  ABOVE_1,  /* every exponent from 0 on */
  GAMMA,    /* 2^-10 to 170, or 35 for float; and down to -20 */
  TURNS,    /* up to 2^20, both signs */
  PAIRS,    /* every exponent, and a second number within 2^30 of it */
  POWERS,   /* a positive number, and a power for which the result is one of the type */
  INTEGERS  /* any number, and an integer from -40 to 40 but 0 */
} range;

typedef struct function {
  const char *name;
  range range;
  bool is_native; /* "native_sin", of float alone */
  int (*one)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  int (*two)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  int (*with_int)(mpfr_ptr, mpfr_srcptr, long, mpfr_rnd_t);
} function;

extern const function functions[];
extern const size_t function_count;

#endif
