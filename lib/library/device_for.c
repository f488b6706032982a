/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The best device for a kernel: the first in the default order that a backend serves and an image
 * fits. Drivers are asked one after the other, and only as far as the answer depends on them. */
#include "lib/inspect/ranking.h"
#include "lib/library/selection.h"
#include "lib/registry/backend.h"
#include "lib/registry/registry.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/local_process.h"

/* As their devices are preferred, this process's own CPU last. */
static const kdl_backend preferred[] = {KDL_BACKEND_CUDA, KDL_BACKEND_HIP, KDL_BACKEND_LEVEL_ZERO,
                                        KDL_BACKEND_OPENCL, KDL_BACKEND_HOST};

/* Backends whose devices may take an image that may hold the kernel. */
static kdl_status find_backends(kdl_library *lib, const char *kernel, unsigned *out_backends) {
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  uint32_t families = kdl_catalog_families(catalog, kernel ? kdl_text_of(kernel) : (kdl_string){0});
  unsigned backends = 0;
  for (int i = 0; i < KDL_FAMILY_COUNT; ++i) {
    if (families >> i & 1)
      backends |= kdl_family_backends((kdl_target_family)i);
  }
  if (lib->flags & KDL_OPEN_NO_HOST)
    backends &= ~(1u << KDL_BACKEND_HOST);
  for (int i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (backends >> i & 1 && !kdl_backend_serving((kdl_backend)i))
      backends &= ~(1u << i);
  }
  *out_backends = backends;
  return KDL_OK;
}

static bool is_candidate(const kdl_library *lib, const kdl_device *device, unsigned backends) {
  return backends >> device->routes[0]->spec.backend & 1 && !kdl_device_is_gone(device) &&
         !(lib->flags & KDL_OPEN_NO_HOST && kdl_device_is_process(device, 0));
}

/* A device is looked at through its own driver alone: where another driver shows the same GPU, that
 * one's device comes at its own place. *out_device is NULL where nothing fits. */
static kdl_status find_known(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                             unsigned backends, kdl_device **out_device) {
  *out_device = NULL;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    const kdl_ranking *ranking;
    if (!is_candidate(lib, device, backends))
      continue;
    kdl_status status = kdl_library_rank(lib, device, 0, kernel, opts, &ranking);
    if (status != KDL_OK)
      return status;
    if (ranking) {
      *out_device = device;
      break;
    }
  }
  return KDL_OK;
}

/* Whether no device of a driver that is less preferred can go before it. */
static bool is_settled(const kdl_device *device) {
  return device && (device->from_plugin ||
                    kdl_device_spec_class(&device->routes[0]->spec) == KDL_DEVICE_DISCRETE);
}

static bool is_single(unsigned backends) {
  return !(backends & (backends - 1));
}

/* As good as another: the same way to launch, and the same sort of device. */
static bool is_like(const kdl_device *device, const kdl_device *best) {
  return device->routes[0]->spec.backend == best->routes[0]->spec.backend &&
         kdl_device_spec_class(&device->routes[0]->spec) ==
             kdl_device_spec_class(&best->routes[0]->spec);
}

static kdl_status nothing_fits(kdl_library *lib, const char *kernel, unsigned backends) {
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  if (kernel)
    KDL_TRY(kdl_kernel_absent(catalog, kdl_text_of(kernel)));
  char names[64];
  kdl_out out = {names, sizeof names, 0};
  size_t count = 0;
  for (size_t i = 0; i < sizeof preferred / sizeof *preferred; ++i) {
    if (backends >> preferred[i] & 1)
      kdl_out_format(&out, "%s%s", out.used ? ", " : "", kdl_backend_name(preferred[i]));
  }
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device))
    count += is_candidate(lib, device, backends);
  return kdl_fail(KDL_NO_MATCH,
                  "%s: there are images for %s, and none fits one of the %zu devices found there; "
                  "`kdl explain` says why, device by device",
                  kernel ? kernel : "any kernel",
                  out.used ? names : "nothing that can be used here", count);
}

kdl_status kdl_device_for(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                          kdl_device **out_device) {
  KDL_NOT_CANCELLED;
  const char *wanted = kdl_environment("KDL_DEVICE");
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
  kdl_device *device = NULL;
  status = find_backends(lib, kernel, &backends);
  bool no_timeout = status == KDL_OK && is_single(backends & ~(1u << KDL_BACKEND_HOST));
  for (size_t i = 0; i < sizeof preferred / sizeof *preferred && status == KDL_OK; ++i) {
    unsigned backend = 1u << preferred[i];
    if (!(backends & backend) || is_settled(device))
      continue;
    status = kdl_registry_ask(backend, no_timeout || preferred[i] == KDL_BACKEND_HOST);
    if (status == KDL_OK && preferred[i] == KDL_BACKEND_HOST)
      status = kdl_device_check_host();
    if (status == KDL_OK)
      status = find_known(lib, kernel, opts, backends, &device);
  }
  if (status != KDL_OK)
    return status;
  if (!device)
    return nothing_fits(lib, kernel, backends);
  *out_device = device;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Several processes                                                                            */

/* The number of devices like the best one that take the kernel, and the one at `index` of them. */
static kdl_status count_like(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                             const kdl_device *best, size_t index, size_t *out_count,
                             kdl_device **out_device) {
  *out_count = 0;
  for (kdl_device *device = kdl_registry_first(); device; device = kdl_device_next(device)) {
    const kdl_ranking *ranking;
    if (kdl_device_is_gone(device) || !is_like(device, best))
      continue;
    kdl_status status = kdl_library_rank(lib, device, 0, kernel, opts, &ranking);
    if (status != KDL_OK)
      return status;
    if (ranking && (*out_count)++ == index)
      *out_device = device;
  }
  return KDL_OK;
}

kdl_status kdl_device_local(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                            int rank, int count, kdl_device **out_device) {
  KDL_NOT_CANCELLED;
  kdl_device *best;
  size_t like;
  kdl_status status = KDL_GIVEN(lib, out_device);
  if (status == KDL_OK && rank >= 0 && rank >= count)
    status =
        kdl_fail(KDL_BAD_CALL, "kdl_device_local: found rank %d of %d, expected less", rank, count);
  if (status == KDL_OK)
    status = kdl_device_for(lib, kernel, opts, &best);
  if (status != KDL_OK)
    return status;
  *out_device = best;
  if (kdl_environment("KDL_DEVICE"))
    return KDL_OK;
  kdl_local_process self =
      rank < 0 ? kdl_local_process_here() : (kdl_local_process){(uint32_t)rank, (uint32_t)count};
  status = count_like(lib, kernel, opts, best, SIZE_MAX, &like, out_device);
  if (status != KDL_OK || like < 2)
    return status;
  /* Neighbours are near each other, and so are devices: in blocks, not in turns. */
  size_t index = self.count > self.rank ? (size_t)self.rank * like / self.count : self.rank % like;
  return count_like(lib, kernel, opts, best, index, &like, out_device);
}
