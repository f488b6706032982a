/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Setting arguments. The driver looks up the memory of an address when it is set. */
#include "lib/backends/level_zero/objects.h"

static int ze_set_value(void *handle, uint32_t index, size_t size, const void *value) {
  return kdl_ze.kernel_argument(handle, index, size, value);
}

static int ze_set_memory(const void *device, void *handle, uint32_t index, uint64_t address) {
  (void)device;
  return kdl_ze.kernel_argument(handle, index, sizeof address, &address);
}

static kdl_status ze_argument_refused(const void *device, int error, bool is_memory, size_t index,
                                      const char *kernel) {
  (void)is_memory;
  return kdl_ze_fail(device, error, "zeKernelSetArgumentValue of argument %zu of \"%s\"", index,
                     kernel);
}

const kdl_argument_setter kdl_ze_setter = {"level_zero", &kdl_core_services, ze_set_value,
                                           ze_set_memory, ze_argument_refused};
