/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl beside the CUDA driver itself, in one process, on one GPU, with one cubin: launches that
 * are queued, launches that are waited for, loading a module; and in processes of their own, the
 * way from nothing to a first result.
 *
 *     bench_cuda_launch [BLOCKS [PAIRS]]     at least 30 blocks and 40 pairs of processes
 *     bench_cuda_launch --count N direct|launch|null|items      N of one kind, for callgrind
 *
 * Returns 77 where there is no NVIDIA GPU.
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "harness.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/driver.h"
#include "link/backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { queued = 100, least_blocks = 30, least_pairs = 40 };

/* Both kernels of the image take one pointer and return at once. */
static const char kernel_name[] = "saxpy";

typedef struct {
  void *image; /* the cubin */
  size_t image_size;
  void *data; /* the library that holds it */
  size_t data_size;
  kdl_device *device;
  kdl_library *lib;
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_queue *null_queue; /* the context's NULL stream, adopted */
  void *context;
  void *stream;
  void *function;    /* CUfunction of a module */
  void *free_kernel; /* CUkernel, free of contexts */
  kdl_launch_desc desc;
} subject;

static void die(const char *what) {
  fprintf(stderr, "bench cuda_launch: %s: %s\n", what, kdl_error_message());
  exit(1);
}

static void must(kdl_status status, const char *what) {
  if (status != KDL_OK)
    die(what);
}

static void must_cuda(int error, const char *what) {
  if (error != KDL_CUDA_SUCCESS) {
    fprintf(stderr, "bench cuda_launch: %s: CUDA error %d\n", what, error);
    exit(1);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Launching. Not inlined, so that callgrind can tell them apart.                                */

#define CASE __attribute__((noinline)) static void

CASE launch_direct(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  void *params[] = {&pointer};
  int error = kdl_cuda.launch(at->function, 16, 1, 1, 128, 1, 1, 0, at->stream, params, NULL);
  bench_keep((const void *)(uintptr_t)error);
}

CASE launch_direct_free(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  void *params[] = {&pointer};
  int error = kdl_cuda.launch(at->free_kernel, 16, 1, 1, 128, 1, 1, 0, at->stream, params, NULL);
  bench_keep((const void *)(uintptr_t)error);
}

CASE launch_kdl(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  kdl_status status = kdl_launch(at->kernel, at->queue, &at->desc, KDL_ARGS(&pointer));
  bench_keep((const void *)(uintptr_t)status);
}

CASE launch_kdl_null(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  kdl_status status = kdl_launch(at->kernel, at->null_queue, &at->desc, KDL_ARGS(&pointer));
  bench_keep((const void *)(uintptr_t)status);
}

CASE launch_items(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  kdl_status status =
      kdl_launch_items(at->kernel, at->queue, kdl_extent1(2048), KDL_ARGS(&pointer));
  bench_keep((const void *)(uintptr_t)status);
}

static void sync_raw(const subject *at) {
  must_cuda(kdl_cuda.stream_sync(at->stream), "cuStreamSynchronize");
}

static void sync_kdl(const subject *at) {
  must(kdl_sync(at->queue), "kdl_sync");
}

#define QUEUED(name, launch, sync)                                                                 \
  static void queued_##name(void *context) {                                                       \
    for (int i = 0; i < queued; ++i)                                                               \
      launch(context);                                                                             \
    sync(context);                                                                                 \
  }                                                                                                \
  static void waited_##name(void *context) {                                                       \
    launch(context);                                                                               \
    sync(context);                                                                                 \
  }
QUEUED(raw, launch_direct, sync_raw)
QUEUED(raw_free, launch_direct_free, sync_raw)
QUEUED(kdl, launch_kdl, sync_kdl)
QUEUED(items, launch_items, sync_kdl)

static void queued_null(void *context) {
  const subject *at = context;
  for (int i = 0; i < queued; ++i)
    launch_kdl_null(context);
  must(kdl_sync(at->null_queue), "kdl_sync");
}

