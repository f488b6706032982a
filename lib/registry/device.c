/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/device.h"

#include "lib/device/host_cpu.h"
#include "lib/device/named_devices.h"
#include "lib/device/spec.h"
#include "lib/hooks.h"
#include "lib/inspect/targets.h"
#include "lib/registry/registry.h"
#include "lib/target/families/cpu.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/hash.h"
#include "support/base/sized.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/loader.h"
#include "support/system/lock.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Described devices, hashed by their lines. */
enum { described_lists = KDL_LIMIT_DESCRIBED / 4 };
static pthread_mutex_t described_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_device *described[described_lists];
static size_t described_count;

/* ------------------------------------------------------------------------------------------ */
/* Creating devices                                                                             */

/* The spec's line, followed by its label. */
static char *make_spec_text(const kdl_device_spec *spec, const char **out_label) {
  char line[KDL_SPEC_LINE], label[KDL_SPEC_ARCH + 32];
  kdl_device_spec_print(spec, &(kdl_out){line, sizeof line, 0});
  kdl_device_spec_summary(spec, &(kdl_out){label, sizeof label, 0});
  size_t line_size = strlen(line) + 1, label_size = strlen(label) + 1;
  char *text = malloc(line_size + label_size);
  if (text) {
    memcpy(text, line, line_size);
    *out_label = memcpy(text + line_size, label, label_size);
  }
  return text;
}

kdl_status kdl_device_route_init(const kdl_device_spec *spec, kdl_select_device *out_route) {
  KDL_TRY(kdl_select_device_init(spec, out_route));
  if (spec->tools != KDL_TOOLS_NONE)
    kdl_device_accept_bitcode(&out_route->rule);
  if (spec->tools == KDL_TOOLS_TRANSLATOR)
    kdl_device_accept_spirv(&out_route->rule);
  return KDL_OK;
}

const kdl_device_spec *kdl_device_route_spec(const kdl_device *device, size_t route) {
  return &kdl_device_route(device, route)->spec;
}

bool kdl_device_route_admits(const kdl_device *device, size_t route, const kdl_catalog *catalog,
                             size_t image) {
  return kdl_match_admits(kdl_catalog_rule(catalog, image), &kdl_device_route(device, route)->rule);
}

size_t kdl_device_route_count(const kdl_device *device) {
  return atomic_load_explicit(&device->route_count, memory_order_acquire);
}

kdl_status kdl_device_add_route(kdl_device *device, const kdl_device_spec *spec) {
  size_t count = atomic_load_explicit(&device->route_count, memory_order_relaxed);
  if (count == KDL_LIMIT_ROUTES)
    return kdl_fail(KDL_UNSUPPORTED, "%s: found more than %d routes", device->spec_lines[0],
                    KDL_LIMIT_ROUTES);
  kdl_select_device *route = malloc(sizeof *route);
  const char *label = NULL;
  char *line = make_spec_text(spec, &label);
  kdl_status status = route && line ? kdl_device_route_init(spec, route)
                                    : kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  if (status != KDL_OK) {
    free(route);
    free(line);
    return status;
  }
  device->routes[count] = route;
  device->spec_lines[count] = line;
  device->labels[count] = label;
  atomic_store_explicit(&device->route_count, count + 1, memory_order_release);
  return KDL_OK;
}

kdl_status kdl_device_create(const kdl_device_spec *spec, kdl_device **out_device) {
  kdl_device *made = calloc(1, sizeof *made);
  if (!made)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  made->forks = kdl_fork_count();
  kdl_status status = kdl_device_add_route(made, spec);
  if (status == KDL_OK)
    *out_device = made;
  else
    free(made);
  return status;
}

static void destroy_device(kdl_device *device) {
  for (size_t i = 0; i < kdl_device_route_count(device); ++i) {
    free(device->routes[i]);
    free(device->spec_lines[i]);
  }
  free(device->joined_spec_lines);
  free(device);
}

