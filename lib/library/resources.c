/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the kernels of a library's images use. */
#include "lib/inspect/images.h"

#include "lib/image/readers.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/selection.h"
#include "lib/library/library.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"
#include "support/base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  int (*visit)(void *user, const kdl_string *kernel, const kdl_kernel_resources *uses);
  void *user;
  kdl_catalog *catalog; /* the metadata of image `index` may have blocks */
  size_t index;
  kdl_name_buffer buffer;
  uint8_t *effects; /* of the kernels, in the order in which their resources are visited */
  size_t count, capacity, next;
  bool out_of_memory;
} resource_visitor;

static int add_effect(void *user, kdl_string kernel, kdl_kernel_effect effect) {
  resource_visitor *visitor = user;
  (void)kernel;
  if (visitor->count == visitor->capacity) {
    size_t capacity = visitor->capacity ? visitor->capacity * 2 : 64;
    uint8_t *effects = realloc(visitor->effects, capacity);
    visitor->out_of_memory = !effects;
    if (!effects)
      return 1;
    visitor->effects = effects;
    visitor->capacity = capacity;
  }
  visitor->effects[visitor->count++] = (uint8_t)effect;
  return 0;
}

/* The code of a cubin says nothing of a block that only its metadata has. */
static void set_block(const resource_visitor *visitor, kdl_string kernel,
                      kdl_kernel_resources *uses) {
  kdl_kernel_key key;
  kdl_string value = kdl_catalog_kernel_key(visitor->catalog, visitor->index, kernel);
  if (value.data && kdl_kernel_parse(value, &key, NULL) && kdl_kernel_has(&key, KDL_KERNEL_BLOCK))
    memcpy(uses->block, key.block, sizeof key.block);
}

static int visit_resources(void *user, kdl_string kernel, const kdl_kernel_resources *declared) {
  resource_visitor *visitor = user;
  kdl_kernel_resources uses = *declared;
  if (visitor->next < visitor->count)
    uses.effect = (kdl_kernel_effect)visitor->effects[visitor->next++];
  if (!uses.block[0])
    set_block(visitor, kernel, &uses);
  visitor->out_of_memory = !kdl_name_buffer_set(&visitor->buffer, &kernel);
  return visitor->out_of_memory || visitor->visit(visitor->user, &kernel, &uses);
}

/* Where the code cannot be read, the numbers still can. */
static kdl_status read_resources(resource_visitor *visitor, kdl_image_kind kind, const void *data,
                                 size_t size) {
  kdl_status status = kdl_image_read_effects(kind, data, size, add_effect, visitor);
  if (status == KDL_NO_MEMORY)
    return status;
  if (status != KDL_OK)
    visitor->count = 0;
  if (!visitor->out_of_memory)
    KDL_TRY(kdl_image_read_resources(kind, data, size, visit_resources, visitor));
  return visitor->out_of_memory ? kdl_fail(KDL_NO_MEMORY, "out of memory for its kernels") : KDL_OK;
}

kdl_status kdl_image_resources(kdl_library *lib, size_t index,
                               int (*visit)(void *user, const kdl_string *kernel,
                                            const kdl_kernel_resources *uses),
                               void *user) {
  KDL_NOT_CANCELLED;
  const void *data;
  size_t size;
  KDL_TRY(KDL_GIVEN(lib, visit));
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  KDL_TRY(kdl_library_acquire_bytes(lib, index, &data, &size));
  resource_visitor visitor = {.visit = visit, .user = user, .catalog = catalog, .index = index};
  kdl_status status = read_resources(&visitor, lib->container->images[index].kind, data, size);
  kdl_library_release_bytes(lib, index);
  free(visitor.buffer.data);
  free(visitor.effects);
  if (status != KDL_OK)
    kdl_error_prefix("%s: image %zu", lib->container->name, index);
  return status;
}

kdl_status kdl_device_occupancy(const kdl_device *device, const kdl_kernel_resources *uses,
                                uint32_t block, uint32_t dynamic_shared,
                                kdl_occupancy *out_occupancy) {
  enum { largest_block = 1024 };
  kdl_occupancy found;
  kdl_device_info info = {.size = sizeof info};
  const kdl_sized in = {"kdl_device_occupancy", "uses", sizeof *uses, sizeof *uses};
  const kdl_sized out = {"kdl_device_occupancy", "occupancy", sizeof found, sizeof found};
  KDL_TRY(KDL_GIVEN(device, uses, out_occupancy));
  KDL_TRY(kdl_sized_check(in, uses));
  KDL_TRY(kdl_sized_check(out, out_occupancy));
  KDL_TRY(kdl_device_get(device, &info));
  if (block == 0 || block > largest_block)
    return kdl_fail(KDL_BAD_CALL, "kdl_device_occupancy: found a block of %u, expected 1 to %d",
                    (unsigned)block, largest_block);
  if (uses->vector_registers == KDL_NO_RESOURCE)
    return kdl_fail(KDL_UNSUPPORTED, "kdl_device_occupancy: the kernel declares no registers");
  /* It reads members of the first version only: a copy by an older program has no others. */
  if (!kdl_occupancy_of(kdl_text_of(info.arch), uses, block, dynamic_shared, &found))
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl_device_occupancy: no limits of %s are known for %u registers", info.label,
                    (unsigned)uses->vector_registers);
  kdl_sized_write(out, &found, out_occupancy);
  return KDL_OK;
}
