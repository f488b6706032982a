/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is known of a backend without its code: one row of lib/device/backends.def.
 *
 * Outside its folder, code depends on a device's family or on its row, not on which backend it is.
 * The exceptions: the host, which is this process and no driver; the devices of named_devices.c;
 * and code that pairs libkdl with one vendor's own, for which all other backends are alike:
 * DLPack's types of devices (python/csrc), MLIR's runtime functions (mlir/runtime), what CUDA's and
 * HIP's runtimes read (pack).
 */
#ifndef KDL_LIB_DEVICE_BACKENDS_H
#define KDL_LIB_DEVICE_BACKENDS_H

#include "lib/inspect/devices.h"
#include "lib/inspect/targets.h"
#include "support/base/text.h"

/* A mask of backends: bits 1 << KDL_BACKEND_x. */
#define KDL_BACKENDS_ALL ((1u << KDL_BACKEND_COUNT) - 1)

typedef struct kdl_backend_row {
  const char *name;         /* "level_zero" */
  const char *api;          /* "Level Zero", the title of its page in docs/driver-functions.md */
  kdl_backend_words words;  /* for people */
  const char *example;      /* an arch */
  kdl_target_family family; /* of its devices; a CPU's follows from its arch */
  struct {
    const char *start; /* of the arch of devices of another family; NULL without such */
    kdl_target_family family;
  } other;
  const char *arch_starts[4]; /* an arch that starts so is of this backend alone */
  uint32_t families;          /* mask of the families of images that its devices may run */
  uint32_t loads;             /* mask of image kinds that its driver takes beside the family's */
  uint32_t only;              /* mask of all that it takes; 0: all of the family's */
  bool has_driver_version;    /* driver=13.0 is compared with what an image needs */
} kdl_backend_row;

/* A row named "?" without families for values outside the enum. */
const kdl_backend_row *kdl_backend_row_of(kdl_backend backend);

/* The backends whose devices may run images of a family. Matching decides; this only avoids queries
 * of drivers that cannot match. */
unsigned kdl_family_backends(kdl_target_family family);

/* False where no backend has that name. */
bool kdl_backend_parse(kdl_string name, kdl_backend *out_backend);

/* The backend of an arch that only one backend has, so that it names a device without it. */
bool kdl_backend_of_arch(kdl_string arch, kdl_backend *out_backend);

/* "host, cuda, hip, level_zero, opencl", with any separator. */
void kdl_out_backends(kdl_out *out, const char *separator);

#endif
