/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The best device for a kernel: the first in the default order that has a backend and an image that
 * fits. Drivers are queried one after the other, until no other driver can change the result.
 * SPIR-V is translated where no driver takes it. */
#include "lib/inspect/selection.h"
#include "lib/library/selection.h"
#include "lib/registry/backend.h"
#include "lib/registry/registry.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/local_process.h"

/* In the order of preference; this process's own CPU is last. */
static kdl_backend preferred_backend(unsigned place) {
  return (kdl_backend)((KDL_BACKEND_HOST + 1 + place) % KDL_BACKEND_COUNT);
}

/* Whether images for a driver of another family are considered. */
typedef enum { as_they_are, translated } search_mode;

/* Backends whose devices may run an image that may hold the kernel. */
static kdl_status find_backends(kdl_library *lib, const char *kernel, search_mode mode,
                                unsigned *out_backends) {
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  uint32_t families = kdl_catalog_families(catalog, kernel ? kdl_text_of(kernel) : (kdl_string){0});
  unsigned backends = 0;
  if (mode == translated && families >> KDL_FAMILY_SPIRV & 1)
    families |= 1u << KDL_FAMILY_PORTABLE; /* the same devices */
  for (int i = 0; i < KDL_FAMILY_COUNT; ++i) {
    if (families >> i & 1)
      backends |= kdl_family_backends((kdl_target_family)i);
  }
  if (lib->flags & KDL_OPEN_NO_HOST)
    backends &= ~(1u << KDL_BACKEND_HOST);
  for (int i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (backends >> i & 1 && !kdl_backend_table_for((kdl_backend)i))
      backends &= ~(1u << i);
  }
  *out_backends = backends;
  return KDL_OK;
}

static bool is_candidate_device(const kdl_library *lib, const kdl_device *device,
                                unsigned backends) {
  return backends >> device->routes[0]->spec.backend & 1 && !kdl_device_is_gone(device) &&
         !(lib->flags & KDL_OPEN_NO_HOST && kdl_device_is_process(device, 0));
}

/* Considers each device only through its own driver: if another driver lists the same GPU, that
 * driver's device has its own position. *out_device is NULL where nothing fits. */
static kdl_status find_best_known_device(kdl_library *lib, const char *kernel,
                                         const kdl_select_opts *opts, unsigned backends,
                                         search_mode mode, kdl_device **out_device) {
  *out_device = NULL;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    const kdl_ranking *ranking;
    if (!is_candidate_device(lib, device, backends))
      continue;
    kdl_status status = kdl_library_rank(lib, device, 0, kernel, opts, &ranking);
    if (status != KDL_OK)
      return status;
    if (ranking && (mode == translated || !ranking->candidates[0].is_translated)) {
      *out_device = device;
      break;
    }
  }
  return KDL_OK;
}

/* Whether no device of a driver that is less preferred can precede it. */
static bool is_final_device(const kdl_device *device) {
  return device && (device->from_plugin ||
                    kdl_device_spec_class(&device->routes[0]->spec) == KDL_DEVICE_DISCRETE);
}

static bool has_single_backend(unsigned backends) {
  return !(backends & (backends - 1));
}

/* Equivalent: the same backend and the same class of device. */
static bool is_equivalent_device(const kdl_device *device, const kdl_device *best) {
  return device->routes[0]->spec.backend == best->routes[0]->spec.backend &&
         kdl_device_spec_class(&device->routes[0]->spec) ==
             kdl_device_spec_class(&best->routes[0]->spec);
}

static kdl_status fail_no_device_fits(kdl_library *lib, const char *kernel, unsigned backends) {
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  if (kernel)
    KDL_TRY(kdl_catalog_require_kernel(catalog, kdl_text_of(kernel)));
  char names[64];
  kdl_out out = {names, sizeof names, 0};
  size_t count = 0;
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (backends >> preferred_backend(i) & 1)
      kdl_out_format(&out, "%s%s", out.used ? ", " : "", kdl_backend_name(preferred_backend(i)));
  }
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device))
    count += is_candidate_device(lib, device, backends);
  return kdl_fail(KDL_NO_MATCH,
                  "%s: there are images for %s, and none fits one of the %zu devices found there; "
                  "`kdl explain` says why, device by device",
                  kernel ? kernel : "any kernel",
                  out.used ? names : "nothing that can be used here", count);
}

