/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image/host_imports.h"
#include "base/text.h"

#include <stdbool.h>

static const char *const libc_names[] = {
#define KDL_HOST_LIBC(name) name,
#include "image/host_imports.def"
};

static const char *const libm_names[] = {
#define KDL_HOST_LIBM(name) name,
#include "image/host_imports.def"
};

static bool lists(const char *const *names, size_t count, kdl_string name) {
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(name, names[i]))
      return true;
  }
  return false;
}
#define LISTS(names, name) lists(names, sizeof(names) / sizeof *(names), name)

kdl_host_import kdl_host_import_of(kdl_string name) {
  if (LISTS(libc_names, name))
    return KDL_HOST_IMPORT_LIBC;
  kdl_string of_double = {name.data, name.length - 1};
  bool is_float = name.length > 1 && name.data[name.length - 1] == 'f';
  return LISTS(libm_names, name) || (is_float && LISTS(libm_names, of_double))
             ? KDL_HOST_IMPORT_LIBM
             : KDL_HOST_IMPORT_NONE;
}
