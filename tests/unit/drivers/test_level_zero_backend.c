/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The Level Zero backend against the fake driver: what it does, and which calls it makes for it. */
#include "level_zero_setup.h"

#include "lib/backends/level_zero/abi.h"

static void set(const char *settings) {
  setenv("KDL_FAKE_SETTINGS", settings, 1);
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static void a_kernel_runs(void **state) {
  (void)state;
  setup s = begin();
  clear_log();
  assert_ok(run_saxpy(&s, s.queue));
  assert_int_equal(calls_of("zeCommandListAppendLaunchKernel"), 1);
  assert_int_equal(calls_of("zeKernelSetArgumentValue"), 4);
  assert_int_equal(calls_of("zeKernelSetGroupSize"), 1);
  /* A driver that keeps no order is told to after each command. */
  assert_int_equal(calls_of("zeCommandListAppendBarrier"), is_old() ? 1 : 0);
  assert_result(&s, 1);
  check_saxpy_params(&s.saxpy);
  end(&s);
}

static void blocks(void **state) {
  (void)state;
  setup s = begin();
  check_suggested_block(&s, 512);
  void *fixed = load_golden(s.device, "fixed.spv");
  kdl_backend_kernel kernel = find_free(&s, fixed, "fixed");
  check_required_block(&kernel, 32, 2, 1);
  kdl_launch_desc desc = shape_of(1, 64);
  assert_fails(launch(&kernel, s.queue, &desc, KDL_ARGS(&s.x)), KDL_DEVICE,
               "level_zero:0: zeKernelSetGroupSize of \"fixed\" to 64x1x1: "
               "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION (0x78000013)");
  driver->image_unload(s.device, fixed);
  end(&s);
}

static void shapes(void **state) {
  (void)state;
  setup s = begin();
  kdl_backend_kernel kernel = find_kernel(s.device, s.loaded, "empty");
  kdl_launch_desc desc = shape_of(1, 2048);
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_DEVICE,
               "level_zero:0: zeKernelSetGroupSize of \"empty\" to 2048x1x1: "
               "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION (0x78000013)");
  desc = shape_of(1, 64);
  desc.shared = 16;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               "level_zero:0: found 16 bytes of dynamic group memory, and \"empty\" has no "
               "parameter for it");
  desc.shared = 0;
  desc.cluster[0] = 2;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               "level_zero:0: found a cluster of groups, expected none: the backend has none");
  desc.cluster[0] = 0;
  desc.flags = 6;
  assert_fails(launch(&kernel, s.queue, &desc, KDL_NO_ARGS), KDL_UNSUPPORTED,
               "level_zero:0: found launch flags 0x6, expected KDL_LAUNCH_COOPERATIVE or none");
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  clear_log();
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of("zeCommandListAppendLaunchCooperativeKernel"), 1);
  /* After one of these, the usual launch is the usual one again. */
  desc.flags = 0;
  assert_ok(launch(&kernel, s.queue, &desc, KDL_NO_ARGS));
  assert_int_equal(calls_of("zeCommandListAppendLaunchKernel"), 1);
  end(&s);
}

