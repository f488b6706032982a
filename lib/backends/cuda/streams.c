/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CUDA's events and memory. */
#include "lib/backends/common/services.h"
#include "lib/backends/cuda/objects.h"

#include <stdatomic.h>
#include <string.h>

static const struct {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) const char *field;
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
} cuda_names = {
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters) .field = #name,
#include "lib/backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
};

#define API kdl_cuda
#define DRIVER(name) kdl_cuda_##name
#define CALL(field) cuda_names.field
enum {
  SUCCESS = KDL_CUDA_SUCCESS,
  NOT_READY = KDL_CUDA_ERROR_NOT_READY,
  HOST_PORTABLE = KDL_CUDA_HOST_PORTABLE
};
typedef uint64_t driver_address;
typedef uint32_t driver_word;
#define enter_device kdl_cuda_enter_own
#define enter_queue(device, queue, scope) kdl_cuda_enter(device, (queue)->context, scope)
#define copy_owner(device) (((kdl_cuda_device *)(device))->context)
#define clear_not_ready() ((void)0)

/* The words of the pattern as columns one word wide, which the driver fills one by one. */
static int fill_long_pattern(uint64_t to, uint64_t size, const uint8_t *pattern,
                             size_t pattern_size, void *stream, const char **out_call) {
  uint64_t count = pattern_size ? size / pattern_size : 0;
  int error = KDL_CUDA_SUCCESS;
  *out_call = CALL(fill32_2d);
  for (size_t at = 0; at < pattern_size && error == KDL_CUDA_SUCCESS; at += 4) {
    uint32_t word;
    memcpy(&word, pattern + at, sizeof word);
    error = kdl_cuda.fill32_2d(to + at, pattern_size, word, 1, count, stream);
  }
  return error;
}

#include "lib/backends/common/streams.inc"
