/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices and policies on the command line: --device, --for, --policy, --variant-tag, and the
 * environment variables that replace them. */
#ifndef KDL_TOOLS_COMMON_IMAGES_DEVICE_OPTIONS_H
#define KDL_TOOLS_COMMON_IMAGES_DEVICE_OPTIONS_H

#include "lib/inspect/selection.h"
#include "support/base/arena.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* --policy and --variant-tag, else KDL_POLICY and KDL_VARIANT_TAG. */
kdl_status cli_selection_options(const cli_args *args, kdl_select_opts *out_opts);

typedef struct cli_device {
  const char *name; /* as the user or the table names it */
  kdl_device *device;
  bool is_native; /* given as "native", not by name */
} cli_device;

typedef struct cli_devices {
  cli_device *items;
  size_t count;
  kdl_arena arena;
} cli_devices;

void cli_devices_free(cli_devices *devices);

/* The devices of a repeatable option. Each value is one device, or with `separator` several; a
 * separator in quotes does not count. "native" is every device of this machine. The caller frees
 * *out_devices, also after a failure. */
kdl_status cli_devices_given(const cli_args *args, const char *option, char separator,
                             cli_devices *out_devices);

/* Whether a device without a fitting image can be skipped: one of "native", if an earlier device is
 * served (`served`) or a later one may be. A machine may have further devices, such as an OpenCL
 * driver for its CPU. */
bool cli_devices_may_skip(const cli_devices *devices, size_t index, size_t served);

/* Whether an image has kernels, or does not list them. */
bool cli_may_hold_kernels(kdl_catalog *catalog, size_t image);

/* Whether the image is for some launches of a kernel only: it has the field `when`. */
bool cli_image_has_condition(const kdl_library *lib, size_t image);

/* A kernel of the file; NULL where none can be read. */
const char *cli_any_kernel(kdl_library *lib);

/* The error where a device admits no image, or only images without kernels: `kernel` is then one
 * that it lacks. */
kdl_status cli_fail_unserved(kdl_library *lib, const cli_device *device, const char *kernel,
                             const char *file);

/* The device that a text describes. */
kdl_status cli_devices_parse(const char *text, cli_devices *out_devices);

/* Every device of this machine, and every named device. */
void cli_devices_native(cli_devices *out_devices);
kdl_status cli_devices_named(cli_devices *out_devices);

/* The devices by kdl_device_without_tools: for libraries that other runtimes load. */
kdl_status cli_devices_for_other_runtimes(const cli_devices *devices, cli_devices *out_devices);

/* Whether the device is not of this machine, and described without other tools than kdl-ld. */
bool cli_device_assumes_tools(const cli_device *device);

/* Whether libkdl would translate the image, which does not run, if the device had llvm-spirv. */
bool cli_would_be_translated(const kdl_library *lib, const kdl_verdict *verdict);

/* What such devices are, where it decides something. */
#define CLI_ASSUMED_TOOLS                                                                          \
  "taken to have kdl-ld, which links bitcode, and no llvm-spirv, with which libkdl would "         \
  "translate SPIR-V; tools=none and tools=kdl-ld+llvm-spirv describe others"

/* The default device for a kernel, or the first device where none has an image. `kernel` may be
 * NULL. */
kdl_status cli_devices_picked(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                              cli_devices *out_devices);

#endif
