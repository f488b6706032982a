/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/discover.h"

#include "lib/device/arrange.h"
#include "lib/registry/backend.h"
#include "lib/registry/runtime.h"
#include "support/base/error.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Read before any driver is asked: some set variables of their own, and in threads of theirs. */
static void note_variables(const kdl_built_in *backend, kdl_driver_report *report) {
  kdl_out out = {report->limits, sizeof report->limits, 0};
  for (size_t i = 0; backend->variables && backend->variables[i]; ++i) {
    const char *value = getenv(backend->variables[i]);
    char text[64];
    if (!value)
      continue;
    kdl_spec_set_text(text, sizeof text, value, strlen(value));
    kdl_out_format(&out, "%s%s=%s", out.used ? " " : "", backend->variables[i], text);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* A thread for each driver                                                                     */

/* Shared by the thread that asks a driver and the one that waits for it. The last of the two frees
 * it, so that a driver which answers too late writes into memory that is still there. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  atomic_int holders;
  bool done;
  const kdl_built_in *backend;
  kdl_found_list list;
} job;

static void let_go(job *task) {
  if (atomic_fetch_sub(&task->holders, 1) != 1)
    return;
  pthread_cond_destroy(&task->changed);
  pthread_mutex_destroy(&task->lock);
  free(task->list.specs);
  free(task);
}

/* LLVM, which is in some drivers, puts an alternate signal stack of its own under the thread that
 * loads or starts it. Who put one there before, as AddressSanitizer does, expects it back. */
typedef struct {
  stack_t stack;
  bool is_known;
} signal_stack;

static signal_stack keep_signal_stack(void) {
  signal_stack kept;
  kept.is_known = sigaltstack(NULL, &kept.stack) == 0;
  return kept;
}

static void restore_signal_stack(const signal_stack *kept) {
  if (kept->is_known)
    sigaltstack(&kept->stack, NULL);
}

static void ask(job *task) {
  signal_stack kept = keep_signal_stack();
  task->backend->list(&task->list);
  restore_signal_stack(&kept);
}

/* In the thread that wants to know: see kdl_driver_open. */
static bool open_driver(job *task, const kdl_driver_resolver *resolver) {
  const kdl_built_in *backend = task->backend;
  if (!backend->driver)
    return true;
  kdl_driver_watch_end(backend->driver, kdl_fork_disable);
  signal_stack kept = keep_signal_stack();
  bool opened = kdl_driver_open(backend->driver, resolver, &task->list.report);
  if (opened && backend->open_behind)
    backend->open_behind();
  restore_signal_stack(&kept);
  return opened;
}

static void *run_job(void *argument) {
  job *task = argument;
  ask(task);
  pthread_mutex_lock(&task->lock);
  task->done = true;
  pthread_cond_signal(&task->changed);
  pthread_mutex_unlock(&task->lock);
  let_go(task);
  return NULL;
}

/* Waits on the clock that cannot be set. */
static job *create_job(kdl_backend backend) {
  job *task = calloc(1, sizeof *task);
  if (!task)
    return NULL;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&task->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&task->lock, NULL);
  atomic_init(&task->holders, 1);
  task->backend = kdl_built_ins[backend];
  task->list.report.backend = backend;
  note_variables(task->backend, &task->list.report);
  return task;
}

static bool start_thread(job *task) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  atomic_fetch_add(&task->holders, 1);
  bool started = pthread_create(&thread, &attributes, run_job, task) == 0;
  pthread_attr_destroy(&attributes);
  if (!started)
    atomic_fetch_sub(&task->holders, 1);
  return started;
}

/* The CPU needs no driver; the others get a thread, or where there is none to be had, this one. */
static void start_job(job *task, const kdl_driver_resolver *resolver, bool alone) {
  bool opened = open_driver(task, resolver);
  if (opened && !alone && task->backend->driver && start_thread(task))
    return;
  if (opened)
    ask(task);
  task->done = true;
}

static bool wait_for(job *task, const struct timespec *deadline) {
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
} route;

/* Devices in the default order; the routes of one device by backend. */
static int compare_routes(const void *left, const void *right) {
  const route *a = left;
  const route *b = right;
  if (a->device != b->device)
    return kdl_device_spec_order(a->device, b->device);
  return (a->spec > b->spec) - (a->spec < b->spec);
}

static void fill(kdl_discovery *found, kdl_device_spec *specs, const route *routes) {
  for (size_t i = 0; i < found->route_count; ++i) {
    specs[i] = *routes[i].spec;
    if (i == 0 || routes[i].device != routes[i - 1].device)
      found->devices[found->device_count++].first = i;
    ++found->devices[found->device_count - 1].count;
  }
  free(found->routes);
  found->routes = specs;
}

