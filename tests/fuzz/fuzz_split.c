/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is cut out of a file: pieces that lie in it, in order, apart, each in a part of its own
 * name. What begins as JSON is read as a manifest. */
#include "pack/split/split.h"
#include "support/system/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_manifest(const uint8_t *data, size_t size) {
  char path[64];
  int fd = kdl_memory_file_create("manifest", KDL_MEMORY_FILE_DATA, data, size);
  if (fd < 0)
    return;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  split_manifest manifest;
  if (split_manifest_read(path, &manifest) == KDL_OK) {
    for (size_t i = 0; i < manifest.part_count; ++i) {
      if (!manifest.parts[i].arch || !manifest.parts[i].file || strchr(manifest.parts[i].file, '/'))
        abort();
    }
    split_manifest_free(&manifest);
  } else if (kdl_error_message()[0] == '\0') {
    abort();
  }
  close(fd);
}

static void check_plan(const split_plan *plan, size_t size) {
  uint64_t end = 0;
  for (size_t i = 0; i < plan->unit_count; ++i) {
    const split_unit *unit = &plan->units[i];
    if (unit->at < end || unit->size == 0 || unit->size > size || unit->at > size - unit->size ||
        unit->head > unit->at || unit->part >= plan->part_count)
      abort();
    end = unit->at + unit->size;
  }
  for (size_t i = 0; i < plan->part_count; ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (strcmp(plan->parts[i].file, plan->parts[k].file) == 0)
        abort();
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kdl_library *lib;
  split_plan plan;
  cli_bytes bytes = {.data = data, .size = size};
  if (size && data[0] == '{') {
    read_manifest(data, size);
    return 0;
  }
  if (kdl_open_memory(data, size, NULL, &lib) != KDL_OK)
    return 0;
  if (split_plan_make(lib, &bytes, "in", &plan) == KDL_OK) {
    check_plan(&plan, size);
    split_plan_free(&plan);
  }
  kdl_close(lib);
  return 0;
}
