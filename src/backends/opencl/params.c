/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a kernel's parameters are. The driver must be told a size for each and, for memory, by which
 * function; it tells the rest itself where the program was built with -cl-kernel-arg-info, else the
 * image does, else the signature in the metadata.
 */
#include "image/params.h"
#include "backends/opencl/objects.h"
#include "image/opencl_c.h"
#include "target/kernel_key.h"
#include "target/text.h"

#include <string.h>

enum { address_size = 8 };

/* ------------------------------------------------------------------------------------------ */
/* The driver                                                                                   */

static bool ask(void *kernel, uint32_t index, uint32_t what, size_t room, void *value) {
  return kdl_opencl.kernel_arg_info(kernel, index, what, room, value, NULL) == KDL_CL_SUCCESS;
}

static kdl_opencl_param_kind kind_of_address(uint32_t address) {
  switch (address) {
  case KDL_CL_ADDRESS_GLOBAL:
  case KDL_CL_ADDRESS_CONSTANT:
    return KDL_OPENCL_PARAM_MEMORY;
  case KDL_CL_ADDRESS_LOCAL:
    return KDL_OPENCL_PARAM_GROUP;
  case KDL_CL_ADDRESS_PRIVATE:
    return KDL_OPENCL_PARAM_VALUE;
  default:
    return KDL_OPENCL_PARAM_UNKNOWN;
  }
}

static void ask_driver(void *kernel, kdl_opencl_param *param) {
  uint32_t address, access;
  char type[128] = "";
  if (!ask(kernel, param->index, KDL_CL_ARG_ADDRESS_QUALIFIER, sizeof address, &address))
    return;
  /* Images are in global memory too, and passed otherwise. */
  if (ask(kernel, param->index, KDL_CL_ARG_ACCESS_QUALIFIER, sizeof access, &access) &&
      access != KDL_CL_ACCESS_NONE)
    return;
  param->kind = kind_of_address(address);
  kdl_image_param shown;
  if (param->kind == KDL_OPENCL_PARAM_VALUE &&
      ask(kernel, param->index, KDL_CL_ARG_TYPE_NAME, sizeof type - 1, type) &&
      kdl_opencl_c_type(kdl_text_of(type), &shown))
    param->size = shown.size;
}

/* ------------------------------------------------------------------------------------------ */
/* The image                                                                                    */

static kdl_opencl_param_kind kind_of_shown(kdl_image_param_kind kind) {
  switch (kind) {
  case KDL_IMAGE_PARAM_POINTER:
    return KDL_OPENCL_PARAM_MEMORY;
  case KDL_IMAGE_PARAM_GROUP:
    return KDL_OPENCL_PARAM_GROUP;
  case KDL_IMAGE_PARAM_VALUE:
  case KDL_IMAGE_PARAM_INTEGER:
  case KDL_IMAGE_PARAM_FLOAT:
    return KDL_OPENCL_PARAM_VALUE;
  case KDL_IMAGE_PARAM_BYTES:
  case KDL_IMAGE_PARAM_OPAQUE:
    break;
  }
  return KDL_OPENCL_PARAM_UNKNOWN;
}

static int take_shown(void *user, const kdl_image_param *shown) {
  kdl_opencl_params *params = user;
  if (shown->index >= params->count)
    return 1;
  kdl_opencl_param *param = &params->list[shown->index];
  if (param->kind == KDL_OPENCL_PARAM_UNKNOWN)
    param->kind = kind_of_shown(shown->kind);
  if (!param->size && param->kind != KDL_OPENCL_PARAM_GROUP)
    param->size = shown->size;
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* The signature                                                                                */

/* It does not count group memory, which is no argument of a launch. */
static void read_signature(const kdl_backend_wish *wish, kdl_opencl_params *params) {
  size_t at = 0;
  kdl_param said;
  for (uint32_t i = 0; i < params->count; ++i) {
    kdl_opencl_param *param = &params->list[i];
    if (param->kind == KDL_OPENCL_PARAM_GROUP)
      continue;
    if (!wish->sig.data || !kdl_signature_next(wish->sig, &at, &said, NULL))
      said = (kdl_param){.kind = wish->hidden ? KDL_PARAM_PTR : KDL_PARAM_BYTES};
    if (param->kind == KDL_OPENCL_PARAM_UNKNOWN && (said.kind == KDL_PARAM_PTR || said.size))
      param->kind = said.kind == KDL_PARAM_PTR ? KDL_OPENCL_PARAM_MEMORY : KDL_OPENCL_PARAM_VALUE;
    if (!param->size)
      param->size = said.size;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All of them                                                                                  */

/* Leaves group memory out of the list; there may be one. */
static kdl_status settle(const kdl_opencl_device *device, kdl_opencl_params *params) {
  uint32_t kept = 0;
  params->group_index = UINT32_MAX;
  for (uint32_t i = 0; i < params->count; ++i) {
    kdl_opencl_param *param = &params->list[i];
    if (param->kind == KDL_OPENCL_PARAM_UNKNOWN)
      return kdl_opencl_host->fail(KDL_UNSUPPORTED, 0,
                                   "opencl:%u: parameter %u: neither the driver, the image nor a "
                                   "signature tells whether it is memory or a value, or it is an "
                                   "image or a sampler",
                                   device->ordinal, i);
    if (param->kind == KDL_OPENCL_PARAM_GROUP) {
      if (params->group_index != UINT32_MAX)
        return kdl_opencl_host->fail(KDL_UNSUPPORTED, 0,
                                     "opencl:%u: parameters %u and %u are both group memory, "
                                     "expected one at most: a launch has one size for it",
                                     device->ordinal, params->group_index, i);
      params->group_index = i;
      continue;
    }
    if (param->kind == KDL_OPENCL_PARAM_MEMORY)
      param->size = address_size;
    params->list[kept++] = *param;
  }
  params->count = kept;
  return KDL_OK;
}

kdl_status kdl_opencl_params_learn(const kdl_opencl_device *device, const kdl_opencl_module *module,
                                   void *kernel, const kdl_backend_wish *wish,
                                   kdl_opencl_params *out_params) {
  uint32_t count = 0;
  int32_t error =
      kdl_opencl.kernel_info(kernel, KDL_CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clGetKernelInfo \"%s\"", wish->name);
  if (count > KDL_OPENCL_MOST_PARAMS)
    return kdl_opencl_host->fail(KDL_UNSUPPORTED, 0,
                                 "opencl:%u: found %u parameters, expected at most %d",
                                 device->ordinal, count, KDL_OPENCL_MOST_PARAMS);
  *out_params = (kdl_opencl_params){.count = count};
  for (uint32_t i = 0; i < count; ++i) {
    out_params->list[i].index = i;
    ask_driver(kernel, &out_params->list[i]);
  }
  (void)kdl_image_read_params(module->kind, module->data, module->data_size,
                              kdl_text_of(wish->name), take_shown, out_params);
  read_signature(wish, out_params);
  return settle(device, out_params);
}
