/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ze_errs LAYER: makes the mistake that a validation layer of Level Zero's loader is there to find.
 * loader_layer.sh looks whether it does: a layer that finds nothing here proves nothing elsewhere.
 */
#include <level_zero/ze_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

static void must(ze_result_t result, const char *call) {
  if (result == ZE_RESULT_SUCCESS)
    return;
  printf("FAIL: %s: 0x%x\n", call, (unsigned)result);
  exit(1);
}
#define MUST(call) must(call, #call)

static void null_handle(void) {
  (void)zeContextGetStatus(NULL);
}

static void destroyed_context(void) {
  MUST(zeContextDestroy(context));
  (void)zeContextGetStatus(context);
}

/* An event that is signalled twice and not reset between. */
static void event_twice(void) {
  ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
  ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                        .ordinal = 1};
  ze_event_pool_handle_t pool;
  ze_event_handle_t event;
  ze_command_list_handle_t list;
  MUST(zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
  MUST(zeEventCreate(pool, &event_desc, &event));
  MUST(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
  for (int i = 0; i < 2; ++i)
    MUST(zeCommandListAppendBarrier(list, event, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
}

static void left_behind(void) {
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t left;
  MUST(zeContextCreate(driver, &desc, &left));
}

static const struct {
  const char *layer;
  void (*err)(void);
} mistakes[] = {
    {"PARAMETER_VALIDATION", null_handle},
    {"HANDLE_LIFETIME", destroyed_context},
    {"EVENTS_CHECKER", event_twice},
    {"BASIC_LEAK_CHECKER", left_behind},
};

int main(int argc, char **argv) {
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  uint32_t count = 1;
  MUST(zeInit(0));
  MUST(zeDriverGet(&count, &driver));
  count = 1;
  MUST(zeDeviceGet(driver, &count, &device));
  MUST(zeContextCreate(driver, &desc, &context));
  for (size_t i = 0; argc == 2 && i < sizeof mistakes / sizeof *mistakes; ++i) {
    if (strcmp(argv[1], mistakes[i].layer) != 0)
      continue;
    mistakes[i].err();
    if (mistakes[i].err != destroyed_context)
      MUST(zeContextDestroy(context));
    return 0;
  }
  fprintf(stderr, "usage: ze_errs LAYER\n");
  return 2;
}
