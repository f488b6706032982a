/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices and their contexts: one per device, or the caller's. */
#include "lib/backends/common/open_devices.h"
#include "lib/backends/opencl/objects.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Queries                                                                                      */

uint64_t kdl_opencl_device_number(const kdl_opencl_device *device, uint32_t what) {
  uint64_t number = 0;
  size_t size = 0;
  if (kdl_opencl.device_info(device->id, what, sizeof number, &number, &size) != KDL_CL_SUCCESS)
    return 0;
  return size == 4 ? (uint32_t)number : number;
}

/* The caller frees the text; NULL where the device has none. */
static kdl_status opencl_device_text(const kdl_opencl_device *device, uint32_t what,
                                     char **out_text) {
  size_t size = 0;
  *out_text = NULL;
  if (kdl_opencl.device_info(device->id, what, 0, NULL, &size) != KDL_CL_SUCCESS)
    return KDL_OK;
  char *text = calloc(1, size + 1);
  if (!text)
    return kdl_opencl_no_memory(device->ordinal);
  if (kdl_opencl.device_info(device->id, what, size, text, NULL) != KDL_CL_SUCCESS)
    text[0] = '\0';
  *out_text = text;
  return KDL_OK;
}

static bool opencl_has_extension_name(const char *words, const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; at && (at = strstr(at, word)); at += length) {
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
      return true;
  }
  return false;
}

/* Parses "OpenCL 3.0 ..."; a version below 1.2 if that fails. */
static kdl_status opencl_query_version(kdl_opencl_device *device) {
  char *text;
  kdl_status status = opencl_device_text(device, KDL_CL_DEVICE_VERSION, &text);
  static const char before[] = "OpenCL ";
  if (text && strncmp(text, before, sizeof before - 1) == 0) {
    char *rest;
    unsigned long major = strtoul(text + sizeof before - 1, &rest, 10);
    unsigned long minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
    device->version = KDL_VERSION_OF(major, minor);
  }
  free(text);
  return status;
}

static void opencl_find_extension(const kdl_opencl_device *device, const char *extensions,
                                  const char *extension, const char *name, void *function) {
  void *symbol = opencl_has_extension_name(extensions, extension)
                     ? kdl_opencl.extension(device->platform, name)
                     : NULL;
  memcpy(function, &symbol, sizeof symbol);
}

