/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A machine with one (fake) NVIDIA GPU through the public API: exactly which calls the driver gets
 * from a cold start, and which context is current. Each case is a separate process, because the
 * first calls matter. */
#include "fake_log.h"
#include "support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define GPU "cuda:sm_90 driver=13.0 memory=1GiB max_block=1024 shared=48KiB shared_optin=227KiB"

/* ------------------------------------------------------------------------------------------ */
/* The fake                                                                                     */

static void *fake_function(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  void *symbol = library ? dlsym(library, name) : NULL;
  if (!symbol)
    fail_msg("the fake driver has no %s", name);
  return symbol;
}

static unsigned depth(void) {
  unsigned (*ask)(void);
  void *symbol = fake_function("fake_cuda_depth");
  memcpy(&ask, &symbol, sizeof ask);
  return ask();
}

static int call_with_handle(const char *name, void *handle) {
  int (*function)(void *);
  void *symbol = fake_function(name);
  memcpy(&function, &symbol, sizeof function);
  return function(handle);
}

static void *create_context(void) {
  int (*create)(void **, unsigned, int);
  void *symbol = fake_function("cuCtxCreate_v2");
  memcpy(&create, &symbol, sizeof create);
  void *context = NULL;
  assert_int_equal(create(&context, 0, 100), 0);
  return context;
}

static char log_text[8192];

/* What was called since the last time, one name after the other; several of the same as "name*3".
 */
static const char *calls(void) {
  const char *path = getenv("KDL_FAKE_LOG");
  FILE *log = fopen(path, "r");
  char line[128], last[128] = "";
  unsigned times = 0;
  size_t used = 0;
  bool more = log != NULL;
  log_text[0] = '\0';
  while (more) {
    more = fgets(line, sizeof line, log) != NULL;
    line[strcspn(line, "\n")] = '\0';
    if (more && strcmp(line, last) == 0) {
      ++times;
      continue;
    }
    if (times)
      used += (size_t)snprintf(log_text + used, sizeof log_text - used,
                               times > 1 ? "%s%s*%u" : "%s%s", used ? " " : "", last, times);
    snprintf(last, sizeof last, "%s", line);
    times = 1;
  }
  if (log)
    fclose(log);
  assert_int_equal(truncate(path, 0), 0);
  return log_text;
}

static unsigned threads_now(void) {
  unsigned count = 0;
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (struct dirent *entry; (entry = readdir(tasks));)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* ------------------------------------------------------------------------------------------ */
/* A program                                                                                    */

typedef struct {
  uint8_t *cubin;
  void *data;
  size_t size;
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *kernel;
  kdl_buffer memory;
} program;

/* The cubin's kernel `fill` takes a pointer and a number. */
static void make_library(program *p) {
  size_t size;
  kdl_writer *writer;
  p->cubin = read_golden("images/sm_90a.cubin", &size);
  kdl_pair pairs[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                      {{"arch", 4}, {"sm_90a", 6}},
                      {{"kdl.kernel.saxpy", 16}, {"block=128x1x1", 13}}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_CUBIN),
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = p->cubin,
                            .data_size = size};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &p->data, &p->size));
  kdl_writer_destroy(writer);
}

static program open_program(void) {
  program p = {0};
  make_library(&p);
  assert_ok(kdl_device_find("cuda:0", &p.device));
  assert_ok(kdl_open_memory(p.data, p.size, NULL, &p.lib));
  assert_ok(kdl_queue_create(p.device, NULL, &p.queue));
  assert_ok(kdl_alloc(p.device, 64, &p.memory));
  assert_ok(kdl_sym(p.lib, p.device, "saxpy", NULL, &p.kernel));
  return p;
}

static void close_program(program *p) {
  assert_ok(kdl_free(&p->memory));
  kdl_queue_destroy(p->queue);
  kdl_close(p->lib);
  free(p->data);
  free(p->cubin);
}

