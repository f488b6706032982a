/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/environment.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const topic_names[KDL_DEBUG_TOPIC_COUNT] = {
    [KDL_DEBUG_FILES] = "files",
    [KDL_DEBUG_DEVICES] = "devices",
    [KDL_DEBUG_SELECT] = "select",
};

static pthread_once_t debug_once = PTHREAD_ONCE_INIT;
static unsigned debug_topics;
static FILE *debug_file;

const char *kdl_environment(const char *name) {
  const char *value = secure_getenv(name);
  return value && *value ? value : NULL;
}

static bool names_topic(const char *list, const char *topic) {
  size_t length = strlen(topic);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (strncmp(at, topic, length) == 0 && (at[length] == ',' || at[length] == '\0'))
      return true;
  }
  return false;
}

static void report_unknown_topics(const char *list) {
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ",");
    bool known = length == 0 || (length == 3 && strncmp(at, "all", 3) == 0);
    for (size_t i = 0; i < KDL_DEBUG_TOPIC_COUNT; ++i)
      known |= strlen(topic_names[i]) == length && strncmp(at, topic_names[i], length) == 0;
    if (!known)
      fprintf(debug_file,
              "kdl: KDL_DEBUG: found \"%.*s\", expected files, devices, select or all\n",
              (int)length, at);
    at += length + (at[length] == ',');
  }
}

static void read_debug(void) {
  const char *list = kdl_environment("KDL_DEBUG");
  const char *path = kdl_environment("KDL_DEBUG_OUTPUT");
  debug_file = stderr;
  if (!list)
    return;
  if (path) {
    FILE *file = fopen(path, "ae");
    if (file)
      debug_file = file;
    else
      fprintf(stderr, "kdl: KDL_DEBUG_OUTPUT: cannot open %s, writing here\n", path);
  }
  for (size_t i = 0; i < KDL_DEBUG_TOPIC_COUNT; ++i) {
    if (names_topic(list, "all") || names_topic(list, topic_names[i]))
      debug_topics |= 1u << i;
  }
  report_unknown_topics(list);
}

bool kdl_debug_on(kdl_debug_topic topic) {
  pthread_once(&debug_once, read_debug);
  return debug_topics >> topic & 1;
}

void kdl_debug(kdl_debug_topic topic, const char *format, ...) {
  if (!kdl_debug_on(topic))
    return;
  /* One write per line, so that threads do not mix theirs. */
  char line[2048];
  int used = snprintf(line, sizeof line, "kdl: %s: ", topic_names[topic]);
  va_list args;
  va_start(args, format);
  vsnprintf(line + used, sizeof line - (size_t)used, format, args);
  va_end(args);
  fprintf(debug_file, "%s\n", line);
  fflush(debug_file);
}