const char *kdl_device_spec_text(const kdl_device *device) {
  if (KDL_GIVEN(device) != KDL_OK)
    return "";
  return device->joined_spec_lines ? device->joined_spec_lines : device->spec_lines[0];
}

/* ------------------------------------------------------------------------------------------ */
/* Devices of this machine                                                                      */

/* The next device that exists and is not another's route, starting with `device`; NULL at the
 * end. */
static kdl_device *skip_unlisted(kdl_device *device) {
  while (device && (kdl_device_is_gone(device) || kdl_device_is_route(device)))
    device = kdl_device_next(device);
  return device;
}

/* A driver that could not be queried has no devices. */
static kdl_device *first_listed(void) {
  KDL_NOT_CANCELLED;
  (void)kdl_registry_enumerate(KDL_BACKENDS_ALL, false);
  return skip_unlisted(kdl_registry_first());
}

size_t kdl_device_count(void) {
  size_t count = 0;
  for (kdl_device *device = first_listed(); device; device = skip_unlisted(kdl_device_next(device)))
    ++count;
  return count;
}

kdl_device *kdl_device_at(size_t index) {
  kdl_device *device = first_listed();
  while (device && index-- > 0)
    device = skip_unlisted(kdl_device_next(device));
  return device;
}

/* "cuda", "cuda:1" or "1": digits only after the colon, or it is a spec. */
typedef struct {
  bool any_backend;
  kdl_backend backend;
  size_t index;
} device_ref;

static bool parse_device_ref(kdl_string text, device_ref *out_ref) {
  size_t colon = 0;
  while (colon < text.length && text.data[colon] != ':')
    ++colon;
  kdl_string name = {text.data, colon};
  kdl_string number = colon < text.length ? kdl_text_substr(text, colon + 1) : KDL_TEXT("0");
  device_ref ref = {.any_backend = false};
  if (!kdl_backend_parse(name, &ref.backend)) {
    if (colon < text.length)
      return false;
    ref.any_backend = true;
    number = text;
  }
  if (number.length == 0 || number.length > 6)
    return false;
  for (size_t i = 0; i < number.length; ++i) {
    if (number.data[i] < '0' || number.data[i] > '9')
      return false;
    ref.index = ref.index * 10 + (size_t)(number.data[i] - '0');
  }
  *out_ref = ref;
  return true;
}

/* Devices that plug-ins list have the first numbers; those of the driver follow with its own
 * numbers. */
static kdl_device *find_by_number(kdl_backend backend, size_t index, size_t *out_seen) {
  size_t first = 0;
  *out_seen = 0;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    const kdl_device_spec *spec = &device->routes[0]->spec;
    if (spec->backend != backend || kdl_device_is_gone(device))
      continue;
    size_t number = first + (device->from_plugin ? 0 : spec->ordinal.value);
    if (number == index)
      return device;
    first += device->from_plugin;
    ++*out_seen;
  }
  return NULL;
}

kdl_status kdl_device_check_host(void) {
  size_t seen;
  return find_by_number(KDL_BACKEND_HOST, 0, &seen) ? KDL_OK : kdl_cpu_check_setting();
}

static kdl_status find_present_device(const char *text, const device_ref *ref,
                                      kdl_device **out_device) {
  size_t seen = 0;
  kdl_device *found = NULL;
  kdl_status status = KDL_OK;
  if (ref->any_backend) {
    found = kdl_device_at(ref->index);
    seen = found ? 0 : kdl_device_count();
  } else {
    status = kdl_registry_enumerate(1u << ref->backend, true);
    found = find_by_number(ref->backend, ref->index, &seen);
  }
  if (status != KDL_OK)
    return status;
  if (!found && (ref->any_backend || ref->backend == KDL_BACKEND_HOST))
    status = kdl_device_check_host();
  if (status != KDL_OK) {
    kdl_error_prefix("device \"%s\"", text);
    return status;
  }
  if (!found && kdl_program_is_static())
    return kdl_fail(KDL_NO_MATCH, "device \"%s\": " KDL_STATIC_PROGRAM, text);
  if (!found)
    return kdl_fail(KDL_NO_MATCH,
                    "device \"%s\": this machine has %zu of that kind; `kdl devices` lists what is "
                    "here, and why a driver is not",
                    text, seen);
  *out_device = found;
  return KDL_OK;
}

