/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs from SPIR-V if the device takes it, from machine code or PTX, or from OpenCL C. */
#include "lib/backends/common/services.h"
#include "lib/backends/opencl/objects.h"
#include "support/system/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Creation                                                                                     */

static void *opencl_program_from_il(const kdl_opencl_device *device, const kdl_backend_image *image,
                                    int32_t *out_error) {
  /* Core since 2.1, optional in 3.0; before that an extension. */
  bool in_core = device->version >= KDL_VERSION_OF(2, 1) && kdl_opencl.program_il;
  return in_core
             ? kdl_opencl.program_il(device->context, image->data, image->data_size, out_error)
             : device->ext.program_il(device->context, image->data, image->data_size, out_error);
}

static void *opencl_program_from_binary(const kdl_opencl_device *device,
                                        const kdl_backend_image *image, int32_t *out_error) {
  const unsigned char *binary = image->data;
  int32_t status = KDL_CL_SUCCESS;
  return kdl_opencl.program_binary(device->context, 1, &device->id, &image->data_size, &binary,
                                   &status, out_error);
}

/* A NUL ends the text, even before the image's end. */
static void *opencl_program_from_source(const kdl_opencl_device *device,
                                        const kdl_backend_image *image, int32_t *out_error) {
  const char *text = image->data;
  size_t length = strnlen(text, image->data_size);
  return kdl_opencl.program_source(device->context, 1, &text, &length, out_error);
}

static const struct {
  kdl_image_kind kind;
  const char *call;
  void *(*make)(const kdl_opencl_device *device, const kdl_backend_image *image,
                int32_t *out_error);
} makers[] = {
    {KDL_IMAGE_SPIRV, "clCreateProgramWithIL", opencl_program_from_il},
    {KDL_IMAGE_CL, "clCreateProgramWithSource", opencl_program_from_source},
    {KDL_IMAGE_PTX, "clCreateProgramWithBinary", opencl_program_from_binary},
    {KDL_IMAGE_CUBIN, "clCreateProgramWithBinary", opencl_program_from_binary},
    {KDL_IMAGE_ZEBIN, "clCreateProgramWithBinary", opencl_program_from_binary},
    {KDL_IMAGE_HSACO, "clCreateProgramWithBinary", opencl_program_from_binary},
};
enum { maker_count = sizeof makers / sizeof *makers };

static kdl_status opencl_create_program(const kdl_opencl_device *device,
                                        const kdl_backend_image *image, void **out_program) {
  size_t i = 0;
  while (i < maker_count && makers[i].kind != image->kind)
    ++i;
  if (i == maker_count)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0,
        "opencl:%u: found an image of kind %s, expected spirv, cl, ptx or "
        "machine code of a GPU",
        device->ordinal, kdl_image_kind_name(image->kind));
  bool takes_il = device->has_il && (device->ext.program_il || kdl_opencl.program_il);
  if (image->kind == KDL_IMAGE_SPIRV && !takes_il)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "opencl:%u: the device takes no SPIR-V",
                                  device->ordinal);
  int32_t error = KDL_CL_SUCCESS;
  *out_program = makers[i].make(device, image, &error);
  return *out_program ? KDL_OK : kdl_opencl_fail(device->ordinal, error, "%s", makers[i].call);
}

/* ------------------------------------------------------------------------------------------ */
/* Building                                                                                     */

/* The value of a key of the image, or NULL. */
static const kdl_string *opencl_image_value(const kdl_backend_image *image, const char *key) {
  for (size_t i = image->pair_count; i-- > 0;) {
    if (strcmp(image->pairs[i].key.data, key) == 0)
      return &image->pairs[i].value;
  }
  return NULL;
}

static bool opencl_is_version(const kdl_string *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+";
  return text->length && text->length < 32 && strspn(text->data, letters) == text->length;
}

/* Drivers keep the parameters of kernels only with an option. */
static kdl_status opencl_build_options(const kdl_opencl_device *device,
                                       const kdl_backend_image *image, char *options, size_t size) {
  const char *more = kdl_environment(KDL_VARIABLE_OPENCL_OPTIONS);
  const kdl_string *version = opencl_image_value(image, "kdl.cl_std");
  bool is_source = image->kind == KDL_IMAGE_CL;
  if (is_source && version && !opencl_is_version(version))
    return kdl_core_services.fail(KDL_BAD_FILE, 0,
                                  "kdl.cl_std: found \"%.64s\", expected a version as in CL1.2",
                                  version->data);
  int length =
      snprintf(options, size, "%s%s%s%s%s", is_source ? "-cl-kernel-arg-info" : "",
               is_source && version ? " -cl-std=" : "", is_source && version ? version->data : "",
               more ? " " : "", more ? more : "");
  if (length < 0 || (size_t)length >= size)
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "opencl:%u: KDL_OPENCL_OPTIONS: found %zu bytes, expected fewer "
                                  "than %zu",
                                  device->ordinal, more ? strlen(more) : 0, size);
  return KDL_OK;
}