static void what_the_driver_refuses_is_told(void **state) {
  (void)state;
  setup s = begin();
  assert_ok(run_saxpy(&s, s.queue));
  inject("zeCommandListAppendLaunchKernel:1:0x78000004");
  assert_fails(run_saxpy(&s, s.queue), KDL_DEVICE,
               "level_zero:0: zeCommandListAppendLaunchKernel \"saxpy\" with grid 3x1x1, block "
               "128x1x1, 0 bytes of dynamic group memory: ZE_RESULT_ERROR_INVALID_ARGUMENT "
               "(0x78000004)");
  inject("");
  assert_ok(run_saxpy(&s, s.queue)); /* the queue's lock was released */
  assert_result(&s, 2);
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

enum { thread_count = 8, rounds = 200 };

typedef struct {
  const setup *s;
  void *queue;
  uint64_t y;
  bool good;
} worker;

/* Each thread has a result of its own, so that arguments that are mixed up show. */
static void *work(void *user) {
  worker *w = user;
  float a = 1;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  w->good = true;
  for (int i = 0; i < rounds; ++i)
    w->good &= launch(&w->s->saxpy, w->queue, &desc, KDL_ARGS(&a, &w->s->x, &w->y, &n)) == KDL_OK;
  return NULL;
}

/* The fake ends the process where two threads use one handle at once. */
static void run_threads(bool share_a_queue) {
  setup s = begin();
  pthread_t threads[thread_count];
  worker workers[thread_count];
  for (int i = 0; i < thread_count; ++i) {
    workers[i] = (worker){.s = &s, .queue = share_a_queue ? s.queue : make_queue(s.device)};
    assert_ok(driver->alloc(s.device, count * sizeof(float), &workers[i].y));
    assert_ok(driver->fill(s.device, s.queue, workers[i].y, 0, count * sizeof(float), "", 1));
  }
  assert_ok(driver->queue_sync(s.device, s.queue));
  for (int i = 0; i < thread_count; ++i)
    pthread_create(&threads[i], NULL, work, &workers[i]);
  for (int i = 0; i < thread_count; ++i) {
    float y[count];
    pthread_join(threads[i], NULL);
    assert_true(workers[i].good);
    assert_ok(driver->read(s.device, workers[i].queue, y, workers[i].y, 0, sizeof y));
    assert_ok(driver->queue_sync(s.device, workers[i].queue));
    for (int k = 0; k < count; ++k)
      assert_true(y[k] == (float)rounds * (float)k);
  }
  for (int i = 0; i < thread_count; ++i) {
    assert_ok(driver->free(s.device, workers[i].y));
    if (!share_a_queue)
      driver->queue_destroy(s.device, workers[i].queue);
  }
  end(&s);
}

static void threads_with_one_queue(void **state) {
  (void)state;
  run_threads(true);
}

static void threads_with_queues_of_their_own(void **state) {
  (void)state;
  run_threads(false);
}

/* ------------------------------------------------------------------------------------------ */
/* Queues                                                                                       */

static void *create_list(void *device, bool is_immediate, uint32_t flags, void *context) {
  kdl_ze_queue_desc desc = {
      .type = KDL_ZE_COMMAND_QUEUE_DESC, .ordinal = 1, .flags = flags, .mode = 2};
  void *native = driver->device_native(device, KDL_NATIVE_DEVICE), *list = NULL;
  if (is_immediate) {
    int (*create)(void *, void *, const kdl_ze_queue_desc *, void **);
    get_fake("zeCommandListCreateImmediate", &create);
    assert_int_equal(create(context, native, &desc, &list), 0);
  } else {
    const kdl_ze_list_desc kept = {.type = KDL_ZE_COMMAND_LIST_DESC, .ordinal = 1};
    int (*create)(void *, void *, const kdl_ze_list_desc *, void **);
    get_fake("zeCommandListCreate", &create);
    assert_int_equal(create(context, native, &kept, &list), 0);
  }
  return list;
}

static void destroy_list(void *list) {
  int (*destroy)(void *);
  get_fake("zeCommandListDestroy", &destroy);
  assert_int_equal(destroy(list), 0);
}

static void a_list_is_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
  for (uint32_t flags = 0; flags <= (is_old() ? 0u : 2u); flags += 2) {
    void *list = create_list(s.device, true, flags, context), *queue;
    assert_ok(driver->queue_adopt(s.device, list, &queue));
    assert_ptr_equal(driver->queue_native(s.device, queue), list);
    clear_log();
    assert_ok(run_saxpy(&s, queue));
    assert_ok(run_saxpy(&s, queue));
    /* One that keeps the order, and declares that, needs no barriers. */
    assert_int_equal(calls_of("zeCommandListAppendBarrier"), flags ? 0 : 2);
    assert_ok(driver->queue_sync(s.device, queue));
    driver->queue_destroy(s.device, queue);
    destroy_list(list); /* still the caller's */
  }
  assert_result(&s, is_old() ? 2 : 4);
  end(&s);
}

static void other_lists_are_refused(void **state) {
  (void)state;
  setup s = begin();
  void *queue;
  void *context = driver->device_native(s.device, KDL_NATIVE_CONTEXT);
  assert_fails(driver->queue_adopt(s.device, NULL, &queue), KDL_BAD_CALL,
               "level_zero:0: the command list to be adopted is NULL, and there is no default one");
  if (is_old()) { /* it cannot report that */
    end(&s);
    return;
  }
  void *list = create_list(s.device, false, 0, context);
  assert_fails(driver->queue_adopt(s.device, list, &queue), KDL_BAD_CALL,
               "level_zero:0: the command list to be adopted is not an immediate one");
  destroy_list(list);
  list = create_list(open_device(1), true, 0, context);
  assert_fails(driver->queue_adopt(s.device, list, &queue), KDL_BAD_CALL,
               "level_zero:0: the command list to be adopted is one of another device");
  destroy_list(list);
  end(&s);
}

