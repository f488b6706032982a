/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/bitcode.h"
#include "ext/jit/commands/commands.h"
#include "ext/jit/commands/link.h"
#include "support/base/error.h"
#include "support/system/cache_settings.h"
#include "tools/common/images/device_options.h"
#include "tools/common/input.h"
#include "tools/common/report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  size_t linked, there, refused;
} counts;

/* The device need not exist: nothing is loaded. */
static kdl_status warm_image(const cli_input *input, const cli_device *device, size_t image,
                             counts *count) {
  kdl_link_task task = {.lib = input->lib, .image = (uint32_t)image, .device = device->device};
  kdl_linked_image *linked = xmalloc(sizeof *linked);
  kdl_status status = kdl_bitcode_link(&task, KDL_LINK_USE_CACHE, linked);
  if (status == KDL_OK)
    status = kdl_linked_image_store(linked);
  if (status == KDL_OK) {
    ++*(linked->is_cached ? &count->there : &count->linked);
  } else {
    kdl_error_prefix("%s: image %zu for %s", input->name, image, device->name);
  }
  kdl_linked_image_free(linked);
  free(linked);
  return status;
}

static kdl_status warm_device(const cli_input *input, const cli_device *device, counts *count) {
  size_t images = kdl_image_count(input->lib);
  bool *chosen = xcalloc(images, sizeof *chosen);
  kdl_status status = cli_link_choose(input, device->device, chosen);
  for (size_t i = 0; i < images && status == KDL_OK; ++i) {
    if (chosen[i])
      status = warm_image(input, device, i, count);
  }
  free(chosen);
  return status;
}

/* With several devices, it is no failure that the file has nothing for one of them. */
static kdl_status warm_devices(const cli_input *input, const cli_devices *devices, counts *count) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < devices->count && status == KDL_OK; ++i) {
    status = warm_device(input, &devices->items[i], count);
    if (status == KDL_NO_MATCH && ++count->refused < devices->count) {
      cli_note("%s", kdl_error_message());
      status = KDL_OK;
    }
  }
  return status;
}

/* Sets the environment variable that a process would read. */
static kdl_status use_folder(const char *folder) {
  char path[PATH_MAX], list[PATH_MAX + 32];
  int made = kdl_cache_folder_make(folder, KDL_CACHE_SHARED);
  if (made < 0)
    return kdl_error_status();
  close(made);
  if (!realpath(folder, path))
    return kdl_fail(kdl_status_from_errno(errno), "%s: %s", folder, strerror(errno));
  if (strchr(path, ':'))
    return kdl_fail(KDL_BAD_CALL,
                    "--into: bad value '%s': use a folder without a colon, which KDL_CACHE "
                    "separates folders by",
                    path);
  snprintf(list, sizeof list, "off:%s,shared", path);
  if (setenv("KDL_CACHE", list, 1) != 0)
    cli_out_of_memory();
  return KDL_OK;
}

kdl_status cli_cache_warm(const cli_args *args, const char *file) {
  const char *into = cli_args_value(args, "into");
  if (!cli_args_has(args, "for"))
    return kdl_fail(KDL_BAD_CALL, "missing devices: use --for=DEVICE,...");
  cli_input input;
  cli_devices devices = {.count = 0};
  counts count = {0};
  if (into)
    KDL_TRY(use_folder(into));
  KDL_TRY(cli_input_open(file, &input));
  kdl_status status = cli_devices_given(args, "for", ',', &devices);
  if (status == KDL_OK)
    status = warm_devices(&input, &devices, &count);
  cli_devices_free(&devices);
  cli_input_close(&input);
  if (status == KDL_OK)
    printf("linked %zu, %zu were there\n", count.linked, count.there);
  return status;
}
