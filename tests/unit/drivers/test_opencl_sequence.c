/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences on the fake OpenCL, through the public API: command buffers of each known version, with
 * and without updates, for each kind of memory, and without command buffers. */
#include "opencl_support.h"
#include "sequence_support.h"

static const char *version(void) {
  return getenv("KDL_TEST_COMMANDS");
}

static bool is_mutable(void) {
  return strcmp(version(), "0.9.6 mutable") == 0;
}

/* Which command buffers the driver has for launches, and for copies and fills. */
static bool has_launches(void) {
  return strncmp(version(), "0.9.", 4) == 0 && strcmp(version(), "0.9.0 unasked") != 0;
}

static bool has_moves(void) {
  bool is_early = strcmp(version(), "0.9.0") == 0;
  return has_launches() && (memory_is("buffer") || (memory_is("svm") && !is_early));
}

static int open_it(void **state) {
  (void)state;
  start_log();
  open_sequences("opencl", "spir64-unknown-unknown", "cl", KDL_IMAGE_CL, KDL_OFFLOAD_NONE,
                 good_source, strlen(good_source));
  return 0;
}

/* What a run calls: of buffers those that record, update and enqueue, and launches. */
typedef struct {
  unsigned recorded, updated, enqueued, launched;
} calls;

static calls calls_since(void) {
  return (calls){calls_of("clFinalizeCommandBufferKHR"), calls_of("clUpdateMutableCommandsKHR"),
                 calls_of("clEnqueueCommandBufferKHR"), calls_of("clEnqueueNDRangeKernel")};
}

static void expect_calls(unsigned recorded, unsigned updated, unsigned enqueued,
                         unsigned launched) {
  calls found = calls_since();
  assert_int_equal(found.recorded, recorded);
  assert_int_equal(found.updated, updated);
  assert_int_equal(found.enqueued, enqueued);
  assert_int_equal(found.launched, launched);
}

static void zero(int buffer) {
  const float nothing = 0;
  assert_ok(kdl_fill(queue, &buffers[buffer], 0, bytes, &nothing, sizeof nothing));
  assert_ok(kdl_sync(queue));
}

/* Bindings that repeat set nothing; others are updated, or launched once and recorded again. */
static void launches_are_recorded(void **state) {
  (void)state;
  kdl_sequence *sequence;
  bool has = has_launches();
  write_numbers();
  zero(2);
  zero(3);
  assert_ok(make_launches(&sequence));
  clear_log();
  assert_ok(run_launches(sequence, 0, 2, n));
  expect_calls(has, 0, has, has ? 0 : 2);
  expect(2, 2);
  assert_string_equal(replay_of(sequence), has ? "commands" : "launches");
  clear_log();
  assert_ok(run_launches(sequence, 0, 2, n));
  expect_calls(0, 0, has, has ? 0 : 2);
  assert_int_equal(calls_of("clSetKernelArg"), 0);
  expect(2, 4);
  bool sets = is_mutable() && !memory_is("usm");
  clear_log();
  assert_ok(run_launches(sequence, 1, 3, n)); /* bound again */
  expect_calls(0, sets, sets, sets ? 0 : 2);
  expect(3, 4);
  clear_log();
  assert_ok(run_launches(sequence, 1, 3, n));
  expect_calls(has && !sets, 0, has, has ? 0 : 2);
  expect(3, 8);
  clear_log();
  assert_ok(run_launches(sequence, 1, 3, 0)); /* the second launch is left out */
  expect_calls(0, 0, 0, 1);
  expect(3, 10);
  assert_ok(run_launches(sequence, 1, 3, 0));
  expect(3, 12);
  assert_ok(run_launches(sequence, 1, 3, n));
  expect(3, 16);
  kdl_sequence_destroy(sequence);
}

static void copies_and_fills_are_recorded(void **state) {
  (void)state;
  kdl_sequence *sequence;
  write_numbers();
  assert_ok(make(&sequence));
  for (int i = 0; i < 2; ++i) {
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
    expect(3, 9);
  }
  assert_string_equal(replay_of(sequence), has_moves() ? "commands" : "launches");
  clear_log();
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  expect_calls(0, 0, has_moves(), has_moves() ? 0 : 2);
  for (int i = 0; i < 3; ++i) {
    assert_ok(run(sequence, 2, 1, 3, 0, 2));
    expect(2, 6);
  }
  kdl_sequence_destroy(sequence);
}

/* A queue has a command buffer of its own. */
static void queues_do_not_undo_each_other(void **state) {
  (void)state;
  kdl_sequence *sequence;
  kdl_queue *first = queue, *second;
  write_numbers();
  assert_ok(make(&sequence));
  assert_ok(kdl_queue_create(device, NULL, &second));
  for (int i = 0; i < 4; ++i) {
    clear_log();
    queue = first;
    assert_ok(run(sequence, 2, 0, 2, 1, 3));
    expect(3, 6);
    queue = second;
    assert_ok(run(sequence, 5, 1, 3, 0, 2));
    expect(2, 15);
    if (i && has_moves())
      expect_calls(0, 0, 2, 0);
  }
  queue = first;
  kdl_queue_destroy(second);
  kdl_sequence_destroy(sequence);
}

