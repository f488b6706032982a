/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For scripts/walks.py: walk LIBRARY DEVICE opens a library, looks the kernel `mark` up and
 * launches it once; with -DWALK_MLIR, as a program that MLIR compiled does.
 */
#include <kdl/kdl.h>

#include <stdio.h>
#include <stdlib.h>

enum { items = 64 };

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "walk: %s\n", kdl_error_message());
    exit(1);
  }
}

#ifdef WALK_MLIR
#include <kdl_mlir.h>
#include <mgpu.h>

int main(int argc, char **argv) {
  static char data[1 << 20];
  FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
  if (!file)
    return 2;
  kdl_mlir_library library = {.abi = KDL_MLIR_ABI,
                              .fallback = KDL_MLIR_FALLBACK_HOST,
                              .name = "kernels",
                              .data = data,
                              .data_size = fread(data, 1, sizeof data, file)};
  fclose(file);
  setenv("KDL_DEVICE", argv[2], 1);
  kdl_mlir_slot slot = {0};
  kdl_mlir_stub stub = {
      .head.entry = kdl_mlir_bind, .slot = &slot, .library = &library, .name = "mark"};
  slot.kernel = &stub.head;
  kdl_mlir_register(&library);
  uint32_t count = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = {.size = sizeof desc, .grid = {1, 1, 1}, .block = {256, 1, 1}};
  kdl_args args = KDL_ARGS(&out, &count);
  must(slot.kernel->entry(slot.kernel, &desc, &args, slot.queue));
  kdl_mlir_wait();
  kdl_mlir_unregister(&library);
  free(out);
  return 0;
}

#else

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  kdl_library *library;
  kdl_device *device;
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_buffer out;
  uint32_t count = items;
  must(kdl_open(argv[1], NULL, &library));
  must(kdl_device_find(argv[2], &device));
  must(kdl_sym(library, device, "mark", NULL, &kernel));
  must(kdl_queue_create(device, NULL, &queue));
  must(kdl_alloc(device, items * sizeof(uint32_t), &out));
  must(kdl_launch_items(kernel, queue, kdl_extent1(items), KDL_ARGS(&out, &count)));
  must(kdl_sync(queue));
  must(kdl_free(&out));
  kdl_queue_destroy(queue);
  kdl_close(library);
  return 0;
}
#endif
