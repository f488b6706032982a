/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/environment.h"

#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"

#include <kdl/kdl.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static const char *const topic_names[KDL_DEBUG_TOPIC_COUNT] = {
    [KDL_DEBUG_FILES] = "files", [KDL_DEBUG_DEVICES] = "devices", [KDL_DEBUG_SELECT] = "select",
    [KDL_DEBUG_LINK] = "link",   [KDL_DEBUG_LOAD] = "load",       [KDL_DEBUG_LAUNCH] = "launch",
};

static pthread_once_t debug_once = PTHREAD_ONCE_INIT;
static unsigned debug_topics;
static FILE *debug_file;

typedef void log_function(void *user, const char *topic, const char *line);
static log_function *log_callback;
static void *log_user;
static unsigned log_topics;

/* The topics of kdl_set_log's function where there is one, else those of KDL_DEBUG. */
static const unsigned topics_are_known = 1u << 31;
static atomic_uint topics_on;

bool kdl_is_privileged(void) {
  return getauxval(AT_SECURE) != 0;
}

kdl_status kdl_environment_seconds(kdl_variable which, uint32_t limit, uint32_t *seconds) {
  const char *text = kdl_environment(which);
  uint32_t number;
  size_t at = 0;
  if (!text)
    return KDL_OK;
  if (!kdl_text_parse_number(kdl_text_of(text), &at, &number) || text[at] || !number ||
      number > limit)
    return kdl_fail(KDL_BAD_CALL, "%s: found \"%s\", expected seconds, 1 to %" PRIu32,
                    kdl_variable_name(which), text, limit);
  *seconds = number;
  return KDL_OK;
}

kdl_status kdl_path_next(kdl_string *rest, char out_path[PATH_MAX]) {
  size_t length = kdl_text_find(*rest, 0, ":");
  kdl_string path = {rest->data, length};
  *rest = kdl_text_substr(*rest, length + (length < rest->length));
  if (length >= PATH_MAX)
    return kdl_fail(KDL_IO, "%.60s...: %s", path.data, strerror(ENAMETOOLONG));
  memcpy(out_path, path.data, length);
  out_path[length] = '\0';
  return KDL_OK;
}

static pthread_once_t cached_once = PTHREAD_ONCE_INIT;
static atomic_bool cached_is_read;
enum { max_cached_length = 4096 };
static char cached_text[KDL_CACHED_VARIABLE_COUNT][max_cached_length];
static const char *cached_values[KDL_CACHED_VARIABLE_COUNT];

/* Static copies, since a program may change its environment. Longer values are truncated. */
static void read_cached_variables(void) {
  static const kdl_variable read[] = {[KDL_CACHED_VARIABLE_POLICY] = KDL_VARIABLE_POLICY,
                                      [KDL_CACHED_VARIABLE_VARIANT_TAG] = KDL_VARIABLE_VARIANT_TAG,
                                      [KDL_CACHED_VARIABLE_CHECK] = KDL_VARIABLE_CHECK};
  for (int i = 0; i < KDL_CACHED_VARIABLE_COUNT; ++i) {
    const char *value = kdl_environment(read[i]);
    if (value)
      snprintf(cached_text[i], max_cached_length, "%s", value);
    cached_values[i] = value ? cached_text[i] : NULL;
  }
  atomic_store_explicit(&cached_is_read, true, memory_order_release);
}

const char *const *kdl_environment_cached_all(void) {
  if (!atomic_load_explicit(&cached_is_read, memory_order_acquire))
    pthread_once(&cached_once, read_cached_variables);
  return cached_values;
}

void kdl_environment_reset_cached(void) {
  atomic_store(&cached_is_read, false);
  cached_once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

static bool names_topic(const char *list, const char *topic) {
  size_t length = strlen(topic);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (strncmp(at, topic, length) == 0 && (at[length] == ',' || at[length] == '\0'))
      return true;
  }
  return false;
}

static unsigned read_topics(const char *list) {
  unsigned topics = 0;
  for (size_t i = 0; i < KDL_DEBUG_TOPIC_COUNT; ++i) {
    if (names_topic(list, "all") || names_topic(list, topic_names[i]))
      topics |= 1u << i;
  }
  return topics;
}

/* Also the values of variables may come from elsewhere. */
static __attribute__((format(printf, 2, 3))) void report(FILE *file, const char *format, ...) {
  char line[PATH_MAX + 256];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  kdl_text_escape_controls(line, sizeof line);
  fprintf(file, "kdl: %s\n", line);
}

static void report_unknown_topics(const char *list) {
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ",");
    bool known = length == 0 || (length == 3 && strncmp(at, "all", 3) == 0);
    for (size_t i = 0; i < KDL_DEBUG_TOPIC_COUNT; ++i)
      known |= strlen(topic_names[i]) == length && strncmp(at, topic_names[i], length) == 0;
    if (!known)
      report(
          debug_file,
          "KDL_DEBUG: found \"%.*s\", expected files, devices, select, link, load, launch or all",
          length < 256 ? (int)length : 256, at);
    at += length + (at[length] == ',');
  }
}

static void read_debug_from(const char *list) {
  const char *path = kdl_environment(KDL_VARIABLE_DEBUG_OUTPUT);
  if (path) {
    int fd = -1;
    FILE *file =
        kdl_file_open(path, O_WRONLY | O_APPEND | O_CREAT, &fd) == KDL_OK ? fdopen(fd, "a") : NULL;
    if (file)
      debug_file = file;
    else
      report(stderr, "KDL_DEBUG_OUTPUT: cannot open %s, writing here", path);
  }
  debug_topics = read_topics(list);
  report_unknown_topics(list);
}

static void read_debug(void) {
  KDL_NOT_CANCELLED;
  const char *list = kdl_environment(KDL_VARIABLE_DEBUG);
  debug_file = stderr;
  if (list)
    read_debug_from(list);
}

void kdl_set_log(const char *topics, log_function *log, void *user) {
  log_callback = log;
  log_user = user;
  log_topics = log && topics ? read_topics(topics) : 0;
  atomic_store_explicit(&topics_on, 0, memory_order_release);
}

static __attribute__((noinline, cold)) unsigned find_topics(void) {
  pthread_once(&debug_once, read_debug);
  unsigned on = topics_are_known | (log_callback ? log_topics : debug_topics);
  atomic_store_explicit(&topics_on, on, memory_order_release);
  return on;
}

bool kdl_debug_on(kdl_debug_topic topic) {
  unsigned on = atomic_load_explicit(&topics_on, memory_order_acquire);
  if (!on)
    on = find_topics();
  return on >> topic & 1;
}

void kdl_debug_va(kdl_debug_topic topic, const char *format, va_list args) {
  if (!kdl_debug_on(topic))
    return;
  KDL_NOT_CANCELLED;
  char line[2048];
  vsnprintf(line, sizeof line, format, args);
  kdl_text_escape_controls(line, sizeof line);
  if (log_callback) {
    log_callback(log_user, topic_names[topic], line);
    return;
  }
  /* One write per line, so that lines of threads do not mix. */
  fprintf(debug_file, "kdl: %s: %s\n", topic_names[topic], line);
  fflush(debug_file);
}

void kdl_debug(kdl_debug_topic topic, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_debug_va(topic, format, args);
  va_end(args);
}
