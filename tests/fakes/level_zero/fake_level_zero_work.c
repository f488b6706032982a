/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Events, memory and launches of the fake Level Zero. Work is done by the call that
 * gives it; an error of the device shows at the next call that waits. With level_zero.lazy=1 events
 * are signalled no sooner than they or their list are waited for. */
#include "fake_level_zero_state.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned deadlocks;

unsigned fake_ze_deadlocks(void) {
  return deadlocks;
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

typedef struct {
  bool is_signalled;
  fake_object *pending; /* the list that will signal it, when that is lazy */
  fake_object *waiter;  /* a list that may not have passed it yet, likewise */
} event_state;

static event_state *event_of(fake_object *event) {
  return event->state;
}

int zeEventPoolCreate(void *context_handle, const kdl_ze_event_pool_desc *desc,
                      uint32_t device_count, void **devices, void **pool) {
  ZE_ENTER();
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  if (!context || (device_count && !fake_ze_spec(devices[0])))
    return fake_leave(invalid_handle);
  if (desc->type != KDL_ZE_EVENT_POOL_DESC || desc->flags > 15 || !desc->count)
    return fake_leave(desc->count ? invalid_enumeration : invalid_size);
  fake_object *made = fake_new(FAKE_POOL, context);
  made->size = desc->count;
  *pool = made;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeEventPoolDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *pool = fake_live(handle, FAKE_POOL);
  if (!pool)
    return fake_leave(invalid_handle);
  fake_delete(pool);
  return fake_leave(fault);
}

int zeEventCreate(void *handle, const kdl_ze_event_desc *desc, void **event) {
  ZE_ENTER();
  fake_object *pool = fake_live(handle, FAKE_POOL);
  if (!pool)
    return fake_leave(invalid_handle);
  if (desc->type != KDL_ZE_EVENT_DESC || desc->signal > 7 || desc->wait > 7)
    return fake_leave(invalid_enumeration);
  for (fake_object *e = fake_next(NULL, FAKE_POOLED); e; e = fake_next(e, FAKE_POOLED)) {
    if (desc->index >= pool->size || (e->owner == pool && e->address == desc->index))
      return fake_leave(invalid_argument);
  }
  fake_object *made = fake_new(FAKE_POOLED, pool->context);
  made->owner = pool;
  made->address = desc->index;
  made->state = calloc(1, sizeof(event_state));
  if (!made->state)
    abort();
  *event = made;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeEventDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *event = fake_live(handle, FAKE_POOLED);
  if (!event)
    return fake_leave(invalid_handle);
  fake_delete(event);
  return fake_leave(fault);
}

/* Called with an event that may be NULL. */
static int signal_event(fake_object *list, void *handle) {
  fake_object *event = handle ? fake_live(handle, FAKE_POOLED) : NULL;
  if (!handle)
    return KDL_ZE_SUCCESS;
  if (!event || event->context != list->context || !fake_ze_list_of(list)->is_immediate)
    return invalid_synchronization;
  if (fake_ze_is_lazy())
    event_of(event)->pending = list;
  else
    event_of(event)->is_signalled = true;
  return KDL_ZE_SUCCESS;
}

static void settle(event_state *event) {
  event->is_signalled |= event->pending != NULL;
  event->pending = NULL;
}

/* All that a list was given is done. */
static void finish(fake_object *list) {
  for (fake_object *e = fake_next(NULL, FAKE_POOLED); e; e = fake_next(e, FAKE_POOLED)) {
    if (event_of(e)->pending == list)
      settle(event_of(e));
    if (event_of(e)->waiter == list)
      event_of(e)->waiter = NULL;
  }
  fake_ze_lists_finish(list);
}

int zeEventHostSynchronize(void *handle, uint64_t timeout) {
  ZE_ENTER();
  fake_object *event = fake_live(handle, FAKE_POOLED);
  if (!event)
    return fake_leave(invalid_handle);
  fake_object *list = event_of(event)->pending;
  if (list)
    finish(list);
  if (event_of(event)->is_signalled || timeout != KDL_ZE_FOREVER)
    return fake_leave(event_of(event)->is_signalled ? KDL_ZE_SUCCESS : KDL_ZE_NOT_READY);
  ++deadlocks;
  return fake_leave(device_lost);
}

int zeEventQueryStatus(void *handle) {
  ZE_ENTER();
  fake_object *event = fake_live(handle, FAKE_POOLED);
  if (!event)
    return fake_leave(invalid_handle);
  return fake_leave(event_of(event)->is_signalled ? KDL_ZE_SUCCESS : KDL_ZE_NOT_READY);
}

/* Resetting what will still be signalled, or is waited for, would end in waiting for ever. */
int zeEventHostReset(void *handle) {
  ZE_ENTER();
  fake_object *event = fake_live(handle, FAKE_POOLED);
  if (!event)
    return fake_leave(invalid_handle);
  deadlocks += event_of(event)->pending || event_of(event)->waiter;
  event_of(event)->is_signalled = false;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeCommandListAppendWaitOnEvents(void *handle, uint32_t count, void **events) {
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = fake_ze_check_list(handle, &list);
  for (uint32_t i = 0; i < count && !error; ++i) {
    fake_object *event = fake_live(events[i], FAKE_POOLED);
    if (!event || !fake_ze_list_of(list)->is_immediate || event->context != list->context)
      return ze_leave_alone(handle, invalid_synchronization);
    deadlocks += !event_of(event)->is_signalled && !event_of(event)->pending;
    event_of(event)->waiter = fake_ze_is_lazy() ? list : NULL;
  }
  if (!error)
    fake_ze_note_command(list);
  return ze_leave_alone(handle, error);
}

int zeCommandListAppendBarrier(void *handle, void *signal, uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = fake_ze_check_list(handle, &list);
  if (!error)
    error = wait_count ? invalid_size : signal_event(list, signal);
  if (!error)
    error = fake_ze_give(list, &(fake_ze_command){.kind = FAKE_ZE_BARRIER});
  return ze_leave_alone(handle, error);
}

/* 4,800 ticks of a clock of 19.2 MHz are 250 us. It counts in 36 bits, and soon begins anew. */
static uint64_t ticks_now(void) {
  static const uint64_t start = ((uint64_t)1 << 36) - 4800 * 3;
  return (start + (uint64_t)((fake_event_time() - 1) * 19200 + 0.5)) & (((uint64_t)1 << 36) - 1);
}

int zeCommandListAppendWriteGlobalTimestamp(void *handle, uint64_t *to, void *signal,
                                            uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = fake_ze_check_list(handle, &list);
  if (!error && (wait_count || !fake_memory_at((uintptr_t)to, sizeof *to) || (uintptr_t)to % 8 ||
                 !fake_ze_list_of(list)->is_immediate))
    error = invalid_argument;
  if (!error)
    error = signal_event(list, signal);
  if (!error) {
    *to = ticks_now();
    fake_ze_note_command(list);
  }
  return ze_leave_alone(handle, error);
}

#ifndef FAKE_OLD
int zeCommandListHostSynchronize(void *handle, uint64_t timeout) {
  ZE_ENTER();
  fake_object *list;
  int error = fake_ze_check_list(handle, &list);
  if (!error && !fake_ze_list_of(list)->is_immediate)
    error = invalid_argument;
  if (!error && !timeout && fake_ze_list_of(list)->is_behind)
    error = KDL_ZE_NOT_READY;
  if (!error)
    finish(list);
  return fake_leave(error);
}
#endif

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

static bool is_relaxed(const kdl_ze_device_mem_desc *desc) {
  const kdl_ze_relaxed_limits *next = desc->next;
  return next && next->type == KDL_ZE_RELAXED_LIMITS_DESC && next->flags == KDL_ZE_RELAXED_MAX_SIZE;
}

int zeMemAllocDevice(void *context_handle, const kdl_ze_device_mem_desc *desc, size_t size,
                     size_t alignment, void *device, void **address) {
  ZE_ENTER();
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  const kdl_device_spec *spec = fake_ze_spec(device);
  if (!context || !spec)
    return fake_leave(invalid_handle);
  if (desc->type != KDL_ZE_DEVICE_MEM_ALLOC_DESC || desc->flags > 7 || desc->ordinal > 1)
    return fake_leave(invalid_enumeration);
  if (alignment & (alignment - 1))
    return fake_leave(unsupported_alignment);
  int sticky = fake_ze_lost(fake_ze_ordinal(device));
  if (sticky)
    return fake_leave(sticky);
  int most = fake_setting_number("max_allocation");
  if (!size || (most && size > (size_t)most && !is_relaxed(desc)))
    return fake_leave(KDL_ZE_UNSUPPORTED_SIZE);
  fake_object *memory = spec->memory && size > spec->memory ? NULL : fake_allocate(context, size);
  if (!memory)
    return fake_leave(KDL_ZE_OUT_OF_DEVICE_MEMORY);
  memory->device = fake_ze_ordinal(device);
  *address = (void *)(uintptr_t)memory->address;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeMemAllocHost(void *context_handle, const kdl_ze_host_mem_desc *desc, size_t size,
                   size_t alignment, void **address) {
  ZE_ENTER();
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  if (!context || desc->type != KDL_ZE_HOST_MEM_ALLOC_DESC || (alignment & (alignment - 1)))
    return fake_leave(context ? invalid_argument : invalid_handle);
  fake_object *memory = fake_allocate(context, size);
  if (!memory)
    return fake_leave(out_of_host_memory);
  memory->is_host = true;
  *address = (void *)(uintptr_t)memory->address;
  return fake_leave(KDL_ZE_SUCCESS);
}

/* What MLIR's runtime interface asks for beyond libkdl; its descriptors are of its own types. */
FAKE_EXPORT int zeMemAllocShared(void *context, const void *desc, const void *host_desc,
                                 size_t size, size_t alignment, void *device, void **address);
int zeMemAllocShared(void *context, const void *desc, const void *host_desc, size_t size,
                     size_t alignment, void *device, void **address) {
  fake_call(__func__);
  if (((const kdl_ze_host_mem_desc *)host_desc)->type != KDL_ZE_HOST_MEM_ALLOC_DESC)
    return invalid_enumeration;
  return zeMemAllocDevice(context, desc, size, alignment, device, address);
}

int zeMemFree(void *context, void *address) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *memory = fake_memory_at((uintptr_t)address, 1);
  if (!memory || memory->address != (uintptr_t)address || memory->owner ||
      memory->context != context)
    return fake_leave(invalid_argument);
  fake_delete(memory);
  return fake_leave(fault);
}

/* Memory of the driver's lies in one allocation, whole; any other is the host's. */
static bool is_range_good(const fake_object *list, const void *address, size_t size,
                          unsigned *out_known) {
  fake_object *begin = fake_memory_at((uintptr_t)address, 1);
  *out_known += begin != NULL;
  return !begin ||
         (begin->context == list->context && fake_memory_at((uintptr_t)address, size) == begin);
}

static uint64_t serial_of(const void *address) {
  const fake_object *memory = fake_memory_at((uintptr_t)address, 1);
  return memory ? memory->serial : 0;
}

int zeCommandListAppendMemoryCopy(void *handle, void *to, const void *from, size_t size,
                                  void *signal, uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  unsigned known = 0;
  int error = fake_ze_check_list(handle, &list);
  if (!error && (!to || !from || wait_count))
    error = null_pointer;
  if (!error && (!is_range_good(list, to, size, &known) ||
                 !is_range_good(list, from, size, &known) || !known))
    error = invalid_argument;
  if (!error)
    error = signal_event(list, signal);
  if (!error)
    error = fake_ze_give(list, &(fake_ze_command){.kind = FAKE_ZE_COPY,
                                                  .to = to,
                                                  .from = from,
                                                  .to_memory = serial_of(to),
                                                  .from_memory = serial_of(from),
                                                  .size = size});
  return ze_leave_alone(handle, error);
}

int zeCommandListAppendMemoryFill(void *handle, void *to, const void *pattern, size_t pattern_size,
                                  size_t size, void *signal, uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  unsigned known = 0;
  int error = fake_ze_check_list(handle, &list);
  if (!error && (!pattern_size || size % pattern_size || wait_count))
    error = invalid_size;
  if (!error && (uintptr_t)to % pattern_size)
    error = unsupported_alignment;
  if (!error && (!is_range_good(list, to, size, &known) || !known))
    error = invalid_argument;
  if (!error)
    error = signal_event(list, signal);
  fake_ze_command command = {.kind = FAKE_ZE_FILL,
                             .to = to,
                             .to_memory = serial_of(to),
                             .size = size,
                             .pattern_size = pattern_size};
  if (!error && pattern_size > sizeof command.pattern)
    error = invalid_size;
  if (!error) {
    memcpy(command.pattern, pattern, pattern_size);
    error = fake_ze_give(list, &command);
  }
  return ze_leave_alone(handle, error);
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* What was looked up when an argument was set must still be what lies there. */
static bool is_memory_there(const fake_ze_arguments *arguments, unsigned index) {
  uint64_t address;
  memcpy(&address, arguments->values[index], sizeof address);
  fake_object *memory = fake_memory_at(address, 1);
  return !arguments->memory[index] || (memory && memory->serial == arguments->memory[index]);
}

/* What a kernel was given, as the command keeps it. */
static int prepare(const fake_object *list, void *handle, const uint32_t *groups,
                   fake_ze_command *out_command) {
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel || kernel->context != list->context || kernel->owner->device != list->device)
    return kernel ? invalid_argument : invalid_handle;
  if (!groups)
    return null_pointer;
  *out_command = (fake_ze_command){.kind = FAKE_ZE_LAUNCH,
                                   .kernel = kernel,
                                   .arguments = *(fake_ze_arguments *)kernel->state,
                                   .groups = {groups[0], groups[1], groups[2]}};
  const fake_ze_arguments *arguments = &out_command->arguments;
  if (!arguments->group[0])
    return invalid_group_size;
  uint64_t shared = 0;
  for (unsigned i = 0; i < kernel->param_count; ++i) {
    shared += arguments->shared[i];
    if (!arguments->is_set[i] || !arguments->has_access)
      return invalid_argument;
  }
  const kdl_device_spec *spec = fake_device((size_t)list->device);
  if (spec && spec->shared && shared > spec->shared) {
    fake_ze_say("%llu bytes of group memory, %llu are there", (unsigned long long)shared,
                (unsigned long long)spec->shared);
    return KDL_ZE_OUT_OF_DEVICE_MEMORY;
  }
  return KDL_ZE_SUCCESS;
}

static int launch(const fake_object *list, const fake_ze_command *command) {
  fake_object *kernel = command->kernel;
  fake_ze_arguments arguments = command->arguments;
  void *values[most_params];
  uint64_t shared = 0;
  for (unsigned i = 0; i < kernel->param_count; ++i) {
    values[i] = arguments.values[i];
    shared += arguments.shared[i];
    if (!is_memory_there(&arguments, i)) {
      fake_ze_sticky[list->device] = device_lost;
      return KDL_ZE_SUCCESS;
    }
  }
  unsigned grid[3] = {command->groups[0], command->groups[1], command->groups[2]};
  ++fake_launch_count;
  if (kernel->program &&
      !fake_program_run(kernel, kernel->context, grid, arguments.group, shared, values))
    fake_ze_sticky[list->device] = device_lost;
  return KDL_ZE_SUCCESS;
}

/* Memory that a copy or a fill was told of must still be what lies there. */
static bool is_there(const void *address, uint64_t serial) {
  const fake_object *memory = fake_memory_at((uintptr_t)address, 1);
  return !serial || (memory && memory->serial == serial);
}

int fake_ze_do(fake_object *list, const fake_ze_command *command) {
  if (command->kind == FAKE_ZE_LAUNCH)
    return launch(list, command);
  if (command->kind == FAKE_ZE_BARRIER)
    return KDL_ZE_SUCCESS;
  if (!is_there(command->to, command->to_memory) ||
      !is_there(command->from, command->from_memory)) {
    fake_ze_sticky[list->device] = device_lost;
    return KDL_ZE_SUCCESS;
  }
  if (command->kind == FAKE_ZE_COPY)
    memcpy(command->to, command->from, command->size);
  for (size_t at = 0; at < command->size && command->kind == FAKE_ZE_FILL;
       at += command->pattern_size)
    memcpy((char *)command->to + at, command->pattern, command->pattern_size);
  return KDL_ZE_SUCCESS;
}

static int append_launch(void *handle, void *kernel, const uint32_t *groups, void *signal,
                         uint32_t wait_count, bool is_cooperative) {
  fake_object *list;
  fake_ze_command command;
  int error = fake_ze_check_list(handle, &list);
  const kdl_device_spec *spec = error ? NULL : fake_device((size_t)list->device);
  if (!error && (wait_count || (is_cooperative && !spec->cooperative)))
    error = invalid_argument;
  if (!error)
    error = prepare(list, kernel, groups, &command);
  if (!error)
    error = signal_event(list, signal);
  return error ? error : fake_ze_give(list, &command);
}

int zeCommandListAppendLaunchKernel(void *handle, void *kernel, const uint32_t *groups,
                                    void *signal, uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  return ze_leave_alone(handle, append_launch(handle, kernel, groups, signal, wait_count, false));
}

int zeCommandListAppendLaunchCooperativeKernel(void *handle, void *kernel, const uint32_t *groups,
                                               void *signal, uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  return ze_leave_alone(handle, append_launch(handle, kernel, groups, signal, wait_count, true));
}
