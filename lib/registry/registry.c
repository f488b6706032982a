/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/registry.h"

#include "lib/device/arrange.h"
#include "lib/registry/backend.h"
#include "lib/registry/discover.h"
#include "support/base/error.h"
#include "support/base/layer.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while the list changes */
static kdl_work asking;
static unsigned being_asked;                        /* by the thread that is asking */
static unsigned rounds;                             /* of asking */
static _Atomic(unsigned) asked;                     /* backends, and `plugins` */
static unsigned asked_after[KDL_BACKEND_COUNT + 1]; /* so many forks, each of those */
static _Atomic(kdl_device *) devices;

/* The devices that backends of KDL_BACKEND_PATH bring are one more answer to wait for. */
enum { plugins_index = KDL_BACKEND_COUNT, plugins = 1u << plugins_index };

kdl_device *kdl_registry_first(void) {
  return atomic_load_explicit(&devices, memory_order_acquire);
}

/* ------------------------------------------------------------------------------------------ */
/* The list                                                                                     */

static bool goes_before(const kdl_device *made, const kdl_device *other) {
  if (made->from_plugin != other->from_plugin)
    return made->from_plugin;
  return !made->from_plugin &&
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

/* The device that is shown once more, or NULL. One that was gone and had been used is not it: what
 * was made on it is lost, so it comes back as another. */
static kdl_device *find_again(const kdl_device_spec *spec, bool is_from_plugin) {
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    bool is_lost = kdl_device_is_gone(device) && atomic_load(&device->runtime);
    if (device->from_plugin == is_from_plugin && device->round != rounds && !is_lost &&
        kdl_device_spec_is_again(&device->routes[0]->spec, spec))
      return device;
  }
  return NULL;
}

/* Counts it where it was not there before. False when out of memory. */
static bool add(const kdl_device_spec *spec, bool is_from_plugin, size_t *new_count) {
  kdl_device *device = find_again(spec, is_from_plugin);
  bool is_new = !device || kdl_device_is_gone(device);
  kdl_status status = device ? KDL_OK : kdl_device_create(spec, &device);
  if (status != KDL_OK) {
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s", kdl_error_message());
    return status != KDL_NO_MEMORY;
  }
  device->round = rounds;
  atomic_store_explicit(&device->is_gone, false, memory_order_release);
  if (!device->here) {
    device->here = true;
    device->from_plugin = is_from_plugin;
    insert(device);
  }
  if (is_new)
    kdl_debug(KDL_DEBUG_DEVICES, "found %s", device->lines[0]);
  *new_count += is_new;
  return true;
}

/* Those that were not shown by backends that answered. */
static void let_go(unsigned answered) {
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    unsigned by = device->from_plugin ? plugins : 1u << device->routes[0]->spec.backend;
    if (!(answered & by) || device->round == rounds || kdl_device_is_gone(device))
      continue;
    atomic_store_explicit(&device->is_gone, true, memory_order_release);
    kdl_debug(KDL_DEBUG_DEVICES, "gone: %s", device->lines[0]);
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

static bool has_route(const kdl_device *device, const char *line) {
  for (size_t i = 0; i < kdl_device_route_count(device); ++i) {
    if (strcmp(device->lines[i], line) == 0)
      return true;
  }
  return false;
}

/* False when out of memory. */
static bool join(kdl_device *device, kdl_device *other) {
  if (kdl_device_is_route(other))
    return true;
  kdl_status status = has_route(device, other->lines[0])
                          ? KDL_OK
                          : kdl_device_add_route(device, &other->routes[0]->spec);
  if (status != KDL_OK)
    return status != KDL_NO_MEMORY;
  atomic_store_explicit(&other->whole, device, memory_order_release);
  kdl_debug(KDL_DEBUG_DEVICES, "%s is also %s", device->lines[0], other->lines[0]);
  return true;
}

static bool may_join(const kdl_device *device) {
  return !device->from_plugin && !kdl_device_is_gone(device);
}

/* Looks at all devices anew: which of two that are the same comes first does not depend on which
 * driver was asked first. Out of memory some stay apart, and it returns false. Called with the lock
 * held. */
static bool join_routes(void) {
  size_t count = 0, at = 0;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device))
    count += may_join(device);
  kdl_device **all = calloc(count + 1, sizeof *all);
  const kdl_device_spec **specs = calloc(count + 1, sizeof *specs);
  size_t *first = calloc(count + 1, sizeof *first);
  bool whole = all && specs && first;
  for (kdl_device *device = kdl_registry_first(); whole && device;
       device = kdl_device_next(device)) {
    if (may_join(device))
      all[at++] = device;
  }
  if (whole) {
    qsort(all, count, sizeof *all, compare_backends);
    for (size_t i = 0; i < count; ++i)
      specs[i] = &all[i]->routes[0]->spec;
    kdl_arrange_routes(specs, count, first);
    for (size_t i = 0; i < count; ++i) {
      if (first[i] != i)
        whole &= join(all[first[i]], all[i]);
    }
  }
  free(all);
  free(specs);
  free(first);
  return whole;
}

/* ------------------------------------------------------------------------------------------ */
/* Asking                                                                                       */

enum { limit_plugin_devices = 64 };

typedef struct {
  kdl_device_spec specs[limit_plugin_devices];
  size_t count;
} plugin_devices;

static void take_plugin_device(void *user, const char *line) {
  plugin_devices *list = user;
  if (list->count == limit_plugin_devices ||
      kdl_device_spec_parse(line, &list->specs[list->count]) != KDL_OK)
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s",
              list->count == limit_plugin_devices ? "too many devices" : kdl_error_message());
  else
    ++list->count;
}

