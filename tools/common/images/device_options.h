/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices and rules on the command line: --device, --for, --policy, --variant-tag, and what the
 * environment says where they do not. */
#ifndef KDL_TOOL_CHOOSE_FOR_H
#define KDL_TOOL_CHOOSE_FOR_H

#include "lib/inspect/ranking.h"
#include "support/base/arena.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* --policy and --variant-tag, else KDL_POLICY and KDL_VARIANT_TAG. */
kdl_status cli_selection_options(const cli_args *args, kdl_select_opts *out_opts);

typedef struct cli_device {
  const char *name; /* as the user or the table calls it */
  kdl_device *device;
  bool is_native; /* one of this machine's, by that word, and not by its name */
} cli_device;

typedef struct cli_devices {
  cli_device *items;
  size_t count;
  kdl_arena arena;
} cli_devices;

void cli_devices_free(cli_devices *devices);

/* The devices given to a repeatable option, each value one device, or with `separator` several, of
 * which "native" is every device of this machine. A separator inside quotes is none. The caller
 * frees *out_devices, also after a failure. */
kdl_status cli_devices_given(const cli_args *args, const char *option, char separator,
                             cli_devices *out_devices);

/* Whether a device that no image fits can be passed over: one of "native", where a device before it
 * has some (`served`) or one behind it may. A machine has devices beside the one that a file is
 * for: a CPU's driver for OpenCL. */
bool cli_devices_may_skip(const cli_devices *devices, size_t index, size_t served);

/* Whether an image has kernels, or does not tell. */
bool cli_may_hold_kernels(kdl_catalog *catalog, size_t image);

/* A kernel of the file; NULL where it has none that can be read. */
const char *cli_any_kernel(kdl_library *lib);

/* The error where a device takes no image, or none but such as have no kernels: then `kernel` is
 * one of those that it lacks. */
kdl_status cli_fail_unserved(kdl_library *lib, const cli_device *device, const char *kernel,
                             const char *file);

/* The one that a text names. */
kdl_status cli_devices_parse(const char *text, cli_devices *out_devices);

/* Every device of this machine, and every device with a name. */
void cli_devices_native(cli_devices *out_devices);
kdl_status cli_devices_named(cli_devices *out_devices);

/* The one that would be picked for a kernel, or where none has an image the first. `kernel` may be
 * NULL. */
kdl_status cli_devices_picked(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                              cli_devices *out_devices);

#endif
