/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The three kinds of memory of OpenCL, each with its own functions. Unified shared memory and
 * shared virtual memory have addresses, as in CUDA and HIP: a kernel may get a pointer to any byte,
 * and a structure may contain one. Buffers are handles.
 */
#include "lib/backends/opencl/objects.h"
#include "support/system/variables.h"

#include <inttypes.h>
#include <string.h>

static void *opencl_pointer(uint64_t word, uint64_t offset) {
  return (void *)(uintptr_t)(word + offset);
}

/* ------------------------------------------------------------------------------------------ */
/* Unified shared memory (cl_intel_unified_shared_memory)                                       */

static bool opencl_usm_supported(const kdl_opencl_device *device) {
  const kdl_opencl_extensions *ext = &device->ext;
  return ext->usm_alloc && ext->usm_free && ext->usm_copy && ext->usm_fill && ext->set_arg_usm &&
         kdl_opencl_device_number(device, KDL_CL_DEVICE_USM_CAPABILITIES) & KDL_CL_USM_ACCESS;
}

static int32_t opencl_usm_alloc(const kdl_opencl_device *device, uint64_t size,
                                uint64_t *out_word) {
  int32_t error = KDL_CL_SUCCESS;
  void *memory = device->ext.usm_alloc(device->context, device->id, NULL, size, 0, &error);
  *out_word = (uintptr_t)memory;
  return memory || error != KDL_CL_SUCCESS ? error : KDL_CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

static int32_t opencl_usm_free(const kdl_opencl_device *device, uint64_t word) {
  return device->ext.usm_free(device->context, opencl_pointer(word, 0));
}

static int32_t opencl_usm_write(const kdl_opencl_device *device, void *queue, uint64_t to,
                                uint64_t offset, const void *from, uint64_t size) {
  return device->ext.usm_copy(queue, KDL_CL_FALSE, opencl_pointer(to, offset), from, size, 0, NULL,
                              NULL);
}

static int32_t opencl_usm_read(const kdl_opencl_device *device, void *queue, void *to,
                               uint64_t from, uint64_t offset, uint64_t size) {
  return device->ext.usm_copy(queue, KDL_CL_FALSE, to, opencl_pointer(from, offset), size, 0, NULL,
                              NULL);
}

static int32_t opencl_usm_copy(const kdl_opencl_device *device, void *queue, uint64_t to,
                               uint64_t to_offset, uint64_t from, uint64_t from_offset,
                               uint64_t size) {
  return device->ext.usm_copy(queue, KDL_CL_FALSE, opencl_pointer(to, to_offset),
                              opencl_pointer(from, from_offset), size, 0, NULL, NULL);
}

static int32_t opencl_usm_fill(const kdl_opencl_device *device, void *queue, uint64_t to,
                               uint64_t offset, uint64_t size, const void *pattern,
                               size_t pattern_size) {
  return device->ext.usm_fill(queue, opencl_pointer(to, offset), pattern, pattern_size, size, 0,
                              NULL, NULL);
}

static int32_t opencl_usm_set(const kdl_opencl_device *device, void *kernel, uint32_t index,
                              uint64_t word) {
  return device->ext.set_arg_usm(kernel, index, opencl_pointer(word, 0));
}

/* ------------------------------------------------------------------------------------------ */
/* Shared virtual memory (OpenCL 2.0, optional in 3.0), coarse-grained: the host never accesses
 * it */

static bool opencl_svm_supported(const kdl_opencl_device *device) {
  return device->version >= KDL_VERSION_OF(2, 0) && kdl_opencl.svm_alloc && kdl_opencl.svm_free &&
         kdl_opencl.svm_copy && kdl_opencl.svm_fill && kdl_opencl.set_arg_svm &&
         kdl_opencl_device_number(device, KDL_CL_DEVICE_SVM_CAPABILITIES) &
             KDL_CL_SVM_COARSE_GRAIN_BUFFER;
}

static int32_t opencl_svm_alloc(const kdl_opencl_device *device, uint64_t size,
                                uint64_t *out_word) {
  void *memory = kdl_opencl.svm_alloc(device->context, KDL_CL_MEM_READ_WRITE, size, 0);
  *out_word = (uintptr_t)memory;
  return memory ? KDL_CL_SUCCESS : KDL_CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

static int32_t opencl_svm_free(const kdl_opencl_device *device, uint64_t word) {
  kdl_opencl.svm_free(device->context, opencl_pointer(word, 0));
  return KDL_CL_SUCCESS;
}

static int32_t opencl_svm_write(const kdl_opencl_device *device, void *queue, uint64_t to,
                                uint64_t offset, const void *from, uint64_t size) {
  (void)device;
  return kdl_opencl.svm_copy(queue, KDL_CL_FALSE, opencl_pointer(to, offset), from, size, 0, NULL,
                             NULL);
}

static int32_t opencl_svm_read(const kdl_opencl_device *device, void *queue, void *to,
                               uint64_t from, uint64_t offset, uint64_t size) {
  (void)device;
  return kdl_opencl.svm_copy(queue, KDL_CL_FALSE, to, opencl_pointer(from, offset), size, 0, NULL,
                             NULL);
}

static int32_t opencl_svm_copy(const kdl_opencl_device *device, void *queue, uint64_t to,
                               uint64_t to_offset, uint64_t from, uint64_t from_offset,
                               uint64_t size) {
  (void)device;
  return kdl_opencl.svm_copy(queue, KDL_CL_FALSE, opencl_pointer(to, to_offset),
                             opencl_pointer(from, from_offset), size, 0, NULL, NULL);
}

static int32_t opencl_svm_fill(const kdl_opencl_device *device, void *queue, uint64_t to,
                               uint64_t offset, uint64_t size, const void *pattern,
                               size_t pattern_size) {
  (void)device;
  return kdl_opencl.svm_fill(queue, opencl_pointer(to, offset), pattern, pattern_size, size, 0,
                             NULL, NULL);
}

static int32_t opencl_svm_set(const kdl_opencl_device *device, void *kernel, uint32_t index,
                              uint64_t word) {
  (void)device;
  return kdl_opencl.set_arg_svm(kernel, index, opencl_pointer(word, 0));
}

/* ------------------------------------------------------------------------------------------ */
/* Buffers                                                                                      */

static bool opencl_buffer_supported(const kdl_opencl_device *device) {
  (void)device;
  return true;
}

static int32_t opencl_buffer_alloc(const kdl_opencl_device *device, uint64_t size,
                                   uint64_t *out_word) {
  int32_t error = KDL_CL_SUCCESS;
  void *buffer =
      kdl_opencl.buffer_create(device->context, KDL_CL_MEM_READ_WRITE, size, NULL, &error);
  *out_word = (uintptr_t)buffer;
  return buffer || error != KDL_CL_SUCCESS ? error : KDL_CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

static int32_t opencl_buffer_free(const kdl_opencl_device *device, uint64_t word) {
  (void)device;
  return kdl_opencl.buffer_release(opencl_pointer(word, 0));
}

static int32_t opencl_buffer_write(const kdl_opencl_device *device, void *queue, uint64_t to,
                                   uint64_t offset, const void *from, uint64_t size) {
  (void)device;
  return kdl_opencl.buffer_write(queue, opencl_pointer(to, 0), KDL_CL_FALSE, offset, size, from, 0,
                                 NULL, NULL);
}

static int32_t opencl_buffer_read(const kdl_opencl_device *device, void *queue, void *to,
                                  uint64_t from, uint64_t offset, uint64_t size) {
  (void)device;
  return kdl_opencl.buffer_read(queue, opencl_pointer(from, 0), KDL_CL_FALSE, offset, size, to, 0,
                                NULL, NULL);
}

static int32_t opencl_buffer_copy(const kdl_opencl_device *device, void *queue, uint64_t to,
                                  uint64_t to_offset, uint64_t from, uint64_t from_offset,
                                  uint64_t size) {
  (void)device;
  return kdl_opencl.buffer_copy(queue, opencl_pointer(from, 0), opencl_pointer(to, 0), from_offset,
                                to_offset, size, 0, NULL, NULL);
}

static int32_t opencl_buffer_fill(const kdl_opencl_device *device, void *queue, uint64_t to,
                                  uint64_t offset, uint64_t size, const void *pattern,
                                  size_t pattern_size) {
  (void)device;
  return kdl_opencl.buffer_fill(queue, opencl_pointer(to, 0), pattern, pattern_size, offset, size,
                                0, NULL, NULL);
}

static int32_t opencl_buffer_set(const kdl_opencl_device *device, void *kernel, uint32_t index,
                                 uint64_t word) {
  (void)device;
  void *buffer = opencl_pointer(word, 0);
  return kdl_opencl.set_arg(kernel, index, sizeof buffer, &buffer);
}

/* ------------------------------------------------------------------------------------------ */
/* Selection                                                                                    */

static const kdl_opencl_memory opencl_memory_kinds[] = {
    {"usm", "clDeviceMemAllocINTEL", "clMemFreeINTEL", "clEnqueueMemcpyINTEL",
     "clEnqueueMemcpyINTEL", "clEnqueueMemcpyINTEL", "clEnqueueMemFillINTEL",
     "clSetKernelArgMemPointerINTEL", opencl_usm_supported, opencl_usm_alloc, opencl_usm_free,
     opencl_usm_write, opencl_usm_read, opencl_usm_copy, opencl_usm_fill, opencl_usm_set},
    {"svm", "clSVMAlloc", "clSVMFree", "clEnqueueSVMMemcpy", "clEnqueueSVMMemcpy",
     "clEnqueueSVMMemcpy", "clEnqueueSVMMemFill", "clSetKernelArgSVMPointer", opencl_svm_supported,
     opencl_svm_alloc, opencl_svm_free, opencl_svm_write, opencl_svm_read, opencl_svm_copy,
     opencl_svm_fill, opencl_svm_set},
    {"buffer", "clCreateBuffer", "clReleaseMemObject", "clEnqueueWriteBuffer",
     "clEnqueueReadBuffer", "clEnqueueCopyBuffer", "clEnqueueFillBuffer", "clSetKernelArg",
     opencl_buffer_supported, opencl_buffer_alloc, opencl_buffer_free, opencl_buffer_write,
     opencl_buffer_read, opencl_buffer_copy, opencl_buffer_fill, opencl_buffer_set},
};
enum { kind_count = sizeof opencl_memory_kinds / sizeof *opencl_memory_kinds };

/* A program that adopts its own context usually has cl_mem objects in it, and its memory and
 * libkdl's must be of one kind. On NVIDIA's platform (580.159.04, an H200) the tests fail if eight
 * threads use shared virtual memory on separate queues. */
kdl_status kdl_opencl_memory_select(kdl_opencl_device *device) {
  const char *wanted = kdl_environment(KDL_VARIABLE_OPENCL_MEMORY);
  if (!wanted && (device->adopted || device->is_nvidia))
    wanted = "buffer";
  for (size_t i = 0; i < kind_count; ++i) {
    if (wanted && strcmp(opencl_memory_kinds[i].name, wanted) != 0)
      continue;
    if (opencl_memory_kinds[i].is_supported(device)) {
      device->memory = &opencl_memory_kinds[i];
      return KDL_OK;
    }
    if (wanted)
      return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                    "opencl:%u: KDL_OPENCL_MEMORY=%s, which the device does not "
                                    "offer",
                                    device->ordinal, wanted);
  }
  return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                "opencl:%u: KDL_OPENCL_MEMORY: found \"%s\", expected usm, svm or "
                                "buffer",
                                device->ordinal, wanted);
}

/* ------------------------------------------------------------------------------------------ */
/* Functions of the backend                                                                     */

kdl_status kdl_opencl_alloc(void *handle, uint64_t size, uint64_t *out_address) {
  kdl_opencl_device *device = handle;
  uint64_t word = 0;
  /* NVIDIA's driver creates a buffer of any size, and fails when it is used. */
  int32_t error = size > device->memory_size ? KDL_CL_INVALID_BUFFER_SIZE
                                             : device->memory->alloc(device, size, &word);
  if (error != KDL_CL_SUCCESS)
    return kdl_opencl_fail(device->ordinal, error, "%s of %" PRIu64 " bytes",
                           device->memory->alloc_call, size);
  bool has_addresses = device->memory->alloc != opencl_buffer_alloc;
  if (!kdl_ranges_add(&device->ranges, word, has_addresses ? size : 1)) {
    (void)device->memory->free(device, word);
    return kdl_opencl_no_memory(device->ordinal);
  }
  *out_address = word;
  return KDL_OK;
}

/* Passing a freed handle would crash the loader, which dereferences it. */
kdl_status kdl_opencl_free(void *handle, uint64_t address) {
  kdl_opencl_device *device = handle;
  if (!kdl_ranges_remove(&device->ranges, address))
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "opencl:%u: found 0x%" PRIx64 " to be freed, expected what "
                                  "kdl_alloc gave",
                                  device->ordinal, address);
  int32_t error = device->memory->free(device, address);
  return error == KDL_CL_SUCCESS
             ? KDL_OK
             : kdl_opencl_fail(device->ordinal, error, "%s", device->memory->free_call);
}

