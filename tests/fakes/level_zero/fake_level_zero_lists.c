/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Command lists of the fake Level Zero: immediate ones, which do what they are given, and others,
 * which keep it until they are appended to an immediate one.
 *
 * A list that a device may still be at work on must not be changed, run elsewhere or destroyed:
 * what a real driver would do then is anyone's guess, so that the process ends here.
 */
#include "fake_level_zero_state.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned unordered_commands;

unsigned fake_ze_unordered(void) {
  return unordered_commands;
}

fake_ze_list *fake_ze_list_of(fake_object *list) {
  return list->state;
}

bool fake_ze_is_lazy(void) {
  return fake_setting_number("lazy") != 0;
}

static fake_ze_command *commands_of(fake_object *list) {
  void *commands = list->text;
  return commands;
}

static void must_be_idle(fake_object *list, const char *function) {
  if (!fake_ze_list_of(list)->at)
    return;
  fprintf(stderr, "%s: the device is still at work on this list\n", function);
  abort();
}

/* ------------------------------------------------------------------------------------------ */
/* Making                                                                                       */

static int make_list(void *context_handle, void *device, const fake_ze_list *wanted, void **list) {
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  if (!context || !fake_ze_spec(device))
    return invalid_handle;
  int sticky = fake_ze_lost(fake_ze_ordinal(device));
  if (sticky)
    return sticky;
  fake_object *made = fake_new(FAKE_STREAM, context);
  fake_ze_list *state = calloc(1, sizeof *state);
  if (!state)
    abort();
  *state = *wanted;
  state->device = device;
  made->state = state;
  made->device = fake_ze_ordinal(device);
  *list = made;
  return KDL_ZE_SUCCESS;
}

int zeCommandListCreateImmediate(void *context, void *device, const kdl_ze_queue_desc *desc,
                                 void **list) {
  ZE_ENTER();
  uint32_t known = fake_ze_version() >= KDL_ZE_HAS_IN_ORDER ? 7 : 1;
  if (desc->type != KDL_ZE_COMMAND_QUEUE_DESC || desc->flags > known || desc->mode > 2 ||
      desc->priority > 2)
    return fake_leave(invalid_enumeration);
  if (desc->ordinal != 1 || desc->index != 0) /* see zeDeviceGetCommandQueueGroupProperties */
    return fake_leave(invalid_argument);
  const fake_ze_list wanted = {.is_immediate = true,
                               .is_in_order = desc->flags & KDL_ZE_QUEUE_IN_ORDER,
                               .flags = desc->flags};
  return fake_leave(make_list(context, device, &wanted, list));
}

static bool has_mutable_lists(void) {
  const char *wanted = fake_setting("mutable");
  return fake_ze_version() >= KDL_ZE_HAS_LISTS_IN_LISTS && (!wanted || *wanted != '0');
}

int zeCommandListCreate(void *context, void *device, const kdl_ze_list_desc *desc, void **list) {
  ZE_ENTER();
  const kdl_ze_mutable_desc *more = desc->next;
  if (desc->type != KDL_ZE_COMMAND_LIST_DESC || desc->flags > 0x3f ||
      (more && (more->type != KDL_ZE_MUTABLE_LIST_DESC || more->flags > 1 || more->next)))
    return fake_leave(invalid_enumeration);
  if (more && !has_mutable_lists())
    return fake_leave(unsupported_feature);
  if (desc->ordinal > 1)
    return fake_leave(invalid_argument);
  const fake_ze_list wanted = {.is_in_order = desc->flags & KDL_ZE_LIST_IN_ORDER,
                               .is_mutable = more != NULL,
                               .flags = desc->flags};
  return fake_leave(make_list(context, device, &wanted, list));
}

int zeCommandListDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *list = fake_live(handle, FAKE_STREAM);
  if (!list)
    return fake_leave(invalid_handle);
  if (!fake_ze_sticky[list->device] && !fault)
    must_be_idle(list, __func__);
  fake_delete(list);
  return fake_leave(fault);
}

#ifndef FAKE_OLD
int zeCommandListGetDeviceHandle(void *handle, void **device) {
  ZE_ENTER();
  fake_object *list = fake_live(handle, FAKE_STREAM);
  *device = list ? fake_ze_list_of(list)->device : NULL;
  return fake_leave(list ? KDL_ZE_SUCCESS : invalid_handle);
}

int zeCommandListGetContextHandle(void *handle, void **context) {
  ZE_ENTER();
  fake_object *list = fake_live(handle, FAKE_STREAM);
  *context = list ? list->context : NULL;
  return fake_leave(list ? KDL_ZE_SUCCESS : invalid_handle);
}

int zeCommandListIsImmediate(void *handle, uint8_t *is_immediate) {
  ZE_ENTER();
  fake_object *list = fake_live(handle, FAKE_STREAM);
  *is_immediate = list && fake_ze_list_of(list)->is_immediate;
  return fake_leave(list ? KDL_ZE_SUCCESS : invalid_handle);
}

