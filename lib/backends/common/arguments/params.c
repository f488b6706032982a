/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/arguments/params.h"

#include "lib/inspect/images.h"
#include "support/base/text.h"

#include <stdlib.h>

enum { params_per_block = 16 };

void kdl_params_free(kdl_params *params) {
  free(params->list);
  *params = (kdl_params){0};
}

static bool reserve_param(kdl_params *params) {
  if (params->count % params_per_block != 0 || (params->count == 0 && params->list))
    return true;
  kdl_param_info *more = realloc(params->list, (params->count + params_per_block) * sizeof *more);
  if (more)
    params->list = more;
  return more != NULL;
}

bool kdl_params_begin(kdl_params *params) {
  return reserve_param(params);
}

bool kdl_params_add(kdl_params *params, uint32_t offset, uint32_t size) {
  if (!reserve_param(params))
    return false;
  params->list[params->count++] = (kdl_param_info){offset, size};
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* From images                                                                                  */

typedef struct {
  kdl_params *params;
  uint32_t end; /* end of the last one in a C struct; KDL_NO_OFFSET: unknown */
  bool no_memory;
} reading;

static bool is_aligned_to_its_size(const kdl_image_param *param) {
  return param->kind == KDL_IMAGE_PARAM_INTEGER || param->kind == KDL_IMAGE_PARAM_FLOAT ||
         param->kind == KDL_IMAGE_PARAM_POINTER;
}

static uint32_t param_offset(reading *r, const kdl_image_param *param) {
  uint32_t size = param->size;
  if (param->offset != KDL_NO_OFFSET)
    return param->offset;
  if (r->end == KDL_NO_OFFSET || !size || (size & (size - 1)) || !is_aligned_to_its_size(param))
    return r->end = KDL_NO_OFFSET;
  uint32_t offset = (r->end + size - 1) & ~(size - 1);
  r->end = offset + size;
  return offset;
}

static int add_image_param(void *user, const kdl_image_param *param) {
  reading *r = user;
  if (param->kind == KDL_IMAGE_PARAM_GROUP)
    return 0;
  uint32_t offset = param_offset(r, param);
  r->no_memory = !kdl_params_add(r->params, offset, param->size);
  return r->no_memory;
}

bool kdl_params_read(kdl_params *params, const kdl_image_reference *image, const char *kernel) {
  reading r = {.params = params};
  if (!kdl_params_begin(params))
    return false;
  kdl_status status = kdl_image_read_params(image->kind, image->data, image->size,
                                            kdl_text_of(kernel), add_image_param, &r);
  if (status != KDL_OK || r.no_memory)
    kdl_params_free(params);
  return !r.no_memory;
}
