/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/device.h"

#include "base/environment.h"
#include "base/error.h"
#include "device/discover.h"
#include "device/named.h"
#include "link/backend.h"
#include "target/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t found_once = PTHREAD_ONCE_INIT;
static kdl_device *found_devices;
static size_t found_count;

static pthread_mutex_t described_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_device *described_devices;

/* ------------------------------------------------------------------------------------------ */
/* Making devices                                                                               */

static void clear_device(kdl_device *device) {
  for (size_t i = 0; device->lines && i < device->route_count; ++i)
    free(device->lines[i]);
  free(device->lines);
  free(device->routes);
}

static char *spec_text(const kdl_device_spec *spec) {
  char *text = malloc(KDL_SPEC_LINE);
  if (text) {
    kdl_out out = {text, KDL_SPEC_LINE, 0};
    kdl_device_spec_print(spec, &out);
  }
  return text;
}

static kdl_status fill_device(const kdl_device_spec *routes, size_t count, kdl_device *device) {
  device->routes = calloc(count, sizeof *device->routes);
  device->lines = calloc(count, sizeof *device->lines);
  device->route_count = count;
  kdl_status status = KDL_OK;
  if (!device->routes || !device->lines)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    status = kdl_select_device_init(&routes[i], &device->routes[i]);
    device->lines[i] = spec_text(&routes[i]);
    if (status == KDL_OK && !device->lines[i])
      status = kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  }
  if (status != KDL_OK)
    clear_device(device);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices that are here                                                                        */

enum { limit_brought = 64 };

/* The devices that backends of KDL_BACKEND_PATH bring. */
typedef struct {
  kdl_device_spec specs[limit_brought];
  size_t count;
} brought_devices;

static void take_brought(void *user, const char *line) {
  brought_devices *brought = user;
  if (brought->count == limit_brought ||
      kdl_device_spec_parse(line, &brought->specs[brought->count]) != KDL_OK)
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s",
              brought->count == limit_brought ? "too many devices" : kdl_error_message());
  else
    ++brought->count;
}

static void add_found(const kdl_device_spec *routes, size_t count) {
  kdl_device *slot = &found_devices[found_count];
  if (fill_device(routes, count, slot) != KDL_OK) {
    kdl_debug(KDL_DEBUG_DEVICES, "left out: %s", kdl_error_message());
    return;
  }
  slot->here = true;
  ++found_count;
  for (size_t k = 0; k < slot->route_count; ++k)
    kdl_debug(KDL_DEBUG_DEVICES, "device %zu: %s", found_count - 1, slot->lines[k]);
}

static void find_devices(void) {
  kdl_discovery *found = NULL;
  brought_devices *brought = calloc(1, sizeof *brought);
  if (brought && kdl_discover(NULL, &found) == KDL_OK) {
    kdl_backend_list_devices(take_brought, brought);
    found_devices = calloc(brought->count + found->device_count + 1, sizeof *found_devices);
    for (size_t i = 0; found_devices && i < brought->count; ++i)
      add_found(&brought->specs[i], 1);
    for (size_t i = 0; found_devices && i < found->device_count; ++i)
      add_found(&found->routes[found->devices[i].first], found->devices[i].count);
  }
  kdl_discovery_free(found);
  free(brought);
}

size_t kdl_device_count(void) {
  pthread_once(&found_once, find_devices);
  return found_count;
}

kdl_device *kdl_device_at(size_t index) {
  return index < kdl_device_count() ? &found_devices[index] : NULL;
}

const char *kdl_device_spec_text(const kdl_device *device) {
  return device->lines[0];
}

/* "cuda", "cuda:1" or "1": digits only after the colon, or it is a spec. */
typedef struct {
  bool any_backend;
  kdl_backend backend;
  size_t index;
} place_text;

static bool parse_place(kdl_string text, place_text *out_place) {
  size_t colon = 0;
  while (colon < text.length && text.data[colon] != ':')
    ++colon;
  kdl_string name = {text.data, colon};
  kdl_string number = colon < text.length ? kdl_text_from(text, colon + 1) : KDL_TEXT("0");
  place_text place = {.any_backend = false};
  if (!kdl_backend_parse(name, &place.backend)) {
    if (colon < text.length)
      return false;
    place.any_backend = true;
    number = text;
  }
  if (number.length == 0 || number.length > 6)
    return false;
  for (size_t i = 0; i < number.length; ++i) {
    if (number.data[i] < '0' || number.data[i] > '9')
      return false;
    place.index = place.index * 10 + (size_t)(number.data[i] - '0');
  }
  *out_place = place;
  return true;
}

static kdl_status find_here(const char *text, const place_text *place, kdl_device **out_device) {
  size_t seen = 0;
  for (size_t i = 0; i < kdl_device_count(); ++i) {
    bool fits = place->any_backend;
    for (size_t k = 0; k < found_devices[i].route_count; ++k)
      fits |= found_devices[i].routes[k].spec.backend == place->backend;
    if (fits && seen++ == place->index) {
      *out_device = &found_devices[i];
      return KDL_OK;
    }
  }
  return kdl_fail(KDL_NO_MATCH,
                  "device \"%s\": this machine has %zu of that kind; `kdl devices` lists what is "
                  "here, and why a driver is not",
                  text, seen);
}

/* ------------------------------------------------------------------------------------------ */
/* Devices that are described                                                                   */

static kdl_status intern_described(const kdl_device_spec *spec, kdl_device **out_device) {
  kdl_device *made = calloc(1, sizeof *made);
  if (!made)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  kdl_status status = fill_device(spec, 1, made);
  if (status != KDL_OK) {
    free(made);
    return status;
  }
  pthread_mutex_lock(&described_lock);
  kdl_device *known = described_devices;
  while (known && strcmp(known->lines[0], made->lines[0]) != 0)
    known = known->next;
  if (!known) {
    made->next = described_devices;
    described_devices = known = made;
    made = NULL;
  }
  pthread_mutex_unlock(&described_lock);
  if (made) {
    clear_device(made);
    free(made);
  }
  *out_device = known;
  return KDL_OK;
}

kdl_status kdl_device_find(const char *text, kdl_device **out_device) {
  place_text place;
  if (parse_place(kdl_text_of(text), &place))
    return find_here(text, &place, out_device);
  kdl_device_spec spec;
  kdl_status status = kdl_device_spec_resolve(text, &spec);
  return status == KDL_OK ? intern_described(&spec, out_device) : status;
}
