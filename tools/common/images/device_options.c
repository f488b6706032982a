/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/device_options.h"

#include "lib/inspect/devices.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Rules                                                                                        */

static kdl_status parse_policy(const char *text, kdl_policy *out_policy) {
  kdl_nearest nearest = kdl_nearest_to(kdl_text_of(text));
  if (kdl_policy_read(text, out_policy) == KDL_OK)
    return KDL_OK;
  for (int policy = 0; policy < KDL_POLICY_COUNT; ++policy)
    kdl_nearest_add(&nearest, kdl_policy_names[policy]);
  return kdl_fail(KDL_BAD_CALL,
                  "--policy: bad value '%s': use best, first, capability or adaptive%s%s%s", text,
                  nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                  nearest.best ? "'?" : "");
}

kdl_status cli_selection_options(const cli_args *args, kdl_select_opts *out_opts) {
  const char *policy = cli_args_value(args, "policy");
  const char *set_policy = kdl_environment(KDL_VARIABLE_POLICY);
  const char *tag = cli_args_value(args, "variant-tag");
  *out_opts = (kdl_select_opts){.size = sizeof *out_opts, .policy = KDL_POLICY_BEST};
  if (!tag)
    tag = kdl_environment(KDL_VARIABLE_VARIANT_TAG);
  out_opts->variant_tag = tag && *tag ? tag : NULL;
  if (policy)
    return parse_policy(policy, &out_opts->policy);
  return set_policy ? kdl_policy_read(set_policy, &out_opts->policy) : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

void cli_devices_free(cli_devices *devices) {
  free(devices->items);
  kdl_arena_free(&devices->arena);
}

static void devices_append(cli_devices *devices, const char *name, kdl_device *device) {
  devices->items = xreallocarray(devices->items, devices->count + 1, sizeof *devices->items);
  devices->items[devices->count++] = (cli_device){.name = name, .device = device};
}

static size_t find_separator(const char *text, char separator) {
  bool quoted = false;
  size_t at = 0;
  for (; text[at] && (quoted || text[at] != separator); ++at) {
    if (quoted && text[at] == '\\' && text[at + 1])
      ++at;
    else if (text[at] == '"')
      quoted = !quoted;
  }
  return at;
}

static kdl_status devices_append_found(cli_devices *devices, const char *name) {
  kdl_device *device;
  KDL_TRY(kdl_device_find(name, &device));
  devices_append(devices, name, device);
  return KDL_OK;
}

static void devices_append_native(cli_devices *devices) {
  for (size_t i = 0; i < kdl_device_count(); ++i)
    devices_append(devices, xarena_format(&devices->arena, "%zu", i), kdl_device_at(i));
}

kdl_status cli_devices_given(const cli_args *args, const char *option, char separator,
                             cli_devices *out_devices) {
  *out_devices = (cli_devices){.count = 0};
  size_t cursor = 0;
  const char *text;
  while ((text = cli_args_next(args, option, &cursor))) {
    for (bool more = true; more;) {
      size_t length = separator ? find_separator(text, separator) : strlen(text);
      kdl_string name = xarena_string(&out_devices->arena, text, length);
      bool is_here = separator && kdl_text_is(name, "native");
      size_t before = out_devices->count;
      if (is_here) {
        devices_append_native(out_devices);
      } else if (devices_append_found(out_devices, name.data) != KDL_OK) {
        kdl_error_prefix("--%s", option);
        return kdl_error_status();
      }
      for (size_t i = before; i < out_devices->count; ++i)
        out_devices->items[i].is_native = is_here;
      more = text[length] != '\0';
      text += length + more;
    }
  }
  return KDL_OK;
}

bool cli_devices_may_skip(const cli_devices *devices, size_t index, size_t served) {
  return devices->items[index].is_native && (served || index + 1 < devices->count);
}

bool cli_may_hold_kernels(kdl_catalog *catalog, size_t image) {
  const kdl_kernel_names names = kdl_catalog_kernels(catalog, image);
  return names.count || names.is_unreadable;
}

bool cli_image_has_condition(const kdl_library *lib, size_t image) {
  kdl_image_info info = cli_image_at(lib, image);
  for (size_t i = 0; i < info.pair_count; ++i) {
    kdl_string name, text = info.pairs[i].value;
    kdl_kernel_key key;
    if (memmem(text.data, text.length, "when=", 5) && kdl_kernel_name(info.pairs[i].key, &name) &&
        kdl_kernel_parse(text, &key, NULL) && kdl_kernel_has(&key, KDL_KERNEL_WHEN))
      return true;
  }
  return false;
}

const char *cli_any_kernel(kdl_library *lib) {
  kdl_catalog *catalog;
  kdl_kernel_names names = {.count = 0};
  if (kdl_library_catalog(lib, &catalog) != KDL_OK)
    return NULL;
  for (size_t i = 0; i < kdl_image_count(lib) && !names.count; ++i)
    names = kdl_catalog_kernels(catalog, i);
  return names.count ? names.items[0].data : NULL;
}

kdl_status cli_fail_unserved(kdl_library *lib, const cli_device *device, const char *kernel,
                             const char *file) {
  kdl_selection choice = {.size = sizeof choice};
  kdl_status status = kdl_select(lib, device->device, kernel, NULL, &choice);
  if (kernel)
    kdl_error_prefix("it takes only images without kernels");
  kdl_error_prefix("%s: --for=%s", file, device->name);
  return status;
}

kdl_status cli_devices_parse(const char *text, cli_devices *out_devices) {
  *out_devices = (cli_devices){.count = 0};
  return devices_append_found(out_devices, text);
}

kdl_status cli_devices_for_other_runtimes(const cli_devices *devices, cli_devices *out_devices) {
  *out_devices = (cli_devices){.count = 0};
  for (size_t i = 0; i < devices->count; ++i) {
    kdl_device *device;
    KDL_TRY(kdl_device_without_tools(devices->items[i].device, &device));
    devices_append(out_devices, devices->items[i].name, device);
  }
  return KDL_OK;
}

bool cli_device_assumes_tools(const cli_device *device) {
  kdl_device_info about = {.size = sizeof about};
  return kdl_device_get(device->device, &about) == KDL_OK && !about.is_here &&
         kdl_device_route_spec(device->device, 0)->tools == KDL_TOOLS_LINKER;
}

bool cli_would_be_translated(const kdl_library *lib, const kdl_verdict *verdict) {
  return cli_image_at(lib, verdict->image).kind == KDL_IMAGE_SPIRV && verdict->reason_count &&
         strcmp(verdict->reasons[0].code, "wrong_vendor") == 0 && verdict->reasons[0].fix[0];
}

void cli_devices_native(cli_devices *out_devices) {
  *out_devices = (cli_devices){.count = 0};
  devices_append_native(out_devices);
}

kdl_status cli_devices_named(cli_devices *out_devices) {
  kdl_known_device known;
  *out_devices = (cli_devices){.count = 0};
  for (size_t i = 0; kdl_known_device_at(i, &known); ++i) {
    if (known.is_typical)
      KDL_TRY(devices_append_found(out_devices, known.name));
  }
  return KDL_OK;
}

kdl_status cli_devices_picked(kdl_library *lib, const char *kernel, const kdl_select_opts *opts,
                              cli_devices *out_devices) {
  *out_devices = (cli_devices){.count = 0};
  kdl_device *device;
  kdl_status status = kdl_device_for(lib, kernel, opts, &device);
  if (status == KDL_NO_MATCH && !kdl_environment(KDL_VARIABLE_DEVICE) && kdl_device_count())
    device = kdl_device_at(0);
  else if (status != KDL_OK)
    return status;
  devices_append(out_devices, "", device);
  return KDL_OK;
}
