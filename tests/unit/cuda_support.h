/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of the CUDA backend share: every program runs once per generation of the fake
 * driver, with that driver as the only libcuda there is. */
#ifndef KDL_TESTS_UNIT_CUDA_SUPPORT_H
#define KDL_TESTS_UNIT_CUDA_SUPPORT_H

#include "support.h"

#include "backends/cuda/cuda.h"
#include "link/backend.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#define TWO_GPUS                                                                                   \
  "cuda:sm_90 name=\"NVIDIA H200\" driver=13.0 memory=1MiB max_block=1024 shared=48KiB "           \
  "shared_optin=227KiB uuid=00000000-0000-0000-0000-000000000001;"                                 \
  "cuda:sm_90 name=\"NVIDIA H200\" driver=13.0 memory=1MiB max_block=1024 shared=48KiB "           \
  "shared_optin=227KiB uuid=00000000-0000-0000-0000-000000000002"

#define PTX_HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PTX_SAXPY                                                                                  \
  ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n"
#define PTX_EMPTY ".visible .entry empty() { ret; }\n"
#define PTX_GLOBAL ".global .align 4 .b8 table[64];\n"

static const char good_ptx[] = PTX_HEADER PTX_GLOBAL PTX_SAXPY PTX_EMPTY;

/* ------------------------------------------------------------------------------------------ */
/* The fake                                                                                     */

static char log_path[64];

static inline bool is_old(void) {
  return strcmp(getenv("KDL_TEST_FAKE"), "old") == 0;
}

/* A function of the fake driver. */
static inline void *fake_function(const char *name) {
  static void *library;
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_NOW);
  void *symbol = library ? dlsym(library, name) : NULL;
  if (!symbol)
    fail_msg("the fake driver has no %s", name);
  return symbol;
}

static inline unsigned ask_fake(const char *name) {
  unsigned (*ask)(void);
  void *symbol = fake_function(name);
  memcpy(&ask, &symbol, sizeof ask);
  return ask();
}

static inline void tell_fake(const char *name) {
  void (*tell)(void);
  void *symbol = fake_function(name);
  memcpy(&tell, &symbol, sizeof tell);
  tell();
}

static inline void inject(const char *rules) {
  setenv("KDL_FAKE_FAIL", rules, 1);
}

static inline void clear_log(void) {
  FILE *log = fopen(log_path, "w");
  assert_non_null(log);
  fclose(log);
}

/* How often a function was called since clear_log. */
static inline unsigned calls_of(const char *function) {
  FILE *log = fopen(log_path, "r");
  char line[128];
  unsigned count = 0;
  assert_non_null(log);
  while (fgets(line, sizeof line, log)) {
    line[strcspn(line, "\n")] = '\0';
    count += strcmp(line, function) == 0;
  }
  fclose(log);
  return count;
}

/* Runs the program again for each driver; returns in these runs with true. */
static inline bool run_for_each_driver(char **argv, int *out_result) {
  static const char *const folders[] = {"whole", "old"};
  *out_result = 0;
  if (getenv("KDL_TEST_FAKE"))
    return true;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
    printf("driver: %s\n", folders[i]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      char path[1024];
      snprintf(path, sizeof path, "%s/%s", KDL_TEST_FAKES, folders[i]);
      setenv("LD_LIBRARY_PATH", path, 1);
      setenv("KDL_TEST_FAKE", folders[i], 1);
      setenv("KDL_FAKE_DEVICES", TWO_GPUS, 1);
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    *out_result |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return false;
}

static inline void start_log(void) {
  snprintf(log_path, sizeof log_path, "/tmp/kdl-cuda-%d", (int)getpid());
  setenv("KDL_FAKE_LOG", log_path, 1);
  clear_log();
}

/* ------------------------------------------------------------------------------------------ */
/* The backend                                                                                  */

static const kdl_backend_table *cuda;

static inline void *open_device(uint32_t ordinal) {
  void *device = NULL;
  assert_ok(cuda->device_open(&(kdl_backend_device){.size = sizeof(kdl_backend_device),
                                                    .spec = "cuda:sm_90",
                                                    .ordinal = ordinal},
                              &device));
  return device;
}

static inline kdl_backend_image image_of(kdl_image_kind kind, const void *data, size_t size) {
  return (kdl_backend_image){.size = sizeof(kdl_backend_image),
                             .kind = kind,
                             .data = data,
                             .data_size = size,
                             .arch = "sm_90",
                             .name = "t: image 0"};
}

static inline void *load_ptx(void *device, const char *text) {
  void *module = NULL;
  kdl_backend_image image = image_of(KDL_IMAGE_PTX, text, strlen(text));
  assert_ok(cuda->module_load(device, &image, &module));
  return module;
}

static inline kdl_backend_kernel find_kernel(void *device, void *module, const char *name) {
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  kdl_backend_wish wish = {.size = sizeof wish, .name = name, .block = {128, 1, 1}};
  assert_ok(cuda->kernel_find(device, module, &wish, &kernel));
  return kernel;
}

static inline void *make_queue(void *device) {
  void *queue = NULL;
  assert_ok(cuda->queue_create(device, 0, &queue));
  return queue;
}

/* As kdl_launch does it. */
static inline kdl_status launch(const kdl_backend_kernel *kernel, void *queue,
                                const kdl_launch_desc *desc, kdl_args args) {
  kdl_kernel_head head = {kernel->launch, queue, kernel->context};
  return kernel->launch(&head, desc, &args, queue);
}

static inline kdl_launch_desc shape_of(uint32_t grid, uint32_t block) {
  kdl_launch_desc desc = kdl_grid(grid, 1, 1);
  desc.block[0] = block;
  desc.block[1] = desc.block[2] = 1;
  return desc;
}

#endif
