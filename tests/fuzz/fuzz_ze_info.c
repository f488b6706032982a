/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The YAML of a zebin's .ze_info: the kernels "many" and "k" of it. */
#include "lib/image/intel/ze_info.h"

#include <kdl/kdl.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const kdl_ze_info *info, kdl_string name) {
  kdl_ze_kernel kernel;
  kdl_status status = kdl_ze_info_read(info, name, 8, &kernel);
  if (status != KDL_OK && kdl_error_message()[0] == '\0')
    abort();
  if (status == KDL_OK && kernel.param_count > KDL_IMAGE_PARAM_LIMIT)
    abort();
  for (uint32_t i = 0; status == KDL_OK && i < kernel.param_count; ++i) {
    if (kernel.params[i].kind > KDL_IMAGE_PARAM_GROUP)
      abort();
  }
}

static int count_kernel(void *user, kdl_string name, const kdl_ze_kernel *kernel) {
  size_t *left = user;
  if (kernel->param_count > KDL_IMAGE_PARAM_LIMIT || name.length > *left)
    abort();
  *left -= name.length;
  return 0;
}

static void visit_all(const kdl_ze_info *info) {
  size_t left = info->size;
  if (kdl_ze_info_visit(info, 8, count_kernel, &left) != KDL_OK && kdl_error_message()[0] == '\0')
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* A copy, so that the text's end is the allocation's. */
  char *text = malloc(size ? size : 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  kdl_ze_info info = {text, size, 0};
  check(&info, (kdl_string){"many", 4});
  check(&info, (kdl_string){"k", 1});
  visit_all(&info);
  free(text);
  return 0;
}