static void *create_context(void) {
  kdl_ze_context_desc desc = {.type = 0xd};
  int (*drivers)(uint32_t *, void **), (*create)(void *, const kdl_ze_context_desc *, void **);
  void *handle, *context = NULL;
  uint32_t one = 1;
  get_fake("zeDriverGet", &drivers);
  assert_int_equal(drivers(&one, &handle), 0);
  get_fake("zeContextCreate", &create);
  assert_int_equal(create(handle, &desc, &context), 0);
  return context;
}

static void a_context_is_adopted(void **state) {
  (void)state;
  setup s = begin();
  void *context = create_context(), *device, *queue;
  kdl_backend_device desc = {
      .size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 1, .native_context = context};
  assert_ok(driver->device_open(&desc, &device));
  assert_ptr_equal(driver->device_native(device, KDL_NATIVE_CONTEXT), context);
  uint64_t memory;
  assert_ok(driver->alloc(device, 64, &memory));
  assert_ok(driver->free(device, memory));
  void *list = create_list(device, true, 0, context);
  assert_ok(driver->queue_adopt(device, list, &queue));
  driver->queue_destroy(device, queue);
  if (!is_old())
    assert_fails(driver->queue_adopt(open_device(1), list, &queue), KDL_BAD_CALL,
                 "level_zero:1: the command list to be adopted is one of another context; adopt "
                 "that first (kdl_device_adopt)");
  destroy_list(list);
  desc.native_context = &desc;
  assert_fails(driver->device_open(&desc, &device), KDL_DEVICE,
               "level_zero:1: zeContextGetStatus of the context to be adopted: "
               "ZE_RESULT_ERROR_INVALID_NULL_HANDLE (0x78000005)");
  end(&s);
}

static void a_device_is_missing(void **state) {
  (void)state;
  void *device;
  kdl_backend_device desc = {.size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 7};
  assert_fails(driver->device_open(&desc, &device), KDL_DEVICE,
               "level_zero:7: the drivers show no such device");
}

/* ------------------------------------------------------------------------------------------ */
/* Memory and events                                                                            */

static void fills_and_copies(void **state) {
  (void)state;
  setup s = begin();
  check_fills(&s);
  end(&s);
}

static void devices_that_do_not_reach_each_other(void **state) {
  (void)state;
  setup s = begin();
  void *second = open_device(1);
  void *queue = make_queue(second);
  set("level_zero.peers=0");
  assert_fails(driver->copy_peer(s.device, second, queue, s.y, 0, s.x, 0, 40), KDL_UNSUPPORTED,
               "level_zero:1: it does not reach the memory of level_zero:0");
  set("");
  driver->queue_destroy(second, queue);
  end(&s);
}

static void events_order_and_time_work(void **state) {
  (void)state;
  setup s = begin();
  void *first, *last;
  double ns = 0;
  assert_ok(driver->event_create(s.device, &first));
  assert_ok(driver->event_create(s.device, &last));
  assert_fails(driver->event_elapsed(s.device, first, last, &ns), KDL_BAD_CALL,
               "level_zero:0: found an event that was not recorded");
  assert_ok(driver->event_sync(s.device, first)); /* delays nothing */
  assert_ok(driver->event_wait(s.device, first, s.queue));
  /* Often enough for the device's clock to wrap around between two records. */
  for (int i = 0; i < 8; ++i) {
    assert_ok(driver->event_record(s.device, first, s.queue));
    assert_ok(driver->event_record(s.device, last, s.queue));
    assert_ok(driver->event_wait(s.device, last, s.queue));
    assert_ok(driver->event_sync(s.device, last));
    assert_ok(driver->event_elapsed(s.device, first, last, &ns));
    assert_true(ns > 249999.9 && ns < 250000.1);
    assert_ok(driver->event_elapsed(s.device, last, first, &ns));
    assert_true(ns < -249999.9 && ns > -250000.1);
  }
  assert_non_null(driver->event_native(s.device, first));
  driver->event_destroy(s.device, first);
  driver->event_destroy(s.device, last);
  end(&s);
}