static kdl_status opencl_query_extensions(kdl_opencl_device *device) {
  char *extensions, *il = NULL;
  kdl_status status = opencl_device_text(device, KDL_CL_DEVICE_EXTENSIONS, &extensions);
  if (status == KDL_OK)
    status = opencl_device_text(device, KDL_CL_DEVICE_IL_VERSION, &il);
#define KDL_DRIVER_SYMBOL(extension, field, name, result, parameters)                              \
  opencl_find_extension(device, extensions, extension, #name, &device->ext.field);
#include "lib/backends/opencl/extensions.def"
#undef KDL_DRIVER_SYMBOL
  device->has_priorities = opencl_has_extension_name(extensions, "cl_khr_priority_hints");
  device->is_nvidia = opencl_has_extension_name(extensions, "cl_nv_device_attribute_query");
  uint64_t memory = kdl_opencl_device_number(device, KDL_CL_DEVICE_GLOBAL_MEM_SIZE);
  device->memory_size = memory ? memory : UINT64_MAX;
  device->has_il = il && strstr(il, "SPIR-V_");
  free(il);
  free(extensions);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Contexts                                                                                     */

/* Drivers report details of errors here. */
static void opencl_log_notification(const char *words, const void *data, size_t size, void *user) {
  (void)data, (void)size;
  const kdl_opencl_device *device = user;
  kdl_core_services.log("opencl:%u: the driver says: %s", device->ordinal, words);
}

static kdl_status opencl_create_context(kdl_opencl_device *device) {
  const intptr_t properties[] = {KDL_CL_CONTEXT_PLATFORM, (intptr_t)device->platform, 0};
  int32_t error = KDL_CL_SUCCESS;
  device->context = kdl_opencl.context_create(properties, 1, &device->id, opencl_log_notification,
                                              device, &error);
  return device->context ? KDL_OK : kdl_opencl_fail(device->ordinal, error, "clCreateContext");
}

/* The caller's context must have the device. */
static kdl_status opencl_adopt_context(kdl_opencl_device *device) {
  enum { most_devices = 64 };
  void *devices[most_devices];
  size_t size = 0;
  int32_t error = kdl_opencl.context_info(device->adopted, KDL_CL_CONTEXT_DEVICES, sizeof devices,
                                          devices, &size);
  if (error == KDL_CL_SUCCESS) {
    size_t i = 0;
    while (i < size / sizeof *devices && devices[i] != device->id)
      ++i;
    if (i == size / sizeof *devices)
      return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                    "opencl:%u: the context to be adopted is one of another device",
                                    device->ordinal);
    error = kdl_opencl.context_retain(device->adopted);
  }
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "clGetContextInfo of the context to be adopted");
  device->context = device->adopted;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

static bool opencl_match_device(void *user, uint32_t ordinal, void *platform, void *id,
                                const char *platform_name) {
  (void)platform_name;
  kdl_opencl_device *device = user;
  if (ordinal != device->ordinal)
    return true;
  device->platform = platform;
  device->id = id;
  return false;
}

static kdl_status opencl_init_device(kdl_opencl_device *device) {
  const char *call;
  int32_t error = kdl_driver_start(&kdl_opencl_driver, false, &call);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "%s", call);
  kdl_opencl_walk(opencl_match_device, NULL, device);
  if (!device->id)
    return kdl_core_services.fail(KDL_DEVICE, KDL_CL_DEVICE_NOT_FOUND,
                                  "opencl:%u: no platform shows it any more", device->ordinal);
  KDL_TRY(opencl_query_version(device));
  if (device->version < KDL_VERSION_OF(1, 2))
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "opencl:%u: found OpenCL %u.%u, expected 1.2 or later",
                                  device->ordinal, device->version >> 16, device->version & 0xffff);
  KDL_TRY(opencl_query_extensions(device));
  KDL_TRY(kdl_opencl_memory_select(device));
  KDL_TRY(device->adopted ? opencl_adopt_context(device) : opencl_create_context(device));
  kdl_core_services.log("opencl:%u: memory is %s", device->ordinal, device->memory->name);
  return KDL_OK;
}

static kdl_status opencl_open_device(void *handle, const kdl_backend_device *desc) {
  kdl_opencl_device *device = handle;
  device->ordinal = desc->ordinal;
  device->adopted = desc->native_context;
  kdl_ranges_init(&device->ranges);
  kdl_status status = opencl_init_device(device);
  if (status != KDL_OK)
    kdl_ranges_destroy(&device->ranges);
  return status;
}

static kdl_open_devices opencl_open_devices = {&kdl_opencl_errors,        kdl_opencl_load,
                                               sizeof(kdl_opencl_device), opencl_open_device,
                                               PTHREAD_MUTEX_INITIALIZER, NULL};

kdl_status kdl_opencl_device_open(const kdl_backend_device *desc, void **out_device) {
  return kdl_open_devices_get(&opencl_open_devices, desc, out_device);
}

void *kdl_opencl_device_native(void *handle, kdl_native which) {
  kdl_opencl_device *device = handle;
  return kdl_select_native(which, device->id, device->context);
}

/* An adopted context was retained. */
void kdl_opencl_device_close(void *handle, void *queue) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue_destroy(device, queue);
  kdl_opencl_log_error(device->ordinal, kdl_opencl.context_release(device->context),
                       "clReleaseContext");
  kdl_open_devices_remove(&opencl_open_devices, device);
}