static void idle_sync(void *context) {
  (void)context;
  must_cuda(kdl_cuda.context_sync(), "cuCtxSynchronize");
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static void load_raw(void *context) {
  const subject *at = context;
  void *module, *function;
  must_cuda(kdl_cuda.module_load(&module, at->image, 0, NULL, NULL), "cuModuleLoadDataEx");
  must_cuda(kdl_cuda.module_function(&function, module, kernel_name), "cuModuleGetFunction");
  must_cuda(kdl_cuda.module_unload(module), "cuModuleUnload");
}

static void load_raw_free(void *context) {
  const subject *at = context;
  void *library, *kernel, *function;
  must_cuda(kdl_cuda.library_load(&library, at->image, NULL, NULL, 0, NULL, NULL, 0),
            "cuLibraryLoadData");
  must_cuda(kdl_cuda.library_kernel(&kernel, library, kernel_name), "cuLibraryGetKernel");
  must_cuda(kdl_cuda.kernel_function(&function, kernel), "cuKernelGetFunction");
  must_cuda(kdl_cuda.library_unload(library), "cuLibraryUnload");
}

/* The backend alone: what the runtime calls. */
static void load_backend(void *context) {
  const subject *at = context;
  static const kdl_backend_table *table;
  static void *device;
  if (!table) {
    table = kdl_backend_serving(KDL_BACKEND_CUDA);
    kdl_backend_device desc = {.size = sizeof desc, .spec = "cuda"};
    must(table->device_open(&desc, &device), "device");
  }
  kdl_backend_image image = {.size = sizeof image,
                             .kind = KDL_IMAGE_CUBIN,
                             .data = at->image,
                             .data_size = at->image_size,
                             .arch = "sm_90a",
                             .name = "bench"};
  kdl_backend_wish wish = {.size = sizeof wish, .name = kernel_name, .block = {128, 1, 1}};
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  void *module;
  must(table->module_load(device, &image, &module), "module_load");
  must(table->kernel_find(device, module, &wish, &kernel), "kernel_find");
  table->module_unload(device, module);
}

/* All of it: open the library, rank its images, load, close. */
static void load_kdl(void *context) {
  const subject *at = context;
  kdl_library *lib;
  kdl_kernel *kernel;
  must(kdl_open_memory(at->data, at->data_size, NULL, &lib), "open");
  must(kdl_sym(lib, at->device, kernel_name, NULL, &kernel), "sym");
  must(kdl_prefetch(kernel), "load");
  kdl_close(lib);
}

/* ------------------------------------------------------------------------------------------ */
/* Set-up                                                                                       */

static void read_image(subject *at) {
  const char *path = getenv("KDL_BENCH_CUBIN");
  path = path ? path : KDL_BENCH_DEFAULT_CUBIN;
  FILE *file = fopen(path, "rb");
  enum { most = 1 << 20 };
  at->image = malloc(most);
  at->image_size = file && at->image ? fread(at->image, 1, most, file) : 0;
  if (!at->image_size) {
    fprintf(stderr, "bench cuda_launch: cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
}

static kdl_string text(const char *words) {
  return (kdl_string){words, strlen(words)};
}

static void make_library(subject *at) {
  kdl_writer *writer;
  kdl_pair pairs[] = {{text("triple"), text("nvptx64-nvidia-cuda")},
                      {text("arch"), text("sm_90a")},
                      {text("kdl.kernel.saxpy"), text("sig=ptr<f32>; block=128x1x1")}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_CUBIN),
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = at->image,
                            .data_size = at->image_size};
  must(kdl_writer_create(KDL_FORMAT_V1, &writer), "writer");
  must(kdl_writer_add(writer, &image), "writer");
  must(kdl_writer_finish(writer, &at->data, &at->data_size), "writer");
  kdl_writer_destroy(writer);
}

static void open_kdl(subject *at) {
  at->desc = kdl_grid(16, 1, 1);
  must(kdl_queue_create(at->device, NULL, &at->queue), "queue");
  must(kdl_open_memory(at->data, at->data_size, NULL, &at->lib), "open");
  must(kdl_sym(at->lib, at->device, kernel_name, NULL, &at->kernel), "sym");
  must(kdl_prefetch(at->kernel), "load");
}

/* The raw side uses the same context and stream. */
static void open_raw(subject *at) {
  void *module, *library;
  must(kdl_queue_adopt(at->device, NULL, &at->null_queue), "adopt");
  must(kdl_device_native(at->device, KDL_NATIVE_CONTEXT, &at->context), "context");
  must(kdl_queue_native(at->queue, &at->stream), "stream");
  must_cuda(kdl_cuda.context_push(at->context), "cuCtxPushCurrent");
  must_cuda(kdl_cuda.module_load(&module, at->image, 0, NULL, NULL), "cuModuleLoadDataEx");
  must_cuda(kdl_cuda.module_function(&at->function, module, kernel_name), "cuModuleGetFunction");
  if (kdl_cuda.library_load) {
    must_cuda(kdl_cuda.library_load(&library, at->image, NULL, NULL, 0, NULL, NULL, 0),
              "cuLibraryLoadData");
    must_cuda(kdl_cuda.library_kernel(&at->free_kernel, library, kernel_name),
              "cuLibraryGetKernel");
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Cold processes                                                                               */

static kdl_cuda_api load_driver_alone(void) {
  kdl_cuda_api api;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "bench cuda_launch: %s\n", dlerror());
    exit(1);
  }
#define KDL_CUDA_SYMBOL(need, field, name, version, parameters)                                    \
  {                                                                                                \
    void *symbol = dlsym(library, #name);                                                          \
    memcpy(&api.field, &symbol, sizeof symbol);                                                    \
  }
#include "backends/cuda/symbols.def"
#undef KDL_CUDA_SYMBOL
  return api;
}

/* The driver alone, as a program that knows its one cubin would do it. The process ends next, and
 * takes everything with it. */
static int run_cold_raw(void) {
  subject at = {0};
  read_image(&at);
  kdl_cuda_api api = load_driver_alone();
  int device;
  void *context, *module, *function, *stream;
  uint64_t memory, value = 1;
  must_cuda(api.init(0), "cuInit");
  must_cuda(api.device_get(&device, 0), "cuDeviceGet");
  must_cuda(api.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
  must_cuda(api.context_push(context), "cuCtxPushCurrent");
  must_cuda(api.stream_create(&stream, 1, 0), "cuStreamCreate");
  must_cuda(api.alloc(&memory, sizeof value), "cuMemAlloc");
  must_cuda(api.module_load(&module, at.image, 0, NULL, NULL), "cuModuleLoadDataEx");
  must_cuda(api.module_function(&function, module, kernel_name), "cuModuleGetFunction");
  void *params[] = {&memory};
  must_cuda(api.launch(function, 16, 1, 1, 128, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
  must_cuda(api.read(&value, memory, sizeof value, stream), "cuMemcpyDtoHAsync");
  must_cuda(api.stream_sync(stream), "cuStreamSynchronize");
  return 0;
}

/* A program that names its device, as the raw one does; else every vendor's driver is asked. */
static int run_cold_kdl(void) {
  subject at = {0};
  kdl_buffer memory;
  uint64_t value = 1;
  read_image(&at);
  make_library(&at);
  must(kdl_device_find("cuda:0", &at.device), "device");
  open_kdl(&at);
  must(kdl_alloc(at.device, sizeof value, &memory), "alloc");
  must(kdl_launch(at.kernel, at.queue, &at.desc, KDL_ARGS(&memory)), "launch");
  must(kdl_read(at.queue, &value, &memory, 0, sizeof value), "read");
  must(kdl_sync(at.queue), "sync");
  return 0;
}

static double time_process(const char *mode) {
  double start = bench_now_ns();
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "bench_cuda_launch", mode, (char *)NULL);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    die(mode);
  return bench_now_ns() - start;
}

/* Pairs of processes, the order within a pair changing. */
static void measure_cold(size_t pairs, bench_run *out_run) {
  static const char *const modes[] = {"--cold-raw", "--cold-kdl"};
  *out_run = (bench_run){.cases = 2, .blocks = pairs};
  time_process(modes[0]);
  for (size_t i = 0; i < pairs; ++i) {
    for (size_t k = 0; k < 2; ++k) {
      size_t which = (i + k) % 2;
      out_run->ns[which][i] = time_process(modes[which]);
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Reports                                                                                      */

static void print_rows(const char *title, const bench_run *run, const char *const *names,
                       size_t count, double operations) {
  printf("%s\n  %-46s %12s %12s %12s   %s\n", title, "", "median ns", "p5", "p95",
         "ratio to the first, 95% interval");
  for (size_t i = 0; i < count; ++i) {
    bench_summary each = bench_summarise(run, i);
    bench_interval ratio = bench_ratio(run, i, 0);
    printf("  %-46s %12.1f %12.1f %12.1f", names[i], each.median / operations, each.p5 / operations,
           each.p95 / operations);
    if (i)
      printf("   %.4f  %.4f .. %.4f", ratio.median, ratio.low, ratio.high);
    putchar('\n');
  }
  putchar('\n');
  fflush(stdout);
}

static void report(const char *title, const bench_case *cases, size_t count, size_t blocks,
                   double operations) {
  static bench_run run;
  const char *names[KDL_BENCH_LIMIT_CASES];
  for (size_t i = 0; i < count; ++i)
    names[i] = cases[i].name;
  bench_measure(cases, count, blocks, 20, &run);
  print_rows(title, &run, names, count, operations);
}

/* Directly with the very handles that libkdl has, so that the driver does the same for both. */
static int run_count(subject *at, long count, const char *which) {
  must(kdl_kernel_native(at->kernel, &at->free_kernel), "native");
  static const bench_case named[] = {{"direct", launch_direct_free, NULL},
                                     {"launch", launch_kdl, NULL},
                                     {"null", launch_kdl_null, NULL},
                                     {"items", launch_items, NULL}};
  for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
    if (strcmp(named[i].name, which) != 0)
      continue;
    while (count-- > 0)
      named[i].run(at);
    return 0;
  }
  return 2;
}

static void run_all(subject *at, size_t blocks, size_t pairs) {
  bench_case on_queue[] = {{"cuLaunchKernel, CUfunction", queued_raw, at},
                           {"kdl_launch", queued_kdl, at},
                           {"kdl_launch_items", queued_items, at},
                           {"kdl_launch, adopted NULL stream", queued_null, at},
                           {"cuLaunchKernel, CUkernel", queued_raw_free, at}};
  bench_case waited[] = {{"cuLaunchKernel, cuStreamSynchronize", waited_raw, at},
                         {"kdl_launch, kdl_sync", waited_kdl, at},
                         {"kdl_launch_items, kdl_sync", waited_items, at},
                         {"cuLaunchKernel of a CUkernel, likewise", waited_raw_free, at}};
  bench_case loads[] = {{"cuModuleLoadDataEx, GetFunction, Unload", load_raw, at},
                        {"the backend: load, find, unload", load_backend, at},
                        {"kdl_open_memory, sym, prefetch, close", load_kdl, at},
                        {"cuCtxSynchronize, idle", idle_sync, at},
                        {"cuLibraryLoadData, GetKernel, GetFunction, Unload", load_raw_free, at}};
  size_t with_free = at->free_kernel ? 1 : 0;
  report("100 launches of an empty kernel, then a sync: per launch", on_queue, 4 + with_free,
         blocks, queued);
  report("one launch, then a sync", waited, 3 + with_free, blocks, 1);
  report("a cubin of two kernels, loaded and unloaded", loads, 4 + with_free, blocks, 1);
  static bench_run cold;
  static const char *const names[] = {"the driver alone", "libkdl, device named"};
  measure_cold(pairs, &cold);
  print_rows("a process from start to end, with one launch and its result", &cold, names, 2, 1);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--cold-raw") == 0)
    return run_cold_raw();
  if (argc > 1 && strcmp(argv[1], "--cold-kdl") == 0)
    return run_cold_kdl();
  subject at = {0};
  read_image(&at);
  make_library(&at);
  if (kdl_device_find("cuda:0", &at.device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  open_kdl(&at);
  open_raw(&at);
  if (argc > 3 && strcmp(argv[1], "--count") == 0)
    return run_count(&at, strtol(argv[2], NULL, 10), argv[3]);
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
  size_t pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : least_pairs;
  if (blocks < least_blocks || blocks > KDL_BENCH_LIMIT_BLOCKS || pairs > KDL_BENCH_LIMIT_BLOCKS) {
    fprintf(stderr, "bench cuda_launch: expected %d to %d blocks, at most %d pairs\n", least_blocks,
            KDL_BENCH_LIMIT_BLOCKS, KDL_BENCH_LIMIT_BLOCKS);
    return 2;
  }
  printf("kdl bench cuda_launch, libkdl %s: %zu interleaved blocks, %zu pairs of processes\n%s\n\n",
         kdl_version(), blocks, pairs, kdl_device_spec_text(at.device));
  run_all(&at, blocks, pairs);
  return 0;
}