/* The compiler's messages, joined by "; ", truncated. */
static void opencl_read_build_log(const kdl_opencl_device *device, void *program, char *text,
                                  size_t size) {
  size_t length = 0;
  text[0] = '\0';
  if (kdl_opencl.program_build_info(program, device->id, KDL_CL_PROGRAM_BUILD_LOG, 0, NULL,
                                    &length) != KDL_CL_SUCCESS ||
      length == 0)
    return;
  char *full_log = calloc(1, length + 1);
  if (full_log && kdl_opencl.program_build_info(program, device->id, KDL_CL_PROGRAM_BUILD_LOG,
                                                length, full_log, NULL) == KDL_CL_SUCCESS)
    kdl_join_lines(full_log, text, size);
  free(full_log);
}

static kdl_status opencl_build_program(const kdl_opencl_device *device,
                                       const kdl_backend_image *image, void *program) {
  char options[512];
  char said[960];
  KDL_TRY(opencl_build_options(device, image, options, sizeof options));
  int32_t error = kdl_opencl.program_build(program, 1, &device->id, options, NULL, NULL);
  opencl_read_build_log(device, program, said, sizeof said);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clBuildProgram%s%s", *said ? ": " : "", said);
  if (*said)
    kdl_core_services.log("%s: the compiler says: %s", image->name, said);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions of the backend                                                                     */

static void opencl_release_program(const kdl_opencl_device *device, void *program) {
  kdl_opencl_log_error(device->ordinal, kdl_opencl.program_release(program), "clReleaseProgram");
}

kdl_status kdl_opencl_image_load(void *handle, const kdl_backend_image *image, void **out_loaded) {
  kdl_opencl_device *device = handle;
  kdl_opencl_loaded_image *loaded = calloc(1, sizeof *loaded);
  if (!loaded)
    return kdl_opencl_no_memory(device->ordinal);
  loaded->image = kdl_image_reference_of(image);
  kdl_status status = opencl_create_program(device, image, &loaded->program);
  if (status == KDL_OK) {
    status = opencl_build_program(device, image, loaded->program);
    if (status != KDL_OK)
      opencl_release_program(device, loaded->program);
  }
  return kdl_return_or_free(status, loaded, out_loaded);
}

/* Running commands retain their kernel and program (OpenCL, "clReleaseKernel"). */
void kdl_opencl_image_unload(void *handle, void *loaded_handle) {
  kdl_opencl_device *device = handle;
  kdl_opencl_loaded_image *loaded = loaded_handle;
  for (kdl_opencl_kernel *kernel = loaded->kernels; kernel;) {
    kdl_opencl_kernel *next = kernel->next;
    kdl_opencl_kernel_free(kernel);
    kernel = next;
  }
  opencl_release_program(device, loaded->program);
  free(loaded);
}

/* OpenCL has no access to a program's variables; Intel's drivers have a function for it. */
kdl_status kdl_opencl_global_find(void *handle, void *loaded_handle, const char *name,
                                  uint64_t *out_address, uint64_t *out_size) {
  kdl_opencl_device *device = handle;
  kdl_opencl_loaded_image *loaded = loaded_handle;
  if (!device->ext.variable || strcmp(device->memory->name, "usm") != 0)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "opencl:%u: variable \"%s\": OpenCL gives no access to the "
                                  "variables of a program",
                                  device->ordinal, name);
  size_t size = 0;
  void *address = NULL;
  int32_t error = device->ext.variable(device->id, loaded->program, name, &size, &address);
  if (error == KDL_CL_INVALID_ARG_VALUE || error == KDL_CL_INVALID_VALUE)
    return kdl_core_services.fail(KDL_NO_MATCH, error,
                                  "opencl:%u: found no variable \"%s\" in the program",
                                  device->ordinal, name);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clGetDeviceGlobalVariablePointerINTEL \"%s\"",
                           name);
  *out_address = (uintptr_t)address;
  *out_size = size;
  return KDL_OK;
}
