/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/registry.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/lock.h"
#include "device/arrange.h"
#include "device/discover.h"
#include "link/backend.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while the list changes */
static kdl_work asking;
static unsigned being_asked;    /* by whoever is asking */
static _Atomic(unsigned) asked; /* backends, and `brought` */
static _Atomic(kdl_device *) devices;

/* The devices that backends of KDL_BACKEND_PATH bring are one more answer to wait for. */
enum { brought = 1u << KDL_BACKEND_COUNT };

kdl_device *kdl_registry_first(void) {
  return atomic_load_explicit(&devices, memory_order_acquire);
}

/* ------------------------------------------------------------------------------------------ */
/* The list                                                                                     */

static bool goes_before(const kdl_device *made, const kdl_device *other) {
  if (made->brought != other->brought)
    return made->brought;
  return !made->brought &&
         kdl_device_spec_order(&made->routes[0]->spec, &other->routes[0]->spec) < 0;
}

/* Called with the lock held; readers take none. */
static void insert(kdl_device *made) {
  _Atomic(kdl_device *) *at = &devices;
  kdl_device *next;
  while ((next = atomic_load_explicit(at, memory_order_relaxed)) && !goes_before(made, next))
    at = &next->next;
  atomic_init(&made->next, next);
  atomic_store_explicit(at, made, memory_order_release);
}

static void add(const kdl_device_spec *spec, bool is_brought) {
  kdl_device *made;
  if (kdl_device_create(spec, &made) != KDL_OK) {
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s", kdl_error_message());
    return;
  }
  made->here = true;
  made->brought = is_brought;
  insert(made);
  kdl_debug(KDL_DEBUG_DEVICES, "found %s", made->lines[0]);
}

/* ------------------------------------------------------------------------------------------ */
/* One GPU, several routes                                                                      */

static int compare_backends(const void *left, const void *right) {
  const kdl_device_spec *a = &(*(kdl_device *const *)left)->routes[0]->spec;
  const kdl_device_spec *b = &(*(kdl_device *const *)right)->routes[0]->spec;
  if (a->backend != b->backend)
    return a->backend < b->backend ? -1 : 1;
  return (a->ordinal.value > b->ordinal.value) - (a->ordinal.value < b->ordinal.value);
}

static void join(kdl_device *device, kdl_device *other) {
  if (atomic_load_explicit(&other->is_route, memory_order_relaxed) ||
      kdl_device_add_route(device, &other->routes[0]->spec) != KDL_OK)
    return;
  atomic_store_explicit(&other->is_route, true, memory_order_release);
  kdl_debug(KDL_DEBUG_DEVICES, "%s is also %s", device->lines[0], other->lines[0]);
}

/* Looks at all devices anew: which of two that are the same comes first does not depend on which
 * driver was asked first. Out of memory they stay apart. Called with the lock held. */
static void join_routes(void) {
  size_t count = 0, at = 0;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device))
    count += !device->brought;
  kdl_device **all = calloc(count + 1, sizeof *all);
  const kdl_device_spec **specs = calloc(count + 1, sizeof *specs);
  size_t *first = calloc(count + 1, sizeof *first);
  bool whole = all && specs && first;
  for (kdl_device *device = kdl_registry_first(); whole && device;
       device = kdl_device_next(device)) {
    if (!device->brought)
      all[at++] = device;
  }
  if (whole) {
    qsort(all, count, sizeof *all, compare_backends);
    for (size_t i = 0; i < count; ++i)
      specs[i] = &all[i]->routes[0]->spec;
    kdl_arrange_routes(specs, count, first);
    for (size_t i = 0; i < count; ++i) {
      if (first[i] != i)
        join(all[first[i]], all[i]);
    }
  }
  free(all);
  free(specs);
  free(first);
}

/* ------------------------------------------------------------------------------------------ */
/* Asking                                                                                       */

enum { limit_brought = 64 };

typedef struct {
  kdl_device_spec specs[limit_brought];
  size_t count;
} brought_devices;

static void take_brought(void *user, const char *line) {
  brought_devices *list = user;
  if (list->count == limit_brought ||
      kdl_device_spec_parse(line, &list->specs[list->count]) != KDL_OK)
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s",
              list->count == limit_brought ? "too many devices" : kdl_error_message());
  else
    ++list->count;
}

/* What there is to add to the list. */
typedef struct {
  brought_devices *brought;
  kdl_discovery *found;
} answers;

static kdl_status ask_all(unsigned wanted, bool patient, answers *out) {
  if (wanted & brought) {
    out->brought = calloc(1, sizeof *out->brought);
    if (!out->brought)
      return kdl_fail(KDL_NO_MEMORY, "out of memory for devices");
    kdl_backend_list_devices(take_brought, out->brought);
  }
  kdl_discover_opts opts = {.backends = wanted & KDL_BACKENDS_ALL,
                            .timeout_ms = patient ? 0 : KDL_DISCOVER_TIMEOUT_MS};
  return opts.backends ? kdl_discover(&opts, &out->found) : KDL_OK;
}

/* Called with the lock held. */
static void add_all(const answers *got) {
  for (size_t i = 0; got->brought && i < got->brought->count; ++i)
    add(&got->brought->specs[i], true);
  if (!got->found)
    return;
  for (size_t i = 0; i < got->found->report_count; ++i) {
    const kdl_driver_report *report = &got->found->reports[i];
    kdl_debug(KDL_DEBUG_DEVICES, "asked %s: %s, %zu devices%s%s", kdl_backend_name(report->backend),
              kdl_driver_state_name(report->state), report->device_count,
              report->words[0] ? ": " : "", report->words);
  }
  for (size_t i = 0; i < got->found->route_count; ++i)
    add(&got->found->routes[i], false);
  join_routes();
}

static kdl_status ask(unsigned wanted, bool patient) {
  answers got = {0};
  being_asked = wanted;
  kdl_status status = ask_all(wanted, patient, &got);
  if (status == KDL_OK) {
    kdl_lock(&lock);
    add_all(&got);
    atomic_fetch_or_explicit(&asked, wanted, memory_order_release);
    kdl_unlock(&lock);
  }
  being_asked = 0;
  kdl_discovery_free(got.found);
  free(got.brought);
  return status;
}

/* A driver that was being started when the process forked is not to be started again. */
static void give_up(unsigned backends) {
  unsigned lost = backends & KDL_BACKENDS_ALL & ~(1u << KDL_BACKEND_HOST);
  atomic_fetch_or_explicit(&asked, lost, memory_order_release);
  kdl_debug(KDL_DEBUG_DEVICES, "a fork came while drivers were asked: none of theirs is used here");
}

kdl_status kdl_registry_ask(unsigned backends, bool patient) {
  unsigned wanted = backends | brought, missing;
  kdl_status status = KDL_OK;
  while (status == KDL_OK &&
         (missing = wanted & ~atomic_load_explicit(&asked, memory_order_acquire))) {
    status = kdl_fork_check();
    kdl_work_turn turn = status == KDL_OK ? kdl_work_begin(&asking) : KDL_WORK_WAITED;
    if (turn == KDL_WORK_WAITED)
      continue;
    if (turn == KDL_WORK_ABANDONED)
      give_up(being_asked);
    missing = wanted & ~atomic_load_explicit(&asked, memory_order_relaxed);
    if (missing)
      status = ask(missing, patient);
    kdl_work_end(&asking);
  }
  return status;
}
