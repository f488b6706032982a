/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The whole way in thirty lines: open a library, find a device that has an image for the kernel,
 * move data there, launch, and read the result back. */
#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "sketch: %s\n", kdl_error_message());
    exit(1);
  }
}

int main(int argc, char **argv) {
  enum { count = 100000 };
  static float host_x[count], host_y[count];
  uint32_t n = count;
  float a = 2;
  for (uint32_t i = 0; i < n; ++i) {
    host_x[i] = (float)i;
    host_y[i] = 1;
  }
  kdl_library *lib;
  kdl_device *dev;
  kdl_queue *q;
  kdl_kernel *k;
  kdl_buffer x, y;
  must(kdl_open(argc > 1 ? argv[1] : "./saxpy.offload", NULL, &lib));
  must(kdl_device_for(lib, "saxpy", NULL, &dev));
  must(kdl_queue_create(dev, NULL, &q));
  must(kdl_alloc(dev, sizeof host_x, &x));
  must(kdl_alloc(dev, sizeof host_y, &y));
  must(kdl_write(q, &x, 0, host_x, sizeof host_x));
  must(kdl_write(q, &y, 0, host_y, sizeof host_y));
  must(kdl_sym(lib, dev, "saxpy", NULL, &k));
  must(kdl_launch_items(k, q, kdl_extent1(n), KDL_ARGS(&a, &x, &y, &n)));
  must(kdl_read(q, host_y, &y, 0, sizeof host_y));
  must(kdl_sync(q));
  kdl_kernel_info info = {.size = sizeof info};
  must(kdl_kernel_get(k, &info));
  printf("y[%u] = %.0f, by image %zu (%s) on %s\n", n - 1, (double)host_y[n - 1], info.image,
         info.fit, info.device);
  kdl_free(&x);
  kdl_free(&y);
  kdl_queue_destroy(q);
  kdl_close(lib);
  return host_y[n - 1] == 2 * (float)(n - 1) + 1 ? 0 : 1;
}