static void event_query(void **state) {
  (void)state;
  check_query(set_fault, "zeEventQueryStatus:1+:1", "zeEventQueryStatus:1+:1879048193",
              "level_zero:0: zeEventQueryStatus: ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)");
}

static void host_memory(void **state) {
  (void)state;
  check_host_memory("level_zero:0: zeMemFree: ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004)");
}

/* Where the driver signals late, an event that is recorded again must be another one: the fake
 * counts every reset that would let a thread wait for ever. */
static void events_that_are_recorded_again(void **state) {
  (void)state;
  set("level_zero.lazy=1");
  setup s = begin();
  void *other = make_queue(s.device), *event;
  double ns;
  assert_ok(driver->event_create(s.device, &event));
  for (int i = 0; i < 500; ++i) {
    assert_ok(driver->event_record(s.device, event, s.queue));
    assert_ok(driver->event_wait(s.device, event, other));
    if (i == 250)
      assert_int_equal(driver->event_elapsed(s.device, event, event, &ns), KDL_DEVICE);
  }
  assert_ok(driver->event_sync(s.device, event));
  assert_ok(driver->event_elapsed(s.device, event, event, &ns));
  assert_true(ns == 0);
  driver->event_destroy(s.device, event);
  driver->queue_destroy(s.device, other);
  end(&s);
  set("");
}

static void memory_runs_out(void **state) {
  (void)state;
  check_memory_runs_out("level_zero:0: zeMemAllocDevice of 2097152 bytes: "
                        "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY (0x70000003)");
}

static void only_what_was_allocated_is_freed(void **state) {
  (void)state;
  setup s = begin();
  assert_fails(driver->free(s.device, s.x + 4), KDL_BAD_CALL,
               "level_zero:0: found an address that libkdl did not allocate");
  end(&s);
}

static void an_illegal_address_shows_when_waiting(void **state) {
  (void)state;
  setup s = begin();
  uint64_t small;
  float a = 2;
  uint32_t n = count;
  kdl_launch_desc desc = shape_of(3, 128);
  assert_ok(driver->alloc(s.device, 4, &small));
  kdl_status status = launch(&s.saxpy, s.queue, &desc, KDL_ARGS(&a, &small, &s.y, &n));
  if (is_old()) { /* the barrier behind it meets the error */
    assert_fails(status, KDL_DEVICE,
                 "level_zero:0: zeCommandListAppendBarrier \"saxpy\" with grid 3x1x1, block "
                 "128x1x1, 0 bytes of dynamic group memory: ZE_RESULT_ERROR_DEVICE_LOST "
                 "(0x70000001)");
  } else {
    assert_ok(status);
    assert_fails(driver->queue_sync(s.device, s.queue), KDL_DEVICE,
                 "level_zero:0: zeCommandListHostSynchronize: ZE_RESULT_ERROR_DEVICE_LOST "
                 "(0x70000001)");
  }
  assert_int_equal(kdl_error_code(), 0x70000001);
  tell_fake("fake_heal");
  assert_ok(driver->free(s.device, small));
  end(&s);
}

/* ------------------------------------------------------------------------------------------ */
/* Code                                                                                         */

static void globals(void **state) {
  (void)state;
  setup s = begin();
  check_weight(&s);
  check_missing_global(&s, "level_zero:0: zeModuleGetGlobalPointer \"chair\": "
                           "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME (0x78000010)");
  end(&s);
}

static void a_kernel_is_missing(void **state) {
  (void)state;
  check_missing_kernel("level_zero:0: zeKernelCreate \"sgemm\": "
                       "ZE_RESULT_ERROR_INVALID_KERNEL_NAME (0x78000011)");
}

static void the_compiler_is_quoted(void **state) {
  (void)state;
  void *device = open_device(0), *loaded;
  kdl_backend_image whole = golden_spirv("spirv64.spv");
  uint8_t *bytes = malloc(whole.data_size + 8);
  memcpy(bytes, whole.data, whole.data_size);
  bytes[5] = 6; /* SPIR-V 1.6 */
  kdl_backend_image image = image_of(KDL_IMAGE_SPIRV, bytes, whole.data_size);
  assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE,
               "level_zero:0: zeModuleCreate: error: SPIR-V 1.6 is newer than 1.4; error: backend "
               "compiler failed build.: ZE_RESULT_ERROR_MODULE_BUILD_FAILURE (0x70000004)");
  image.kind = KDL_IMAGE_ZEBIN;
  assert_fails(driver->image_load(device, &image, &loaded), KDL_DEVICE,
               "level_zero:0: zeModuleCreate: ZE_RESULT_ERROR_INVALID_NATIVE_BINARY (0x7800000f)");
  image.kind = KDL_IMAGE_PTX;
  assert_fails(driver->image_load(device, &image, &loaded), KDL_UNSUPPORTED,
               "level_zero:0: found an image of kind ptx, expected spirv or zebin");
  for (size_t offset = 1; offset < 8; ++offset) {
    memcpy(bytes + offset, whole.data, whole.data_size);
    loaded = load_image(device, KDL_IMAGE_SPIRV, bytes + offset, whole.data_size);
    driver->image_unload(device, loaded);
  }
  free(bytes);
  assert_int_equal(ask_fake("fake_alive"), 0);
}

