/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many threads there may be. What the user sets counts; else the CPUs of the process are as
 * many as its affinity mask has and its cgroup's quota pays for. OMP_NUM_THREADS is meant for
 * another library: it is the default of launches that nothing else limits.
 */
#include "lib/backends/host/threads.h"
#include "support/base/cancel.h"
#include "support/system/variables.h"

#include <kdl/extension.h>
#include <kdl/launch.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_text = 8192 };

/* ------------------------------------------------------------------------------------------ */
/* The quota of the cgroup                                                                      */

/* The beginning of a small file, as a string; false where there is none. */
static bool read_text(const char *path, char *out_text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = 0, part;
  while ((size_t)length < size - 1 &&
         (part = read(file, out_text + length, size - 1 - (size_t)length)) > 0)
    length += part;
  close(file);
  out_text[length] = '\0';
  return length > 0;
}

static uint64_t lesser_quota(uint64_t a, uint64_t b) {
  return !a || (b && b < a) ? b : a;
}

static uint64_t millicpus_of(uint64_t quota_us, uint64_t period_us) {
  return quota_us && period_us && quota_us < UINT64_MAX / 1000
             ? (quota_us * 1000 + period_us - 1) / period_us
             : 0;
}

/* Reads a number at `*text` and moves behind it; false where there is none. */
static bool parse_number(const char **text, uint64_t *out_number) {
  char *end;
  errno = 0;
  *out_number = strtoull(*text, &end, 10);
  bool has_number = end != *text && errno == 0;
  *text = end;
  return has_number;
}

static bool read_number(const char *folder, const char *name, uint64_t *out_number) {
  char path[PATH_MAX + 32], text[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const char *at = text;
  return read_text(path, text, sizeof text) && parse_number(&at, out_number);
}

/* Of one folder, of either version. "max" and -1 are no numbers that count. */
static uint64_t folder_millicpus(const char *folder) {
  char path[PATH_MAX + 32], text[64];
  uint64_t quota = 0, period = 0;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  const char *at = text;
  if (read_text(path, text, sizeof text))
    return parse_number(&at, &quota) && parse_number(&at, &period) ? millicpus_of(quota, period)
                                                                   : 0;
  if (!read_number(folder, "cpu.cfs_quota_us", &quota) || quota > INT64_MAX ||
      !read_number(folder, "cpu.cfs_period_us", &period))
    return 0;
  return millicpus_of(quota, period);
}

/* Of a folder and those above it, up to `top` characters of its path. A container sees its own
 * cgroup at the top and may be given a path that is not there. */
static uint64_t path_millicpus(char *folder, size_t top) {
  uint64_t least = 0;
  for (;;) {
    least = lesser_quota(least, folder_millicpus(folder));
    char *last = strrchr(folder + top, '/');
    if (!last)
      return least;
    *last = '\0';
  }
}

static bool lists_cpu(const char *controllers) {
  for (const char *at = controllers; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (strcmp(at, "cpu") == 0 || strncmp(at, "cpu,", 4) == 0)
      return true;
  }
  return false;
}

static uint64_t mount_millicpus(const char *root, const char *mount, const char *path) {
  char folder[PATH_MAX];
  int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, *mount ? "/" : "", mount);
  if (top < 0 || (size_t)top + strlen(path) >= sizeof folder)
    return 0;
  memcpy(folder + top, path, strlen(path) + 1);
  return path_millicpus(folder, (size_t)top);
}

/* Of one line of /proc/self/cgroup: "0::/path", or "4:cpu,cpuacct:/path" of version 1. */
static uint64_t line_millicpus(const char *root, char *line) {
  char *controllers = strchr(line, ':');
  char *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path)
    return 0;
  *path++ = '\0';
  ++controllers;
  if (*controllers && !lists_cpu(controllers))
    return 0;
  if (!*controllers)
    return mount_millicpus(root, "", path);
  return lesser_quota(mount_millicpus(root, controllers, path), mount_millicpus(root, "cpu", path));
}

