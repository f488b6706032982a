/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/ukernels.h"

#include "lib/hooks.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kdl_status kdl_ukernels_begin(kdl_ukernels *out_ukernels) {
  out_ukernels->count = 0;
  out_ukernels->skipped[0] = '\0';
  return kdl_trust_read_policy(&out_ukernels->policy);
}

void kdl_ukernels_free(kdl_ukernels *ukernels) {
  for (size_t i = 0; i < ukernels->count; ++i) {
    free((void *)(uintptr_t)ukernels->items[i].name);
    free((void *)(uintptr_t)ukernels->items[i].data);
  }
  ukernels->count = 0;
}

bool kdl_ukernels_may_hold(const kdl_image_info *image) {
  bool is_indexed = false;
  kdl_string name;
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (kdl_text_starts(image->pairs[i].key, "kdl.ukernel."))
      return true;
    is_indexed |= kdl_kernel_name(image->pairs[i].key, &name);
  }
  return !is_indexed;
}

/* ------------------------------------------------------------------------------------------ */
/* One library                                                                                  */

static void skip_untrusted_image(kdl_ukernels *ukernels, const kdl_library *lib, uint32_t index) {
  char reason[sizeof ukernels->skipped];
  snprintf(reason, sizeof reason, "; %.200s: image %" PRIu32 " is left out: %.200s",
           kdl_library_name(lib), index, kdl_error_message());
  kdl_debug(KDL_DEBUG_LINK, "%s", reason + 2);
  if (!ukernels->skipped[0])
    memcpy(ukernels->skipped, reason, sizeof reason);
}

/* Version 1 cannot store a NUL in values. */
static int offload_format_for(const kdl_library *lib) {
  for (uint32_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info image = kdl_library_image(lib, i);
    for (size_t k = 0; image.kind == KDL_IMAGE_BITCODE && k < image.pair_count; ++k) {
      kdl_string value = image.pairs[k].value;
      if (memchr(value.data, 0, value.length))
        return KDL_FORMAT_V2;
    }
  }
  return KDL_FORMAT_V1;
}

/* Where nothing is checked in this process, kdl-ld checks the digests. Flags are dropped: kdl-ld
 * ignores them, and versions differ in their meaning. */
static kdl_status pack_ukernel_image(kdl_ukernels *ukernels, kdl_library *lib, uint32_t index,
                                     kdl_writer *writer, size_t *count) {
  kdl_image_info image = kdl_library_image(lib, index);
  kdl_writer_image packed = {.size = sizeof packed,
                             .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_BITCODE),
                             .offload_kind = image.offload_kind,
                             .pairs = image.pairs,
                             .pair_count = image.pair_count};
  bool is_off = ukernels->policy == KDL_TRUST_OFF;
  kdl_status status = kdl_library_bytes(lib, index, is_off ? KDL_BYTES_PRIVATE : KDL_BYTES_VERIFIED,
                                        &packed.data, &packed.data_size);
  if (status == KDL_BAD_FILE && !is_off) {
    skip_untrusted_image(ukernels, lib, index);
    return KDL_OK;
  }
  if (status == KDL_OK)
    status = kdl_writer_add(writer, &packed);
  *count += status == KDL_OK;
  return status;
}

static kdl_status append_ukernel_library(kdl_ukernels *ukernels, const char *name,
                                         kdl_writer *writer) {
  void *data;
  size_t size;
  if (ukernels->count == KDL_LINKER_LIBRARIES)
    return kdl_fail(KDL_BAD_CALL, "%s: found more than %d libraries of microkernels", name,
                    KDL_LINKER_LIBRARIES);
  char *copy = strdup(name);
  kdl_status status = copy ? kdl_writer_finish(writer, &data, &size)
                           : kdl_fail(KDL_NO_MEMORY, "out of memory for microkernels");
  if (status == KDL_OK)
    ukernels->items[ukernels->count++] = (kdl_linker_library){copy, data, size};
  else
    free(copy);
  return status;
}

kdl_status kdl_ukernels_add(kdl_ukernels *ukernels, kdl_library *lib, const char *name,
                            bool (*wants)(const void *user, uint32_t image), const void *user) {
  kdl_writer *writer;
  size_t count = 0;
  kdl_status status = kdl_writer_create(offload_format_for(lib), &writer);
  if (status != KDL_OK)
    return status;
  for (uint32_t i = 0; i < kdl_image_count(lib) && status == KDL_OK; ++i) {
    kdl_image_info image = kdl_library_image(lib, i);
    if (image.kind == KDL_IMAGE_BITCODE && kdl_ukernels_may_hold(&image) &&
        (!wants || wants(user, i)))
      status = pack_ukernel_image(ukernels, lib, i, writer, &count);
  }
  if (status == KDL_OK && count)
    status = append_ukernel_library(ukernels, name, writer);
  kdl_writer_destroy(writer);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Places                                                                                       */

kdl_status kdl_ukernels_add_file(kdl_ukernels *ukernels, const char *path) {
  kdl_library *lib;
  KDL_TRY(kdl_library_open_path(path, false, &lib));
  kdl_status status = kdl_ukernels_add(ukernels, lib, path, NULL, NULL);
  kdl_close(lib);
  return status;
}

bool kdl_ukernel_path_next(const char **at, char out_path[PATH_MAX]) {
  while (*at && **at) {
    size_t length = strcspn(*at, ":");
    const char *from = *at;
    *at += length + (from[length] == ':');
    if (length && length < PATH_MAX) {
      memcpy(out_path, from, length);
      out_path[length] = '\0';
      return true;
    }
  }
  return false;
}

kdl_status kdl_ukernels_add_search_path(kdl_ukernels *ukernels) {
  char path[PATH_MAX];
  const char *list = kdl_environment(KDL_VARIABLE_UKERNEL_PATH);
  while (kdl_ukernel_path_next(&list, path))
    KDL_TRY(kdl_ukernels_add_file(ukernels, path));
  return KDL_OK;
}
