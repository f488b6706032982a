/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/backends.h"

#include "lib/device/spec.h"

#include <string.h>

/* Portable images are for every device, so that no row names their family. */
enum {
  KDL_FAMILIES_OF_CPUS =
      1u << KDL_FAMILY_X86_64 | 1u << KDL_FAMILY_AARCH64 | 1u << KDL_FAMILY_RISCV,
};

static const kdl_backend_row rows[KDL_BACKEND_COUNT] = {
#define KDL_BACKEND_ROW(id, spelling, ...) {.name = #spelling, __VA_ARGS__},
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW
};

const kdl_backend_row *kdl_backend_row_of(kdl_backend backend) {
  static const kdl_backend_row none = {.name = "?"};
  return (unsigned)backend < KDL_BACKEND_COUNT ? &rows[backend] : &none;
}

const char *kdl_backend_name(kdl_backend backend) {
  return kdl_backend_row_of(backend)->name;
}

kdl_backend_words kdl_backend_words_of(kdl_string name) {
  kdl_backend backend = KDL_BACKEND_HOST;
  (void)kdl_backend_parse(name, &backend);
  return rows[backend].words;
}

bool kdl_backend_parse(kdl_string name, kdl_backend *out_backend) {
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (kdl_text_is(name, rows[i].name)) {
      *out_backend = (kdl_backend)i;
      return true;
    }
  }
  return false;
}

bool kdl_backend_of_arch(kdl_string arch, kdl_backend *out_backend) {
  enum { most_starts = sizeof rows->arch_starts / sizeof *rows->arch_starts };
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    for (size_t k = 0; k < most_starts && rows[i].arch_starts[k]; ++k) {
      if (kdl_text_starts(arch, rows[i].arch_starts[k])) {
        *out_backend = (kdl_backend)i;
        return true;
      }
    }
  }
  return false;
}

unsigned kdl_family_backends(kdl_target_family family) {
  unsigned backends = 0;
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (family == KDL_FAMILY_PORTABLE || rows[i].families >> family & 1)
      backends |= 1u << i;
  }
  return backends;
}

void kdl_out_backends(kdl_out *out, const char *separator) {
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i)
    kdl_out_format(out, "%s%s", i ? separator : "", rows[i].name);
}

/* ------------------------------------------------------------------------------------------ */
/* Devices of several drivers                                                                   */

/* Each OpenCL platform counts as a driver. */
static bool same_driver(const kdl_device_spec *a, const kdl_device_spec *b) {
  return a->backend == b->backend && strcmp(a->platform, b->platform) == 0;
}

static bool same_uuid(const kdl_device_spec *a, const kdl_device_spec *b) {
  return a->uuid.known && b->uuid.known && memcmp(a->uuid.bytes, b->uuid.bytes, 16) == 0;
}

static bool same_pci(const kdl_device_spec *a, const kdl_device_spec *b) {
  return a->pci.domain == b->pci.domain && a->pci.bus == b->pci.bus &&
         a->pci.device == b->pci.device && a->pci.function == b->pci.function;
}

static bool same_device(const kdl_device_spec *a, const kdl_device_spec *b) {
  /* One driver lists the parts of a partitioned GPU, which share a PCI address, as several
   * devices. */
  if (same_driver(a, b))
    return false;
  if (same_uuid(a, b))
    return true;
  return a->pci.known && b->pci.known && same_pci(a, b);
}

/* A device has at most one route per driver; among parts with one address, the UUID decides. */
static bool lacks_driver_route(const kdl_device_spec *const *specs, size_t count,
                               const size_t *first, size_t device) {
  for (size_t i = 0; i < count; ++i) {
    if (first[i] == device && same_driver(specs[i], specs[count]))
      return false;
  }
  return true;
}

static size_t find_same_device(const kdl_device_spec *const *specs, size_t count,
                               const size_t *first) {
  size_t by_address = count;
  for (size_t i = 0; i < count; ++i) {
    if (!same_device(specs[i], specs[count]) || !lacks_driver_route(specs, count, first, first[i]))
      continue;
    if (same_uuid(specs[i], specs[count]))
      return first[i];
    if (by_address == count)
      by_address = first[i];
  }
  return by_address;
}

void kdl_group_routes(const kdl_device_spec *const *specs, size_t count, size_t *out_first) {
  for (size_t i = 0; i < count; ++i)
    out_first[i] = find_same_device(specs, i, out_first);
}

bool kdl_device_spec_is_same_device(const kdl_device_spec *known, const kdl_device_spec *found) {
  if (!same_driver(known, found) || known->ordinal.value != found->ordinal.value ||
      strcmp(known->arch, found->arch) != 0 || strcmp(known->name, found->name) != 0)
    return false;
  if (known->uuid.known && found->uuid.known)
    return same_uuid(known, found);
  return !known->pci.known || !found->pci.known || same_pci(known, found);
}

static int compare_unsigned(unsigned a, unsigned b) {
  return (a > b) - (a < b);
}

int kdl_device_spec_compare(const kdl_device_spec *a, const kdl_device_spec *b) {
  int classes = compare_unsigned(kdl_device_spec_class(a), kdl_device_spec_class(b));
  int backends = compare_unsigned(a->backend, b->backend);
  return classes    ? classes
         : backends ? backends
                    : compare_unsigned(a->ordinal.value, b->ordinal.value);
}
