/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences on the fake CUDA driver: see graph_sequence.h. */
#include "cuda_support.h"

#define GRAPH_PREFIX "cu"
#define GRAPH_PLAIN_LAUNCH "cuLaunchKernel"
#define GRAPH_NO_MEMORY "CUDA_ERROR_OUT_OF_MEMORY (2)"
#define GRAPH_LOST 719
#include "graph_sequence.h"

static bool graph_is_there(void) {
  return !is_old();
}

static unsigned graph_nodes_set(void) {
  return ask_fake("fake_cuda_nodes_set");
}

static void graph_check(void) {
  assert_int_equal(ask_fake("fake_cuda_depth"), 0);
}

static int open_it(void **state) {
  (void)state;
  open_sequences("cuda", "nvptx64-nvidia-cuda", "sm_80", KDL_IMAGE_PTX, KDL_OFFLOAD_CUDA, good_ptx,
                 strlen(good_ptx));
  return 0;
}

int main(int argc, char **argv) {
  (void)argc;
  int result;
  if (!run_for_each_driver(argv, &result))
    return result;
  driver = kdl_built_in_cuda.table;
  const struct CMUnitTest tests[] = {GRAPH_TESTS};
  return cmocka_run_group_tests(tests, open_it, close_sequences);
}
