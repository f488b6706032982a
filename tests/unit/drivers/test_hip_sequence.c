/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences on the fake HIP runtime: see graph_sequence.h. */
#include "hip_support.h"

#define GRAPH_PREFIX "hip"
#define GRAPH_PLAIN_LAUNCH "hipModuleLaunchKernel"
#define GRAPH_NO_MEMORY "hipErrorOutOfMemory (2)"
#define GRAPH_LOST 719
#include "graph_sequence.h"

/* Both generations have them; the old one cannot disable a node, and launches then. */
static bool graph_is_there(void) {
  return true;
}

static unsigned graph_nodes_set(void) {
  return calls_of("hipGraphExecKernelNodeSetParams") + calls_of("hipGraphExecMemsetNodeSetParams") +
         calls_of("hipGraphExecMemcpyNodeSetParams1D");
}

/* The program's own device is current, and no error is left for it. */
static void graph_check(void) {
  assert_no_last_error();
  assert_int_equal(current_device(), 0);
}

static int open_it(void **state) {
  (void)state;
  start_log();
  kdl_backend_image image = golden_code("gfx90a.hsaco");
  open_sequences("hip", "amdgcn-amd-amdhsa", "gfx90a", KDL_IMAGE_HSACO, KDL_OFFLOAD_HIP, image.data,
                 image.data_size);
  return 0;
}

/* Nodes are made once, each waits for the one before it, and a run launches what was made. */
static void a_graph_is_made_once(void **state) {
  (void)state;
  kdl_sequence *sequence;
  write_numbers();
  clear_log();
  assert_ok(make(&sequence));
  for (int i = 0; i < 5; ++i)
    assert_ok(run(sequence, 3, 0, 2, 1, 3));
  assert_int_equal(calls_of("hipGraphCreate"), 1);
  assert_int_equal(calls_of("hipGraphAddKernelNode"), 2);
  assert_int_equal(calls_of("hipGraphAddMemsetNode"), 1);
  assert_int_equal(calls_of("hipGraphAddMemcpyNode1D"), 1);
  assert_int_equal(calls_of("hipGraphInstantiate"), 1);
  assert_int_equal(calls_of("hipGraphLaunch"), 5);
  assert_int_equal(calls_of("hipModuleLaunchKernel"), 0);
  expect(3, 9);
  kdl_sequence_destroy(sequence);
  assert_int_equal(calls_of("hipGraphExecDestroy"), 1);
  assert_int_equal(calls_of("hipGraphDestroy"), 1);
}

/* What graphs of HIP have no node for is launched: fills of more than a word. */
static void a_wide_fill_is_launched(void **state) {
  (void)state;
  static const float pattern[4] = {1, 2, 3, 4};
  kdl_sequence *sequence;
  float host[n];
  assert_ok(kdl_sequence_create(device, &sequence));
  assert_ok(
      kdl_sequence_fill(sequence, kdl_operand_buffer(buffers[2]), bytes, pattern, sizeof pattern));
  assert_ok(kdl_sequence_finish(sequence));
  assert_ok(kdl_sequence_run(sequence, queue, NULL, 0));
  assert_string_equal(replay_of(sequence), "launches");
  assert_ok(kdl_read(queue, host, &buffers[2], 0, bytes));
  assert_ok(kdl_sync(queue));
  for (int i = 0; i < n; ++i)
    assert_true(host[i] == pattern[i % 4]);
  kdl_sequence_destroy(sequence);
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_hip.table;
  const struct CMUnitTest tests[] = {GRAPH_TESTS, cmocka_unit_test(a_graph_is_made_once),
                                     cmocka_unit_test(a_wide_fill_is_launched)};
  return cmocka_run_group_tests(tests, open_it, close_sequences);
}