kdl_status kdl_devices_refresh(const char *backend, size_t *out_new) {
  KDL_NOT_CANCELLED;
  kdl_backend named;
  unsigned backends = KDL_BACKENDS_ALL;
  if (backend && !kdl_backend_parse(kdl_text_of(backend), &named)) {
    char names[128];
    kdl_out out = {names, sizeof names, 0};
    kdl_out_backends(&out, ", ");
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_devices_refresh: found the backend \"%s\", expected one of %s, or NULL "
                    "for all",
                    backend, names);
  }
  if (backend)
    backends = 1u << named;
  return kdl_registry_refresh(backends, out_new);
}

/* ------------------------------------------------------------------------------------------ */
/* Described devices                                                                            */

/* The caller has compared the lines of the first routes. */
static bool has_routes(const kdl_device *device, const kdl_device_routes *routes) {
  bool same = kdl_device_route_count(device) == routes->count;
  for (size_t i = 1; same && i < routes->count; ++i) {
    char line[KDL_SPEC_LINE];
    kdl_device_spec_print(&routes->specs[i], &(kdl_out){line, sizeof line, 0});
    same = strcmp(device->spec_lines[i], line) == 0;
  }
  return same;
}

/* The device with these routes, else `made` if it is not NULL and the limit permits. */
static kdl_device *find_described(const kdl_device_routes *routes, kdl_device *made) {
  char line[KDL_SPEC_LINE];
  kdl_device_spec_print(&routes->specs[0], &(kdl_out){line, sizeof line, 0});
  kdl_device **list = &described[kdl_hash_text(kdl_text_of(line)) % described_lists];
  kdl_lock(&described_lock);
  kdl_device *device = *list;
  while (device && (strcmp(device->spec_lines[0], line) != 0 || !has_routes(device, routes)))
    device = kdl_device_next(device);
  if (!device && made && described_count < KDL_LIMIT_DESCRIBED) {
    atomic_init(&made->next, *list);
    *list = device = made;
    ++described_count;
  }
  kdl_unlock(&described_lock);
  return device;
}

static char *join_spec_lines(const kdl_device *device) {
  size_t count = kdl_device_route_count(device), room = 1;
  for (size_t i = 0; i < count; ++i)
    room += strlen(device->spec_lines[i]) + strlen(" | ");
  char *text = malloc(room);
  kdl_out out = {text, room, 0};
  for (size_t i = 0; text && i < count; ++i)
    kdl_out_format(&out, "%s%s", i ? " | " : "", device->spec_lines[i]);
  return text;
}

static kdl_status create_described(const kdl_device_routes *routes, kdl_device **out_device) {
  kdl_device *made;
  kdl_status status = kdl_device_create(&routes->specs[0], &made);
  if (status != KDL_OK)
    return status;
  for (size_t i = 1; status == KDL_OK && i < routes->count; ++i)
    status = kdl_device_add_route(made, &routes->specs[i]);
  if (status == KDL_OK && routes->count > 1) {
    made->joined_spec_lines = join_spec_lines(made);
    if (!made->joined_spec_lines)
      status = kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  }
  if (status == KDL_OK)
    *out_device = made;
  else
    destroy_device(made);
  return status;
}

static kdl_status intern_described(const kdl_device_routes *routes, kdl_device **out_device) {
  kdl_device *made, *device = find_described(routes, NULL);
  if (!device) {
    kdl_status status = create_described(routes, &made);
    if (status != KDL_OK)
      return status;
    device = find_described(routes, made);
    if (device != made)
      destroy_device(made);
  }
  if (!device)
    return kdl_fail(KDL_UNSUPPORTED,
                    "found more than %d devices that were described in this process, expected no "
                    "more: they live as long as the process",
                    KDL_LIMIT_DESCRIBED);
  *out_device = device;
  return KDL_OK;
}

