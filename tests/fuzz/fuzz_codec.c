/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The codecs: one byte chooses, three declare the inflated size, the rest is packed. Where a codec
 * goes step by step, the steps must come to the same as one go. */
#include "fuzz_support.h"

#include "lib/inspect/formats.h"
#include "support/base/bytes.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kdl_status inflate_in_steps(kdl_codec codec, const uint8_t *packed, size_t packed_size,
                                   uint8_t *out, size_t inflated_size) {
  kdl_inflater *inflater;
  kdl_status status = kdl_inflater_create(codec, packed, packed_size, &inflater);
  if (status != KDL_OK)
    return status;
  size_t have = 0;
  for (size_t want = 1; have < inflated_size && status == KDL_OK; want *= 2) {
    size_t left = inflated_size - have;
    size_t count = 0;
    status = kdl_inflater_read(inflater, out + have, want < left ? want : left, left, &count);
    if (count > left)
      abort();
    have += count;
  }
  if (status == KDL_OK)
    status = kdl_inflater_finish(inflater);
  kdl_inflater_destroy(inflater);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const kdl_codec codecs[] = {KDL_CODEC_ZSTD, KDL_CODEC_ZLIB, KDL_CODEC_LZ4};
  if (size < 4)
    return 0;
  kdl_codec codec = codecs[data[0] % 3];
  size_t inflated_size = (kdl_load_u32(data) >> 8) % (1 << 20);
  uint8_t *once = calloc(1, inflated_size + 1);
  uint8_t *steps = calloc(1, inflated_size + 1);
  if (once && steps) {
    kdl_status status = kdl_inflate(codec, data + 4, size - 4, once, inflated_size);
    if (codec != KDL_CODEC_LZ4) {
      if (inflate_in_steps(codec, data + 4, size - 4, steps, inflated_size) != status)
        abort();
      if (status == KDL_OK && memcmp(once, steps, inflated_size) != 0)
        abort();
    }
  }
  free(once);
  free(steps);
  return 0;
}
