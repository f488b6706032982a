/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* HIP's events and memory. */
#include "lib/backends/common/services.h"
#include "lib/backends/hip/objects.h"

#include <stdatomic.h>
#include <string.h>

static const struct {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) const char *field;
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
} hip_names = {
#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) .field = #name,
#include "lib/backends/hip/symbols.def"
#undef KDL_DRIVER_SYMBOL
};

#define API kdl_hip
#define DRIVER(name) kdl_hip_##name
#define CALL(field) hip_names.field
enum {
  SUCCESS = KDL_HIP_SUCCESS,
  NOT_READY = KDL_HIP_ERROR_NOT_READY,
  HOST_PORTABLE = KDL_HIP_HOST_PORTABLE
};
typedef void *driver_address;
typedef int32_t driver_word;
#define enter_device kdl_hip_enter
#define enter_queue(device, queue, scope) kdl_hip_enter(device, scope)
#define copy_owner(device) ((int)((kdl_hip_device *)(device))->ordinal)
/* Some releases keep "not ready" as the thread's last error. */
#define clear_not_ready() ((void)kdl_hip.last_error())

/* HIP fills with at most one word. The pattern is written once, word by word, then doubled by
 * copies until the range is full. */
static int fill_long_pattern(uint64_t to, uint64_t size, const uint8_t *pattern,
                             size_t pattern_size, void *stream, const char **out_call) {
  int error = KDL_HIP_SUCCESS;
  *out_call = CALL(fill32);
  for (size_t at = 0; at < pattern_size && error == KDL_HIP_SUCCESS; at += 4) {
    int32_t word;
    memcpy(&word, pattern + at, sizeof word);
    error = kdl_hip.fill32((void *)(uintptr_t)(to + at), word, 1, stream);
  }
  for (uint64_t done = pattern_size; done < size && error == KDL_HIP_SUCCESS; done *= 2) {
    *out_call = CALL(copy);
    uint64_t more = size - done < done ? size - done : done;
    error = kdl_hip.copy((void *)(uintptr_t)(to + done), (void *)(uintptr_t)to, more, stream);
  }
  return error;
}

#include "lib/backends/common/streams.inc"
