/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake Level Zero keeps beyond its objects. */
#ifndef KDL_TESTS_FAKES_FAKE_LEVEL_ZERO_STATE_H
#define KDL_TESTS_FAKES_FAKE_LEVEL_ZERO_STATE_H

#include "backends/level_zero/abi.h"
#include "fake_code.h"

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) FAKE_EXPORT result name parameters;
#include "backends/level_zero/symbols.def"
#undef KDL_DRIVER_SYMBOL

/* ze_result_t values that only a driver returns */
enum {
  device_lost = 0x70000001,
  out_of_host_memory = 0x70000002,
  build_failure = 0x70000004,
  unsupported_feature = 0x78000003,
  invalid_argument = 0x78000004,
  invalid_handle = 0x78000005,
  object_in_use = 0x78000006,
  null_pointer = 0x78000007,
  invalid_size = 0x78000008,
  unsupported_alignment = 0x7800000a,
  invalid_synchronization = 0x7800000b,
  invalid_enumeration = 0x7800000c,
  invalid_native_binary = 0x7800000f,
  invalid_group_size = 0x78000013,
  invalid_argument_index = 0x78000015,
  invalid_argument_size = 0x78000016,
};

/* The version of the interface: that of the driver's generation, or level_zero.version. */
uint32_t fake_ze_version(void);

/* What a device is; NULL where the handle is none. */
const kdl_device_spec *fake_ze_spec(const void *device);
int fake_ze_ordinal(const void *device);

/* An error that every further call on the device returns. */
extern int fake_ze_sticky[64];

/* That error, or that the device is not there any more; 0. */
int fake_ze_lost(int ordinal);

/* What zeDriverGetLastErrorDescription tells this thread next. */
void fake_ze_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Level Zero does not lock for its callers: two threads with one handle end the process here. */
void fake_ze_begin(const char *function, const void *handle);
void fake_ze_end(const void *handle);

#define ZE_ENTER()                                                                                 \
  do {                                                                                             \
    int fault_ = fake_enter(__func__);                                                             \
    if (fault_)                                                                                    \
      return fault_;                                                                               \
    pthread_mutex_lock(&fake_lock);                                                                \
  } while (0)

/* The same for calls that no two threads may make with one handle; see ze_leave_alone. */
#define ZE_ENTER_ALONE(handle)                                                                     \
  do {                                                                                             \
    int fault_ = fake_enter(__func__);                                                             \
    if (fault_)                                                                                    \
      return fault_;                                                                               \
    fake_ze_begin(__func__, handle);                                                               \
    pthread_mutex_lock(&fake_lock);                                                                \
  } while (0)

static inline int ze_leave_alone(const void *handle, int error) {
  pthread_mutex_unlock(&fake_lock);
  fake_ze_end(handle);
  return error;
}

/* Arguments of one kernel handle, as they were set. */
typedef struct fake_ze_arguments {
  unsigned char values[most_params][64];
  bool is_set[most_params];
  uint64_t memory[most_params]; /* the serial of the allocation that was found; 0: none */
  uint64_t shared[most_params]; /* bytes, of a parameter that is group memory */
  unsigned group[3];
  bool has_access;
} fake_ze_arguments;

/* For tests that look inside: commands that were appended to a list without order before a barrier
 * followed the one before; and waits that nothing will ever end. */
FAKE_EXPORT unsigned fake_ze_unordered(void);
FAKE_EXPORT unsigned fake_ze_deadlocks(void);

/* What tests need of the real interface beyond what libkdl uses. */
FAKE_EXPORT int zeCommandListCreate(void *context, void *device, const void *desc, void **list);

#endif
