/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints (1 + 1) * FACTOR, by two kernels of the library that it carries. */
#include <kdl/kdl.h>

#include <stdio.h>

#define KERNELS app_kernels /* a macro is replaced */
KDL_EMBED_DECLARE(KERNELS);

static int failed(void) {
  fprintf(stderr, "%s\n", kdl_error_message());
  return 1;
}

int main(void) {
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *shift, *scale;
  kdl_buffer buffer;
  float value = 1;
  uint32_t count = 1;
  if (kdl_open_memory(KERNELS, KDL_EMBED_SIZE(KERNELS), NULL, &lib) != KDL_OK ||
      kdl_device_find("host", &device) != KDL_OK ||
      kdl_sym(lib, device, "shift", NULL, &shift) != KDL_OK ||
      kdl_sym(lib, device, "scale", NULL, &scale) != KDL_OK ||
      kdl_queue_create(device, NULL, &queue) != KDL_OK ||
      kdl_alloc(device, sizeof value, &buffer) != KDL_OK ||
      kdl_write(queue, &buffer, 0, &value, sizeof value) != KDL_OK ||
      kdl_launch_items(shift, queue, kdl_extent1(1), KDL_ARGS(&buffer, &count)) != KDL_OK ||
      kdl_launch_items(scale, queue, kdl_extent1(1), KDL_ARGS(&buffer, &count)) != KDL_OK ||
      kdl_read(queue, &value, &buffer, 0, sizeof value) != KDL_OK || kdl_sync(queue) != KDL_OK)
    return failed();
  printf("%g\n", value);
  return 0;
}
