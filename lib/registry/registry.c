/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/registry.h"

#include "lib/device/spec.h"
#include "lib/registry/backend.h"
#include "lib/registry/discover.h"
#include "support/base/error.h"
#include "support/base/trace_phase.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER; /* held while the list changes */
static kdl_work enumeration;
static unsigned enumerating;         /* the backends that a thread is querying */
static unsigned enumeration_rounds;  /* number of rounds of queries */
static _Atomic(unsigned) enumerated; /* backends, and `plugins` */
static unsigned
    enumerated_after_forks[KDL_BACKEND_COUNT + 1]; /* kdl_fork_count when each was queried */
static _Atomic(kdl_device *) devices;

/* The plug-ins' lists of devices count as one more backend to query. */
enum { plugins_index = KDL_BACKEND_COUNT, plugins = 1u << plugins_index };

kdl_device *kdl_registry_first(void) {
  return atomic_load_explicit(&devices, memory_order_acquire);
}

/* ------------------------------------------------------------------------------------------ */
/* The list                                                                                     */

static bool precedes(const kdl_device *made, const kdl_device *other) {
  if (made->from_plugin != other->from_plugin)
    return made->from_plugin;
  return !made->from_plugin &&
         kdl_device_spec_compare(&made->routes[0]->spec, &other->routes[0]->spec) < 0;
}

/* Called with the lock held; readers take no lock. */
static void insert_device(kdl_device *made) {
  _Atomic(kdl_device *) *at = &devices;
  kdl_device *next;
  while ((next = atomic_load_explicit(at, memory_order_relaxed)) && !precedes(made, next))
    at = &next->next;
  atomic_init(&made->next, next);
  atomic_store_explicit(at, made, memory_order_release);
}

/* The known device that a driver lists again, or NULL. A lost device that had been used does not
 * count: its objects are lost, so it returns as a new device. */
static kdl_device *find_listed_again(const kdl_device_spec *spec, bool is_from_plugin) {
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    bool is_lost = kdl_device_is_gone(device) && atomic_load(&device->runtime);
    if (device->from_plugin == is_from_plugin && device->enumeration_round != enumeration_rounds &&
        !is_lost && kdl_device_spec_is_same_device(&device->routes[0]->spec, spec))
      return device;
  }
  return NULL;
}

/* Adds the device, and counts it if it is new. False when out of memory. */
static bool registry_add_device(const kdl_device_spec *spec, bool is_from_plugin,
                                size_t *new_count) {
  kdl_device *device = find_listed_again(spec, is_from_plugin);
  bool is_new = !device || kdl_device_is_gone(device);
  kdl_status status = device ? KDL_OK : kdl_device_create(spec, &device);
  if (status != KDL_OK) {
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s", kdl_error_message());
    return status != KDL_NO_MEMORY;
  }
  device->enumeration_round = enumeration_rounds;
  atomic_store_explicit(&device->is_gone, false, memory_order_release);
  if (!device->is_here) {
    device->is_here = true;
    device->from_plugin = is_from_plugin;
    insert_device(device);
  }
  if (is_new)
    kdl_debug(KDL_DEBUG_DEVICES, "found %s", device->spec_lines[0]);
  *new_count += is_new;
  return true;
}

/* Marks the devices that a backend which answered did not list. */
static void mark_gone(unsigned responded) {
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    unsigned by = device->from_plugin ? plugins : 1u << device->routes[0]->spec.backend;
    if (!(responded & by) || device->enumeration_round == enumeration_rounds ||
        kdl_device_is_gone(device))
      continue;
    atomic_store_explicit(&device->is_gone, true, memory_order_release);
    kdl_debug(KDL_DEBUG_DEVICES, "gone: %s", device->spec_lines[0]);
  }
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

static bool has_spec_line(const kdl_device *device, const char *line) {
  for (size_t i = 0; i < kdl_device_route_count(device); ++i) {
    if (strcmp(device->spec_lines[i], line) == 0)
      return true;
  }
  return false;
}

