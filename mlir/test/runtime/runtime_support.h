/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by tests of libkdl_mlir_runtime. A process uses one device, so each group of tests runs in
 * its own process: with the host, with fake GPUs, and without a suitable device. */
#ifndef KDL_MLIR_TEST_RUNTIME_RUNTIME_SUPPORT_H
#define KDL_MLIR_TEST_RUNTIME_RUNTIME_SUPPORT_H

#include "fake_log.h"
#include "launch_support.h"

#include "kdl_mlir.h"
#include "mgpu.h"

#include <sys/wait.h>

enum { items = 1000 };

static char last_error[4096];
static unsigned error_count;

static inline void keep_error(void *user, const char *message) {
  (void)user;
  snprintf(last_error, sizeof last_error, "%s", message);
  ++error_count;
}

static inline int watch_errors(void **state) {
  (void)state;
  kdl_mlir_set_error_handler(keep_error, NULL);
  error_count = 0;
  last_error[0] = 0;
  return 0;
}

#define assert_no_error()                                                                          \
  do {                                                                                             \
    if (error_count)                                                                               \
      fail_msg("%s", last_error);                                                                  \
  } while (0)

#define TEST(function) cmocka_unit_test_setup(function, watch_errors)

/* The structs that the compiler emits for a kernel. */
typedef struct {
  kdl_mlir_library library;
  kdl_mlir_slot slot;
  kdl_mlir_stub stub;
} program;

static inline void make_program(program *made, const void *data, size_t size, const char *kernel,
                                kdl_mlir_fallback fallback) {
  *made = (program){.library = {.abi = KDL_MLIR_ABI,
                                .policy = KDL_POLICY_BEST,
                                .fallback = fallback,
                                .name = "@kernels",
                                .data = data,
                                .data_size = size}};
  made->stub = (kdl_mlir_stub){.head = {.entry = kdl_mlir_bind},
                               .slot = &made->slot,
                               .library = &made->library,
                               .name = kernel};
  made->slot.kernel = &made->stub.head;
  kdl_mlir_register(&made->library);
}

static inline void launch(program *of, kdl_queue *stream, const kdl_launch_desc *desc,
                          kdl_args args) {
  kdl_kernel_head *handle = of->slot.kernel;
  void *queue = stream ? ((kdl_queue_head *)stream)->queue : of->slot.queue;
  if (handle->entry(handle, desc, &args, queue) != KDL_OK)
    kdl_mlir_launch_failed(&of->stub, desc);
  if (!stream)
    kdl_mlir_wait();
}

static inline kdl_launch_desc shape(uint32_t groups, uint32_t block) {
  return (kdl_launch_desc){
      .size = sizeof(kdl_launch_desc), .grid = {groups, 1, 1}, .block = {block, 1, 1}};
}

static const host_row mark_rows[] = {{.file = "mark1"}};

#define SAXPY_PTX                                                                                  \
  ".version 8.0\n.target sm_80\n.address_size 64\n"                                                \
  ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n"

#define FAKE_GPU                                                                                   \
  "cuda:sm_90 driver=13.0 memory=1GiB max_block=1024 shared=48KiB shared_optin=227KiB"

typedef struct {
  const char *name;
  const char *devices; /* of the fake driver; NULL: no driver */
  const struct CMUnitTest *tests;
  size_t count;
} machine;

#define MACHINE(name, devices, tests) {name, devices, tests, sizeof(tests) / sizeof *(tests)}

static inline int run_machine(const machine *at, char **argv) {
  char log[fake_log_size];
  make_fake_log(log);
  pid_t child = fork();
  if (child == 0) {
    setenv("KDL_TEST_MACHINE", at->name, 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    setenv("KDL_LLVM_SPIRV", "none", 1); /* as for the drivers: not this machine's */
    setenv("LD_LIBRARY_PATH", at->devices ? KDL_TEST_FAKES "/whole" : "/nonexistent", 1);
    setenv("KDL_FAKE_DEVICES", at->devices ? at->devices : "", 1);
    setenv("KDL_FAKE_LOG", log, 1);
    unsetenv("KDL_DEVICE");
    execv("/proc/self/exe", argv);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  unlink(log);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Runs every machine in turn, or in a process for one machine that one. */
static inline int run_machines(const machine *machines, size_t count, char **argv) {
  const char *here = getenv("KDL_TEST_MACHINE");
  int result = here != NULL; /* an unknown name fails */
  for (size_t i = 0; i < count; ++i) {
    if (!here)
      result |= run_machine(&machines[i], argv);
    else if (strcmp(machines[i].name, here) == 0)
      result = _cmocka_run_group_tests(here, machines[i].tests, machines[i].count, NULL, NULL);
  }
  return result;
}

#endif
