/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices as plain values: specs, named devices, this CPU, and the devices of this machine.
 *
 * A spec describes a device, as a value and as one line of text:
 *
 *     cuda:sm_90 driver=13.0 memory=141GB
 *     hip:gfx90a:sramecc+:xnack-
 *     level_zero:ip=12.60.7
 *     opencl:spirv64 il=1.4 features=fp64+subgroups
 *     host:x86-64-v4+avx512_bf16+avx512_vnni name="AMD EPYC 9654"
 *
 * Discovery makes specs and selection takes them, so that absent devices are handled in the same
 * way. Printing a spec and parsing the line gives the same spec. docs/devices.md has the grammar
 * and the keys.
 */
#ifndef KDL_LIB_INSPECT_DEVICES_H
#define KDL_LIB_INSPECT_DEVICES_H

#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Specs                                                                                        */

typedef enum kdl_backend {
#define KDL_BACKEND_ROW(id, name, ...) KDL_BACKEND_##id,
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW
  KDL_BACKEND_COUNT,
} kdl_backend;

/* "cuda"; "?" for values outside the enum. */
const char *kdl_backend_name(kdl_backend backend);

typedef struct kdl_backend_words {
  const char *devices; /* "Intel GPUs" */
  const char *target;  /* what `kdl cc` compiles for where that is not the device's arch, or NULL */
} kdl_backend_words;

/* Of a backend by its name; of the host where there is no such backend. */
kdl_backend_words kdl_backend_words_of(kdl_string name);

typedef struct kdl_spec_ordinal {
  bool known;
  uint32_t value;
} kdl_spec_ordinal;

typedef struct kdl_spec_uuid {
  bool known;
  uint8_t bytes[16];
} kdl_spec_uuid;

typedef struct kdl_spec_pci {
  bool known;
  uint32_t domain;
  uint8_t bus;
  uint8_t device;
  uint8_t function;
} kdl_spec_pci;

/* The programs on the device's machine that libkdl makes images with. */
typedef enum kdl_spec_tools {
  KDL_TOOLS_LINKER, /* kdl-ld, for bitcode: what a device has unless its spec says otherwise */
  KDL_TOOLS_NONE,
  KDL_TOOLS_TRANSLATOR, /* kdl-ld and llvm-spirv: also for SPIR-V that the driver does not take */
  KDL_TOOLS_COUNT,
} kdl_spec_tools;

enum { KDL_SPEC_ARCH = 1024, KDL_SPEC_TOKENS = 512, KDL_SPEC_NAME = 128, KDL_SPEC_DRIVER = 64 };

/* A plain value without pointers. Text is UTF-8 without control characters. A number that is 0 and
 * a text that is "" are unknown, unless noted. */
typedef struct kdl_device_spec {
  kdl_backend backend;
  char arch[KDL_SPEC_ARCH];       /* "sm_90", "gfx90a:xnack-", "12.60.7", "x86-64-v4+avx512_bf16" */
  char features[KDL_SPEC_TOKENS]; /* features beyond those of the arch, joined by '+' */
  char os_off[KDL_SPEC_TOKENS];  /* features of the CPU that the operating system does not enable */
  char refused[KDL_SPEC_TOKENS]; /* features whose permission was refused (AMX) */
  char name[KDL_SPEC_NAME];
  char platform[KDL_SPEC_NAME]; /* OpenCL: the platform it belongs to */
  char driver[KDL_SPEC_DRIVER]; /* CUDA and HIP: a version, "13.0"; else the driver's text */
  kdl_device_class device_class;
  kdl_spec_ordinal ordinal; /* its number in its backend */
  kdl_spec_uuid uuid;
  kdl_spec_pci pci;
  uint64_t memory;
  uint32_t units;        /* multiprocessors, compute units, cores this process may run on */
  uint32_t il;           /* newest SPIR-V version, as KDL_VERSION_OF; OpenCL: 0 = none */
  uint32_t ptx;          /* newest PTX ISA version; 0 = what the driver's version implies */
  uint32_t subgroups;    /* sum of the sizes, which are powers of two */
  uint32_t max_block;    /* work-items in a group */
  uint64_t shared;       /* bytes that a group may use by default ... */
  uint64_t shared_optin; /* ... and with opt-in */
  bool cooperative;      /* false = no, or unknown */
  uint32_t cluster;      /* groups in a cluster that every launch supports */
  uint64_t l1d, l2, l3;  /* bytes; of one core for l1d and l2 of a CPU */
  kdl_spec_tools tools;  /* of libkdl alone */
} kdl_device_spec;

/* Longest line that is parsed or printed. */
enum { KDL_SPEC_LINE = 4096 };

/* The most routes of a device: its vendor's driver, and a few OpenCL platforms. */
enum { KDL_LIMIT_ROUTES = 8 };

/* The routes of a device, the preferred one first. */
typedef struct kdl_device_routes {
  size_t count; /* at least 1 */
  kdl_device_spec specs[KDL_LIMIT_ROUTES];
} kdl_device_routes;

/* Prints the line; always fits in KDL_SPEC_LINE. */
void kdl_device_spec_print(const kdl_device_spec *spec, kdl_out *out);

/* The device's short form for messages: backend and arch, without a CPU's features: "cuda:sm_90",
 * "hip:gfx90a:sramecc+:xnack-", "host:x86-64-v4". */
