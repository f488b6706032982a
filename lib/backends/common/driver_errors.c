/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/driver_errors.h"

#include <stdbool.h>
#include <stdio.h>

enum { call_size = 1024, words_size = 256 };

const char *kdl_driver_error_name_of(const kdl_driver_error_name *names, size_t count, int error) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i].error == error)
      return names[i].name;
  }
  return "unknown error";
}

bool kdl_driver_error_is_in(const int *list, int error) {
  while (list && *list && *list != error)
    ++list;
  return list && *list;
}

static kdl_status driver_error_status(const kdl_driver_errors *errors, int error) {
  if (kdl_driver_error_is_in(errors->no_memory, error))
    return KDL_NO_MEMORY;
  return kdl_driver_error_is_in(errors->no_match, error) ? KDL_NO_MATCH : KDL_DEVICE;
}

kdl_status kdl_driver_errors_fail_va(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                     const char *format, va_list args) {
  char call[call_size];
  char words[words_size];
  vsnprintf(call, sizeof call, format, args);
  errors->describe(error, words, sizeof words);
  return kdl_core_services.fail(driver_error_status(errors, error), error, "%s:%u: %s: %s",
                                errors->backend, ordinal, call, words);
}

kdl_status(kdl_driver_errors_fail)(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                   const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_driver_errors_fail_va(errors, ordinal, error, format, args);
  va_end(args);
  return status;
}

kdl_status(kdl_driver_errors_no_memory)(const kdl_driver_errors *errors, uint32_t ordinal) {
  return kdl_core_services.fail(KDL_NO_MEMORY, 0, "%s:%u: no memory", errors->backend, ordinal);
}

void kdl_driver_errors_log(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                           const char *call) {
  char words[words_size];
  if (!error)
    return;
  errors->describe(error, words, sizeof words);
  kdl_core_services.log("%s:%u: %s: %s", errors->backend, ordinal, call, words);
}

kdl_status kdl_driver_errors_fail_start(const kdl_driver_errors *errors, const char *library,
                                        const char *call, int error) {
  char words[words_size];
  errors->describe(error, words, sizeof words);
  return kdl_core_services.fail(KDL_DEVICE, error, "%s: %s: %s", library, call, words);
}

kdl_status kdl_driver_check_flags(const kdl_driver_errors *errors, uint32_t ordinal,
                                  uint32_t flags) {
  if (flags & ~(uint32_t)KDL_LAUNCH_COOPERATIVE)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0,
        "%s:%u: found launch flags 0x%x, expected KDL_LAUNCH_COOPERATIVE or none", errors->backend,
        ordinal, flags);
  return KDL_OK;
}

kdl_status kdl_driver_check_shape(const kdl_driver_errors *errors, uint32_t ordinal,
                                  const kdl_launch_desc *desc) {
  KDL_TRY(kdl_driver_check_flags(errors, ordinal, desc->flags));
  if (desc->cluster[0])
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0, "%s:%u: found a cluster of groups, expected none: the backend has none",
        errors->backend, ordinal);
  return KDL_OK;
}