/* What there is to add to the list. */
typedef struct {
  plugin_devices *from_plugin;
  kdl_discovery *found;
  unsigned answered; /* backends that told what they have, also where that is nothing */
} answers;

/* A driver that fails or stays silent tells nothing of its devices, so they stay. */
static unsigned answering(const kdl_discovery *found) {
  unsigned answered = 0;
  for (size_t i = 0; i < found->report_count; ++i) {
    const kdl_driver_report *report = &found->reports[i];
    if (report->state == KDL_DRIVER_USABLE || report->state == KDL_DRIVER_NO_DEVICE)
      answered |= 1u << report->backend;
  }
  return answered;
}

static kdl_status ask_all(unsigned wanted, bool no_timeout, answers *out) {
  if (wanted & plugins) {
    out->from_plugin = calloc(1, sizeof *out->from_plugin);
    if (!out->from_plugin)
      return kdl_fail(KDL_NO_MEMORY, "out of memory for devices");
    if (kdl_backend_list_devices(take_plugin_device, out->from_plugin))
      out->answered |= plugins;
  }
  kdl_discover_opts opts = {.backends = wanted & KDL_BACKENDS_ALL,
                            .timeout_ms = no_timeout ? 0 : KDL_DISCOVER_TIMEOUT_MS,
                            .routes_alone = true};
  KDL_TRY(opts.backends ? kdl_discover(&opts, &out->found) : KDL_OK);
  if (out->found)
    out->answered |= answering(out->found);
  return KDL_OK;
}

/* Called with the lock held. */
static kdl_status add_all(const answers *got, size_t *out_new) {
  bool whole = true;
  *out_new = 0;
  ++rounds;
  for (size_t i = 0; got->from_plugin && i < got->from_plugin->count; ++i)
    whole &= add(&got->from_plugin->specs[i], true, out_new);
  for (size_t i = 0; got->found && i < got->found->report_count; ++i) {
    const kdl_driver_report *report = &got->found->reports[i];
    kdl_debug(KDL_DEBUG_DEVICES, "asked %s: %s, %zu devices%s%s", kdl_backend_name(report->backend),
              kdl_driver_state_name(report->state), report->device_count,
              report->words[0] ? ": " : "", report->words);
  }
  for (size_t i = 0; got->found && i < got->found->route_count; ++i)
    whole &= add(&got->found->routes[i], false, out_new);
  let_go(got->answered);
  whole &= join_routes();
  return whole ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for devices");
}

static void note_asked(unsigned backends, unsigned forks) {
  for (size_t i = 0; i <= plugins_index; ++i) {
    if (backends >> i & 1)
      asked_after[i] = forks;
  }
  atomic_fetch_or_explicit(&asked, backends, memory_order_release);
}

static kdl_status ask(unsigned wanted, bool no_timeout, size_t *out_new) {
  answers got = {0};
  being_asked = wanted;
  kdl_layer_enter(KDL_LAYER_ENUMERATE);
  kdl_status status = ask_all(wanted, no_timeout, &got);
  if (status == KDL_OK) {
    kdl_lock(&lock);
    status = add_all(&got, out_new);
    if (status == KDL_OK)
      note_asked(wanted, kdl_fork_count());
    kdl_unlock(&lock);
  }
  kdl_layer_leave(KDL_LAYER_ENUMERATE, &(kdl_layer_about){.failed = status != KDL_OK});
  being_asked = 0;
  kdl_discovery_free(got.found);
  free(got.from_plugin);
  return status;
}

/* A driver that was being started when the process forked is not to be started again. */
static void give_up(unsigned backends) {
  unsigned lost = backends & KDL_BACKENDS_ALL & ~(1u << KDL_BACKEND_HOST);
  note_asked(lost, kdl_fork_count() - 1);
  kdl_debug(KDL_DEBUG_DEVICES, "a fork came while drivers were asked: none of theirs is used here");
}

kdl_status kdl_registry_ask(unsigned backends, bool no_timeout) {
  unsigned wanted = backends | plugins;
  size_t found;
  kdl_status status = KDL_OK;
  while (status == KDL_OK && wanted & ~atomic_load_explicit(&asked, memory_order_acquire)) {
    status = kdl_fork_check();
    kdl_work_turn turn = status == KDL_OK ? kdl_work_begin(&asking) : KDL_WORK_WAITED;
    if (turn == KDL_WORK_WAITED)
      continue;
    if (turn == KDL_WORK_ABANDONED)
      give_up(being_asked);
    unsigned missing = wanted & ~atomic_load_explicit(&asked, memory_order_relaxed);
    if (missing)
      status = ask(missing, no_timeout, &found);
    kdl_work_end(&asking);
  }
  return status;
}

/* The CPU stays what it is, and a driver that runs in the process that forked is not to be asked
 * here. */
static unsigned askable(unsigned backends) {
  unsigned known = atomic_load_explicit(&asked, memory_order_relaxed);
  for (size_t i = 0; i <= plugins_index; ++i) {
    if (known >> i & 1 && (i == KDL_BACKEND_HOST || asked_after[i] != kdl_fork_count()))
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
  while ((turn = kdl_work_begin(&asking)) == KDL_WORK_WAITED)
    ;
  if (turn == KDL_WORK_ABANDONED)
    give_up(being_asked);
  unsigned wanted = askable(backends | plugins);
  if (wanted)
    status = ask(wanted, false, &found);
  kdl_work_end(&asking);
  if (status == KDL_OK && out_new)
    *out_new = found;
  return status;
}
