/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libkdl_mlir_runtime, called like code lowered from #kdl.runtime_select: it registers libraries,
 * binds slots, launches, and one device is selected for all. */
#include "runtime_support.h"

#include <kdl/extension.h>

#include <pthread.h>
#include <stdatomic.h>

static void slots_are_bound_by_the_first_launch(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  assert_ptr_equal(mark.slot.kernel, &mark.stub.head);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = shape(4, 256);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_no_error();
  assert_int_equal(out[0], 1000000);
  assert_int_equal(out[999], 1000999);
  kdl_kernel_head *bound = mark.slot.kernel;
  assert_ptr_not_equal(bound, &mark.stub.head);
  assert_non_null(mark.slot.queue);

  memset(out, 0, items * sizeof *out);
  kdl_queue *stream = mgpuStreamCreate();
  launch(&mark, stream, &desc, KDL_ARGS(&out, &n));
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
  assert_no_error();
  assert_ptr_equal(mark.slot.kernel, bound);
  assert_int_equal(out[999], 1000999);

  kdl_mlir_unregister(&mark.library);
  assert_null(mark.library.state);
  free(out);
  free_rows(&lib);
}

/* Every byte before the images' own, and every length: a launch succeeds or says why it does not.
 */
static void damaged_libraries_are_refused_or_run(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  const kdl_launch_desc desc = shape(4, 256);
  const size_t headers = 160;
  for (size_t i = 0; i < headers + 64; ++i) {
    const size_t size = i < headers ? lib.size : (i - headers) * lib.size / 64;
    char *damaged = malloc(size ? size : 1);
    program mark;
    memcpy(damaged, lib.data, size);
    if (i < headers)
      damaged[i] = (char)~damaged[i];
    make_program(&mark, damaged, size, "mark", KDL_MLIR_FALLBACK_HOST);
    out[999] = 0;
    launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
    assert_true(out[999] == 1000999 || *last_error);
    last_error[0] = '\0';
    kdl_mlir_unregister(&mark.library);
    free(damaged);
  }
  free(out);
  free_rows(&lib);
}

static void launches_of_nothing_do_nothing(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = 0, *out = NULL;
  kdl_launch_desc desc = shape(0, 256);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_no_error();
  kdl_mlir_unregister(&mark.library);
  free_rows(&lib);
}

static void launches_that_fail_tell_why(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program missing, mark;
  make_program(&missing, lib.data, lib.size, "absent", KDL_MLIR_FALLBACK_HOST);
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = items, *out = NULL;
  kdl_launch_desc desc = shape(4, 256), wrong = shape(4, 32);
  launch(&missing, NULL, &desc, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(
      last_error, "launch of @kernels::@absent: no image holds the kernel 'absent'; found 'mark'"));
  launch(&mark, NULL, &wrong, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 2);
  assert_string_equal(last_error,
                      "launch of @kernels::@mark: found a block of 32x1x1, expected 256x1x1 as the "
                      "image has it");
  kdl_mlir_unregister(&missing.library);
  kdl_mlir_unregister(&mark.library);
  launch(&missing, NULL, &desc, KDL_ARGS(&out, &n));
  assert_string_equal(last_error, "launch of @kernels::@absent: its library is not registered");
  free_rows(&lib);
}