/* Memory that was freed since is not used, also where other memory has its address. */
static void freed_memory_is_recorded_again(void **state) {
  (void)state;
  kdl_sequence *sequence;
  unsigned stale = ask_fake("fake_opencl_stale");
  write_numbers();
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  for (int i = 0; i < 4; ++i) {
    assert_ok(kdl_free(&buffers[2]));
    assert_ok(kdl_alloc(device, bytes, &buffers[2]));
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
    expect(3, 9);
  }
  assert_int_equal(ask_fake("fake_opencl_stale"), stale);
  kdl_sequence_destroy(sequence);
}

static void threads_run_it_at_once(void **state) {
  (void)state;
  run_in_threads();
}

static void each_call_fails_once(void **state) {
  (void)state;
  fail_each_call(KDL_CL_OUT_OF_HOST_MEMORY, KDL_NO_MEMORY, "CL_OUT_OF_HOST_MEMORY (-6)");
}

static void each_call_of_a_file_fails(void **state) {
  (void)state;
  fail_each_call_of_a_file(KDL_CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY (-6)");
}

static void a_refused_queue_is_given_launches(void **state) {
  (void)state;
  kdl_sequence *sequence;
  write_numbers();
  inject("clCreateCommandBufferKHR:1+:-1140");
  assert_ok(make(&sequence));
  for (int i = 0; i < 2; ++i) {
    clear_log();
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
    expect(3, 9);
    expect_calls(0, 0, 0, 2);
  }
  inject("");
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  expect(3, 9);
  kdl_sequence_destroy(sequence);
}

static void a_lost_device_is_told(void **state) {
  (void)state;
  kdl_sequence *sequence;
  unsigned alive = ask_fake("fake_alive");
  if (!has_moves())
    return;
  write_numbers();
  assert_ok(make(&sequence));
  assert_ok(run(sequence, 3, 0, 2, 1, 3));
  inject("clEnqueueCommandBufferKHR:1+:-5");
  for (int i = 0; i < 3; ++i) {
    assert_int_not_equal(run(sequence, 3, 0, 2, 1, 3), KDL_OK);
    assert_int_equal(kdl_error_code(), -5);
    assert_non_null(strstr(kdl_error_message(), "kdl_sequence_run: "));
  }
  inject("");
  assert_ok(run(sequence, 3, 0, 2, 1, 3)); /* a driver that recovers */
  expect(3, 9);
  kdl_sequence_destroy(sequence);
  assert_int_equal(ask_fake("fake_alive"), alive);
}

/* Runs the program for each kind of memory, and in these for each version. */
static bool run_for_each_version(char **argv, int *out_result) {
  static const char *const versions[][2] = {
      {"none", ""},
      {"0.9.0 unasked", "opencl.commands=0.9.0"},
      {"unwanted", "opencl.commands=0.9.6"},
      {"0.8.9", "opencl.commands=0.8.9"},
      {"0.9.0", "opencl.commands=0.9.0"},
      {"0.9.4", "opencl.commands=0.9.4;opencl.mutable=0.9.1"},
      {"0.9.6 mutable", "opencl.commands=0.9.6;opencl.mutable=0.9.3"},
      {"0.9.8", "opencl.commands=0.9.8;opencl.unrepeated=1"},
      {"one at a time", "opencl.commands=0.9.7;opencl.unrepeated=1"},
      {"1.0.0", "opencl.commands=1.0.0"}};
  if (!run_for_each_memory(argv, out_result))
    return false;
  if (version())
    return true;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i) {
    /* With allocations that fail, one takes long enough: the one that allocates most. */
    if (getenv("KDL_SHORT_OF_MEMORY") && strcmp(versions[i][0], "0.9.6 mutable") != 0)
      continue;
    printf("command buffers: %s\n", versions[i][0]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      setenv("KDL_TEST_COMMANDS", versions[i][0], 1);
      setenv("KDL_FAKE_SETTINGS", versions[i][1], 1);
      if (strcmp(versions[i][0], "0.9.0") == 0 || strcmp(versions[i][0], "unwanted") == 0)
        setenv("KDL_OPENCL_COMMANDS", strcmp(versions[i][0], "0.9.0") == 0 ? "1" : "0", 1);
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    *out_result |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return false;
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_version(argv, &result))
    return result;
  driver = kdl_built_in_opencl.table;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launches_are_recorded),
      cmocka_unit_test(copies_and_fills_are_recorded),
      cmocka_unit_test(queues_do_not_undo_each_other),
      cmocka_unit_test(freed_memory_is_recorded_again),
      cmocka_unit_test(threads_run_it_at_once),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(each_call_of_a_file_fails),
      cmocka_unit_test(a_refused_queue_is_given_launches),
      cmocka_unit_test(a_lost_device_is_told),
  };
  return cmocka_run_group_tests(tests, open_it, close_sequences);
}
