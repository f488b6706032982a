/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "runtime.h"

#include <stddef.h>

static const char *const host[] = {
#define LD_RUNTIME_HOST(name) name,
#include "runtime.def"
};

static const char *const math[] = {
#define LD_RUNTIME_MATH(name) name,
#include "runtime.def"
};

static const char *const nvidia[] = {
#define LD_RUNTIME_NVIDIA(name) name,
#include "runtime.def"
};

static bool lists(const char *const *names, size_t count, kdl_string name) {
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(name, names[i]))
      return true;
  }
  return false;
}
#define LISTS(names, name) lists(names, sizeof(names) / sizeof *(names), name)

ld_runtime ld_runtime_of(kdl_target_family family, kdl_string name) {
  if (family == KDL_FAMILY_NVPTX)
    return LISTS(nvidia, name) ? LD_RUNTIME_THERE : LD_RUNTIME_NONE;
  if (family != KDL_FAMILY_X86_64 && family != KDL_FAMILY_AARCH64)
    return LD_RUNTIME_NONE;
  if (LISTS(host, name))
    return LD_RUNTIME_THERE;
  kdl_string of_double = {name.data, name.length - 1};
  bool is_float = name.length > 1 && name.data[name.length - 1] == 'f';
  return LISTS(math, name) || (is_float && LISTS(math, of_double)) ? LD_RUNTIME_LIBM
                                                                   : LD_RUNTIME_NONE;
}