/* Launches of the matmul library's kernels: the tests of MLIR have what they compute. */
static void contractions_that_fail_tell_why(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program unknown, missing;
  make_program(&unknown, lib.data, lib.size, "kdl_contraction_f32_e5m2", KDL_MLIR_FALLBACK_HOST);
  make_program(&missing, lib.data, lib.size, "kdl_contraction_f32_bf16", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = 0;
  kdl_launch_desc desc = shape(1, 1);
  launch(&unknown, NULL, &desc, KDL_ARGS(&n));
  assert_non_null(strstr(last_error, "found a contraction of the unknown type f32_e5m2"));
  launch(&missing, NULL, &desc, KDL_ARGS(&n));
  assert_non_null(strstr(last_error, "no image holds the kernel 'kdl_matmul_pack_f32_bf16'"));
  kdl_mlir_unregister(&unknown.library);
  kdl_mlir_unregister(&missing.library);
  free_rows(&lib);
}

static atomic_uint elsewhere;

static void note_thread(void *caller, uint64_t index) {
  (void)index;
  for (volatile int i = 0; i < 20000; ++i) /* so long that threads join */
    ;
  atomic_fetch_add(&elsewhere, !pthread_equal(*(const pthread_t *)caller, pthread_self()));
}

static unsigned iterations_elsewhere(void) {
  pthread_t self = pthread_self();
  atomic_store(&elsewhere, 0);
  for (int i = 0; i < 20; ++i)
    kdl_mlir_parallel(100, note_thread, &self);
  return atomic_load(&elsewhere);
}

static void loops_keep_to_the_limit_of_the_caller(void **state) {
  (void)state;
  setenv("KDL_HOST_THREADS", "3", 1);
  assert_int_equal(kdl_host_limit_threads(1), 0);
  assert_int_equal(iterations_elsewhere(), 0);
  assert_int_equal(kdl_host_limit_threads(0), 1);
  assert_true(iterations_elsewhere() > 0);
  assert_no_error();
}

static void other_versions_are_refused(void **state) {
  (void)state;
  kdl_mlir_library library = {.abi = KDL_MLIR_ABI + 1, .name = "@later"};
  kdl_mlir_register(&library);
  assert_int_equal(error_count, 1);
  assert_string_equal(last_error, "@later: found ABI 2, expected 1: the program was compiled for "
                                  "another version of libkdl_mlir_runtime");
  assert_null(library.state);
}

/* No device runs both a binary for GPUs only and one for the CPU only. */
static void constructors_touch_no_driver(void **state) {
  (void)state;
  char log[4096] = "";
  program saxpy;
  make_program(&saxpy, SAXPY_PTX, strlen(SAXPY_PTX), "saxpy", KDL_MLIR_FALLBACK_ERROR);
  mgpu_module *module = mgpuModuleLoadJIT(SAXPY_PTX, 2, 0);
  assert_no_error();
  FILE *file = fopen(getenv("KDL_FAKE_LOG"), "r");
  if (file) {
    assert_null(fgets(log, sizeof log, file));
    fclose(file);
  }
  mgpuModuleUnload(module);
  kdl_mlir_unregister(&saxpy.library);
}

/* ------------------------------------------------------------------------------------------ */
/* Device selection                                                                             */

static void devices_cannot_be_changed_in_use(void **state) {
  (void)state;
  assert_null(mgpuMemAlloc(0, NULL, false));
  mgpuSetDefaultDevice(0);
  assert_no_error();
  mgpuSetDefaultDevice(3);
  assert_string_equal(last_error, "mgpuSetDefaultDevice: found device number 3, expected less than "
                                  "1: so many of host are here");
}

/* A library for the CPU whose fallback setting excludes the CPU. */
static void the_host_waits_to_be_asked(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_ERROR);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = shape(4, 256);
  kdl_args args = KDL_ARGS(&out, &n);
  assert_int_equal(mark.slot.kernel->entry(mark.slot.kernel, &desc, &args, NULL), KDL_NO_MATCH);
  kdl_mlir_launch_failed(&mark.stub, &desc);
  assert_string_equal(
      last_error,
      "launch of @kernels::@mark: only the CPU could run it, and its binary says fallback = "
      "error: compile it with fallback = host, or set KDL_DEVICE=host");
  setenv("KDL_DEVICE", "host", 1);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 1);
  assert_int_equal(out[999], 1000999);
  kdl_mlir_unregister(&mark.library);
  free(out);
  free_rows(&lib);
}