uint64_t kdl_host_cgroup_millicpus(const char *root) {
  char path[PATH_MAX], text[max_text], *rest;
  uint64_t least = 0;
  int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (length < 0 || (size_t)length >= sizeof path || !read_text(path, text, sizeof text))
    return 0;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    least = lesser_quota(least, line_millicpus(root, line));
  return least;
}

/* ------------------------------------------------------------------------------------------ */
/* Limits                                                                                       */

static unsigned allowed_cpus(kdl_host_thread_limits *limits) {
  limits->has_cpu_set = sched_getaffinity(0, sizeof limits->cpu_set, &limits->cpu_set) == 0;
  if (limits->has_cpu_set)
    return (unsigned)CPU_COUNT(&limits->cpu_set);
  long online = sysconf(_SC_NPROCESSORS_ONLN); /* a machine with more CPUs than cpu_set_t holds */
  return online > 0 ? (unsigned)online : 1;
}

/* 0 where the variable is unset, or none that counts. `ends` are the characters that may follow the
 * number. */
static unsigned threads_of(kdl_variable which, const char *ends, unsigned otherwise) {
  const char *wanted = kdl_environment(which);
  char *end = NULL;
  unsigned long value = wanted ? strtoul(wanted, &end, 10) : 0;
  if (!wanted)
    return 0;
  if (value && value <= KDL_HOST_MAX_THREADS && (!*end || strchr(ends, *end)))
    return (unsigned)value;
  kdl_core_services.log("%s: found \"%s\", expected 1 to %d; using %u", kdl_variable_name(which),
                        wanted, KDL_HOST_MAX_THREADS, otherwise);
  return 0;
}

void kdl_host_read_thread_limits(const char *root, kdl_host_thread_limits *out_limits) {
  unsigned cpus = allowed_cpus(out_limits);
  uint64_t quota = kdl_host_cgroup_millicpus(root);
  uint64_t paid = (quota + 999) / 1000; /* rounded up: a thread that waits at times */
  unsigned own = quota && paid < cpus ? (unsigned)paid : cpus;
  own = own < KDL_HOST_MAX_THREADS ? own : KDL_HOST_MAX_THREADS;
  unsigned set = threads_of(KDL_VARIABLE_HOST_THREADS, "", own);
  out_limits->total = set ? set : own;
  out_limits->unlimited = out_limits->total;
  unsigned omp =
      set ? 0 : threads_of(KDL_VARIABLE_OMP_NUM_THREADS, ", ", own); /* of the outermost level */
  if (omp && omp < out_limits->unlimited)
    out_limits->unlimited = omp;
  out_limits->may_spin = out_limits->total <= cpus && (!quota || out_limits->total <= quota / 1000);
}

static kdl_host_thread_limits process_limits;
static pthread_once_t process_limits_once = PTHREAD_ONCE_INIT;

static void read_process_limits(void) {
  KDL_NOT_CANCELLED;
  kdl_host_read_thread_limits("", &process_limits);
}

const kdl_host_thread_limits *kdl_host_thread_limits_get(void) {
  pthread_once(&process_limits_once, read_process_limits);
  return &process_limits;
}

static _Thread_local uint32_t calling_thread_limit;

uint32_t kdl_host_limit_threads(uint32_t threads) {
  uint32_t before = calling_thread_limit;
  calling_thread_limit = threads;
  return before;
}

unsigned kdl_host_most_threads(uint32_t limit, unsigned *out_all) {
  const kdl_host_thread_limits *limits = kdl_host_thread_limits_get();
  limit = limit ? limit : calling_thread_limit;
  *out_all = limit ? limits->total : limits->unlimited;
  return limit && limit < *out_all ? limit : *out_all;
}

uint32_t kdl_host_thread_count(void) {
  unsigned all;
  return kdl_host_most_threads(0, &all);
}