static kdl_status launch(program *p) {
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  return kdl_launch_call(p->kernel, p->queue, &desc, &KDL_ARGS(&p->memory));
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

/* Around calls that may allocate. */
#define RELAX "cuThreadExchangeStreamCaptureMode "
#define RELAXED(call) "cuCtxGetCurrent " RELAX call " cuThreadExchangeStreamCaptureMode"

static void a_cold_start_makes_these_calls(void) {
  program p = {0};
  make_library(&p);
  assert_ok(kdl_device_find("cuda:0", &p.device));
  assert_string_equal(calls(), "cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet "
                               "cuDeviceGetAttribute*2 cuDeviceGetName cuDeviceTotalMem_v2 "
                               "cuDeviceGetUuid_v2 cuDeviceGetAttribute*12");
  assert_ok(kdl_open_memory(p.data, p.size, NULL, &p.lib));
  assert_string_equal(calls(), "");
  /* The context, which stays current, the queue of launches that name none, and this one. */
  assert_ok(kdl_queue_create(p.device, NULL, &p.queue));
  assert_string_equal(calls(),
                      "cuDeviceGetCount cuDeviceGet cuDevicePrimaryCtxRetain "
                      "cuCtxGetCurrent cuCtxPushCurrent_v2 " RELAX
                      "cuStreamCreateWithPriority cuThreadExchangeStreamCaptureMode " RELAXED(
                          "cuStreamCreateWithPriority"));
  assert_ok(kdl_alloc(p.device, 64, &p.memory));
  assert_string_equal(calls(), RELAXED("cuMemAlloc_v2"));
  assert_ok(kdl_sym(p.lib, p.device, "saxpy", NULL, &p.kernel));
  assert_string_equal(calls(), "");
  assert_ok(launch(&p));
  assert_string_equal(
      calls(), "cuCtxGetCurrent cuStreamIsCapturing " RELAXED("cuModuleLoadDataEx") " " RELAXED(
                   "cuModuleGetFunction cuFuncGetParamInfo") " cuLaunchKernel");
  uint64_t value;
  assert_ok(kdl_read(p.queue, &value, &p.memory, 0, sizeof value));
  assert_ok(kdl_sync(p.queue));
  assert_string_equal(calls(),
                      "cuCtxGetCurrent cuMemcpyDtoHAsync_v2 cuCtxGetCurrent cuStreamQuery");
  assert_int_equal(threads_now(), 1);
  close_program(&p);
}

static void a_launch_is_one_call(void) {
  program p = open_program();
  assert_ok(launch(&p));
  calls();
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel");
  assert_int_equal(depth(), 1); /* as the CUDA runtime would have left it */
  close_program(&p);
  assert_int_equal(depth(), 1);
}

static void *launch_twice(void *user) {
  program *p = user;
  kdl_status first = launch(p);
  const char *made = calls();
  bool good =
      first == KDL_OK && depth() == 1 &&
      strcmp(made, "cuLaunchKernel cuCtxGetCurrent*2 cuCtxPushCurrent_v2 cuLaunchKernel") == 0;
  if (!good)
    printf("first: %s\n", made);
  good = good && launch(p) == KDL_OK;
  made = calls();
  if (good && strcmp(made, "cuLaunchKernel") != 0) {
    printf("then: %s\n", made);
    good = false;
  }
  return good ? p : NULL;
}

/* It has no context at first, and keeps the one it is given. */
static void a_fresh_thread_launches(void) {
  program p = open_program();
  pthread_t thread;
  void *good;
  assert_ok(launch(&p));
  calls();
  pthread_create(&thread, NULL, launch_twice, &p);
  pthread_join(thread, &good);
  assert_ptr_equal(good, &p);
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel"); /* the queue did not learn from it */
  close_program(&p);
}

static void another_context_stays_current(void) {
  program p = open_program();
  assert_ok(launch(&p));
  void *other = create_context();
  assert_int_equal(depth(), 2);
  calls();
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel cuCtxGetCurrent*2 cuCtxPushCurrent_v2 "
                               "cuLaunchKernel cuCtxPopCurrent_v2");
  assert_ok(launch(&p));
  assert_string_equal(calls(),
                      "cuCtxGetCurrent cuCtxPushCurrent_v2 cuLaunchKernel cuCtxPopCurrent_v2");
  assert_int_equal(depth(), 2);
  assert_int_equal(call_with_handle("cuCtxDestroy_v2", other), 0);
  assert_ok(launch(&p));
  close_program(&p);
}

/* The driver refuses a function there too where its context is not current, and would launch a
 * kernel in whichever context is. */