/* *out_device is NULL where nothing fits. */
static kdl_status search_device(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                                search_mode mode, unsigned *out_backends, kdl_device **out_device) {
  unsigned backends = 0;
  kdl_device *device = NULL;
  kdl_status status = find_backends(lib, kernel, mode, &backends);
  bool no_timeout = status == KDL_OK && has_single_backend(backends & ~(1u << KDL_BACKEND_HOST));
  for (unsigned i = 0; i < KDL_BACKEND_COUNT && status == KDL_OK; ++i) {
    kdl_backend backend = preferred_backend(i);
    bool is_host = backend == KDL_BACKEND_HOST;
    if (!(backends >> backend & 1) || is_final_device(device))
      continue;
    status = kdl_registry_enumerate(1u << backend, no_timeout || is_host);
    if (status == KDL_OK && is_host)
      status = kdl_device_check_host();
    if (status == KDL_OK)
      status = find_best_known_device(lib, kernel, opts, backends, mode, &device);
  }
  *out_backends = backends;
  *out_device = device;
  return status;
}

kdl_status kdl_device_for(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                          kdl_device **out_device) {
  KDL_NOT_CANCELLED;
  const char *wanted = kdl_environment(KDL_VARIABLE_DEVICE);
  kdl_status status = KDL_GIVEN(lib, out_device);
  if (status != KDL_OK)
    return status;
  if (wanted) {
    status = kdl_device_find(wanted, out_device);
    if (status != KDL_OK)
      kdl_error_prefix("KDL_DEVICE");
    return status;
  }
  unsigned backends;
  kdl_device *device;
  status = search_device(lib, kernel, opts, as_they_are, &backends, &device);
  if (status == KDL_OK && !device)
    status = search_device(lib, kernel, opts, translated, &backends, &device);
  if (status != KDL_OK)
    return status;
  if (!device)
    return fail_no_device_fits(lib, kernel, backends);
  *out_device = device;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Several processes                                                                            */

/* The number of devices that are equivalent to the best one and run the kernel, and the one at
 * `index` of them. */
static kdl_status count_equivalent_devices(kdl_library *lib, const char *kernel,
                                           const kdl_select_opts *opts, const kdl_device *best,
                                           size_t index, size_t *out_count,
                                           kdl_device **out_device) {
  *out_count = 0;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    const kdl_ranking *ranking;
    if (kdl_device_is_gone(device) || !is_equivalent_device(device, best))
      continue;
    kdl_status status = kdl_library_rank(lib, device, 0, kernel, opts, &ranking);
    if (status != KDL_OK)
      return status;
    if (ranking && (*out_count)++ == index)
      *out_device = device;
  }
  return KDL_OK;
}

kdl_status kdl_device_for_rank(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                               int rank, int count, kdl_device **out_device) {
  KDL_NOT_CANCELLED;
  kdl_device *best;
  size_t equivalent_count;
  kdl_status status = KDL_GIVEN(lib, out_device);
  if (status == KDL_OK && rank >= 0 && rank >= count)
    status = kdl_fail(KDL_BAD_CALL, "kdl_device_for_rank: found rank %d of %d, expected less", rank,
                      count);
  if (status == KDL_OK)
    status = kdl_device_for(lib, kernel, opts, &best);
  if (status != KDL_OK)
    return status;
  *out_device = best;
  if (kdl_environment(KDL_VARIABLE_DEVICE))
    return KDL_OK;
  kdl_local_process self =
      rank < 0 ? kdl_local_process_get() : (kdl_local_process){(uint32_t)rank, (uint32_t)count};
  status =
      count_equivalent_devices(lib, kernel, opts, best, SIZE_MAX, &equivalent_count, out_device);
  if (status != KDL_OK || equivalent_count < 2)
    return status;
  /* Neighbouring ranks get neighbouring devices: in blocks, not round-robin. */
  size_t index = self.count > self.rank ? (size_t)self.rank * equivalent_count / self.count
                                        : self.rank % equivalent_count;
  return count_equivalent_devices(lib, kernel, opts, best, index, &equivalent_count, out_device);
}
