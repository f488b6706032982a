// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// liboffload of 23.1.1 under the interface of main that OffloadRuntimeWrappers.cpp uses: contexts, a look for devices by image, and host memory
// without a device. For the runs of a container as a whole, since the patches of ../../metadata stand on 23.1.1's sources.
#include <OffloadAPI.h>

inline ol_result_t olCreateContext(size_t, ol_device_handle_t *devices, ol_context_handle_t *context) {
  *context = reinterpret_cast<ol_context_handle_t>(*devices); // not null: that is all the library asks of it
  return nullptr;
}
inline ol_result_t olCreateProgram(ol_context_handle_t, ol_device_handle_t device, const void *data, size_t size, ol_program_handle_t *program) {
  return olCreateProgram(device, data, size, program);
}
inline ol_result_t olCreateQueue(ol_context_handle_t, ol_device_handle_t device, ol_queue_handle_t *queue) { return olCreateQueue(device, queue); }
inline ol_result_t olMemAlloc(ol_context_handle_t, ol_device_handle_t device, ol_alloc_type_t type, size_t size, void **memory) {
  return olMemAlloc(device, type, size, memory);
}
inline ol_result_t olMemFree(ol_context_handle_t, void *memory) { return olMemFree(memory); }
inline ol_result_t olGetMemInfo(ol_context_handle_t, const void *memory, ol_mem_info_t name, size_t size, void *value) {
  return olGetMemInfo(memory, name, size, value);
}

struct compatible_devices {
  const void *data;
  size_t size;
  ol_device_iterate_cb_t visit;
  void *argument;
};
inline ol_result_t olIterateCompatibleDevices(const void *data, size_t size, ol_device_iterate_cb_t visit, void *argument) {
  compatible_devices search = {data, size, visit, argument};
  return olIterateDevices(
      [](ol_device_handle_t device, void *pointer) {
        auto *search = static_cast<compatible_devices *>(pointer);
        bool is_valid = false;
        if (olIsValidBinary(device, search->data, search->size, &is_valid) || !is_valid)
          return true;
        return search->visit(device, search->argument);
      },
      &search);
}

inline ol_device_handle_t host_device() {
  static ol_device_handle_t host;
  if (!host)
    olIterateDevices(
        [](ol_device_handle_t device, void *) {
          ol_platform_handle_t platform = nullptr;
          ol_platform_backend_t backend = OL_PLATFORM_BACKEND_UNKNOWN;
          olGetDeviceInfo(device, OL_DEVICE_INFO_PLATFORM, sizeof platform, &platform);
          olGetPlatformInfo(platform, OL_PLATFORM_INFO_BACKEND, sizeof backend, &backend);
          if (backend == OL_PLATFORM_BACKEND_HOST)
            host = device;
          return !host;
        },
        nullptr);
  return host;
}
inline ol_result_t memcpy_with_host(ol_queue_handle_t queue, void *to, ol_device_handle_t to_device, const void *from, ol_device_handle_t from_device, size_t size) {
  return olMemcpy(queue, to, to_device ? to_device : host_device(), from, from_device ? from_device : host_device(), size);
}
#define olMemcpy memcpy_with_host
