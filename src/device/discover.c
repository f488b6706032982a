/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/discover.h"

#include "base/error.h"
#include "device/arrange.h"
#include "device/discover_backends.h"
#include "device/spec_json.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static const kdl_discoverer discover_host = {.ask = kdl_discover_host};

static const kdl_discoverer *const discoverers[KDL_BACKEND_COUNT] = {
    [KDL_BACKEND_HOST] = &discover_host,
    [KDL_BACKEND_CUDA] = &kdl_discover_cuda,
    [KDL_BACKEND_HIP] = &kdl_discover_hip,
    [KDL_BACKEND_LEVEL_ZERO] = &kdl_discover_level_zero,
    [KDL_BACKEND_OPENCL] = &kdl_discover_opencl,
};

/* What vendors read to limit, reorder or divide what a process sees. Read before any driver is
 * asked: some set variables of their own, and in threads of theirs. */
static const struct {
  kdl_backend backend;
  const char *name;
} variables[] = {
    {KDL_BACKEND_CUDA, "CUDA_VISIBLE_DEVICES"},
    {KDL_BACKEND_CUDA, "CUDA_DEVICE_ORDER"},
    {KDL_BACKEND_HIP, "ROCR_VISIBLE_DEVICES"},
    {KDL_BACKEND_HIP, "HIP_VISIBLE_DEVICES"},
    {KDL_BACKEND_HIP, "CUDA_VISIBLE_DEVICES"},
    {KDL_BACKEND_HIP, "GPU_DEVICE_ORDINAL"},
    {KDL_BACKEND_HIP, "HSA_XNACK"},
    {KDL_BACKEND_HIP, "HSA_OVERRIDE_GFX_VERSION"},
    {KDL_BACKEND_LEVEL_ZERO, "ZE_AFFINITY_MASK"},
    {KDL_BACKEND_LEVEL_ZERO, "ZE_FLAT_DEVICE_HIERARCHY"},
    {KDL_BACKEND_OPENCL, "OCL_ICD_VENDORS"},
    {KDL_BACKEND_OPENCL, "OCL_ICD_FILENAMES"},
    {KDL_BACKEND_OPENCL, "POCL_DEVICES"},
    {KDL_BACKEND_OPENCL, "CUDA_VISIBLE_DEVICES"},
    {KDL_BACKEND_OPENCL, "GPU_DEVICE_ORDINAL"},
};

static void note_variables(kdl_driver_report *report) {
  kdl_out out = {report->limits, sizeof report->limits, 0};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
    const char *value = getenv(variables[i].name);
    if (variables[i].backend != report->backend || !value)
      continue;
    char text[64];
    kdl_spec_set_text(text, sizeof text, value, strlen(value));
    kdl_out_format(&out, "%s%s=%s", out.used ? " " : "", variables[i].name, text);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* A thread for each driver                                                                     */

/* Shared by the thread that asks a driver and the one that waits for it. Whoever lets go last frees
 * it, so that a driver which answers too late writes into memory that is still there. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  atomic_int holders;
  bool done;
  const kdl_discoverer *how;
  void *table; /* the driver's functions */
  kdl_found_list list;
} job;

static void let_go(job *task) {
  if (atomic_fetch_sub(&task->holders, 1) != 1)
    return;
  pthread_cond_destroy(&task->changed);
  pthread_mutex_destroy(&task->lock);
  free(task->list.specs);
  free(task->table);
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
  task->how->ask(task->table, &task->list);
  restore_signal_stack(&kept);
}

/* In the thread that wants to know: see kdl_discoverer. */
static bool open_driver(job *task, const kdl_driver_resolver *resolver) {
  const kdl_discoverer *how = task->how;
  if (!how->libraries)
    return true;
  signal_stack kept = keep_signal_stack();
  bool opened = kdl_driver_load(resolver, how->libraries, how->symbols, how->symbol_count,
                                task->table, &task->list.report);
  if (opened && how->open_behind)
    how->open_behind(task->table);
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

/* Waits on the clock that nobody sets. */
static job *create_job(kdl_backend backend) {
  const kdl_discoverer *how = discoverers[backend];
  job *task = calloc(1, sizeof *task);
  void *table = task ? calloc(1, how->table_size ? how->table_size : 1) : NULL;
  if (!table) {
    free(task);
    return NULL;
  }
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&task->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&task->lock, NULL);
  atomic_init(&task->holders, 1);
  task->how = how;
  task->table = table;
  task->list.report.backend = backend;
  note_variables(&task->list.report);
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
  if (opened && !alone && task->how->libraries && start_thread(task))
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

static void fill(kdl_discovery *found, const route *routes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    found->routes[i] = *routes[i].spec;
    if (i == 0 || routes[i].device != routes[i - 1].device)
      found->devices[found->device_count++].first = i;
    ++found->devices[found->device_count - 1].count;
  }
  found->route_count = count;
}

static kdl_status arrange(kdl_discovery *found, const kdl_device_spec *specs, size_t count) {
  size_t room = count ? count : 1;
  const kdl_device_spec **all = calloc(room, sizeof *all);
  size_t *first = calloc(room, sizeof *first);
  route *routes = calloc(room, sizeof *routes);
  found->routes = calloc(room, sizeof *found->routes);
  found->devices = calloc(room, sizeof *found->devices);
  bool whole = all && first && routes && found->routes && found->devices;
  for (size_t i = 0; whole && i < count; ++i)
    all[i] = &specs[i];
  if (whole) {
    kdl_arrange_routes(all, count, first);
    for (size_t i = 0; i < count; ++i)
      routes[i] = (route){&specs[i], &specs[first[i]]};
    qsort(routes, count, sizeof *routes, compare_routes);
    fill(found, routes, count);
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

/* PoCL, behind OpenCL, calls setenv when it is loaded, and other drivers read the environment while
 * they start: so OpenCL is asked when the others have answered. */
static bool ask_jobs(job **jobs, const kdl_driver_resolver *resolver, bool alone,
                     unsigned timeout_ms, kdl_discovery *found, kdl_found_list *all) {
  static const unsigned turns[] = {~(1u << KDL_BACKEND_OPENCL), 1u << KDL_BACKEND_OPENCL};
  bool whole = true;
  for (size_t turn = 0; turn < sizeof turns / sizeof *turns; ++turn) {
    for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
      if (jobs[i] && turns[turn] >> i & 1)
        start_job(jobs[i], resolver, alone);
    }
    struct timespec deadline = deadline_in(timeout_ms);
    for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
      if (!jobs[i] || !(turns[turn] >> i & 1))
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
      !ask_jobs(jobs, opts->resolver ? opts->resolver : &kdl_driver_system, alone,
                opts->timeout_ms ? opts->timeout_ms : KDL_DISCOVER_TIMEOUT_MS, found, &all))
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for the devices");
  if (status == KDL_OK)
    status = arrange(found, all.specs, all.count);
  free(all.specs);
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
