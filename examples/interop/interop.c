/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program of CUDA with a context, a stream and memory of its own calls a kernel of a library:
 * libkdl uses the context and the memory, and the stream waits for libkdl's event.
 *
 *     kdl cc curve.c --targets=compute_75 -o curve.offload && interop curve.offload
 *
 * Returns 77 where there is no NVIDIA GPU. */
#include <kdl/kdl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* What the program calls of the driver, as in <cuda.h>, which need not be installed. */
#define CUDA(X)                                                                                    \
  X(cuInit, (unsigned flags))                                                                      \
  X(cuDeviceGet, (int *device, int ordinal))                                                       \
  X(cuCtxCreate_v2, (void **context, unsigned flags, int device))                                  \
  X(cuStreamCreate, (void **stream, unsigned flags))                                               \
  X(cuMemAlloc_v2, (uint64_t *address, size_t size))                                               \
  X(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t size))                                 \
  X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                \
  X(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t size, void *stream))                    \
  X(cuStreamSynchronize, (void *stream))                                                           \
  X(cuFuncGetAttribute, (int *value, int attribute, void *function))
#define DECLARE(name, parameters) static int(*name) parameters;
#define FIND(name, parameters) *(void **)&name = dlsym(driver, #name);
CUDA(DECLARE)

enum { n = 1000, max_threads = 0 /* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK */ };

static void must(kdl_status status) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "interop: %s: %s\n", kdl_status_name(status), kdl_error_message());
  exit(1);
}

static void must_cuda(int error) {
  if (!error)
    return;
  fprintf(stderr, "interop: CUDA's error %d\n", error);
  exit(1);
}

int main(int argc, char **argv) {
  static float x[n], y[n];
  const float coefficients[] = {1, 2, 3};
  const uint32_t count = n;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context, *stream, *event, *function;
  uint64_t memory;
  int ordinal, threads, wrong = 0;
  kdl_device *dev;
  if (!driver || kdl_device_find("cuda:0", &dev) != KDL_OK) {
    puts("skipped: there is no NVIDIA GPU");
    return 77;
  }
  CUDA(FIND)
  for (int i = 0; i < n; ++i)
    x[i] = (float)i;
  must_cuda(cuInit(0));
  must_cuda(cuDeviceGet(&ordinal, 0));
  must_cuda(cuCtxCreate_v2(&context, 0, ordinal));
  must_cuda(cuStreamCreate(&stream, 0));
  must_cuda(cuMemAlloc_v2(&memory, sizeof x));
  must_cuda(cuMemcpyHtoD_v2(memory, x, sizeof x));

  kdl_library *lib;
  kdl_kernel *curve;
  kdl_queue *q;
  kdl_event *done;
  kdl_buffer variable, data = kdl_buffer_adopt(dev, memory, sizeof x);
  must(kdl_device_adopt(dev, context));
  must(kdl_open(argc > 1 ? argv[1] : "./curve.offload", NULL, &lib));
  must(kdl_sym(lib, dev, "curve", NULL, &curve));
  must(kdl_queue_create(dev, NULL, &q));
  must(kdl_global(curve, "coefficients", &variable));
  must(kdl_write(q, &variable, 0, coefficients, sizeof coefficients));
  must(kdl_launch_items(curve, q, kdl_extent1(n), KDL_ARGS(&data, &count)));
  must(kdl_event_create(dev, &done));
  must(kdl_event_record(done, q));

  must(kdl_event_native(done, &event));
  must_cuda(cuStreamWaitEvent(stream, event, 0));
  must_cuda(cuMemcpyDtoHAsync_v2(y, memory, sizeof y, stream));
  must_cuda(cuStreamSynchronize(stream));
  must(kdl_kernel_native(curve, &function));
  must_cuda(cuFuncGetAttribute(&threads, max_threads, function));
  for (int i = 0; i < n; ++i)
    wrong += y[i] != 1 + (2 + 3 * x[i]) * x[i];
  printf("%d of %d numbers are wrong; blocks of up to %d threads\n", wrong, n, threads);
  kdl_event_destroy(done);
  kdl_queue_destroy(q);
  kdl_close(lib);
  return wrong != 0;
}
