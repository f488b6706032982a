/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Values of variables, and the topics of KDL_DEBUG. */
#ifndef KDL_SUPPORT_SYSTEM_ENVIRONMENT_H
#define KDL_SUPPORT_SYSTEM_ENVIRONMENT_H

#include "support/system/variables.h"

#include <kdl/kdl.h>

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>

/* Whether this program runs with more rights than its user (AT_SECURE). */
bool kdl_is_privileged(void);

/* Reads a variable with seconds, 1 to `limit`. *seconds is unchanged where it is unset. */
kdl_status kdl_environment_seconds(kdl_variable which, uint32_t limit, uint32_t *seconds);

/* The next path of a colon-separated list, which is advanced; "" for an empty part. KDL_IO where it
 * is longer than PATH_MAX. */
kdl_status kdl_path_next(kdl_string *rest, char out_path[PATH_MAX]);

/* Variables that every choice of an image needs. They are read once: searching the environment
 * takes longer than a choice. */
typedef enum kdl_cached_variable {
  KDL_CACHED_VARIABLE_POLICY,
  KDL_CACHED_VARIABLE_VARIANT_TAG,
  KDL_CACHED_VARIABLE_CHECK,
  KDL_CACHED_VARIABLE_COUNT,
} kdl_cached_variable;

/* All of them as first read; NULL where unset. */
const char *const *kdl_environment_cached_all(void);

static inline const char *kdl_environment_cached(kdl_cached_variable which) {
  return kdl_environment_cached_all()[which];
}

/* For tests, which change the variables: reads them again. */
void kdl_environment_reset_cached(void);

typedef enum kdl_debug_topic {
  KDL_DEBUG_FILES,
  KDL_DEBUG_DEVICES,
  KDL_DEBUG_SELECT,
  KDL_DEBUG_LINK,
  KDL_DEBUG_LOAD,
  KDL_DEBUG_LAUNCH,
  KDL_DEBUG_TOPIC_COUNT,
} kdl_debug_topic;

/* Whether KDL_DEBUG, a comma-separated list of topics or "all", names the topic. */
bool kdl_debug_on(kdl_debug_topic topic);

/* One line, "kdl: TOPIC: ...", to KDL_DEBUG_OUTPUT or standard error, or to kdl_set_log's function.
 */
void kdl_debug(kdl_debug_topic topic, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void kdl_debug_va(kdl_debug_topic topic, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
