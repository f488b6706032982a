/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/services.h"

#include "lib/inspect/kinds.h"
#include "support/base/error.h"
#include "support/base/text.h"
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

static kdl_status refuse_kind(const kdl_backend_image *image, kdl_target_family family,
                              const char *backend, uint32_t ordinal) {
  char names[256] = ""; /* all but the last */
  const char *last = "";
  kdl_out out = {names, sizeof names, 0};
  for (unsigned kind = 0; kind < KDL_IMAGE_KIND_COUNT; ++kind) {
    if (!(kdl_image_kinds[kind].loaded_by >> family & 1))
      continue;
    if (*last)
      kdl_out_format(&out, "%s%s", out.used ? ", " : "", last);
    last = kdl_image_kinds[kind].name;
  }
  return kdl_core_services.fail(
      KDL_UNSUPPORTED, 0, "%s:%u: found an image of kind %s, expected %s%s%s", backend, ordinal,
      kdl_image_kind_name(image->kind), names, out.used ? " or " : "", last);
}

kdl_status kdl_image_kind_check(const kdl_backend_image *image, kdl_target_family family,
                                const char *backend, uint32_t ordinal) {
  bool is_loaded = kdl_image_kind_get(image->kind)->loaded_by >> family & 1;
  return is_loaded ? KDL_OK : refuse_kind(image, family, backend, ordinal);
}
