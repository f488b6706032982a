/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/trace.h"

#include "ext/trace/traced_device.h"
#include "lib/hooks.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/file.h"
#include "support/system/lock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const kdl_trace_hooks *kdl_tracing;
bool kdl_trace_started;
bool kdl_trace_device_time_enabled;

static char path[PATH_MAX];     /* absolute, since the program may chdir */
static bool appends_process_id; /* another process has the path: this one appends its ID */
static struct timespec started; /* CLOCK_REALTIME */
static kdl_trace_header header;

/* ------------------------------------------------------------------------------------------ */
/* Trace phases                                                                                 */

enum { max_nested = 16 };

static _Thread_local struct {
  unsigned depth;
  uint64_t begins[max_nested];
} nest;

static void on_phase_begin(kdl_trace_phase phase) {
  (void)phase;
  if (nest.depth < max_nested)
    nest.begins[nest.depth] = kdl_trace_ticks();
  ++nest.depth;
}

static void on_phase_end(kdl_trace_phase phase, const kdl_trace_phase_info *phase_info) {
  if (nest.depth == 0)
    return;
  --nest.depth;
  if (nest.depth >= max_nested)
    return;
  uint64_t end = kdl_trace_ticks();
  kdl_trace_add_record(phase, kdl_trace_subject_intern(phase_info), nest.begins[nest.depth], end,
                       NULL, phase_info ? phase_info->bytes : 0, phase_info && phase_info->failed);
}

static const kdl_trace_listener listener = {on_phase_begin, on_phase_end};

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* On the host, the device time is the launch's time. */
static void trace_begin(void *handle, void *queue, kdl_trace_mark *out_mark) {
  const kdl_trace_device *device =
      handle && header.device_time ? kdl_trace_device_of(handle) : NULL;
  if (device && !device->is_synchronous && !(kdl_trace_device_time_enabled && device->timer))
    device = NULL;
  out_mark->device = device;
  if (device && device->is_synchronous)
    out_mark->begin_ns = kdl_trace_ns();
  else if (device)
    out_mark->events = kdl_trace_timer_begin(device->timer, queue);
  out_mark->begin = kdl_trace_ticks();
}

static void trace_end_launch(const kdl_trace_subject *subject, const kdl_trace_mark *mark,
                             const uint32_t grid[3], const uint32_t block[3], void *queue,
                             kdl_status status) {
  const kdl_trace_device *device = mark->device;
  kdl_trace_launch(subject, mark->begin, grid, block, queue, status);
  if (device && !device->is_synchronous)
    kdl_trace_timer_end(device->timer, mark->events, subject, queue, mark->begin, status);
  else if (device && status == KDL_OK)
    kdl_trace_device_time(subject, mark->begin_ns, kdl_trace_ns(), mark->begin, queue);
}

static void trace_end_arguments(const kdl_trace_subject *subject, const kdl_trace_mark *mark) {
  kdl_trace_span(KDL_TRACE_PHASE_ARGUMENTS, subject, mark->begin, NULL, 0, KDL_OK);
}

static const kdl_trace_hooks hooks = {
    .open_device = kdl_trace_device_open,
    .subject_of = kdl_trace_subject_intern,
    .begin = trace_begin,
    .end_launch = trace_end_launch,
    .end_arguments = trace_end_arguments,
};

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

/* "%p" is the process ID. */
static bool expand_process_id(const char *given, char out_name[PATH_MAX]) {
  size_t used = 0;
  for (const char *at = given; *at; ++at) {
    int put = 1;
    if (at[0] == '%' && at[1] == 'p') {
      put = snprintf(out_name + used, PATH_MAX - used, "%d", (int)getpid());
      ++at;
    } else if (used + 1 < PATH_MAX) {
      out_name[used] = *at;
    }
    used += (size_t)put;
    if (used >= PATH_MAX)
      return false;
  }
  out_name[used] = '\0';
  return true;
}

static kdl_status set_path(const char *given) {
  char name[PATH_MAX];
  if (!expand_process_id(given, name))
    return kdl_fail(KDL_IO, "%.40s...: the name is too long", given);
  char *target;
  KDL_TRY(kdl_file_target(name, &target));
  char folder[PATH_MAX] = "";
  bool is_whole = target[0] == '/' || getcwd(folder, sizeof folder);
  int length =
      is_whole ? snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", target) : -1;
  free(target);
  if (length < 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot write there: %s", name,
                    strerror(errno));
  if ((size_t)length + 32 > sizeof path)
    return kdl_fail(KDL_IO, "%.40s...: the name is too long", path);
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return kdl_fail(KDL_IO,
                    "%s: cannot write: found a directory, device, pipe or socket, expected a "
                    "regular file",
                    name);
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path) + 1, path);
  if (access(folder, W_OK | X_OK) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot create a file there: %s", name,
                    strerror(errno));
  return KDL_OK;
}

/* Whether a file of that name was written after this process started: by another process that
 * traces to the same name, or by another copy of libkdl in this one. Older files are replaced. */