int zeCommandListImmediateGetFlags(void *handle, uint32_t *flags) {
  ZE_ENTER();
  if (fake_ze_version() < KDL_ZE_HAS_LIST_FLAGS)
    return fake_leave(unsupported_feature);
  fake_object *list = fake_live(handle, FAKE_STREAM);
  *flags = list ? fake_ze_list_of(list)->flags : 0;
  return fake_leave(list ? KDL_ZE_SUCCESS : invalid_handle);
}
#endif

/* ------------------------------------------------------------------------------------------ */
/* Commands                                                                                     */

int fake_ze_check_list(void *handle, fake_object **out_list) {
  *out_list = fake_live(handle, FAKE_STREAM);
  if (!*out_list)
    return invalid_handle;
  const fake_ze_list *state = fake_ze_list_of(*out_list);
  return state->is_immediate || state->state == FAKE_ZE_OPEN ? fake_ze_lost((*out_list)->device)
                                                             : invalid_argument;
}

void fake_ze_note_command(fake_object *list) {
  fake_ze_list *state = fake_ze_list_of(list);
  state->is_behind = state->is_immediate && fake_ze_is_lazy();
  if (state->is_in_order)
    return;
  unordered_commands += state->needs_barrier;
  state->needs_barrier = true;
}

static void keep(fake_object *list, const fake_ze_command *command) {
  fake_ze_list *state = fake_ze_list_of(list);
  if (state->count == state->capacity) {
    state->capacity = state->capacity ? 2 * state->capacity : 8;
    list->text = realloc(list->text, state->capacity * sizeof *command);
    if (!list->text)
      abort();
  }
  fake_ze_command *kept = &commands_of(list)[state->count++];
  *kept = *command;
  if (state->next_flags) {
    kept->id = state->last_id;
    kept->flags = state->next_flags;
  }
  state->next_flags = 0;
}

int fake_ze_give(fake_object *list, const fake_ze_command *command) {
  if (command->kind == FAKE_ZE_BARRIER)
    fake_ze_list_of(list)->needs_barrier = false;
  else
    fake_ze_note_command(list);
  if (fake_ze_list_of(list)->is_immediate)
    return fake_ze_do(list, command);
  keep(list, command);
  return KDL_ZE_SUCCESS;
}

