/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A saved sequence out of arbitrary bytes, as they are and with the size that belongs to them. What
 * is taken is laid out again as it was. */
#include "lib/sequence/sequence.h"
#include "support/base/bytes.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_bytes(const uint8_t *data, size_t size) {
  kdl_seqfile saved;
  void *again;
  size_t again_size;
  if (kdl_seqfile_read(data, size, &saved) != KDL_OK)
    return;
  if (saved.memory.used > 4096 + 12 * size)
    abort();
  if (kdl_seqfile_write(&saved, &again, &again_size) != KDL_OK)
    abort();
  if (again_size != size || memcmp(again, data, size) != 0)
    abort();
  free(again);
  kdl_seqfile_free(&saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_bytes(data, size);
  if (size < KDL_SEQFILE_HEADER)
    return 0;
  uint8_t *sized = malloc(size);
  if (!sized)
    return 0;
  memcpy(sized, data, size);
  kdl_store_u32(sized, KDL_SEQFILE_MAGIC);
  kdl_store_u32(sized + 4, KDL_SEQFILE_VERSION);
  kdl_store_u64(sized + 8, size);
  read_bytes(sized, size);
  free(sized);
  return 0;
}