/* Sorts the routes, and tells what devices they lead to. */
static kdl_status arrange(kdl_discovery *found) {
  size_t count = found->route_count;
  size_t room = count ? count : 1;
  const kdl_device_spec **all = calloc(room, sizeof *all);
  size_t *first = calloc(room, sizeof *first);
  route *routes = calloc(room, sizeof *routes);
  kdl_device_spec *specs = calloc(room, sizeof *specs);
  found->devices = calloc(room, sizeof *found->devices);
  bool whole = all && first && routes && specs && found->devices;
  for (size_t i = 0; whole && i < count; ++i)
    all[i] = &found->routes[i];
  if (whole) {
    kdl_arrange_routes(all, count, first);
    for (size_t i = 0; i < count; ++i)
      routes[i] = (route){all[i], all[first[i]]};
    qsort(routes, count, sizeof *routes, compare_routes);
    fill(found, specs, routes);
  } else {
    free(specs);
  }
  free(all);
  free(first);
  free(routes);
  return whole ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for %zu devices", count);
}

/* ------------------------------------------------------------------------------------------ */
/* All together                                                                                 */

static void take_specs(kdl_found_list *all, const kdl_found_list *from, bool *whole) {
  for (size_t i = 0; i < from->count; ++i) {
    kdl_device_spec *spec = kdl_found_add(all);
    if (spec)
      *spec = from->specs[i];
    else
      *whole = false;
  }
}

/* Puts what one driver answered, or that it did not, into the report and the list. */
static void collect(job *task, const struct timespec *deadline, unsigned timeout_ms,
                    kdl_driver_report *report, kdl_found_list *all, bool *whole) {
  const kdl_driver_report *own = &task->list.report;
  if (wait_for(task, deadline)) {
    *report = *own;
    report->device_count = task->list.count;
    *whole &= !task->list.is_short;
    take_specs(all, &task->list, whole);
  } else {
    report->backend = own->backend;
    memcpy(report->limits, own->limits, sizeof report->limits);
    kdl_driver_say(report, KDL_DRIVER_SILENT, "no answer within %u ms", timeout_ms);
  }
}

static kdl_status create_jobs(unsigned backends, job *out_jobs[KDL_BACKEND_COUNT]) {
  bool whole = true;
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    bool wanted = backends >> i & 1;
    out_jobs[i] = wanted ? create_job((kdl_backend)i) : NULL;
    whole &= out_jobs[i] || !wanted;
  }
  for (unsigned i = 0; !whole && i < KDL_BACKEND_COUNT; ++i) {
    if (out_jobs[i])
      let_go(out_jobs[i]);
  }
  return whole ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for asking the drivers");
}

/* First those that may be asked at once, then the last. */
static bool ask_jobs(job **jobs, const kdl_driver_resolver *resolver, bool alone,
                     unsigned timeout_ms, kdl_discovery *found, kdl_found_list *all) {
  bool whole = true;
  for (int is_last = 0; is_last <= 1; ++is_last) {
    for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
      if (jobs[i] && kdl_built_ins[i]->is_last == is_last)
        start_job(jobs[i], resolver, alone);
    }
    struct timespec deadline = deadline_in(timeout_ms);
    for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
      if (!jobs[i] || kdl_built_ins[i]->is_last != is_last)
        continue;
      collect(jobs[i], &deadline, timeout_ms, &found->reports[found->report_count++], all, &whole);
      let_go(jobs[i]);
    }
  }
  return whole;
}

kdl_status kdl_discover(const kdl_discover_opts *opts, kdl_discovery **out_found) {
  static const kdl_discover_opts defaults = {0};
  opts = opts ? opts : &defaults;
  unsigned backends = opts->backends ? opts->backends : KDL_BACKENDS_ALL;
  bool alone = !opts->timeout_ms && !(backends & (backends - 1));
  job *jobs[KDL_BACKEND_COUNT];
  kdl_found_list all = {.specs = NULL};
  kdl_discovery *found = calloc(1, sizeof *found);
  if (!found)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a list of devices");
  kdl_status status = create_jobs(backends, jobs);
  if (status == KDL_OK &&
      !ask_jobs(jobs, opts->resolver, alone,
                opts->timeout_ms ? opts->timeout_ms : KDL_DISCOVER_TIMEOUT_MS, found, &all))
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for the devices");
  found->routes = all.specs;
  found->route_count = all.count;
  if (status == KDL_OK && !opts->routes_alone)
    status = arrange(found);
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
