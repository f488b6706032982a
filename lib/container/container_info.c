/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Accessors of containers, images and sources for other components. */
#include "lib/container/container.h"
#include "lib/inspect/libraries.h"

#include <string.h>

kdl_image_info kdl_container_image(const kdl_container *container, size_t index) {
  const kdl_image *image = &container->images[index];
  return (kdl_image_info){
      .size = sizeof(kdl_image_info),
      .index = index,
      .parent = image->parent == KDL_PARENT_NONE ? KDL_NO_PARENT : image->parent,
      .kind = image->kind,
      .offload_kind = image->offload_kind,
      .declared_kind = image->declared_kind,
      .flags = image->flags,
      .triple = image->triple,
      .arch = image->arch,
      .container = {image->label, strlen(image->label)},
      .header_offset = image->header_offset,
      .byte_count = image->size,
      .stored_count = image->stored_size,
      .pairs = kdl_image_pairs(image),
      .pair_count = image->pair_count,
      .module = image->module,
      .problem = image->problem ? (kdl_string){image->problem, strlen(image->problem)}
                                : (kdl_string){"", 0},
  };
}

kdl_source_info kdl_source_read(const kdl_source *source) {
  bool is_packed = source->codec != KDL_CODEC_NONE;
  return (kdl_source_info){.size = source->size,
                           .codec = (uint8_t)source->codec,
                           .outer = is_packed ? source->packed.source : NULL,
                           .packed_offset = is_packed ? source->packed.base : 0,
                           .packed_size = is_packed ? source->packed.size : 0};
}
