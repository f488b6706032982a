/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl explain: the values for which a kernel's bitcode has images in the cache. */
#include "ext/jit/cache/inspect.h"
#include "ext/jit/commands/commands.h"
#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "lib/inspect/launches.h"
#include "lib/inspect/metadata.h"
#include "support/base/blake2b.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const char *kernel;
  kdl_kernel_key key;
  uint32_t image;
  char digest[KDL_DIGEST_TEXT]; /* of the bitcode */
  size_t count;
} listing;

static bool is_of_listing(const listing *of, kdl_string link_key) {
  kdl_string kernel, caller;
  return kdl_cache_field(link_key, "kernel", 0, &kernel) && kdl_text_is(kernel, of->kernel) &&
         kdl_cache_field(link_key, "caller", 0, &caller) && kdl_text_is(caller, of->digest);
}

static kdl_status print_entry(void *user, const kdl_cache_checked_entry *checked) {
  listing *of = user;
  char values[512] = "", used[32];
  struct tm parts;
  kdl_string device = kdl_text_of("");
  if (!checked->entry || !is_of_listing(of, checked->entry->link_key) ||
      !kdl_fold_lines_print(&of->key, checked->entry->link_key,
                            &(kdl_out){values, sizeof values, 0}))
    return KDL_OK;
  kdl_cache_field(checked->entry->link_key, "device", 0, &device);
  if (!gmtime_r(&checked->file->used.tv_sec, &parts) ||
      !strftime(used, sizeof used, "%Y-%m-%dT%H:%M:%SZ", &parts))
    used[0] = '\0';
  cli_text_printf(stdout, "  %s: %s, %" PRIu64 " bytes in the cache, used %s, for %.*s\n", values,
                  kdl_image_kind_name(checked->entry->kind), checked->file->size, used,
                  (int)kdl_text_find(device, 0, "+"), device.data);
  ++of->count;
  return KDL_OK;
}

static kdl_status print_image(kdl_library *lib, listing *of) {
  kdl_cache_settings settings;
  const void *data;
  size_t size;
  kdl_string names = kdl_kernel_field_text(&of->key, KDL_KERNEL_SPECIALIZE);
  KDL_TRY(kdl_image_bytes(lib, of->image, &data, &size));
  kdl_digest digest = kdl_digest_of(data, size);
  kdl_digest_print(&digest, of->digest);
  cli_text_printf(stdout, "\nspecialize  %.*s, in image %" PRIu32 "\n", (int)names.length,
                  names.data, of->image);
  KDL_TRY(kdl_cache_settings_read(&settings));
  if (settings.mode != KDL_CACHE_OFF)
    KDL_TRY(kdl_cache_check_entries(&settings, print_entry, of));
  if (!of->count)
    printf("  no values have an image in the cache\n");
  return KDL_OK;
}

kdl_status cli_specialized_print(kdl_library *lib, const char *kernel) {
  char name[512];
  snprintf(name, sizeof name, "kdl.kernel.%s", kernel);
  for (uint32_t i = 0; i < kdl_image_count(lib); ++i) {
    const kdl_string *value = kdl_image_value(lib, i, name);
    kdl_image_info info = {.size = sizeof info};
    listing of = {.kernel = kernel, .image = i};
    if (value && kdl_kernel_parse(*value, &of.key, NULL) &&
        kdl_kernel_has(&of.key, KDL_KERNEL_SPECIALIZE) && kdl_image_get(lib, i, &info) == KDL_OK &&
        info.kind == KDL_IMAGE_BITCODE)
      KDL_TRY(print_image(lib, &of));
  }
  return KDL_OK;
}