/* The GPU can run one of two binaries only, so both run on the CPU. */
static void all_binaries_share_a_device(void **state) {
  (void)state;
  host_library lib = make_library(mark_rows, 1);
  program mark;
  make_program(&mark, lib.data, lib.size, "mark", KDL_MLIR_FALLBACK_HOST);
  uint32_t n = items, *out = calloc(items, sizeof *out);
  kdl_launch_desc desc = shape(4, 256);
  launch(&mark, NULL, &desc, KDL_ARGS(&out, &n));
  assert_no_error();
  assert_int_equal(out[999], 1000999);
  program saxpy;
  make_program(&saxpy, SAXPY_PTX, strlen(SAXPY_PTX), "saxpy", KDL_MLIR_FALLBACK_HOST);
  launch(&saxpy, NULL, &desc, KDL_ARGS(&out, &n));
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(last_error, "launch of @kernels::@saxpy: saxpy: none of 1 images fits "));
  assert_non_null(strstr(last_error, "built for NVIDIA GPUs (sm_80)"));
  kdl_mlir_unregister(&mark.library);
  kdl_mlir_unregister(&saxpy.library);
  free(out);
  free_rows(&lib);
}

/* The memory size identifies the GPU: the second has less. */
static void programs_choose_by_number(void **state) {
  (void)state;
  mgpuSetDefaultDevice(2);
  assert_null(mgpuMemAlloc(64, NULL, false));
  assert_string_equal(last_error, "mgpuMemAlloc: found device number 2, expected less than 2: so "
                                  "many of cuda are here");
  mgpuSetDefaultDevice(1);
  void *small = mgpuMemAlloc(1 << 20, NULL, false);
  assert_non_null(small);
  assert_int_equal(error_count, 1);
  assert_null(mgpuMemAlloc(1 << 26, NULL, false));
  assert_int_equal(error_count, 2);
  mgpuMemFree(small, NULL);
  mgpuSetDefaultDevice(1);
  assert_int_equal(error_count, 2);
  mgpuSetDefaultDevice(0);
  assert_string_equal(last_error,
                      "mgpuSetDefaultDevice: found device number 0, expected the one in use: a "
                      "program uses one device, chosen before the first allocation, stream or "
                      "launch");
}

static void the_environment_chooses_first(void **state) {
  (void)state;
  setenv("KDL_DEVICE", "cuda:1", 1);
  mgpuSetDefaultDevice(0);
  assert_null(mgpuMemAlloc(1 << 26, NULL, false));
  assert_int_equal(error_count, 1);
  assert_non_null(strstr(last_error, "cuda:1"));
}

static const struct CMUnitTest host_tests[] = {
    TEST(slots_are_bound_by_the_first_launch),  TEST(launches_of_nothing_do_nothing),
    TEST(damaged_libraries_are_refused_or_run), TEST(launches_that_fail_tell_why),
    TEST(other_versions_are_refused),           TEST(contractions_that_fail_tell_why),
    TEST(devices_cannot_be_changed_in_use),
};
static const struct CMUnitTest thread_tests[] = {
    TEST(loops_keep_to_the_limit_of_the_caller),
};
static const struct CMUnitTest constructor_tests[] = {
    TEST(constructors_touch_no_driver),
};
static const struct CMUnitTest refusal_tests[] = {
    TEST(the_host_waits_to_be_asked),
};
static const struct CMUnitTest sharing_tests[] = {
    TEST(all_binaries_share_a_device),
};
static const struct CMUnitTest number_tests[] = {
    TEST(programs_choose_by_number),
};
static const struct CMUnitTest environment_tests[] = {
    TEST(the_environment_chooses_first),
};

#define TWO_GPUS FAKE_GPU "; cuda:sm_90 driver=13.0 memory=32MiB"

static const machine machines[] = {
    MACHINE("host", NULL, host_tests),
    MACHINE("threads", NULL, thread_tests),
    MACHINE("constructors", FAKE_GPU, constructor_tests),
    MACHINE("refusal", NULL, refusal_tests),
    MACHINE("sharing", FAKE_GPU, sharing_tests),
    MACHINE("number", TWO_GPUS, number_tests),
    MACHINE("environment", TWO_GPUS, environment_tests),
};

int main(int argc, char **argv) {
  (void)argc;
  return run_machines(machines, sizeof machines / sizeof *machines, argv);
}
