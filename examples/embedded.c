/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that carries its kernels inside itself: KDL_EMBED puts the library into a section of
 * the program, and kdl_open(NULL) opens what the calling program carries. */
#include <kdl/kdl.h>

#include <stdio.h>

KDL_EMBED(saxpy_kernels, KDL_EXAMPLE_LIBRARY);

static kdl_status compute(float *host_y, uint32_t n) {
  kdl_library *lib = NULL;
  kdl_device *dev;
  kdl_kernel *k;
  kdl_queue *q = NULL;
  kdl_buffer x = {0, 0, NULL}, y = {0, 0, NULL};
  float a = 3;
  kdl_status status = kdl_open(NULL, NULL, &lib);
  if (status == KDL_OK)
    status = kdl_device_for(lib, "saxpy", NULL, &dev);
  if (status == KDL_OK)
    status = kdl_sym(lib, dev, "saxpy", NULL, &k);
  if (status == KDL_OK)
    status = kdl_queue_create(dev, NULL, &q);
  if (status == KDL_OK)
    status = kdl_alloc(dev, n * sizeof *host_y, &x);
  if (status == KDL_OK)
    status = kdl_alloc(dev, n * sizeof *host_y, &y);
  if (status == KDL_OK)
    status = kdl_write(q, &y, 0, host_y, n * sizeof *host_y);
  if (status == KDL_OK)
    status = kdl_copy(q, &x, 0, &y, 0, n * sizeof *host_y);
  if (status == KDL_OK)
    status = kdl_launch_items(k, q, kdl_extent1(n), KDL_ARGS(&a, &x, &y, &n));
  if (status == KDL_OK)
    status = kdl_read(q, host_y, &y, 0, n * sizeof *host_y);
  if (status == KDL_OK)
    status = kdl_sync(q);
  kdl_free(&x);
  kdl_free(&y);
  kdl_queue_destroy(q);
  kdl_close(lib);
  return status;
}

int main(void) {
  enum { count = 1000 };
  float y[count];
  for (int i = 0; i < count; ++i)
    y[i] = (float)i;
  if (compute(y, count) != KDL_OK) {
    fprintf(stderr, "embedded: %s\n", kdl_error_message());
    return 1;
  }
  printf("y[%d] = %.0f\n", count - 1, (double)y[count - 1]);
  return y[count - 1] == 4 * (float)(count - 1) ? 0 : 1;
}
