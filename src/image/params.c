/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "image/params.h"

#include "image/readers.h"

static kdl_params_reader *reader_of(kdl_image_kind kind) {
  switch (kind) {
  case KDL_IMAGE_CUBIN:
    return kdl_cubin_read_params;
  case KDL_IMAGE_CL:
    return kdl_opencl_c_read_params;
  case KDL_IMAGE_PTX:
    return kdl_ptx_read_params;
  case KDL_IMAGE_HSACO:
    return kdl_amdgpu_read_params;
  case KDL_IMAGE_SPIRV:
    return kdl_spirv_read_params;
  case KDL_IMAGE_ZEBIN:
    return kdl_zebin_read_params;
  default:
    return NULL;
  }
}

typedef struct {
  kdl_visit_param *visit;
  void *user;
  uint32_t count;
  bool too_many;
} numbering;

static int visit_numbered(void *user, const kdl_image_param *param) {
  numbering *n = user;
  kdl_image_param numbered = *param;
  numbered.index = n->count++;
  n->too_many = numbered.index == KDL_IMAGE_PARAM_LIMIT;
  return n->too_many || n->visit(n->user, &numbered);
}

kdl_status kdl_too_many_params(void) {
  return kdl_fail(KDL_UNSUPPORTED, "found more than %d parameters, expected at most that",
                  KDL_IMAGE_PARAM_LIMIT);
}

kdl_status kdl_no_such_kernel(kdl_string kernel) {
  return kdl_fail(KDL_NO_MATCH, "found no kernel \"%.*s\" in the image, expected one",
                  kernel.length < 256 ? (int)kernel.length : 256, kernel.data);
}

kdl_status kdl_image_read_params(kdl_image_kind kind, const void *data, size_t size,
                                 kdl_string kernel, kdl_visit_param *visit, void *user) {
  kdl_params_reader *reader = reader_of(kind);
  if (!reader)
    return kdl_fail(KDL_UNSUPPORTED, "%s image: it does not tell its kernels' parameters",
                    kdl_image_kind_name(kind));
  numbering n = {.visit = visit, .user = user};
  kdl_status status = reader(data, size, kernel, visit_numbered, &n);
  return status == KDL_OK && n.too_many ? kdl_too_many_params() : status;
}
