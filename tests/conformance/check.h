/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What ends a test. */
#ifndef KDL_TESTS_CONFORMANCE_CHECK_H
#define KDL_TESTS_CONFORMANCE_CHECK_H

#include "suite.h"

#include <stdio.h>

/* Ends the test with the words where a call fails or a condition does not hold. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != KDL_OK)                                                                          \
      return complain(#call, kdl_error_message());                                                 \
  } while (0)
#define HOLDS(condition)                                                                           \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return complain(#condition, "does not hold");                                                \
  } while (0)

static inline const char *complain(const char *what, const char *why) {
  static _Thread_local char words[3000];
  snprintf(words, sizeof words, "%s: %s", what, why);
  return words;
}

#endif