static void the_default_stream_takes_one_call(void) {
  program p = open_program();
  kdl_queue *own = p.queue;
  assert_ok(kdl_queue_adopt(p.device, NULL, &p.queue));
  assert_ok(launch(&p));
  calls();
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel");
  void *other = create_context();
  calls();
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel cuCtxGetCurrent*2 cuCtxPushCurrent_v2 "
                               "cuLaunchKernel cuCtxPopCurrent_v2");
  assert_ok(launch(&p));
  assert_string_equal(calls(),
                      "cuCtxGetCurrent cuCtxPushCurrent_v2 cuLaunchKernel cuCtxPopCurrent_v2");
  assert_int_equal(call_with_handle("cuCtxDestroy_v2", other), 0);
  kdl_queue_destroy(p.queue);
  p.queue = own;
  close_program(&p);
}

static void unloading_waits_for_what_was_launched(void) {
  program p = open_program();
  assert_ok(kdl_prefetch(p.kernel));
  calls();
  kdl_close(p.lib);
  assert_string_equal(calls(), RELAXED("cuModuleUnload"));
  assert_ok(kdl_open_memory(p.data, p.size, NULL, &p.lib));
  assert_ok(kdl_sym(p.lib, p.device, "saxpy", NULL, &p.kernel));
  assert_ok(kdl_prefetch(p.kernel));
  assert_ok(launch(&p));
  calls();
  kdl_close(p.lib);
  assert_string_equal(calls(), RELAXED("cuCtxSynchronize cuModuleUnload"));
  p.lib = NULL;
  close_program(&p);
}

/* KDL_CUDA_MODULES=0 */
static void libraries_can_be_asked_for(void) {
  program p = open_program();
  calls();
  assert_ok(launch(&p));
  assert_string_equal(
      calls(),
      "cuCtxGetCurrent cuStreamIsCapturing " RELAXED("cuLibraryLoadData") " " RELAXED(
          "cuLibraryGetKernel cuKernelGetFunction cuKernelGetParamInfo") " cuLaunchKernel");
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel");
  void *other = create_context();
  calls();
  assert_ok(launch(&p)); /* the function is refused, the kernel is not */
  assert_string_equal(calls(), "cuLaunchKernel cuCtxGetCurrent cuLaunchKernel");
  assert_ok(launch(&p));
  assert_string_equal(calls(), "cuLaunchKernel");
  assert_int_equal(call_with_handle("cuCtxDestroy_v2", other), 0);
  close_program(&p);
}

/* ------------------------------------------------------------------------------------------ */
/* One process for each                                                                         */

static const struct {
  const char *name;
  void (*run)(void);
  const char *modules; /* KDL_CUDA_MODULES */
} cases[] = {
#define CASE(name, modules) {#name, name, modules}
    CASE(a_cold_start_makes_these_calls, NULL),
    CASE(a_launch_is_one_call, NULL),
    CASE(the_default_stream_takes_one_call, NULL),
    {"the_default_stream_takes_one_call_of_libraries", the_default_stream_takes_one_call, "0"},
    CASE(a_fresh_thread_launches, NULL),
    CASE(another_context_stays_current, NULL),
    CASE(unloading_waits_for_what_was_launched, NULL),
    CASE(libraries_can_be_asked_for, "0"),
#undef CASE
};

static int run_alone(size_t number) {
  char log[fake_log_size];
  fflush(stdout);
  make_fake_log(log);
  pid_t child = fork();
  if (child == 0) {
    setenv("LD_LIBRARY_PATH", KDL_TEST_FAKES "/whole", 1);
    setenv("KDL_FAKE_DEVICES", GPU, 1);
    setenv("KDL_FAKE_LOG", log, 1);
    unsetenv("KDL_CUDA_MODULES");
    if (cases[number].modules)
      setenv("KDL_CUDA_MODULES", cases[number].modules, 1);
    execl("/proc/self/exe", "test_cuda_alone", cases[number].name, (char *)NULL);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  unlink(log);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void run_case(void **state) {
  cases[*(const size_t *)*state].run();
}

int main(int argc, char **argv) {
  int failed = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc == 1) {
      failed |= run_alone(i);
    } else if (strcmp(argv[1], cases[i].name) == 0) {
      const struct CMUnitTest test = {cases[i].name, run_case, NULL, NULL, &i};
      return _cmocka_run_group_tests(cases[i].name, &test, 1, NULL, NULL);
    }
  }
  return failed;
}