static bool is_newer_than_process(const char *name) {
  struct stat info;
  if (stat(name, &info) != 0)
    return false;
  return info.st_mtim.tv_sec != started.tv_sec ? info.st_mtim.tv_sec > started.tv_sec
                                               : info.st_mtim.tv_nsec > started.tv_nsec;
}

static void choose_file_name(char out_name[PATH_MAX]) {
  bool taken = appends_process_id || is_newer_than_process(path);
  snprintf(out_name, PATH_MAX, "%s", path);
  for (unsigned number = 1; taken && number < 1000; ++number) {
    size_t used = strlen(path);
    if (number == 1)
      snprintf(out_name + used, PATH_MAX - used, ".%d", (int)getpid());
    else
      snprintf(out_name + used, PATH_MAX - used, ".%d.%u", (int)getpid(), number);
    taken = is_newer_than_process(out_name);
  }
}

/* Sets the time to the nanosecond: the system's file clock ticks a few hundred times a second, and
 * two processes may fall into one tick. */
static void set_file_time(int fd) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = 0}};
  clock_gettime(CLOCK_REALTIME, &times[1]);
  if (futimens(fd, times) != 0)
    errno = 0;
}

/* Locks the folder from choosing a name to using it, against processes that end at the same
 * time. */
static kdl_status keep_trace_file(kdl_temp_file *temp, char out_name[PATH_MAX]) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path) + 1, path);
  FILE *lock = fopen(folder, "re");
  if (lock && flock(fileno(lock), LOCK_EX) != 0)
    errno = 0;
  choose_file_name(out_name);
  kdl_status status = kdl_temp_file_keep(temp, out_name);
  if (lock)
    fclose(lock);
  return status;
}

static void report_dropped_events(const char *name) {
  uint64_t dropped = kdl_trace_dropped();
  if (dropped)
    fprintf(stderr,
            "kdl: KDL_TRACE: %s: %llu events were dropped: they did not fit in %llu bytes "
            "(KDL_TRACE_SIZE)\n",
            name, (unsigned long long)dropped, (unsigned long long)header.bytes);
}

kdl_status kdl_trace_save(void) {
  kdl_temp_file temp;
  char name[PATH_MAX];
  if (!kdl_trace_started || !kdl_trace_buffers())
    return KDL_OK;
  kdl_status status = kdl_temp_file_create(path, path, &temp);
  if (status != KDL_OK)
    return status;
  if (!kdl_trace_write(&header, temp.fd)) {
    status = kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", path, strerror(errno));
    kdl_temp_file_discard(&temp);
    return status;
  }
  set_file_time(temp.fd);
  status = keep_trace_file(&temp, name);
  if (status == KDL_OK)
    report_dropped_events(name);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The process                                                                                  */

static void reset_after_fork(void) {
  appends_process_id = true;
  nest.depth = 0;
  kdl_trace_device_time_enabled = false; /* the drivers belong to the parent */
  kdl_trace_buffers_after_fork();
}

kdl_status kdl_trace_start(const kdl_trace_settings *settings) {
  KDL_TRY(set_path(settings->path));
  clock_gettime(CLOCK_REALTIME, &started);
  kdl_trace_clock_start();
  if (!kdl_trace_buffers_start(settings->bytes))
    return kdl_fail(KDL_NO_MEMORY, "%s: cannot have %llu bytes for records: %s", settings->path,
                    (unsigned long long)settings->bytes, strerror(errno));
  header = (kdl_trace_header){
      .started = started.tv_sec, .bytes = settings->bytes, .device_time = settings->device_time};
  kdl_fork_tell(reset_after_fork);
  kdl_trace_device_time_enabled = settings->device_time;
  kdl_trace_started = true;
  kdl_tracing = &hooks;
  atomic_store(&kdl_trace_active_listener, &listener);
  return KDL_OK;
}

static void report_trace_failure(kdl_status status) {
  if (status != KDL_OK)
    fprintf(stderr, "kdl: KDL_TRACE: %s; there is no trace\n", kdl_error_message());
}

/* `kdl trace` names the process that it started, which gets the file; others get another name. */
static bool is_traced_process(void) {
  const char *process = kdl_environment(KDL_VARIABLE_TRACE_PROCESS);
  return !process || strtol(process, NULL, 10) == getpid();
}

static __attribute__((constructor)) void trace_at_load(void) {
  kdl_trace_settings settings = {.path = kdl_environment(KDL_VARIABLE_TRACE),
                                 .bytes = KDL_TRACE_DEFAULT_BYTES};
  const char *size = kdl_environment(KDL_VARIABLE_TRACE_SIZE);
  const char *gpu = kdl_environment(KDL_VARIABLE_TRACE_GPU);
  if (!settings.path)
    return;
  kdl_status status = KDL_OK;
  if (size && kdl_size_parse(size, &settings.bytes) != KDL_OK) {
    kdl_error_prefix("KDL_TRACE_SIZE");
    status = kdl_error_status();
  }
  settings.device_time = gpu && strcmp(gpu, "0") != 0;
  appends_process_id = !is_traced_process();
  report_trace_failure(status == KDL_OK ? kdl_trace_start(&settings) : status);
}

/* Runs after the program's own exit handlers. */
static __attribute__((destructor)) void end(void) {
  report_trace_failure(kdl_trace_save());
}
