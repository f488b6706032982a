/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "matmul/read_tiles.h"

kdl_status read_tiles(kdl_device *device, kdl_kernel *kernel, void *tiles, size_t size) {
  kdl_queue *queue;
  kdl_buffer buffer;
  kdl_status status = kdl_device_queue(device, &queue);
  if (status == KDL_OK)
    status = kdl_alloc(device, size, &buffer);
  if (status != KDL_OK)
    return status;
  kdl_launch_desc one = kdl_grid(1, 1, 1);
  const void *pointers[] = {&buffer};
  kdl_args args = {1, pointers, NULL};
  one.block[0] = one.block[1] = one.block[2] = 1;
  status = kdl_launch_call(kernel, queue, &one, &args);
  if (status == KDL_OK)
    status = kdl_read(queue, tiles, &buffer, 0, size);
  if (status == KDL_OK)
    status = kdl_sync(queue);
  kdl_free(&buffer);
  return status;
}