static kdl_status opencl_check_transfer(const kdl_opencl_device *device, int32_t error,
                                        const char *call, uint64_t size) {
  if (error == KDL_CL_SUCCESS)
    return KDL_OK;
  return kdl_opencl_fail(device->ordinal, error, "%s of %" PRIu64 " bytes", call, size);
}

kdl_status kdl_opencl_write(void *handle, void *queue_handle, uint64_t address, uint64_t offset,
                            const void *data, uint64_t size) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  int32_t error = device->memory->write(device, queue->queue, address, offset, data, size);
  return opencl_check_transfer(device, error, device->memory->write_call, size);
}

kdl_status kdl_opencl_read(void *handle, void *queue_handle, void *data, uint64_t address,
                           uint64_t offset, uint64_t size) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  int32_t error = device->memory->read(device, queue->queue, data, address, offset, size);
  return opencl_check_transfer(device, error, device->memory->read_call, size);
}

kdl_status kdl_opencl_copy(void *handle, void *queue_handle, uint64_t to, uint64_t to_offset,
                           uint64_t from, uint64_t from_offset, uint64_t size) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  int32_t error =
      device->memory->copy(device, queue->queue, to, to_offset, from, from_offset, size);
  return opencl_check_transfer(device, error, device->memory->copy_call, size);
}

kdl_status kdl_opencl_fill(void *handle, void *queue_handle, uint64_t address, uint64_t offset,
                           uint64_t size, const void *pattern, size_t pattern_size) {
  kdl_opencl_device *device = handle;
  kdl_opencl_queue *queue = queue_handle;
  int32_t error =
      device->memory->fill(device, queue->queue, address, offset, size, pattern, pattern_size);
  return opencl_check_transfer(device, error, device->memory->fill_call, size);
}

/* ------------------------------------------------------------------------------------------ */
/* Memory at an offset                                                                          */

kdl_status kdl_opencl_address_at(void *handle, uint64_t address, uint64_t offset,
                                 uint64_t *out_address) {
  const kdl_opencl_device *device = handle;
  if (strcmp(device->memory->name, "buffer") == 0)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0,
                                  "opencl:%u: memory is a cl_mem here, which kernels take from its "
                                  "beginning, not from offset %" PRIu64 " on",
                                  device->ordinal, offset);
  *out_address = address + offset;
  return KDL_OK;
}