static char said[512];

static void keep_line(void *user, const char *topic, const char *line) {
  (void)user, (void)topic;
  snprintf(said, sizeof said, "%s", line);
}

static void flags_for_the_compiler(void **state) {
  (void)state;
  void *device = open_device(0);
  setenv("KDL_LEVEL_ZERO_BUILD_FLAGS", "-ze-opt-level 1", 1);
  setenv("KDL_LEVEL_ZERO_LARGE_BUFFERS", "1", 1);
  kdl_set_log("load", keep_line, NULL);
  void *loaded = load_golden(device, "fixed.spv");
  kdl_set_log(NULL, NULL, NULL);
  assert_string_equal(said, "t: image 0: compiled by the driver: warning: built with "
                            "-ze-opt-greater-than-4GB-buffer-required -ze-opt-level 1");
  driver->image_unload(device, loaded);
  unsetenv("KDL_LEVEL_ZERO_BUILD_FLAGS");
  unsetenv("KDL_LEVEL_ZERO_LARGE_BUFFERS");
}

/* Larger than the driver allows by default. */
static void large_buffers(void **state) {
  (void)state;
  set("level_zero.max_allocation=65536");
  kdl_backend_device desc = {
      .size = sizeof desc, .spec = DRIVER_SPEC, .ordinal = 0, .native_context = create_context()};
  void *device;
  uint64_t memory;
  assert_ok(driver->device_open(&desc, &device));
  assert_fails(driver->alloc(device, 65540, &memory), KDL_DEVICE,
               "level_zero:0: zeMemAllocDevice of 65540 bytes, where the driver gives at most "
               "65536 unless KDL_LEVEL_ZERO_LARGE_BUFFERS=1 asks for more: "
               "ZE_RESULT_ERROR_UNSUPPORTED_SIZE (0x78000009)");
  setenv("KDL_LEVEL_ZERO_LARGE_BUFFERS", "1", 1);
  assert_ok(driver->alloc(device, 65540, &memory));
  assert_ok(driver->free(device, memory));
  unsetenv("KDL_LEVEL_ZERO_LARGE_BUFFERS");
  set("");
}

int main(int argc, char **argv) {
  (void)argc;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_runs),
      cmocka_unit_test(blocks),
      cmocka_unit_test(shapes),
      cmocka_unit_test(what_the_driver_refuses_is_told),
      cmocka_unit_test(a_kernel_without_parameters),
      cmocka_unit_test(a_fresh_thread_launches),
      cmocka_unit_test(threads_with_one_queue),
      cmocka_unit_test(threads_with_queues_of_their_own),
      cmocka_unit_test(a_list_is_adopted),
      cmocka_unit_test(other_lists_are_refused),
      cmocka_unit_test(a_context_is_adopted),
      cmocka_unit_test(a_device_is_missing),
      cmocka_unit_test(fills_and_copies),
      cmocka_unit_test(copies_between_devices),
      cmocka_unit_test(devices_that_do_not_reach_each_other),
      cmocka_unit_test(events_order_and_time_work),
      cmocka_unit_test(event_query),
      cmocka_unit_test(host_memory),
      cmocka_unit_test(events_that_are_recorded_again),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(only_what_was_allocated_is_freed),
      cmocka_unit_test(an_illegal_address_shows_when_waiting),
      cmocka_unit_test(globals),
      cmocka_unit_test(a_kernel_is_missing),
      cmocka_unit_test(the_compiler_is_quoted),
      cmocka_unit_test(flags_for_the_compiler),
      cmocka_unit_test(large_buffers),
  };
  return run_backend_tests(argv, &kdl_built_in_level_zero, tests);
}
