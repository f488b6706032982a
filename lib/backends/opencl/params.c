/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parameters of a kernel. The driver needs a size for each and, for memory, the right function.
 * It reports the rest itself if the program was built with -cl-kernel-arg-info; else the image
 * does, else the signature in the metadata.
 */
#include "lib/backends/opencl/objects.h"
#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The driver                                                                                   */

static bool opencl_query_arg(void *kernel, uint32_t index, uint32_t what, size_t room,
                             void *value) {
  return kdl_opencl.kernel_arg_info(kernel, index, what, room, value, NULL) == KDL_CL_SUCCESS;
}

static kdl_argument_kind opencl_kind_of_address(uint32_t address) {
  switch (address) {
  case KDL_CL_ADDRESS_GLOBAL:
  case KDL_CL_ADDRESS_CONSTANT:
    return KDL_ARGUMENT_MEMORY;
  case KDL_CL_ADDRESS_LOCAL:
    return KDL_ARGUMENT_GROUP;
  case KDL_CL_ADDRESS_PRIVATE:
    return KDL_ARGUMENT_VALUE;
  default:
    return KDL_ARGUMENT_UNKNOWN;
  }
}

static void opencl_query_param(void *kernel, kdl_argument *param) {
  uint32_t address, access;
  char type[128] = "";
  if (!opencl_query_arg(kernel, param->index, KDL_CL_ARG_ADDRESS_QUALIFIER, sizeof address,
                        &address))
    return;
  /* Image objects are in global memory too, and passed differently. */
  if (opencl_query_arg(kernel, param->index, KDL_CL_ARG_ACCESS_QUALIFIER, sizeof access, &access) &&
      access != KDL_CL_ACCESS_NONE)
    return;
  param->kind = opencl_kind_of_address(address);
  kdl_image_param shown;
  if (param->kind != KDL_ARGUMENT_VALUE ||
      !opencl_query_arg(kernel, param->index, KDL_CL_ARG_TYPE_NAME, sizeof type - 1, type) ||
      !kdl_opencl_c_type(kdl_text_of(type), &shown))
    return;
  param->size = param->alignment = shown.size; /* vectors too */
}

kdl_status kdl_opencl_params_resolve(const kdl_opencl_device *device,
                                     const kdl_opencl_loaded_image *loaded, void *kernel,
                                     const kdl_kernel_request *request, kdl_arguments *out_params) {
  uint32_t count = 0;
  int32_t error =
      kdl_opencl.kernel_info(kernel, KDL_CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clGetKernelInfo \"%s\"", request->name);
  if (count > KDL_MAX_ARGUMENTS)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "opencl:%u: found %u parameters, expected at most %d",
                                  device->ordinal, count, KDL_MAX_ARGUMENTS);
  *out_params = (kdl_arguments){.count = count};
  for (uint32_t i = 0; i < count; ++i) {
    out_params->list[i].index = i;
    opencl_query_param(kernel, &out_params->list[i]);
  }
  kdl_arguments_read_image(out_params, &loaded->image, request->name);
  kdl_arguments_read_signature(out_params, request);
  char fault[256];
  if (!kdl_arguments_resolve(out_params, fault, sizeof fault))
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "opencl:%u: %s", device->ordinal, fault);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Setting arguments                                                                            */

static int opencl_set_value(void *kernel, uint32_t index, size_t size, const void *value) {
  return kdl_opencl.set_arg(kernel, index, size, value);
}

static int opencl_set_memory(const void *handle, void *kernel, uint32_t index, uint64_t word) {
  const kdl_opencl_device *device = handle;
  return device->memory->set(device, kernel, index, word);
}

static kdl_status opencl_argument_refused(const void *handle, int error, bool is_memory,
                                          size_t index, const char *kernel) {
  const kdl_opencl_device *device = handle;
  return kdl_opencl_fail(device->ordinal, error, "%s of argument %zu of \"%s\"",
                         is_memory ? device->memory->set_call : "clSetKernelArg", index, kernel);
}

const kdl_argument_setter kdl_opencl_setter = {"opencl", &kdl_core_services, opencl_set_value,
                                               opencl_set_memory, opencl_argument_refused};