void kdl_device_spec_summary(const kdl_device_spec *spec, kdl_out *out);

/* The same with the name, if known: "cuda:sm_90 (NVIDIA H200)". */
void kdl_device_spec_label(const kdl_device_spec *spec, kdl_out *out);

/* ------------------------------------------------------------------------------------------ */
/* Devices as users write them                                                                  */

/* Every name that a device may have in --device; false after the last. */
typedef struct kdl_known_device {
  const char *name;    /* "h200" */
  const char *arch;    /* "sm_90" */
  const char *product; /* "NVIDIA H200" */
  bool is_typical;     /* a typical device of its architecture */
} kdl_known_device;

bool kdl_known_device_at(size_t index, kdl_known_device *out_device);

/* The only name that a misspelled one may mean, or NULL. */
const char *kdl_named_device_suggest(kdl_string name);

/* Parses a device as users write it: specs, of which the first needs no backend if only one has its
 * architecture ("sm_90"); `NAME [KEY=VALUE]... [| spec]...`, where keys and routes replace those of
 * the named device; or `@FILE` or `@FILE#INDEX` for a file of `kdl devices --json`. Loads no
 * driver. After a failure *out_routes is undefined. */
kdl_status kdl_device_routes_resolve(const char *text, kdl_device_routes *out_routes);

/* ------------------------------------------------------------------------------------------ */
/* This CPU                                                                                     */

/* Describes this CPU, lowered to KDL_CPU if that is set. KDL_UNSUPPORTED where there are no images
 * for its architecture, KDL_BAD_CALL where KDL_CPU has features that it lacks. */
kdl_status kdl_cpu_describe(kdl_device_spec *spec);

/* ------------------------------------------------------------------------------------------ */
/* This machine                                                                                 */

/*
 * Discovery: the CPU, and the devices of each driver.
 *
 *     kdl_discovery *found;
 *     if (kdl_discover(NULL, &found) == KDL_OK) {
 *       for (size_t i = 0; i < found->device_count; ++i)
 *         puts(found->routes[found->devices[i].first].name);
 *       kdl_discovery_free(found);
 *     }
 *
 * A driver that is missing, too old, broken, failing, without devices or not answering is a line in
 * the reports; it is never an error and does not affect the others. No context is created and no
 * permission requested. Drivers obey their vendors' variables (CUDA_VISIBLE_DEVICES and others);
 * the reports name those that are set.
 */

typedef enum kdl_driver_state {
  KDL_DRIVER_USABLE,
  KDL_DRIVER_MISSING,    /* not installed                                  */
  KDL_DRIVER_BROKEN,     /* installed, but the system cannot load it */
  KDL_DRIVER_INCOMPLETE, /* loaded, but too old: it lacks an entry point   */
  KDL_DRIVER_FAILED,     /* it did not initialise                          */
  KDL_DRIVER_NO_DEVICE,  /* it works and has no device */
  KDL_DRIVER_SILENT,     /* it did not answer in time                      */
} kdl_driver_state;

/* "usable", "missing", "broken", "incomplete", "failed", "no_device", "silent" */
extern const char *const kdl_driver_state_names[];

/* The result of querying one driver. */
typedef struct kdl_driver_report {
  kdl_backend backend;
  kdl_driver_state state;
  char library[64]; /* the one that was opened, or the first that was tried; "" for the host */
  char words[320];  /* why it is not usable, or a remark; may be "" */
  char limits[160]; /* the vendor's variables that are set, as "CUDA_VISIBLE_DEVICES=0" */
  size_t device_count;
} kdl_driver_report;

/* One device: `count` routes from `first` on, the vendor's own driver before OpenCL. */
typedef struct kdl_found_device {
  size_t first;
  size_t count;
} kdl_found_device;

typedef struct kdl_discovery {
  kdl_device_spec *routes; /* grouped by device or, with routes_only, as drivers listed them */
  size_t route_count;
  kdl_found_device *devices; /* in the default order: discrete GPUs, integrated ones, CPUs */
  size_t device_count;
  kdl_driver_report reports[KDL_BACKEND_COUNT]; /* one for each backend that was queried */
  size_t report_count;
} kdl_discovery;

typedef struct kdl_discover_opts kdl_discover_opts; /* lib/registry/discover.h */

/* Opens the drivers' libraries on the calling thread, then queries the drivers in parallel, each on
 * a thread, and OpenCL after the others. A driver that does not answer within the timeout, by
 * default KDL_DISCOVER_TIMEOUT_MS, is abandoned with its thread. A single driver without a timeout
 * is queried on the calling thread. `opts` may be NULL. Fails only when out of memory. */
kdl_status kdl_discover(const kdl_discover_opts *opts, kdl_discovery **out_found);

/* NULL is allowed. */
void kdl_discovery_free(kdl_discovery *found);

/* Writes the document of `kdl devices --json`: docs/devices.md. */
void kdl_discovery_write_json(const kdl_discovery *found, FILE *file);

/* ------------------------------------------------------------------------------------------ */
/* Routes of a kdl_device                                                                       */

/* The current spec of a route: without AMX once that was refused. */
const kdl_device_spec *kdl_device_route_spec(const kdl_device *device, size_t route);

/* The device as other runtimes see it: they neither link bitcode nor translate SPIR-V. */
kdl_status kdl_device_without_tools(kdl_device *device, kdl_device **out_device);

#endif
