/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "samples.h"

#include "support/base/bytes.h"
#include "support/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cubin, as far as a look at its first bytes goes. */
static uint8_t *make_image(size_t size) {
  static const uint8_t head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8};
  uint8_t *bytes = calloc(1, size);
  if (bytes) {
    memcpy(bytes, head, sizeof head);
    kdl_store_u16(bytes + 18, 190);
  }
  return bytes;
}

static kdl_status add_sample_image(kdl_writer *writer, const kdl_pair *pairs, size_t pair_count,
                                   const uint8_t *bytes, size_t size) {
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = 3,
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = pairs,
                            .pair_count = pair_count,
                            .data = bytes,
                            .data_size = size};
  return kdl_writer_add(writer, &image);
}

kdl_status samples_images(size_t images, size_t image_size, void **out_data, size_t *out_size) {
  static const char *const archs[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"};
  kdl_writer *writer;
  uint8_t *bytes = make_image(image_size);
  if (!bytes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for an image");
  kdl_status status = kdl_writer_create(KDL_FORMAT_V1, &writer);
  for (size_t i = 0; i < images && status == KDL_OK; ++i) {
    const char *arch = archs[i % (sizeof archs / sizeof *archs)];
    kdl_pair pairs[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                        {{"arch", 4}, {arch, strlen(arch)}}};
    status = add_sample_image(writer, pairs, 2, bytes, image_size);
  }
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, out_data, out_size);
  kdl_writer_destroy(writer);
  free(bytes);
  return status;
}

enum { name_size = 32 };

kdl_status samples_kernels(size_t kernels, void **out_data, size_t *out_size) {
  enum { image_size = 4096 };
  kdl_writer *writer = NULL;
  uint8_t *bytes = make_image(image_size);
  char (*names)[name_size] = calloc(kernels, sizeof *names);
  kdl_pair *pairs = calloc(kernels + 2, sizeof *pairs);
  kdl_status status = bytes && names && pairs ? kdl_writer_create(KDL_FORMAT_V1, &writer)
                                              : kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status == KDL_OK) {
    pairs[0] = (kdl_pair){{"triple", 6}, {"nvptx64-nvidia-cuda", 19}};
    pairs[1] = (kdl_pair){{"arch", 4}, {"sm_90", 5}};
    for (size_t i = 0; i < kernels; ++i) {
      size_t length = (size_t)snprintf(names[i], name_size, "kdl.kernel.k%zu", i);
      pairs[i + 2] = (kdl_pair){{names[i], length}, {"rev=1", 5}};
    }
    status = add_sample_image(writer, pairs, kernels + 2, bytes, image_size);
  }
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, out_data, out_size);
  if (writer)
    kdl_writer_destroy(writer);
  free(pairs);
  free(names);
  free(bytes);
  return status;
}