kdl_status kdl_device_without_tools(kdl_device *device, kdl_device **out_device) {
  bool has_tools = false;
  kdl_device_routes *routes = malloc(sizeof *routes);
  if (!routes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  routes->count = kdl_device_route_count(device);
  for (size_t i = 0; i < routes->count; ++i) {
    routes->specs[i] = *kdl_device_route_spec(device, i);
    has_tools |= routes->specs[i].tools != KDL_TOOLS_NONE;
    routes->specs[i].tools = KDL_TOOLS_NONE;
  }
  *out_device = device;
  kdl_status status = has_tools ? intern_described(routes, out_device) : KDL_OK;
  free(routes);
  return status;
}

kdl_status kdl_device_find(const char *text, kdl_device **out_device) {
  KDL_NOT_CANCELLED;
  device_ref ref;
  KDL_TRY(KDL_GIVEN(text, out_device));
  if (parse_device_ref(kdl_text_of(text), &ref))
    return find_present_device(text, &ref, out_device);
  kdl_device_routes *routes = malloc(sizeof *routes);
  if (!routes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a device");
  kdl_status status = kdl_device_routes_resolve(text, routes);
  if (status == KDL_OK)
    status = intern_described(routes, out_device);
  free(routes);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* kdl_device_info                                                                              */

static int ordinal_of(const kdl_device_spec *spec) {
  return spec->ordinal.known && spec->ordinal.value <= INT_MAX ? (int)spec->ordinal.value : -1;
}

/* Routes never change, so the caller may keep pointers to their texts. */
static kdl_device_info describe_route(const kdl_device *device, size_t route) {
  const kdl_device_spec *spec = &device->routes[route]->spec;
  kdl_device_info info = {
      .size = sizeof info,
      .backend = kdl_backend_name(spec->backend),
      .arch = spec->arch,
      .features = spec->features,
      .label = device->labels[route],
      .name = spec->name,
      .platform = spec->platform,
      .driver = spec->driver,
      .device_class = kdl_device_spec_class(spec),
      .is_here = device->is_here && !kdl_device_is_gone(device),
      .is_host = spec->backend == KDL_BACKEND_HOST,
      .ordinal = ordinal_of(spec),
      .units = spec->units,
      .subgroups = spec->subgroups,
      .max_block = spec->max_block,
      .memory = spec->memory,
      .shared = spec->shared,
      .shared_optin = spec->shared_optin,
      .has_pci = spec->pci.known,
      .pci_domain = spec->pci.domain,
      .pci_bus = spec->pci.bus,
      .pci_device = spec->pci.device,
      .pci_function = spec->pci.function,
      .has_uuid = spec->uuid.known,
      .route_count = kdl_device_route_count(device),
  };
  memcpy(info.uuid, spec->uuid.bytes, sizeof info.uuid);
  return info;
}

static kdl_status get_route_info(const char *call, const kdl_device *device, size_t route,
                                 kdl_device_info *out_info) {
  const kdl_sized what = {call, "info", sizeof *out_info, sizeof *out_info};
  KDL_TRY(kdl_sized_check(what, out_info));
  kdl_device_info info = describe_route(device, route);
  kdl_sized_write(what, &info, out_info);
  return KDL_OK;
}

kdl_status kdl_device_get(const kdl_device *device, kdl_device_info *out_info) {
  kdl_status status = KDL_GIVEN(device, out_info);
  return status == KDL_OK ? get_route_info("kdl_device_get", device, 0, out_info) : status;
}

kdl_status kdl_device_route_get(const kdl_device *device, size_t route, kdl_device_info *out_info) {
  kdl_status status = KDL_GIVEN(device, out_info);
  if (status == KDL_OK && route >= kdl_device_route_count(device))
    status =
        kdl_fail(KDL_BAD_CALL, "kdl_device_route_get: %s: found route %zu, expected less than %zu",
                 device->labels[0], route, kdl_device_route_count(device));
  return status == KDL_OK ? get_route_info("kdl_device_route_get", device, route, out_info)
                          : status;
}

int kdl_device_numa_node(const kdl_device *device) {
  KDL_NOT_CANCELLED;
  char path[64], text[16] = "", *end;
  if (KDL_GIVEN(device) != KDL_OK || !kdl_device_route(device, 0)->spec.pci.known)
    return -1;
  const kdl_spec_pci *pci = &kdl_device_route(device, 0)->spec.pci;
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node",
           (unsigned)pci->domain, (unsigned)pci->bus, (unsigned)pci->device,
           (unsigned)pci->function);
  FILE *file = fopen(path, "re");
  if (!file)
    return -1;
  if (!fgets(text, sizeof text, file))
    text[0] = '\0';
  fclose(file);
  long node = strtol(text, &end, 10);
  return end != text && node >= 0 && node <= INT_MAX ? (int)node : -1;
}

/* ------------------------------------------------------------------------------------------ */
/* Permission for AMX                                                                           */

static bool request_amx_of_linux(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  const int request_state = 0x1023; /* ARCH_REQ_XCOMP_PERM */
  const int tile_data = 18;
  return syscall(SYS_arch_prctl, request_state, tile_data) == 0;
#else
  return false;
#endif
}

bool (*kdl_request_amx)(void) = request_amx_of_linux;

/* All feature tokens that use tiles. */
static const char amx_tokens[] =
    "amx_tile+amx_int8+amx_bf16+amx_fp16+amx_complex+amx_fp8+amx_tf32+amx_avx512";

/* If the spec compiled, it also compiles without AMX. If that ever fails, a device that admits
 * nothing is safe. */
static void deny_amx(kdl_device *device, size_t route) {
  kdl_device_spec spec = device->routes[route]->spec;
  _Static_assert(sizeof amx_tokens <= sizeof spec.refused, "the tokens do not fit");
  memcpy(spec.refused, amx_tokens, sizeof amx_tokens);
  if (kdl_device_route_init(&spec, &device->without_amx) != KDL_OK)
    device->without_amx = (kdl_select_device){.spec = spec};
  atomic_store_explicit(&device->amx_denied, true, memory_order_release);
}

static bool request_amx_once(kdl_device *device, size_t route) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  kdl_lock(&lock);
  if (device->amx == KDL_AMX_NOT_REQUESTED) {
    device->amx = kdl_request_amx() ? KDL_AMX_GRANTED : KDL_AMX_REFUSED;
    kdl_debug(KDL_DEBUG_DEVICES, "asked for permission to use AMX: %s",
              device->amx == KDL_AMX_GRANTED ? "granted" : "refused");
    if (device->amx == KDL_AMX_REFUSED)
      deny_amx(device, route);
  }
  bool granted = device->amx == KDL_AMX_GRANTED;
  kdl_unlock(&lock);
  return granted;
}

static bool is_this_cpu(const kdl_device *device, size_t route) {
  return device->is_here && device->routes[route]->spec.backend == KDL_BACKEND_HOST;
}

bool kdl_device_permit(kdl_device *device, size_t route, const kdl_candidate *candidate) {
  return !candidate->needs_amx || !is_this_cpu(device, route) || request_amx_once(device, route);
}

void kdl_device_permit_all(kdl_device *device, size_t route) {
  const kdl_device_rule *rule = &device->routes[route]->rule;
  kdl_feature_set has = {{~rule->lacks.word[0], ~rule->lacks.word[1]}};
  if (is_this_cpu(device, route) && rule->family == KDL_FAMILY_X86_64 && kdl_x86_needs_amx(has))
    request_amx_once(device, route);
}