/* False when out of memory. */
static bool merge_device(kdl_device *device, kdl_device *other) {
  if (kdl_device_is_route(other))
    return true;
  kdl_status status = has_spec_line(device, other->spec_lines[0])
                          ? KDL_OK
                          : kdl_device_add_route(device, &other->routes[0]->spec);
  if (status != KDL_OK)
    return status != KDL_NO_MEMORY;
  atomic_store_explicit(&other->primary, device, memory_order_release);
  kdl_debug(KDL_DEBUG_DEVICES, "%s is also %s", device->spec_lines[0], other->spec_lines[0]);
  return true;
}

static bool can_merge(const kdl_device *device) {
  return !device->from_plugin && !kdl_device_is_gone(device);
}

/* Groups all devices again, so that the primary device does not depend on which driver was queried
 * first. When out of memory, some devices stay separate, and it returns false. Called with the lock
 * held. */
static bool merge_routes(void) {
  size_t count = 0, at = 0;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device))
    count += can_merge(device);
  kdl_device **all = calloc(count + 1, sizeof *all);
  const kdl_device_spec **specs = calloc(count + 1, sizeof *specs);
  size_t *first = calloc(count + 1, sizeof *first);
  bool has_memory = all && specs && first;
  for (kdl_device *device = kdl_registry_first(); has_memory && device;
       device = kdl_device_next(device)) {
    if (can_merge(device))
      all[at++] = device;
  }
  if (has_memory) {
    qsort(all, count, sizeof *all, compare_backends);
    for (size_t i = 0; i < count; ++i)
      specs[i] = &all[i]->routes[0]->spec;
    kdl_group_routes(specs, count, first);
    for (size_t i = 0; i < count; ++i) {
      if (first[i] != i)
        has_memory &= merge_device(all[first[i]], all[i]);
    }
  }
  free(all);
  free(specs);
  free(first);
  return has_memory;
}

/* ------------------------------------------------------------------------------------------ */
/* Queries                                                                                      */

enum { limit_plugin_devices = 64 };

typedef struct {
  kdl_device_spec specs[limit_plugin_devices];
  size_t count;
} plugin_devices;

static void add_plugin_spec(void *user, const char *line) {
  plugin_devices *list = user;
  if (list->count == limit_plugin_devices ||
      kdl_device_spec_parse(line, &list->specs[list->count]) != KDL_OK)
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s",
              list->count == limit_plugin_devices ? "too many devices" : kdl_error_message());
  else
    list->specs[list->count++].tools = kdl_tools_find();
}

/* The devices to add to the list. */
typedef struct {
  plugin_devices *from_plugin;
  kdl_discovery *found;
  unsigned responded; /* backends that answered, also with no device */
} enumeration_result;

/* A driver that fails or does not answer keeps its devices. */
static unsigned responding_backends(const kdl_discovery *found) {
  unsigned responded = 0;
  for (size_t i = 0; i < found->report_count; ++i) {
    const kdl_driver_report *report = &found->reports[i];
    if (report->state == KDL_DRIVER_USABLE || report->state == KDL_DRIVER_NO_DEVICE)
      responded |= 1u << report->backend;
  }
  return responded;
}

static kdl_status enumerate_drivers(unsigned wanted, bool no_timeout, enumeration_result *out) {
  if (wanted & plugins) {
    out->from_plugin = calloc(1, sizeof *out->from_plugin);
    if (!out->from_plugin)
      return kdl_fail(KDL_NO_MEMORY, "out of memory for devices");
    if (kdl_backend_list_devices(add_plugin_spec, out->from_plugin))
      out->responded |= plugins;
  }
  kdl_discover_opts opts = {.backends = wanted & KDL_BACKENDS_ALL,
                            .timeout_ms = no_timeout ? 0 : KDL_DISCOVER_TIMEOUT_MS,
                            .routes_only = true};
  KDL_TRY(opts.backends ? kdl_discover(&opts, &out->found) : KDL_OK);
  if (out->found)
    out->responded |= responding_backends(out->found);
  return KDL_OK;
}

