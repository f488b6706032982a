/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* adopt LIBRARY BACKEND: a program that has a context, a stream and memory of the driver's own lets
 * libkdl use them: cuda, hip or opencl. Returns 77 where this machine has no such device. */
#include <kdl/sequence.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 1000 };

static const char *library_name;

static void *entry(const char *name) {
  void *found = dlsym(dlopen(library_name, RTLD_NOW), name);
  if (!found) {
    printf("FAIL: %s has no %s\n", library_name, name);
    exit(1);
  }
  return found;
}
#define ENTRY(name, type) ((type)(uintptr_t)entry(name))

static void must(int error, const char *call) {
  if (!error)
    return;
  printf("FAIL: %s: error %d\n", call, error);
  exit(1);
}
#define MUST(call) must(call, #call)
#define OK(call)                                                                                   \
  do {                                                                                             \
    if ((call) != KDL_OK) {                                                                        \
      printf("FAIL: %s: %s\n", #call, kdl_error_message());                                        \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* ------------------------------------------------------------------------------------------ */
/* What the program has of its own                                                              */

/* The driver's functions by which a program captures a stream. */
typedef struct {
  const char *begin, *end, *launch, *destroy_instance, *destroy;
} capture_names;

typedef struct {
  void *context, *queue;
  uint64_t memory[2]; /* of `count` floats each */
  const capture_names *capture;
} own;

static own make_cuda(void) {
  static const capture_names names = {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                                      "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy"};
  own made = {.capture = &names};
  int device = -1;
  library_name = "libcuda.so.1";
  MUST(ENTRY("cuInit", int (*)(unsigned))(0));
  MUST(ENTRY("cuDeviceGet", int (*)(int *, int))(&device, 0));
  MUST(ENTRY("cuCtxCreate_v2", int (*)(void **, unsigned, int))(&made.context, 0, device));
  MUST(ENTRY("cuStreamCreate", int (*)(void **, unsigned))(&made.queue, 0));
  for (int i = 0; i < 2; ++i)
    MUST(ENTRY("cuMemAlloc_v2", int (*)(uint64_t *, size_t))(&made.memory[i],
                                                             count * sizeof(float)));
  void *popped;
  MUST(ENTRY("cuCtxPopCurrent_v2", int (*)(void **))(&popped));
  return made;
}

/* HIP has no contexts. libkdl has opened the library, of whichever version. */
static own make_hip(void) {
  static const capture_names names = {"hipStreamBeginCapture", "hipStreamEndCapture",
                                      "hipGraphLaunch", "hipGraphExecDestroy", "hipGraphDestroy"};
  static const char *const versions[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                         "libamdhip64.so.5"};
  own made = {.capture = &names};
  for (size_t i = 0; i < sizeof versions / sizeof *versions && !library_name; ++i) {
    if (dlopen(versions[i], RTLD_NOW | RTLD_NOLOAD))
      library_name = versions[i];
  }
  must(!library_name, "dlopen of libamdhip64");
  MUST(ENTRY("hipStreamCreateWithPriority", int (*)(void **, unsigned, int))(&made.queue, 1, 0));
  for (int i = 0; i < 2; ++i) {
    void *memory = NULL;
    MUST(ENTRY("hipMalloc", int (*)(void **, size_t))(&memory, count * sizeof(float)));
    made.memory[i] = (uint64_t)(uintptr_t)memory;
  }
  return made;
}

static own make_opencl(void) {
  own made = {0};
  int error = 0;
  void *platform, *device;
  library_name = "libOpenCL.so.1";
  MUST(ENTRY("clGetPlatformIDs", int (*)(uint32_t, void **, uint32_t *))(1, &platform, NULL));
  MUST(ENTRY("clGetDeviceIDs", int (*)(void *, uint64_t, uint32_t, void **, uint32_t *))(
      platform, 0xffffffff, 1, &device, NULL));
  made.context =
      ENTRY("clCreateContext", void *(*)(const intptr_t *, uint32_t, void **, void *, void *,
                                         int *))(NULL, 1, &device, NULL, NULL, &error);
  must(error, "clCreateContext");
  made.queue = ENTRY("clCreateCommandQueue",
                     void *(*)(void *, void *, uint64_t, int *))(made.context, device, 0, &error);
  must(error, "clCreateCommandQueue");
  for (int i = 0; i < 2; ++i) {
    made.memory[i] = (uint64_t)(uintptr_t)ENTRY("clCreateBuffer",
                                                void *(*)(void *, uint64_t, size_t, void *, int *))(
        made.context, 1, count * sizeof(float), NULL, &error);
    must(error, "clCreateBuffer");
  }
  return made;
}

/* ------------------------------------------------------------------------------------------ */
/* A sequence in the program's own capture                                                      */

static void enter(const own *mine) {
  if (mine->context)
    MUST(ENTRY("cuCtxPushCurrent_v2", int (*)(void *))(mine->context));
}

static void leave(const own *mine) {
  void *popped;
  if (mine->context)
    MUST(ENTRY("cuCtxPopCurrent_v2", int (*)(void **))(&popped));
}

static void instantiate(const own *mine, void *graph, void **instance) {
  if (mine->context)
    MUST(ENTRY("cuGraphInstantiateWithFlags", int (*)(void **, void *, uint64_t))(instance, graph,
                                                                                  0));
  else
    MUST(ENTRY("hipGraphInstantiate",
               int (*)(void **, void *, void **, char *, size_t))(instance, graph, NULL, NULL, 0));
}

/* Becomes part of the program's graph, with what is bound when it is captured. */
static void run_in_capture(kdl_device *device, kdl_queue *queue, kdl_kernel *kernel,
                           const own *mine, const kdl_buffer *in, const kdl_buffer *out) {
  enum { relaxed = 2 };
  kdl_sequence *sequence;
  kdl_slot factor, slots[2];
  static float x[count], y[count];
  float a = 3;
  uint32_t n = count;
  void *graph, *instance;
  OK(kdl_sequence_create(device, &sequence));
  OK(kdl_sequence_add_scalar(sequence, "a", sizeof a, &factor));
  OK(kdl_sequence_add_buffer(sequence, "in", sizeof x, &slots[0]));
  OK(kdl_sequence_add_buffer(sequence, "out", sizeof x, &slots[1]));
  for (int i = 0; i < 3; ++i) {
    const kdl_operand args[] = {kdl_operand_slot(factor), kdl_operand_slot(slots[i % 2]),
                                kdl_operand_slot(slots[1 - i % 2]), KDL_VALUE(&n)};
    OK(kdl_sequence_launch_items(sequence, kernel, kdl_operand_items(kdl_extent1(count)), args, 4));
  }
  OK(kdl_sequence_finish(sequence));
  const kdl_binding bindings[] = {KDL_BIND_SCALAR(factor, &a), kdl_bind_buffer(slots[0], *in),
                                  kdl_bind_buffer(slots[1], *out)};
  enter(mine);
  MUST(ENTRY(mine->capture->begin, int (*)(void *, int))(mine->queue, relaxed));
  OK(kdl_sequence_run(sequence, queue, bindings, 3));
  MUST(ENTRY(mine->capture->end, int (*)(void *, void **))(mine->queue, &graph));
  instantiate(mine, graph, &instance);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < count; ++i)
      x[i] = (float)(i + pass);
    OK(kdl_write(queue, in, 0, x, sizeof x));
    MUST(ENTRY(mine->capture->launch, int (*)(void *, void *))(instance, mine->queue));
    OK(kdl_read(queue, y, out, 0, sizeof y));
    OK(kdl_sync(queue));
    for (int i = 0; i < count; ++i)
      must(y[i] != 27 * x[i], "the captured sequence");
  }
  MUST(ENTRY(mine->capture->destroy_instance, int (*)(void *))(instance));
  MUST(ENTRY(mine->capture->destroy, int (*)(void *))(graph));
  /* Behind the capture it is the sequence's own graph again. */
  OK(kdl_write(queue, in, 0, x, sizeof x));
  OK(kdl_sequence_run(sequence, queue, bindings, 3));
  OK(kdl_read(queue, y, out, 0, sizeof y));
  OK(kdl_sync(queue));
  for (int i = 0; i < count; ++i)
    must(y[i] != 27 * x[i], "the sequence behind the capture");
  leave(mine);
  kdl_sequence_info info = {.size = sizeof info};
  OK(kdl_sequence_get(sequence, &info));
  kdl_sequence_destroy(sequence);
  printf("ok: a sequence, which is a %s, was captured by the program\n", info.replay);
}

/* ------------------------------------------------------------------------------------------ */

int main(int argc, char **argv) {
  kdl_device *device;
  kdl_library *lib;
  kdl_queue *queue;
  kdl_kernel *kernel;
  static float x[count], y[count];
  if (argc != 3)
    return 2;
  if (kdl_device_find(argv[2], &device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  own mine = strcmp(argv[2], "cuda") == 0  ? make_cuda()
             : strcmp(argv[2], "hip") == 0 ? make_hip()
                                           : make_opencl();
  if (mine.context)
    OK(kdl_device_adopt(device, mine.context));
  OK(kdl_open(argv[1], NULL, &lib));
  OK(kdl_queue_adopt(device, mine.queue, &queue));
  OK(kdl_sym(lib, device, "scale", NULL, &kernel));
  kdl_buffer in = kdl_buffer_adopt(device, mine.memory[0], sizeof x);
  kdl_buffer out = kdl_buffer_adopt(device, mine.memory[1], sizeof y);
  for (int i = 0; i < count; ++i)
    x[i] = (float)i;
  OK(kdl_write(queue, &in, 0, x, sizeof x));
  float a = 2;
  uint32_t n = count;
  OK(kdl_launch_items(kernel, queue, kdl_extent1(count), KDL_ARGS(&a, &in, &out, &n)));
  OK(kdl_read(queue, y, &out, 0, sizeof y));
  OK(kdl_sync(queue));
  for (int i = 0; i < count; ++i) {
    if (y[i] != 2 * x[i]) {
      printf("FAIL: found %g at %d, expected %g\n", (double)y[i], i, (double)(2 * x[i]));
      return 1;
    }
  }
  if (mine.capture)
    run_in_capture(device, queue, kernel, &mine, &in, &out);
  void *context, *native;
  OK(kdl_device_native(device, KDL_NATIVE_CONTEXT, &context));
  OK(kdl_queue_native(queue, &native));
  if (context != mine.context || native != mine.queue) {
    puts("FAIL: the handles are not the program's own");
    return 1;
  }
  kdl_queue_destroy(queue);
  kdl_close(lib);
  printf("ok: %sa queue and memory of the program's own were used\n",
         mine.context ? "a context, " : "");
  return 0;
}
