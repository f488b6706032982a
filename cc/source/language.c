/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/target.h"
#include "support/base/error.h"

#include <string.h>

static const struct {
  const char *suffix;
  const char *word; /* the value of -x, as in Clang */
  cc_language language;
} languages[] = {
    {".c", "c", CC_C},        {".cpp", "c++", CC_CXX}, {".cc", "c++", CC_CXX},
    {".cxx", "c++", CC_CXX},  {".C", "c++", CC_CXX},   {".cl", "cl", CC_OPENCL_C},
    {".cu", "cuda", CC_CUDA}, {".hip", "hip", CC_HIP},
};
enum { language_count = sizeof languages / sizeof *languages };

kdl_status cc_language_of(const char *path, const char *requested, cc_language *out_language) {
  const char *slash = strrchr(path, '/');
  const char *suffix = strrchr(slash ? slash : path, '.');
  for (size_t i = 0; i < language_count; ++i) {
    if (requested ? strcmp(requested, languages[i].word) != 0
                  : !suffix || strcmp(suffix, languages[i].suffix) != 0)
      continue;
    *out_language = languages[i].language;
    return KDL_OK;
  }
  if (requested)
    return kdl_fail(KDL_BAD_CALL, "-x: bad value '%s': use c, c++, cl, cuda or hip", requested);
  return kdl_fail(KDL_BAD_CALL,
                  "%s: %s%s%s: use .c, .cpp, .cc, .cxx (C++), .cl (OpenCL C), .cu (CUDA) or .hip "
                  "(HIP); -x says what the language is",
                  path, suffix ? "unknown suffix '" : "missing suffix", suffix ? suffix : "",
                  suffix ? "'" : "");
}
