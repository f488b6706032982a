/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/services.h"

#include "support/base/error.h"
#include "support/system/environment.h"

#include <stdarg.h>
#include <stdlib.h>

static kdl_status fail_for_backend(kdl_status status, int64_t code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_fail_code_va(kdl_not_ok(status), code, format, args);
  va_end(args);
  return kdl_not_ok(status);
}

static void log_for_backend(const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_debug_va(KDL_DEBUG_LOAD, format, args);
  va_end(args);
}

/* By a name: a plug-in has variables of its own, without a row in environment.def. */
static const char *environment_for_backend(const char *name) {
  const char *value = secure_getenv(name);
  return value && *value ? value : NULL;
}

const kdl_backend_services kdl_core_services = {
    .size = sizeof kdl_core_services,
    .abi = KDL_BACKEND_ABI,
    .fail = fail_for_backend,
    .log = log_for_backend,
    .environment = environment_for_backend,
};
