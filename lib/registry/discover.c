/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/discover.h"

#include "lib/device/spec.h"
#include "lib/registry/backend.h"
#include "lib/registry/runtime.h"
#include "support/base/error.h"
#include "support/system/loader.h"
#include "support/system/tool_search.h"
#include "support/system/variables.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Read before any driver is queried: some drivers set variables, also on other threads. */
static void read_limit_variables(const kdl_built_in *backend, kdl_driver_report *report) {
  kdl_out out = {report->limits, sizeof report->limits, 0};
  for (size_t i = 0; i < backend->variable_count; ++i) {
    const char *value = kdl_environment_or_empty(backend->variables[i]);
    char text[64];
    if (!value)
      continue;
    kdl_spec_set_text(text, sizeof text, value, strlen(value));
    kdl_out_format(&out, "%s%s=%s", out.used ? " " : "", kdl_variable_name(backend->variables[i]),
                   text);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* One thread per driver                                                                        */

/* Shared by the thread that queries a driver and the one that waits for it. The last of the two
 * frees it, so that a driver that answers too late writes to valid memory. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  atomic_int references;
  bool done;
  const kdl_built_in *backend;
  kdl_spec_list list;
} enumeration_job;

static void release_job(enumeration_job *task) {
  if (atomic_fetch_sub(&task->references, 1) != 1)
    return;
  pthread_cond_destroy(&task->changed);
  pthread_mutex_destroy(&task->lock);
  free(task->list.specs);
  free(task);
}

/* Some drivers contain LLVM, which installs an alternate signal stack on the thread that loads or
 * starts it. If one was installed before, as AddressSanitizer does, it must be restored. */
typedef struct {
  stack_t stack;
  bool is_known;
} signal_stack;

static signal_stack save_signal_stack(void) {
  signal_stack saved;
  saved.is_known = sigaltstack(NULL, &saved.stack) == 0;
  return saved;
}

static void restore_signal_stack(const signal_stack *saved) {
  if (saved->is_known)
    sigaltstack(&saved->stack, NULL);
}

static void list_driver_devices(enumeration_job *task) {
  signal_stack saved = save_signal_stack();
  task->backend->list(&task->list);
  restore_signal_stack(&saved);
}

/* On the calling thread: see kdl_driver_open. */
static bool open_job_driver(enumeration_job *task, const kdl_driver_resolver *resolver) {
  const kdl_built_in *backend = task->backend;
  if (!backend->driver)
    return true;
  kdl_driver_watch_exit(backend->driver, kdl_fork_disable);
  signal_stack saved = save_signal_stack();
  bool opened = kdl_driver_open(backend->driver, resolver, &task->list.report);
  if (opened && backend->open_dependencies)
    backend->open_dependencies();
  restore_signal_stack(&saved);
  return opened;
}

static void *run_job_thread(void *argument) {
  enumeration_job *task = argument;
  list_driver_devices(task);
  pthread_mutex_lock(&task->lock);
  task->done = true;
  pthread_cond_signal(&task->changed);
  pthread_mutex_unlock(&task->lock);
  release_job(task);
  return NULL;
}

/* Waits by the monotonic clock. */
static enumeration_job *create_job(kdl_backend backend) {
  enumeration_job *task = calloc(1, sizeof *task);
  if (!task)
    return NULL;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&task->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&task->lock, NULL);
  atomic_init(&task->references, 1);
  task->backend = kdl_built_ins[backend];
  task->list.report.backend = backend;
  read_limit_variables(task->backend, &task->list.report);
  return task;
}

static bool start_thread(enumeration_job *task) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  atomic_fetch_add(&task->references, 1);
  bool started = pthread_create(&thread, &attributes, run_job_thread, task) == 0;
  pthread_attr_destroy(&attributes);
  if (!started)
    atomic_fetch_sub(&task->references, 1);
  return started;
}

/* The CPU needs no driver. Others get a thread; if none can be created, this thread does it. */
static void start_job(enumeration_job *task, const kdl_driver_resolver *resolver,
                      bool on_this_thread) {
  bool opened = open_job_driver(task, resolver);
  if (opened && !on_this_thread && task->backend->driver && start_thread(task))
    return;
  if (opened)
    list_driver_devices(task);
  task->done = true;
}

static bool wait_for_job(enumeration_job *task, const struct timespec *deadline) {
  pthread_mutex_lock(&task->lock);
  int error = 0;
  while (!task->done && error != ETIMEDOUT)
    error = pthread_cond_timedwait(&task->changed, &task->lock, deadline);
  bool done = task->done;
  pthread_mutex_unlock(&task->lock);
  return done;
}

static struct timespec deadline_in(unsigned milliseconds) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += milliseconds / 1000;
  at.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (at.tv_nsec >= 1000000000) {
    at.tv_nsec -= 1000000000;
    ++at.tv_sec;
  }
  return at;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices from routes                                                                          */

typedef struct {
  const kdl_device_spec *spec;
  const kdl_device_spec *device; /* the spec of the device's first route */
} sorted_route;

/* Devices in the default order; the routes of one device by backend. */
static int compare_routes(const void *left, const void *right) {
  const sorted_route *a = left;
  const sorted_route *b = right;
  if (a->device != b->device)
    return kdl_device_spec_compare(a->device, b->device);
  return (a->spec > b->spec) - (a->spec < b->spec);
}

static void fill_devices(kdl_discovery *found, kdl_device_spec *specs, const sorted_route *routes) {
  for (size_t i = 0; i < found->route_count; ++i) {
    specs[i] = *routes[i].spec;
    if (i == 0 || routes[i].device != routes[i - 1].device)
      found->devices[found->device_count++].first = i;
    ++found->devices[found->device_count - 1].count;
  }
  free(found->routes);
  found->routes = specs;
}

