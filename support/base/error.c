/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/error.h"

#include "support/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_message[2048];
static _Thread_local kdl_status last_status;
static _Thread_local int64_t last_code;

kdl_status kdl_fail_code_va(kdl_status status, int64_t code, const char *format, va_list args) {
  vsnprintf(last_message, sizeof last_message, format, args);
  kdl_text_escape_controls(last_message, sizeof last_message);
  last_status = status;
  last_code = code;
  return status;
}

kdl_status(kdl_fail_code)(kdl_status status, int64_t code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_fail_code_va(status, code, format, args);
  va_end(args);
  return status;
}

kdl_status kdl_status_from_errno(int reason) {
  return reason == ENOMEM ? KDL_NO_MEMORY : KDL_IO;
}

kdl_status kdl_fail_va(kdl_status status, const char *format, va_list args) {
  return kdl_fail_code_va(status, 0, format, args);
}

kdl_status(kdl_fail)(kdl_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_fail_va(status, format, args);
  va_end(args);
  return status;
}

kdl_status(kdl_fail_null)(const char *call, const char *name) {
  return kdl_fail(KDL_BAD_CALL, "%s: found NULL for %s, expected a pointer", call, name);
}

kdl_status(kdl_malformed_at)(uint64_t offset, const char *field, const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return kdl_fail(KDL_BAD_FILE, "offset 0x%" PRIx64 ": %s: %s", offset, field, message);
}

void kdl_error_prefix(const char *format, ...) {
  char message[sizeof last_message];
  memcpy(message, last_message, sizeof message);
  va_list args;
  va_start(args, format);
  int used = vsnprintf(last_message, sizeof last_message, format, args);
  va_end(args);
  size_t at = used < 0 ? 0 : (size_t)used;
  for (const char *rest = ": "; *rest && at + 1 < sizeof last_message; ++rest)
    last_message[at++] = *rest;
  for (const char *rest = message; *rest && at + 1 < sizeof last_message; ++rest)
    last_message[at++] = *rest;
  last_message[at < sizeof last_message ? at : sizeof last_message - 1] = '\0';
  kdl_text_escape_controls(last_message, sizeof last_message);
}

void kdl_error_set_code(int64_t code) {
  last_code = code;
}

kdl_status(kdl_error_status)(void) {
  return last_status;
}

kdl_status kdl_error_set(kdl_status status, const char *message) {
  KDL_TRY(KDL_GIVEN(message));
  return status == KDL_OK ? KDL_OK : kdl_fail(status, "%s", message);
}

int64_t kdl_error_code(void) {
  return last_code;
}

const char *kdl_error_message(void) {
  return last_message;
}

const char *kdl_status_name(kdl_status status) {
  switch (status) {
  case KDL_OK:
    return "ok";
  case KDL_BAD_FILE:
    return "bad file";
  case KDL_BAD_CALL:
    return "bad call";
  case KDL_NO_MATCH:
    return "nothing fits";
  case KDL_DEVICE:
    return "device or driver failed";
  case KDL_IO:
    return "operating system refused";
  case KDL_NO_MEMORY:
    return "out of memory or over a limit";
  case KDL_UNSUPPORTED:
    return "not supported by this build or machine";
  }
  return "unknown status";
}
