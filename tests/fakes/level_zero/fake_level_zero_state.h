/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake Level Zero keeps beyond its objects. */
#ifndef KDL_TESTS_FAKES_FAKE_LEVEL_ZERO_STATE_H
#define KDL_TESTS_FAKES_FAKE_LEVEL_ZERO_STATE_H

#include "fake_code.h"
#include "lib/backends/level_zero/abi.h"

#define KDL_DRIVER_SYMBOL(need, field, name, result, parameters) FAKE_EXPORT result name parameters;
#include "lib/backends/level_zero/symbols.def"
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

/* Sets one of a kernel; 0, or the error. */
int fake_ze_set_argument(const fake_object *kernel, fake_ze_arguments *arguments, uint32_t index,
                         size_t size, const void *value);

/* ------------------------------------------------------------------------------------------ */
/* Lists                                                                                        */

typedef enum fake_ze_command_kind {
  FAKE_ZE_LAUNCH,
  FAKE_ZE_COPY,
  FAKE_ZE_FILL,
  FAKE_ZE_BARRIER,
} fake_ze_command_kind;

/* What a list was given, with everything that counts when it is appended. */
typedef struct fake_ze_command {
  fake_ze_command_kind kind;
  uint64_t id; /* of one that may be changed; 0: not */
  uint32_t flags;
  fake_object *kernel;
  fake_ze_arguments arguments;
  uint32_t groups[3];
  void *to;
  const void *from;
  uint64_t to_memory, from_memory; /* serials of allocations; 0: the host's */
  size_t size;
  unsigned char pattern[16];
  size_t pattern_size;
} fake_ze_command;

typedef enum fake_ze_list_state {
  FAKE_ZE_OPEN,
  FAKE_ZE_CLOSED,
  FAKE_ZE_UPDATED
} fake_ze_list_state;

/* The state of a FAKE_STREAM. The commands are its text. */
typedef struct fake_ze_list {
  bool is_immediate;
  bool is_in_order;
  bool is_mutable;
  bool needs_barrier; /* a command was appended and nothing keeps the next one behind it */
  bool is_behind;     /* it was given work that it has not been waited for, when it is lazy */
  uint32_t flags;
  void *device;
  fake_ze_list_state state; /* of one that is not immediate */
  fake_object *at;          /* the immediate list that it runs on, when that is lazy */
  uint64_t last_id;
  uint32_t next_flags; /* of a command that is about to be appended; 0: it has no number */
  size_t count, capacity;
} fake_ze_list;

fake_ze_list *fake_ze_list_of(fake_object *list);
bool fake_ze_is_lazy(void);

/* For every command: the list, which must be open, and of a device that works. */
int fake_ze_check_list(void *handle, fake_object **out_list);

/* A command that is not a barrier was appended. */
void fake_ze_note_command(fake_object *list);

/* What an immediate list was given is done. */
void fake_ze_lists_finish(const fake_object *immediate);

/* Does a command now, or keeps it where the list is not immediate. */
int fake_ze_give(fake_object *list, const fake_ze_command *command);
int fake_ze_do(fake_object *list, const fake_ze_command *command);

/* For tests that look inside: commands that were appended to a list without order before a barrier
 * followed the one before; and waits that nothing will ever end. */
FAKE_EXPORT unsigned fake_ze_unordered(void);
FAKE_EXPORT unsigned fake_ze_deadlocks(void);

/* Arguments and grids of commands in lists that were set since the start. */
FAKE_EXPORT unsigned fake_ze_changed(void);

#endif
