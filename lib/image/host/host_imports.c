/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

#include <stdbool.h>

static const char *const libc_names[] = {
#define KDL_HOST_LIBC(name) name,
#include "lib/image/host/host_imports.def"
};

static const char *const libm_names[] = {
#define KDL_HOST_LIBM(name) name,
#include "lib/image/host/host_imports.def"
};

kdl_host_import kdl_host_import_of(kdl_string name) {
  if (KDL_TEXT_AMONG(name, libc_names))
    return KDL_HOST_IMPORT_LIBC;
  kdl_string of_double = {name.data, name.length - 1};
  bool is_float = name.length > 1 && name.data[name.length - 1] == 'f';
  return KDL_TEXT_AMONG(name, libm_names) || (is_float && KDL_TEXT_AMONG(of_double, libm_names))
             ? KDL_HOST_IMPORT_LIBM
             : KDL_HOST_IMPORT_NONE;
}
