/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From bytes to a kernel on the fake CUDA driver, over and over, for callgrind: what each step
 * costs next to the driver.
 *
 *     bench_load N              a library of one image
 *     bench_load N FILE KERNEL  the library in FILE
 */
#include "measure/must.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kdl_string to_kdl_string(const char *words) {
  return (kdl_string){words, strlen(words)};
}

/* One image with an index, as kdl cc writes them. */
static void write_one_image_library(const void *image, size_t image_size, void **out_data,
                                    size_t *out_size) {
  kdl_pair pairs[] = {{to_kdl_string("triple"), to_kdl_string("nvptx64-nvidia-cuda")},
                      {to_kdl_string("arch"), to_kdl_string("sm_90a")},
                      {to_kdl_string("kdl.kernel.saxpy"), to_kdl_string("block=256x1x1")}};
  kdl_writer_image row = {.size = sizeof row,
                          .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_CUBIN),
                          .offload_kind = 2,
                          .pairs = pairs,
                          .pair_count = 3,
                          .data = image,
                          .data_size = image_size};
  kdl_writer *writer;
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "kdl_writer_create");
  bench_require(kdl_writer_add(writer, &row), "kdl_writer_add");
  bench_require(kdl_writer_finish(writer, out_data, out_size), "kdl_writer_finish");
  kdl_writer_destroy(writer);
}

/* Not inlined and not renamed, so that callgrind can tell them apart. */
#if defined(__clang__)
#define STEP __attribute__((noinline)) static void
#else
#define STEP __attribute__((noipa)) static void
#endif

STEP step_open(const void *data, size_t size, kdl_library **out_lib) {
  bench_require(kdl_open_memory(data, size, NULL, out_lib), "kdl_open_memory");
}

STEP step_select(kdl_library *lib, kdl_device *device, const char *name, kdl_kernel **out_kernel) {
  bench_require(kdl_sym(lib, device, name, NULL, out_kernel), "kdl_sym");
}

STEP step_load(kdl_kernel *kernel) {
  bench_require(kdl_prefetch(kernel), "kdl_prefetch");
}

STEP step_close(kdl_library *lib) {
  kdl_close(lib);
}

int main(int argc, char **argv) {
  void *packed = NULL;
  size_t file_size, size;
  bool is_library = argc > 3;
  const char *name = is_library ? argv[3] : "saxpy";
  void *file = bench_read_file(is_library ? argv[2] : KDL_BENCH_CUBIN, &file_size);
  if (is_library)
    size = file_size;
  else
    write_one_image_library(file, file_size, &packed, &size);
  kdl_device *device;
  kdl_queue *queue; /* opens the device */
  bench_require(kdl_device_find("cuda", &device), "kdl_device_find");
  bench_require(kdl_queue_create(device, NULL, &queue), "kdl_queue_create");
  for (long left = argc > 1 ? strtol(argv[1], NULL, 10) : 1; left > 0; --left) {
    kdl_library *lib;
    kdl_kernel *kernel;
    step_open(packed ? packed : file, size, &lib);
    step_select(lib, device, name, &kernel);
    step_load(kernel);
    step_close(lib);
  }
  kdl_queue_destroy(queue);
  free(packed);
  free(file);
  return 0;
}
