/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How each driver is opened and asked for its devices, and what they are made of. */
#ifndef KDL_DEVICE_DISCOVER_BACKENDS_H
#define KDL_DEVICE_DISCOVER_BACKENDS_H

#include "device/driver.h"
#include "device/spec_fill.h"

/* What one driver shows. */
typedef struct kdl_found_list {
  kdl_device_spec *specs;
  size_t count;
  size_t capacity;
  kdl_driver_report report;
} kdl_found_list;

/* A new spec of the list's backend at the end of the list, ordinal and discrete class filled in;
 * NULL when out of memory. Valid until the next one is added. */
kdl_device_spec *kdl_found_add(kdl_found_list *list);

/* Takes back the last spec, with a word of why. */
void kdl_found_drop(kdl_found_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes out devices that the rules do not know, and sets the state to "no device" where a driver
 * that works has shown none. */
void kdl_found_finish(kdl_found_list *list);

/* One driver. Its library is opened by the thread that wants to know the devices, and it is asked
 * by that one or another: ROCm's HIP runtime keeps things of the thread that loads it, and crashes
 * at exit where that thread has ended. */
typedef struct kdl_discoverer {
  const char *const *libraries; /* NULL where there is none to open */
  const kdl_driver_symbol *symbols;
  size_t symbol_count;
  size_t table_size;
  /* Opens what the library opens in turn, where a call of its own does that; may be NULL. */
  void (*open_behind)(void *table);
  /* Adds the devices. */
  void (*ask)(void *table, kdl_found_list *list);
} kdl_discoverer;

extern const kdl_discoverer kdl_discover_cuda, kdl_discover_hip, kdl_discover_level_zero,
    kdl_discover_opencl;

void kdl_discover_host(void *no_table, kdl_found_list *list);

/* How an x86-64 CPU is asked; a test answers in its place. */
typedef struct kdl_x86_source {
  void (*cpuid)(void *user, uint32_t leaf, uint32_t subleaf, uint32_t out[4]); /* a, b, c, d */
  uint64_t (*xcr0)(void *user); /* asked only where CPUID says OSXSAVE */
  void *user;
} kdl_x86_source;

/* Fills arch, os_off and name. */
void kdl_cpu_describe_x86(const kdl_x86_source *source, kdl_device_spec *spec);

/* Fills arch from the auxiliary vector and the length of SVE vectors, 0 where there are none. */
void kdl_cpu_describe_aarch64(uint64_t hwcap, uint64_t hwcap2, unsigned vector_bits,
                              kdl_device_spec *spec);

/* Fills the name from MIDR_EL1, where it is a CPU that is known. */
void kdl_cpu_name_aarch64(uint64_t midr, kdl_device_spec *spec);

#endif
