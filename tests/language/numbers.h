/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers of cases: from words, to words, and how far two are apart. */
#ifndef KDL_TEST_LANGUAGE_NUMBERS_H
#define KDL_TEST_LANGUAGE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum number_kind { NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_REAL } number_kind;

typedef struct number_type {
  const char *name;
  number_kind kind;
  size_t size;
  int digits;   /* of a real number: bits of its significand */
  int smallest; /* and the exponent of its smallest normal number */
} number_type;

/* NULL where there is none of that name. */
const number_type *number_type_of(const char *name);

void number_read(const number_type *type, const char *words, void *at);
void number_print(const number_type *type, const void *at, char *out, size_t room);

/* In units in the last place of `expected`; infinite where one is no number. */
double number_ulp(const number_type *type, const void *found, const void *expected);

/* Integers are near where they are equal. NaN is near NaN. */
bool number_is_near(const number_type *type, const void *found, const void *expected, double ulp,
                    double apart);

#endif