void fake_ze_lists_finish(const fake_object *immediate) {
  for (fake_object *list = fake_next(NULL, FAKE_STREAM); list;
       list = fake_next(list, FAKE_STREAM)) {
    fake_ze_list *state = fake_ze_list_of(list);
    if (list == immediate)
      state->is_behind = false;
    if (state->at == immediate)
      state->at = NULL;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Lists that are kept                                                                          */

static int check_kept(void *handle, fake_object **out_list) {
  *out_list = fake_live(handle, FAKE_STREAM);
  if (!*out_list)
    return invalid_handle;
  return fake_ze_list_of(*out_list)->is_immediate ? invalid_argument
                                                  : fake_ze_lost((*out_list)->device);
}

int zeCommandListClose(void *handle) {
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = check_kept(handle, &list);
  if (!error &&
      (fake_ze_list_of(list)->state == FAKE_ZE_CLOSED || fake_ze_list_of(list)->next_flags))
    error = invalid_argument;
  if (!error)
    fake_ze_list_of(list)->state = FAKE_ZE_CLOSED;
  return ze_leave_alone(handle, error);
}

int zeCommandListReset(void *handle) {
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = check_kept(handle, &list);
  if (!error) {
    fake_ze_list *state = fake_ze_list_of(list);
    must_be_idle(list, __func__);
    state->state = FAKE_ZE_OPEN;
    state->needs_barrier = false;
    state->count = 0;
    state->next_flags = 0;
  }
  return ze_leave_alone(handle, error);
}

#ifndef FAKE_OLD
static bool has_lists_in_lists(void) {
  const char *wanted = fake_setting("lists");
  return fake_ze_version() >= KDL_ZE_HAS_LISTS_IN_LISTS && (!wanted || *wanted != '0');
}

int zeDriverGetExtensionProperties(void *driver, uint32_t *count, kdl_ze_extension *extensions) {
  const char *names[4];
  uint32_t found = 0;
  ZE_ENTER();
  (void)driver;
  names[found++] = "ZE_extension_float_atomics";
  if (has_lists_in_lists())
    names[found++] = KDL_ZE_LISTS_IN_LISTS;
  if (has_mutable_lists())
    names[found++] = KDL_ZE_MUTABLE_LISTS;
  names[found++] = "ZE_experimental_relaxed_allocation_limits";
  for (uint32_t i = 0; extensions && i < *count && i < found; ++i) {
    extensions[i].version = KDL_ZE_VERSION(1, 0);
    snprintf(extensions[i].name, sizeof extensions[i].name, "%s", names[i]);
  }
  *count = *count && *count < found ? *count : found;
  return fake_leave(KDL_ZE_SUCCESS);
}

/* Kernels and their modules must be there until the last run. */
static int check_run(fake_object *immediate, void *handle) {
  fake_object *list = fake_live(handle, FAKE_STREAM);
  if (!list || list->context != immediate->context)
    return invalid_handle;
  fake_ze_list *state = fake_ze_list_of(list);
  if (state->is_immediate || state->state != FAKE_ZE_CLOSED || list->device != immediate->device)
    return invalid_argument;
  if (state->at && state->at != immediate)
    must_be_idle(list, "zeCommandListImmediateAppendCommandListsExp");
  for (size_t i = 0; i < state->count; ++i) {
    const fake_ze_command *command = &commands_of(list)[i];
    if (command->kind == FAKE_ZE_LAUNCH && !fake_live(command->kernel, FAKE_KERNEL)) {
      fprintf(stderr, "a list is run whose kernel was destroyed\n");
      abort();
    }
  }
  return KDL_ZE_SUCCESS;
}

int zeCommandListImmediateAppendCommandListsExp(void *handle, uint32_t count, void **lists,
                                                void *signal, uint32_t wait_count, void **waits) {
  (void)waits;
  ZE_ENTER_ALONE(handle);
  fake_object *immediate;
  int error = fake_ze_check_list(handle, &immediate);
  if (!error && (!fake_ze_list_of(immediate)->is_immediate || signal || wait_count || !count))
    error = invalid_argument;
  if (!error && !has_lists_in_lists())
    error = unsupported_feature;
  for (uint32_t i = 0; i < count && !error; ++i)
    error = check_run(immediate, lists[i]);
  for (uint32_t i = 0; i < count && !error; ++i) {
    fake_object *list = lists[i];
    fake_ze_list *state = fake_ze_list_of(list);
    fake_ze_note_command(immediate);
    state->at = fake_ze_is_lazy() ? immediate : NULL;
    for (size_t k = 0; k < state->count && !error; ++k)
      error = fake_ze_do(immediate, &commands_of(list)[k]);
  }
  return ze_leave_alone(handle, error);
}

/* ------------------------------------------------------------------------------------------ */
/* Changing them                                                                                */

int zeCommandListGetNextCommandIdExp(void *handle, const kdl_ze_mutable_desc *desc, uint64_t *id) {
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = check_kept(handle, &list);
  fake_ze_list *state = error ? NULL : fake_ze_list_of(list);
  if (!error && (desc->type != KDL_ZE_MUTABLE_ID_DESC || desc->next || desc->flags > 0xff))
    error = invalid_enumeration;
  if (!error && (!state->is_mutable || state->state != FAKE_ZE_OPEN || state->next_flags))
    error = invalid_argument;
  if (!error) {
    state->next_flags = desc->flags ? desc->flags : 0xbf;
    *id = ++state->last_id;
  }
  return ze_leave_alone(handle, error);
}

static fake_ze_command *command_of(fake_object *list, uint64_t id, uint32_t flag) {
  for (size_t i = 0; i < fake_ze_list_of(list)->count; ++i) {
    fake_ze_command *command = &commands_of(list)[i];
    if (id && command->id == id && (command->flags & flag))
      return command;
  }
  return NULL;
}

static int change(fake_object *list, const kdl_ze_mutable_desc *desc) {
  const kdl_ze_mutable_argument *argument = (const void *)desc;
  const kdl_ze_mutable_groups *groups = (const void *)desc;
  if (desc->type == KDL_ZE_MUTABLE_ARGUMENT_DESC) {
    fake_ze_command *command = command_of(list, argument->command, KDL_ZE_MUTABLE_ARGUMENTS);
    return command ? fake_ze_set_argument(command->kernel, &command->arguments, argument->index,
                                          argument->size, argument->value)
                   : invalid_argument;
  }
  if (desc->type != KDL_ZE_MUTABLE_GROUPS_DESC)
    return invalid_enumeration;
  fake_ze_command *command = command_of(list, groups->command, KDL_ZE_MUTABLE_GROUPS);
  if (!command || !groups->groups)
    return command ? null_pointer : invalid_argument;
  memcpy(command->groups, groups->groups, sizeof command->groups);
  return KDL_ZE_SUCCESS;
}

static unsigned changed_commands;

unsigned fake_ze_changed(void) {
  return changed_commands;
}

int zeCommandListUpdateMutableCommandsExp(void *handle, const kdl_ze_mutable_desc *desc) {
  ZE_ENTER_ALONE(handle);
  fake_object *list;
  int error = check_kept(handle, &list);
  if (!error && (desc->type != KDL_ZE_MUTABLE_COMMANDS_DESC || desc->flags))
    error = invalid_enumeration;
  if (!error &&
      (!fake_ze_list_of(list)->is_mutable || fake_ze_list_of(list)->state == FAKE_ZE_OPEN))
    error = invalid_argument;
  if (!error) {
    must_be_idle(list, __func__);
    fake_ze_list_of(list)->state = FAKE_ZE_UPDATED;
  }
  for (desc = error ? NULL : desc->next; desc && !error; desc = desc->next) {
    error = change(list, desc);
    changed_commands += !error;
  }
  return ze_leave_alone(handle, error);
}
#endif
