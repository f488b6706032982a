/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is known of a device, as a plain value, and as one line of text:
 *
 *     cuda:sm_90 driver=13.0 memory=141GB
 *     hip:gfx90a:sramecc+:xnack-
 *     level_zero:ip=12.60.7
 *     opencl:spirv64 il=1.4 features=fp64+subgroups
 *     host:x86-64-v4+avx512_bf16+avx512_vnni name="AMD EPYC 9654"
 *
 * Discovery makes specs, selection takes them, so a question about a device that is not here is
 * asked in the same way. Printing a spec and parsing the line gives the same spec. The grammar and
 * every key are in docs/devices.md.
 */
#ifndef KDL_DEVICE_SPEC_H
#define KDL_DEVICE_SPEC_H

#include "lib/target/target.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kdl_backend {
#define KDL_BACKEND_ROW(id, name, driver, example) KDL_BACKEND_##id,
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW
  KDL_BACKEND_COUNT,
} kdl_backend;

/* Backends in a word: 1 << KDL_BACKEND_x, added up. */
#define KDL_BACKENDS_ALL ((1u << KDL_BACKEND_COUNT) - 1)

/* Those whose devices may run images of a family. */
unsigned kdl_family_backends(kdl_target_family family);

/* "cuda"; "?" for values outside the enum. */
const char *kdl_backend_name(kdl_backend backend);

/* False where no backend has that name. */
bool kdl_backend_parse(kdl_string name, kdl_backend *out_backend);

enum { KDL_DEVICE_CLASS_COUNT = KDL_DEVICE_CPU + 1 };

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

enum { KDL_SPEC_ARCH = 1024, KDL_SPEC_TOKENS = 512, KDL_SPEC_NAME = 128, KDL_SPEC_DRIVER = 64 };

/* No pointers, no heap: copy it as you like. Text is UTF-8 without control characters. A number
 * that is 0 and a text that is "" are not known, unless said otherwise. */
typedef struct kdl_device_spec {
  kdl_backend backend;
  char arch[KDL_SPEC_ARCH];       /* "sm_90", "gfx90a:xnack-", "12.60.7", "x86-64-v4+avx512_bf16" */
  char features[KDL_SPEC_TOKENS]; /* what it has beyond what the arch implies, joined by '+' */
  char os_off[KDL_SPEC_TOKENS];   /* what the CPU has and the operating system does not enable */
  char refused[KDL_SPEC_TOKENS];  /* what the system refused permission for (AMX) */
  char name[KDL_SPEC_NAME];
  char platform[KDL_SPEC_NAME]; /* OpenCL: the platform it belongs to */
  char driver[KDL_SPEC_DRIVER]; /* CUDA and HIP: a version, "13.0"; else whatever the driver says */
  kdl_device_class device_class;
  kdl_spec_ordinal ordinal; /* its number in its backend */
  kdl_spec_uuid uuid;
  kdl_spec_pci pci;
  uint64_t memory;
  uint32_t units;        /* multiprocessors, compute units, cores this process may run on */
  uint32_t il;           /* newest SPIR-V version, as KDL_VERSION_OF; OpenCL: 0 = takes none */
  uint32_t ptx;          /* newest PTX ISA version; 0 = what the driver's version implies */
  uint32_t subgroups;    /* the sizes, added up: they are powers of two */
  uint32_t max_block;    /* work-items in a group */
  uint64_t shared;       /* bytes a group may use without asking ... */
  uint64_t shared_optin; /* ... and with asking */
  bool cooperative;      /* false = no, or not known */
  uint32_t cluster;      /* groups in a cluster that every launch may count on */
  uint64_t l1d, l2, l3;  /* bytes; of one core for l1d and l2 of a CPU */
} kdl_device_spec;

/* Longest line that is parsed or printed. */
enum { KDL_SPEC_LINE = 4096 };

/* A device has few routes: its vendor's own driver, and a platform or two of OpenCL. */
enum { KDL_LIMIT_ROUTES = 8 };

/* A device through every driver that shows it, the preferred one first. */
typedef struct kdl_device_routes {
  size_t count; /* at least 1 */
  kdl_device_spec specs[KDL_LIMIT_ROUTES];
} kdl_device_routes;

/* Reads a line. Fails with KDL_BAD_CALL and a message that names the offset, what was found there,
 * what was expected, the nearest known word, and the grammar. The arch and every feature token are
 * checked, so that a spec that was parsed compiles. */
kdl_status kdl_device_spec_parse(const char *line, kdl_device_spec *out_spec);

/* Reads specs with " | " between them. After a failure, here and below, what is in the routes has
 * no meaning. */
kdl_status kdl_device_routes_parse(const char *line, kdl_device_routes *out_routes);

/* Reads `KEY=VALUE ... [| spec]...` from `at` in the line on into a device whose first spec already
 * has its backend and arch: a key that was read is taken from the line, the others stay, and routes
 * that were read take the place of the further ones. */
kdl_status kdl_device_routes_parse_keys(const char *line, size_t at, kdl_device_routes *routes);

/* Prints the line; always fits in KDL_SPEC_LINE. */
void kdl_device_spec_print(const kdl_device_spec *spec, kdl_out *out);

/* The family whose rules apply; KDL_FAMILY_NONE where the arch names none. */
kdl_target_family kdl_device_spec_family(const kdl_device_spec *spec);

/* The class, or where it is not said, what the backend suggests. */
kdl_device_class kdl_device_spec_class(const kdl_device_spec *spec);

/* The driver's version as KDL_VERSION_OF, for CUDA and HIP; 0 where it is not known. */
uint32_t kdl_device_spec_driver(const kdl_device_spec *spec);

/* The device's side of every match. Fails with KDL_BAD_CALL where arch or tokens are wrong, which
 * parsing and discovery rule out. */
kdl_status kdl_device_spec_compile(const kdl_device_spec *spec, kdl_device_rule *out_rule);

/* ------------------------------------------------------------------------------------------ */
/* A device in a few words                                                                      */

/* For messages: a spec's full line is for programs.
 * "cuda:sm_90", "hip:gfx90a:sramecc+:xnack-", "host:x86-64-v4": the backend, and the arch without
 * the features that a CPU's has behind it. */
void kdl_device_spec_place(const kdl_device_spec *spec, kdl_out *out);

/* The same with the name, where it is known: "cuda:sm_90 (NVIDIA H200)". */
void kdl_device_spec_label(const kdl_device_spec *spec, kdl_out *out);

/* The same with its number among the backend's devices, where it has one: "cuda:0 sm_90 (NVIDIA
 * H200)". */
void kdl_device_spec_name(const kdl_device_spec *spec, kdl_out *out);

/* ------------------------------------------------------------------------------------------ */
/* What a driver says                                                                           */

/* Put into a spec so that, whatever it is, the spec prints and parses. */

/* Copies a driver's text: what is not UTF-8 or is a control character becomes '?', blanks at the
 * ends go, what is too long is cut. */
void kdl_spec_set_text(char *field, size_t size, const char *text, size_t length);

/* Adds a token to a list joined by '+', where there is room. */
void kdl_spec_add_token(char *field, size_t size, const char *token);

/* A UUID or a PCI address of all zeros is none: drivers fill in what they do not know. */
void kdl_spec_set_uuid(kdl_spec_uuid *field, const void *bytes);
void kdl_spec_set_pci(kdl_spec_pci *field, uint32_t domain, uint32_t bus, uint32_t device,
                      uint32_t function);

#endif
