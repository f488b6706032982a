/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/target.h"
#include "support/base/error.h"

#include <string.h>

static const struct {
  const char *suffix;
  const char *word; /* of -x, as Clang has it */
  cc_language language;
} rows[] = {
    {".c", "c", CC_C},        {".cpp", "c++", CC_CXX}, {".cc", "c++", CC_CXX},
    {".cxx", "c++", CC_CXX},  {".C", "c++", CC_CXX},   {".cl", "cl", CC_OPENCL_C},
    {".cu", "cuda", CC_CUDA}, {".hip", "hip", CC_HIP},
};
enum { row_count = sizeof rows / sizeof *rows };

kdl_status cc_language_of(const char *path, const char *asked, cc_language *out_language) {
  const char *slash = strrchr(path, '/');
  const char *suffix = strrchr(slash ? slash : path, '.');
  for (size_t i = 0; i < row_count; ++i) {
    if (asked ? strcmp(asked, rows[i].word) != 0 : !suffix || strcmp(suffix, rows[i].suffix) != 0)
      continue;
    *out_language = rows[i].language;
    return KDL_OK;
  }
  if (asked)
    return kdl_fail(KDL_BAD_CALL, "-x: found '%s', expected c, c++, cl, cuda or hip", asked);
  return kdl_fail(
      KDL_BAD_CALL,
      "%s: found %s%s%s, expected .c, .cpp, .cc, .cxx (C++), .cl (OpenCL C), .cu (CUDA) "
      "or .hip (HIP); -x says what the language is",
      path, suffix ? "the suffix '" : "no suffix", suffix ? suffix : "", suffix ? "'" : "");
}
