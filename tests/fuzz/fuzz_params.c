/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameters, limits and geometry of every kernel of one image, of the kind that the first byte
 * picks. */
#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/inspect/images.h"
#include "support/base/elf_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { most_kernels = 4 };

typedef struct {
  kdl_image_kind kind;
  const uint8_t *image;
  size_t size;
  unsigned kernels;
} subject;

static int check_param(void *user, const kdl_image_param *param) {
  uint32_t *next = user;
  if (param->index != (*next)++ || param->index >= KDL_IMAGE_PARAM_LIMIT ||
      param->kind > KDL_IMAGE_PARAM_GROUP)
    abort();
  return 0;
}

static int read_kernel(void *user, const char *name, size_t length) {
  subject *s = user;
  uint32_t next = 0;
  kdl_status status = kdl_image_read_params(s->kind, s->image, s->size, (kdl_string){name, length},
                                            check_param, &next);
  if (status != KDL_OK && kdl_error_message()[0] == '\0')
    abort();
  kdl_image_limits limits;
  if (s->kind == KDL_IMAGE_HSACO)
    (void)kdl_amdgpu_read_limits(s->image, s->size, (kdl_string){name, length}, &limits);
  (void)kdl_image_read_geometry(s->kind, s->image, s->size, (kdl_string){name, length});
  return ++s->kernels == most_kernels;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const kdl_image_kind kinds[] = {KDL_IMAGE_CUBIN, KDL_IMAGE_PTX, KDL_IMAGE_HSACO,
                                         KDL_IMAGE_SPIRV, KDL_IMAGE_CL,  KDL_IMAGE_OBJECT,
                                         KDL_IMAGE_ZEBIN};
  if (size == 0)
    return 0;
  /* A copy, so that the image's end is the allocation's. */
  uint8_t *image = malloc(size > 1 ? size - 1 : 1);
  if (!image)
    return 0;
  memcpy(image, data + 1, size - 1);
  subject s = {kinds[data[0] % (sizeof kinds / sizeof *kinds)], image, size - 1, 0};
  kdl_image_read_kernels(s.kind, image, s.size, read_kernel, &s);
  kdl_elf elf;
  if (kdl_elf_open(image, s.size, &elf) == KDL_OK)
    (void)kdl_elf_check_extents(&elf);
  read_kernel(&s, "many", 4);
  free(image);
  return 0;
}
