/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image/geometry.h"
#include "image/readers.h"

static kdl_geometry_reader *reader_of(kdl_image_kind kind) {
  switch (kind) {
  case KDL_IMAGE_OBJECT:
    return kdl_host_elf_read_geometry;
  case KDL_IMAGE_HSACO:
    return kdl_amdgpu_read_geometry;
  case KDL_IMAGE_SPIRV:
    return kdl_spirv_read_geometry;
  case KDL_IMAGE_ZEBIN:
    return kdl_zebin_read_geometry;
  default:
    return NULL;
  }
}

bool kdl_image_has_geometry(kdl_image_kind kind) {
  return reader_of(kind) != NULL;
}

kdl_image_geometry kdl_image_read_geometry(kdl_image_kind kind, const void *data, size_t size,
                                           kdl_string kernel) {
  kdl_image_geometry geometry = {{0}, {0}};
  kdl_geometry_reader *reader = reader_of(kind);
  if (reader)
    reader(data, size, kernel, &geometry);
  return geometry;
}