/* Called with the lock held. */
static kdl_status add_devices(const enumeration_result *result, size_t *out_new) {
  bool has_memory = true;
  *out_new = 0;
  ++enumeration_rounds;
  for (size_t i = 0; result->from_plugin && i < result->from_plugin->count; ++i)
    has_memory &= registry_add_device(&result->from_plugin->specs[i], true, out_new);
  for (size_t i = 0; result->found && i < result->found->report_count; ++i) {
    const kdl_driver_report *report = &result->found->reports[i];
    kdl_debug(KDL_DEBUG_DEVICES, "asked %s: %s, %zu devices%s%s", kdl_backend_name(report->backend),
              kdl_driver_state_names[report->state], report->device_count,
              report->words[0] ? ": " : "", report->words);
  }
  for (size_t i = 0; result->found && i < result->found->route_count; ++i)
    has_memory &= registry_add_device(&result->found->routes[i], false, out_new);
  mark_gone(result->responded);
  has_memory &= merge_routes();
  return has_memory ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for devices");
}

static void set_enumerated(unsigned backends, unsigned forks) {
  for (size_t i = 0; i <= plugins_index; ++i) {
    if (backends >> i & 1)
      enumerated_after_forks[i] = forks;
  }
  atomic_fetch_or_explicit(&enumerated, backends, memory_order_release);
}

static kdl_status enumerate(unsigned wanted, bool no_timeout, size_t *out_new) {
  enumeration_result result = {0};
  enumerating = wanted;
  kdl_trace_phase_begin(KDL_TRACE_PHASE_ENUMERATE);
  kdl_status status = enumerate_drivers(wanted, no_timeout, &result);
  if (status == KDL_OK) {
    kdl_lock(&registry_lock);
    status = add_devices(&result, out_new);
    if (status == KDL_OK)
      set_enumerated(wanted, kdl_fork_count());
    kdl_unlock(&registry_lock);
  }
  kdl_trace_phase_end(KDL_TRACE_PHASE_ENUMERATE,
                      &(kdl_trace_phase_info){.failed = status != KDL_OK});
  enumerating = 0;
  kdl_discovery_free(result.found);
  free(result.from_plugin);
  return status;
}

/* A driver whose start a fork interrupted must not be started again in the child. */
static void abandon_enumeration(unsigned backends) {
  unsigned lost = backends & KDL_BACKENDS_ALL & ~(1u << KDL_BACKEND_HOST);
  set_enumerated(lost, kdl_fork_count() - 1);
  kdl_debug(KDL_DEBUG_DEVICES, "a fork came while drivers were asked: none of theirs is used here");
}

kdl_status kdl_registry_enumerate(unsigned backends, bool no_timeout) {
  unsigned wanted = backends | plugins;
  size_t found;
  kdl_status status = KDL_OK;
  while (status == KDL_OK && wanted & ~atomic_load_explicit(&enumerated, memory_order_acquire)) {
    status = kdl_fork_check();
    kdl_work_turn turn = status == KDL_OK ? kdl_work_begin(&enumeration) : KDL_WORK_WAITED;
    if (turn == KDL_WORK_WAITED)
      continue;
    if (turn == KDL_WORK_ABANDONED)
      abandon_enumeration(enumerating);
    unsigned missing = wanted & ~atomic_load_explicit(&enumerated, memory_order_relaxed);
    if (missing)
      status = enumerate(missing, no_timeout, &found);
    kdl_work_end(&enumeration);
  }
  return status;
}

/* The CPU does not change, and a driver that the parent of a fork started must not be called. */
static unsigned enumerable(unsigned backends) {
  unsigned known = atomic_load_explicit(&enumerated, memory_order_relaxed);
  for (size_t i = 0; i <= plugins_index; ++i) {
    if (known >> i & 1 && (i == KDL_BACKEND_HOST || enumerated_after_forks[i] != kdl_fork_count()))
      backends &= ~(1u << i);
  }
  return backends;
}

kdl_status kdl_registry_refresh(unsigned backends, size_t *out_new) {
  kdl_work_turn turn;
  size_t found = 0;
  kdl_status status = kdl_fork_check();
  if (status != KDL_OK)
    return status;
  while ((turn = kdl_work_begin(&enumeration)) == KDL_WORK_WAITED)
    ;
  if (turn == KDL_WORK_ABANDONED)
    abandon_enumeration(enumerating);
  unsigned wanted = enumerable(backends | plugins);
  if (wanted)
    status = enumerate(wanted, false, &found);
  kdl_work_end(&enumeration);
  if (status == KDL_OK && out_new)
    *out_new = found;
  return status;
}