/* Sorts the routes and groups them by device. */
static kdl_status group_routes(kdl_discovery *found) {
  size_t count = found->route_count;
  size_t room = count ? count : 1;
  const kdl_device_spec **all = calloc(room, sizeof *all);
  size_t *first = calloc(room, sizeof *first);
  sorted_route *routes = calloc(room, sizeof *routes);
  kdl_device_spec *specs = calloc(room, sizeof *specs);
  found->devices = calloc(room, sizeof *found->devices);
  bool has_memory = all && first && routes && specs && found->devices;
  for (size_t i = 0; has_memory && i < count; ++i)
    all[i] = &found->routes[i];
  if (has_memory) {
    kdl_group_routes(all, count, first);
    for (size_t i = 0; i < count; ++i)
      routes[i] = (sorted_route){all[i], all[first[i]]};
    qsort(routes, count, sizeof *routes, compare_routes);
    fill_devices(found, specs, routes);
  } else {
    free(specs);
  }
  free(all);
  free(first);
  free(routes);
  return has_memory ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for %zu devices", count);
}

/* ------------------------------------------------------------------------------------------ */
/* All drivers                                                                                  */

static void append_specs(kdl_spec_list *all, const kdl_spec_list *from, bool *has_memory) {
  for (size_t i = 0; i < from->count; ++i) {
    kdl_device_spec *spec = kdl_spec_list_add(all);
    if (spec)
      *spec = from->specs[i];
    else
      *has_memory = false;
  }
}

/* Adds the result of one driver, or its silence, to the report and the list. */
static void collect_job(enumeration_job *task, const struct timespec *deadline, unsigned timeout_ms,
                        kdl_driver_report *report, kdl_spec_list *all, bool *has_memory) {
  const kdl_driver_report *own = &task->list.report;
  if (wait_for_job(task, deadline)) {
    *report = *own;
    report->device_count = task->list.count;
    *has_memory &= !task->list.out_of_memory;
    append_specs(all, &task->list, has_memory);
  } else {
    report->backend = own->backend;
    memcpy(report->limits, own->limits, sizeof report->limits);
    kdl_driver_report_set(report, KDL_DRIVER_SILENT, "no answer within %u ms", timeout_ms);
  }
}

static kdl_status create_jobs(unsigned backends, enumeration_job *out_jobs[KDL_BACKEND_COUNT]) {
  bool has_memory = true;
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    bool wanted = backends >> i & 1;
    out_jobs[i] = wanted ? create_job((kdl_backend)i) : NULL;
    has_memory &= out_jobs[i] || !wanted;
  }
  for (unsigned i = 0; !has_memory && i < KDL_BACKEND_COUNT; ++i) {
    if (out_jobs[i])
      release_job(out_jobs[i]);
  }
  return has_memory ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for asking the drivers");
}

/* First the drivers that may be queried in parallel, then OpenCL. */
static bool run_jobs(enumeration_job **jobs, const kdl_driver_resolver *resolver,
                     bool on_this_thread, unsigned timeout_ms, kdl_discovery *found,
                     kdl_spec_list *all) {
  bool has_memory = true;
  for (int enumerate_last = 0; enumerate_last <= 1; ++enumerate_last) {
    for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
      if (jobs[i] && kdl_built_ins[i]->enumerate_last == enumerate_last)
        start_job(jobs[i], resolver, on_this_thread);
    }
    struct timespec deadline = deadline_in(timeout_ms);
    for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
      if (!jobs[i] || kdl_built_ins[i]->enumerate_last != enumerate_last)
        continue;
      collect_job(jobs[i], &deadline, timeout_ms, &found->reports[found->report_count++], all,
                  &has_memory);
      release_job(jobs[i]);
    }
  }
  return has_memory;
}

kdl_spec_tools kdl_tools_find(void) {
  char path[PATH_MAX];
  if (!kdl_linker_path(path))
    return KDL_TOOLS_NONE;
  return kdl_tool_find(&kdl_tool_llvm_spirv, path) ? KDL_TOOLS_TRANSLATOR : KDL_TOOLS_LINKER;
}

kdl_status kdl_discover(const kdl_discover_opts *opts, kdl_discovery **out_found) {
  static const kdl_discover_opts defaults = {0};
  opts = opts ? opts : &defaults;
  unsigned backends = opts->backends ? opts->backends : KDL_BACKENDS_ALL;
  bool on_this_thread = !opts->timeout_ms && !(backends & (backends - 1));
  enumeration_job *jobs[KDL_BACKEND_COUNT];
  kdl_spec_list all = {.specs = NULL};
  kdl_discovery *found = calloc(1, sizeof *found);
  if (!found)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a list of devices");
  kdl_status status = create_jobs(backends, jobs);
  if (status == KDL_OK &&
      !run_jobs(jobs, opts->resolver, on_this_thread,
                opts->timeout_ms ? opts->timeout_ms : KDL_DISCOVER_TIMEOUT_MS, found, &all))
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for the devices");
  found->routes = all.specs;
  found->route_count = all.count;
  kdl_spec_tools tools = kdl_tools_find();
  for (size_t i = 0; i < found->route_count; ++i)
    found->routes[i].tools = tools;
  if (status == KDL_OK && !opts->routes_only)
    status = group_routes(found);
  if (status == KDL_OK)
    *out_found = found;
  else
    kdl_discovery_free(found);
  return status;
}

void kdl_discovery_free(kdl_discovery *found) {
  if (!found)
    return;
  free(found->routes);
  free(found->devices);
  free(found);
}
