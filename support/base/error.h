/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The thread's last failure, as one line of text. */
#ifndef KDL_SUPPORT_BASE_ERROR_H
#define KDL_SUPPORT_BASE_ERROR_H

#include <kdl/kdl.h>

#include <stdarg.h>

/* Records the message and returns `status`, so that a failing function ends in one statement. */
kdl_status kdl_fail(kdl_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

kdl_status kdl_fail_va(kdl_status status, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* The same with a driver's error number, for kdl_error_code. */
kdl_status kdl_fail_code_va(kdl_status status, int64_t code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
kdl_status kdl_fail_code(kdl_status status, int64_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The status for an errno: KDL_NO_MEMORY or KDL_IO. */
kdl_status kdl_status_from_errno(int reason);

/* Puts `context: ` before the recorded message. */
void kdl_error_prefix(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Records "offset 0xN: FIELD: ..." and returns KDL_BAD_FILE, for parsers. The text after the field
 * names what was found and what was expected. */
kdl_status kdl_malformed_at(uint64_t offset, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives the recorded failure a number that callers can test. */
void kdl_error_set_code(int64_t code);

/* Returns from the calling function when the call fails. Use it only where nothing has to be
 * released. */
#define KDL_TRY(call)                                                                              \
  do {                                                                                             \
    kdl_status kdl_try_status = (call);                                                            \
    if (kdl_try_status != KDL_OK)                                                                  \
      return kdl_try_status;                                                                       \
  } while (0)

/* KDL_OK, or a failure that names the first argument that is NULL. Public functions check their
 * pointers with it. */
#define KDL_GIVEN(...) (KDL_EACH(KDL_GIVEN_ONE, _, __VA_ARGS__) KDL_OK)
#define KDL_GIVEN_ONE(p, a) !(a) ? kdl_fail_null(__func__, #a):
kdl_status kdl_fail_null(const char *call, const char *name) __attribute__((cold));

/* The status of the last failure on this thread, for callers of functions that return NULL. */
kdl_status kdl_error_status(void);

/* A recorded failure is never KDL_OK. The inline check makes that visible to compilers and
 * analysers, which see one file at a time: a failing function does not write its out-parameters. */
static inline kdl_status kdl_not_ok(kdl_status status) {
  if (status == KDL_OK)
    return KDL_BAD_CALL;
  return status;
}
#define kdl_fail(...) kdl_not_ok(kdl_fail(__VA_ARGS__))
#define kdl_fail_code(...) kdl_not_ok(kdl_fail_code(__VA_ARGS__))
#define kdl_fail_null(...) kdl_not_ok(kdl_fail_null(__VA_ARGS__))
#define kdl_malformed_at(...) kdl_not_ok(kdl_malformed_at(__VA_ARGS__))
#define kdl_error_status() kdl_not_ok(kdl_error_status())

#endif
