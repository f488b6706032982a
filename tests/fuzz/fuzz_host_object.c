/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared objects as the host backend takes them: what is accepted must be usable without a look at
 * the bounds. */
#include "lib/image/host/host_object.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
  const kdl_host_object *object;
  uint64_t count;
} words;

static int visit_word(void *user, uint64_t address) {
  words *seen = user;
  if (!kdl_host_object_has(seen->object, address, 8, true, false))
    abort();
  return ++seen->count > 1 << 16;
}

static void use_relocations(const kdl_host_object *object) {
  for (size_t t = 0; t < 2; ++t) {
    for (uint64_t i = 0; i < object->relocations[t].size / KDL_HOST_RELOCATION_SIZE; ++i) {
      kdl_host_relocation one = kdl_host_object_relocation(object, &object->relocations[t], i);
      if (one.kind == KDL_HOST_RELOCATION_NONE)
        continue;
      if (one.kind >= KDL_HOST_RELOCATION_THREAD || one.symbol >= object->symbol_count ||
          !kdl_host_object_has(object, one.address, 8, true, false))
        abort();
    }
  }
  words seen = {object, 0};
  (void)kdl_host_object_each_relative(object, visit_word, &seen);
}

static void use_symbols(const kdl_host_object *object) {
  static uint32_t sizes[KDL_HOST_LIMIT_PARAMS];
  uint32_t count = 0;
  size_t total = 0;
  for (uint64_t i = 0; i < object->symbol_count; ++i)
    total += strlen(kdl_host_object_symbol(object, i).name);
  if (total > object->size * object->symbol_count)
    abort();
  kdl_host_symbol found;
  (void)kdl_host_object_find(object, "tally", &found);
  (void)kdl_host_object_check_kernels(object);
  if (kdl_host_object_read_params(object, "mark", sizes, &count) && count > KDL_HOST_LIMIT_PARAMS)
    abort();
}

static void use_segments(const kdl_host_object *object) {
  uint64_t before = 0;
  for (size_t i = 0; i < object->segment_count; ++i) {
    const kdl_elf_segment *segment = &object->segments[i];
    if (segment->address < before || segment->offset + segment->file_size > object->size ||
        segment->file_size > segment->memory_size ||
        ((segment->flags & PF_W) && (segment->flags & PF_X)))
      abort();
    before = segment->address + segment->memory_size;
  }
  if (before != object->end || before > KDL_HOST_LIMIT_SPAN)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *exact = malloc(size ? size : 1); /* so that the image's end is the allocation's */
  kdl_host_object object;
  if (!exact)
    return 0;
  memcpy(exact, data, size);
  (void)kdl_host_object_is_image(exact, size);
  kdl_status status = kdl_host_object_open(exact, size, &object);
  if (status == KDL_OK) {
    use_segments(&object);
    use_symbols(&object);
    use_relocations(&object);
  } else if (kdl_error_message()[0] == '\0') {
    abort();
  }
  free(exact);
  return 0;
}
