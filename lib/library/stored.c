/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries for other components: bytes, and images as their file stores them. */
#include "lib/container/writer.h"
#include "lib/hooks.h"
#include "lib/library/library.h"

const char *kdl_library_name(const kdl_library *lib) {
  return lib->container->name;
}

kdl_image_info kdl_library_image(const kdl_library *lib, size_t index) {
  return kdl_container_image(lib->container, index);
}

kdl_status kdl_library_bytes(kdl_library *lib, uint32_t index, kdl_bytes_use use,
                             const void **out_data, size_t *out_size) {
  const void *verified =
      atomic_load_explicit(&lib->container->images[index].verified, memory_order_relaxed);
  return use == KDL_BYTES_VERIFIED || verified
             ? kdl_container_verified_bytes(lib->container, index, out_data, out_size)
             : kdl_container_private_bytes(lib->container, index, out_data, out_size);
}

kdl_status kdl_writer_add_copy(kdl_writer *writer, const kdl_writer_image *image, kdl_library *from,
                               uint32_t index, bool with_digest) {
  const kdl_image_ref ref = {from->container, index};
  return with_digest ? kdl_writer_add_ref_digested(writer, image, ref)
                     : kdl_writer_add_ref(writer, image, ref);
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
