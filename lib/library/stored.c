/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library's images as their file stores them. */
#include "lib/library/library.h"

kdl_container *kdl_library_container(const kdl_library *lib) {
  return lib->container;
}

static kdl_stored_image read_stored(const kdl_image *image) {
  return (kdl_stored_image){
      .kind = image->kind,
      .offload_kind = image->offload_kind,
      .is_link_input = image->is_link_input,
      .is_packed = image->source->codec != KDL_CODEC_NONE,
      .codec = (uint8_t)image->codec,
      .header_offset = image->header_offset,
      .offset = image->offset,
      .stored_size = image->stored_size,
      .size = image->size,
      .parent = image->parent == KDL_PARENT_NONE ? KDL_NO_PARENT : image->parent,
      .module = image->module,
      .arch = image->arch,
      .label = image->label,
      .problem = image->problem,
      .source = image->source,
  };
}

/* If two threads race, the result of one stays unused in the arena. */
const kdl_stored_image *kdl_stored_images(kdl_library *lib) {
  kdl_container *container = lib->container;
  kdl_stored_image *known = atomic_load_explicit(&lib->stored_images, memory_order_acquire);
  if (known)
    return known;
  kdl_stored_image *made = kdl_container_alloc(container, (container->count + 1) * sizeof *made);
  for (uint32_t i = 0; made && i < container->count; ++i)
    made[i] = read_stored(&container->images[i]);
  if (!made || atomic_compare_exchange_strong_explicit(&lib->stored_images, &known, made,
                                                       memory_order_acq_rel, memory_order_acquire))
    return made;
  return known;
}
