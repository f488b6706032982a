/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl next to the CUDA driver itself, LLVM's liboffload and the CUDA runtime, in one process, on
 * one GPU, with one cubin: launches that are queued, launches that are waited for, loading a
 * module; and in processes of their own, the way from nothing to a first result.
 *
 *     bench_cuda_launch [BLOCKS [PAIRS]]     at least 30 blocks and 40 rounds of processes
 *     bench_cuda_launch --count N direct|launch|null|items      N of one kind, for callgrind
 *
 * liboffload and the CUDA runtime are opened where they are found, and left out by name where they
 * are not. Returns 77 where there is no NVIDIA GPU.
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "measure/harness.h"
#include "measure/must.h"

#include "lib/backends/cuda/driver.h"
#include "lib/registry/backend.h"
#include "peers/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { queued = 100, least_blocks = 30, least_pairs = 40 };
enum { guest_count = 4, raw_guest = 3 };

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

/* A peer that is measured through its table. */
typedef struct {
  const peer *what;
  const peer_job *job;
  bool present;
  _Alignas(16) char state[PEER_STATE_LIMIT];
} peer_instance;

/* ------------------------------------------------------------------------------------------ */
/* Launching. Not inlined, so that callgrind can tell them apart.                                */

#define CASE __attribute__((noinline)) static void

CASE launch_direct(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  void *params[] = {&pointer};
  int error = kdl_cuda.launch(at->function, 16, 1, 1, 128, 1, 1, 0, at->stream, params, NULL);
  bench_do_not_optimize((const void *)(uintptr_t)error);
}

CASE launch_direct_free(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  void *params[] = {&pointer};
  int error = kdl_cuda.launch(at->free_kernel, 16, 1, 1, 128, 1, 1, 0, at->stream, params, NULL);
  bench_do_not_optimize((const void *)(uintptr_t)error);
}

CASE launch_kdl(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  kdl_status status = kdl_launch(at->kernel, at->queue, &at->desc, KDL_ARGS(&pointer));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_kdl_null(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  kdl_status status = kdl_launch(at->kernel, at->null_queue, &at->desc, KDL_ARGS(&pointer));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_items(void *context) {
  const subject *at = context;
  uint64_t pointer = 0;
  kdl_status status =
      kdl_launch_items(at->kernel, at->queue, kdl_extent1(2048), KDL_ARGS(&pointer));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

static void sync_raw(const subject *at) {
  bench_require_call(kdl_cuda.stream_sync(at->stream), "cuStreamSynchronize");
}

static void sync_kdl(const subject *at) {
  bench_require(kdl_sync(at->queue), "kdl_sync");
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
  bench_require(kdl_sync(at->null_queue), "kdl_sync");
}

static void idle_sync(void *context) {
  (void)context;
  bench_require_call(kdl_cuda.context_sync(), "cuCtxSynchronize");
}

/* ------------------------------------------------------------------------------------------ */
/* Guests                                                                                       */

static void require_peer(bool ok, const peer_instance *at) {
  if (!ok) {
    fprintf(stderr, "bench cuda_launch: %s: %s\n", at->what->name, peer_error());
    exit(1);
  }
}

static void queued_peer_launch(void *context) {
  peer_instance *at = context;
  bool ok = true;
  for (int i = 0; i < queued; ++i)
    ok &= at->what->arguments(at->state) && at->what->launch(at->state);
  require_peer(ok && at->what->sync(at->state), at);
}

static void waited_peer_launch(void *context) {
  peer_instance *at = context;
  require_peer(at->what->arguments(at->state) && at->what->launch(at->state) &&
                   at->what->sync(at->state),
               at);
}

/* A second state loads, so that what the first one launches stays. */
static void load_peer(void *context) {
  peer_instance at = *(peer_instance *)context;
  require_peer(peer_run_steps(at.what->load, at.state) && at.what->unload(at.state), &at);
}

static void load_and_launch_peer(void *context) {
  peer_instance at = *(peer_instance *)context;
  require_peer(peer_run_steps(at.what->load, at.state) && at.what->arguments(at.state) &&
                   at.what->launch(at.state) && at.what->sync(at.state) &&
                   at.what->unload(at.state),
               &at);
}

/* What a process does that launches once. */
static bool start_peer(peer_instance *at) {
  return at->what->open(at->state, at->job) && peer_run_steps(at->what->start, at->state) &&
         peer_run_steps(at->what->load, at->state);
}

/* ------------------------------------------------------------------------------------------ */
/* Loading                                                                                      */

static void load_raw(void *context) {
  const subject *at = context;
  void *module, *function;
  bench_require_call(kdl_cuda.module_load(&module, at->image, 0, NULL, NULL), "cuModuleLoadDataEx");
  bench_require_call(kdl_cuda.module_function(&function, module, kernel_name),
                     "cuModuleGetFunction");
  bench_require_call(kdl_cuda.module_unload(module), "cuModuleUnload");
}

static void load_raw_free(void *context) {
  const subject *at = context;
  void *library, *kernel, *function;
  bench_require_call(kdl_cuda.library_load(&library, at->image, NULL, NULL, 0, NULL, NULL, 0),
                     "cuLibraryLoadData");
  bench_require_call(kdl_cuda.library_kernel(&kernel, library, kernel_name), "cuLibraryGetKernel");
  bench_require_call(kdl_cuda.kernel_function(&function, kernel), "cuKernelGetFunction");
  bench_require_call(kdl_cuda.library_unload(library), "cuLibraryUnload");
}

/* The backend alone: what the runtime calls. */
static void load_backend(void *context) {
  const subject *at = context;
  static const kdl_backend_table *table;
  static void *device;
  if (!table) {
    table = kdl_backend_table_for(KDL_BACKEND_CUDA);
    kdl_backend_device desc = {.size = sizeof desc, .spec = "cuda"};
    bench_require(table->device_open(&desc, &device), "device");
  }
  kdl_backend_image image = {.size = sizeof image,
                             .kind = KDL_IMAGE_CUBIN,
                             .data = at->image,
                             .data_size = at->image_size,
                             .arch = "sm_90a",
                             .name = "bench"};
  kdl_kernel_request request = {.size = sizeof request, .name = kernel_name, .block = {128, 1, 1}};
  kdl_backend_kernel kernel = {.size = sizeof kernel};
  void *loaded;
  bench_require(table->image_load(device, &image, &loaded), "image_load");
  bench_require(table->kernel_find(device, loaded, &request, &kernel), "kernel_find");
  table->image_unload(device, loaded);
}

/* ------------------------------------------------------------------------------------------ */
/* Set-up                                                                                       */

static void read_cubin(subject *at) {
  const char *path = getenv("KDL_BENCH_CUBIN");
  path = path ? path : KDL_BENCH_DEFAULT_CUBIN;
  FILE *file = fopen(path, "rbe");
  enum { most = 1 << 20 };
  at->image = malloc(most);
  at->image_size = file && at->image ? fread(at->image, 1, most, file) : 0;
  if (!at->image_size) {
    fprintf(stderr, "bench cuda_launch: cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
}

static kdl_string to_kdl_string(const char *words) {
  return (kdl_string){words, strlen(words)};
}

static void make_library(subject *at) {
  kdl_writer *writer;
  kdl_pair pairs[] = {
      {to_kdl_string("triple"), to_kdl_string("nvptx64-nvidia-cuda")},
      {to_kdl_string("arch"), to_kdl_string("sm_90a")},
      {to_kdl_string("kdl.kernel.saxpy"), to_kdl_string("sig=ptr<f32>; block=128x1x1")}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_CUBIN),
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = at->image,
                            .data_size = at->image_size};
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "writer");
  bench_require(kdl_writer_add(writer, &image), "writer");
  bench_require(kdl_writer_finish(writer, &at->data, &at->data_size), "writer");
  kdl_writer_destroy(writer);
}

/* One pointer, to a buffer of eight bytes. */
static peer_job job_of(const subject *at) {
  static const uint64_t nothing;
  static const uint32_t sizes[] = {sizeof nothing}, offsets[] = {0};
  static const bool is_buffer[] = {true};
  return (peer_job){.device = "cuda:0",
                    .data = at->data,
                    .data_size = at->data_size,
                    .kernel = kernel_name,
                    .image = at->image,
                    .image_size = at->image_size,
                    .grid = {16, 1, 1},
                    .block = {128, 1, 1},
                    .arg_count = 1,
                    .arg_sizes = sizes,
                    .arg_offsets = offsets,
                    .arg_is_buffer = is_buffer,
                    .args = &nothing,
                    .args_size = sizeof nothing,
                    .buffer_size = sizeof nothing};
}

static void open_kdl(subject *at) {
  at->desc = kdl_grid(16, 1, 1);
  bench_require(kdl_queue_create(at->device, NULL, &at->queue), "queue");
  bench_require(kdl_open_memory(at->data, at->data_size, NULL, &at->lib), "open");
  bench_require(kdl_sym(at->lib, at->device, kernel_name, NULL, &at->kernel), "sym");
  bench_require(kdl_prefetch(at->kernel), "load");
}

/* The raw side uses the same context and stream. */
static void open_raw_cuda(subject *at) {
  void *module, *library;
  bench_require(kdl_queue_adopt(at->device, NULL, &at->null_queue), "adopt");
  bench_require(kdl_device_native(at->device, KDL_NATIVE_CONTEXT, &at->context), "context");
  bench_require(kdl_queue_native(at->queue, &at->stream), "stream");
  bench_require_call(kdl_cuda.context_push(at->context), "cuCtxPushCurrent");
  bench_require_call(kdl_cuda.module_load(&module, at->image, 0, NULL, NULL), "cuModuleLoadDataEx");
  bench_require_call(kdl_cuda.module_function(&at->function, module, kernel_name),
                     "cuModuleGetFunction");
  if (kdl_cuda.library_load) {
    bench_require_call(kdl_cuda.library_load(&library, at->image, NULL, NULL, 0, NULL, NULL, 0),
                       "cuLibraryLoadData");
    bench_require_call(kdl_cuda.library_kernel(&at->free_kernel, library, kernel_name),
                       "cuLibraryGetKernel");
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Cold processes                                                                               */

enum { most_modes = 8 };

/* Its end takes everything with it. */
static int run_cold(const char *name, const char *library) {
  subject at = {0};
  peer_instance process = {.what = peer_find(name)};
  peer_job job = job_of(&at);
  read_cubin(&at);
  job.image = at.image;
  job.image_size = at.image_size;
  job.library = library;
  process.job = &job;
  require_peer(start_peer(&process) && process.what->arguments(process.state) &&
                   process.what->launch(process.state) && peer_result(process.what, process.state),
               &process);
  return 0;
}

static double time_process(const char *name, const char *library) {
  double start = bench_now_ns();
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "bench_cuda_launch", "--cold", name, library, (char *)NULL);
    _exit(127);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    bench_die(name);
  return bench_now_ns() - start;
}

/* Rounds of processes, the order within a round changing. */
static void measure_cold(const char *const *names, size_t count, size_t rounds, const subject *at,
                         bench_run *out_run) {
  char library[] = "/tmp/kdl-bench-XXXXXX";
  int file = mkstemp(library);
  if (file < 0 || write(file, at->data, at->data_size) != (ssize_t)at->data_size)
    bench_die(library);
  close(file);
  *out_run = (bench_run){.cases = count, .blocks = rounds};
  for (size_t i = 0; i < count; ++i)
    time_process(names[i], library);
  for (size_t i = 0; i < rounds; ++i) {
    for (size_t k = 0; k < count; ++k) {
      size_t which = (i + k) % count;
      out_run->ns[which][i] = time_process(names[which], library);
    }
  }
  unlink(library);
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

static void report_cases(const char *title, const bench_case *cases, size_t count, size_t blocks,
                         double operations) {
  static bench_run run;
  const char *names[KDL_BENCH_LIMIT_CASES];
  for (size_t i = 0; i < count; ++i)
    names[i] = cases[i].name;
  bench_measure(cases, count, blocks, 20, &run);
  print_rows(title, &run, names, count, operations);
}

/* Directly with the very handles that libkdl has, so that the driver does the same for both. */
static int run_launch_count(subject *at, long count, const char *which) {
  bench_require(kdl_kernel_native(at->kernel, &at->free_kernel), "native");
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

/* Adds the cases of the guests that are here. */
static size_t add_peer_cases(bench_case *cases, size_t count, peer_instance *instances,
                             void (*run)(void *), const char *const *names) {
  for (size_t i = 0; i < guest_count; ++i) {
    if (instances[i].present)
      cases[count++] = (bench_case){names[i], run, &instances[i]};
  }
  return count;
}

static void run_launches(subject *at, peer_instance *instances, size_t blocks) {
  static const char *const on_queue_names[] = {"olLaunchKernel", "cudaLaunchKernel",
                                               "kdl_launch, a queue of its own",
                                               "cuLaunchKernel, a stream of its own"};
  static const char *const waited_names[] = {
      "olLaunchKernel, olSyncQueue", "cudaLaunchKernel, cudaStreamSynchronize",
      "kdl_launch, kdl_sync, a queue of its own", "cuLaunchKernel, likewise, a stream of its own"};
  bench_case on_queue[KDL_BENCH_LIMIT_CASES] = {
      {"cuLaunchKernel, CUfunction", queued_raw, at},
      {"kdl_launch", queued_kdl, at},
      {"kdl_launch_items", queued_items, at},
      {"kdl_launch, adopted NULL stream", queued_null, at},
      {"cuLaunchKernel, CUkernel", queued_raw_free, at}};
  bench_case waited[KDL_BENCH_LIMIT_CASES] = {
      {"cuLaunchKernel, cuStreamSynchronize", waited_raw, at},
      {"kdl_launch, kdl_sync", waited_kdl, at},
      {"kdl_launch_items, kdl_sync", waited_items, at},
      {"cuLaunchKernel of a CUkernel, likewise", waited_raw_free, at}};
  size_t with_free = at->free_kernel ? 1 : 0;
  size_t count =
      add_peer_cases(on_queue, 4 + with_free, instances, queued_peer_launch, on_queue_names);
  report_cases("100 launches of an empty kernel, then a sync: per launch", on_queue, count, blocks,
               queued);
  count = add_peer_cases(waited, 3 + with_free, instances, waited_peer_launch, waited_names);
  report_cases("one launch, then a sync", waited, count, blocks, 1);
}

static void run_loads(subject *at, peer_instance *instances, size_t blocks) {
  static const char *const load_names[] = {"olCreateProgram, olGetSymbol, olDestroyProgram",
                                           "__cudaRegisterFatBinary, cudaFuncGetAttributes",
                                           "kdl_open_memory, kdl_sym, kdl_prefetch, kdl_close",
                                           "cuModuleLoadDataEx, once more"};
  static const char *const use_names[] = {"liboffload", "the CUDA runtime", "libkdl",
                                          "the driver, modules"};
  bench_case loads[KDL_BENCH_LIMIT_CASES] = {
      {"cuModuleLoadDataEx, GetFunction, Unload", load_raw, at},
      {"the backend: load, find, unload", load_backend, at},
      {"cuCtxSynchronize, idle", idle_sync, at},
      {"cuLibraryLoadData, GetKernel, GetFunction, Unload", load_raw_free, at}};
  size_t with_free = at->free_kernel ? 1 : 0;
  size_t count = add_peer_cases(loads, 3 + with_free, instances, load_peer, load_names);
  report_cases("a cubin of two kernels, loaded and unloaded", loads, count, blocks, 1);
  bench_case uses[KDL_BENCH_LIMIT_CASES] = {
      {"the driver, modules", load_and_launch_peer, &instances[raw_guest]}};
  count = add_peer_cases(uses, 1, instances, load_and_launch_peer, use_names);
  report_cases("the same with one launch and its sync in between", uses, count - 1, blocks, 1);
}

static void run_cold_processes(const subject *at, const peer_instance *instances, size_t rounds) {
  static bench_run cold;
  const char *names[most_modes] = {"driver", "kdl"};
  const char *words[most_modes] = {"the driver alone", "libkdl, device named"};
  size_t count = 2;
  for (size_t i = 0; i < raw_guest; ++i) {
    if (instances[i].present && instances[i].what != &peer_kdl) {
      words[count] = instances[i].what->what;
      names[count++] = instances[i].what->name;
    }
  }
  if (at->free_kernel) {
    words[count] = peer_driver_library.what;
    names[count++] = peer_driver_library.name;
  }
  measure_cold(names, count, rounds, at, &cold);
  print_rows("a process from start to end, with one launch and its result", &cold, words, count, 1);
}

static void open_peers(peer_instance *instances, const peer_job *job) {
  static const peer *const all[guest_count] = {&peer_liboffload, &peer_cudart, &peer_kdl,
                                               &peer_driver};
  for (size_t i = 0; i < guest_count; ++i) {
    instances[i].what = all[i];
    instances[i].job = job;
    instances[i].present = start_peer(&instances[i]);
    if (!instances[i].present)
      printf("left out: %s: %s\n", all[i]->name, peer_error());
  }
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "--cold") == 0)
    return run_cold(argv[2], argv[3]);
  subject at = {0};
  read_cubin(&at);
  make_library(&at);
  if (kdl_device_find("cuda:0", &at.device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  open_kdl(&at);
  open_raw_cuda(&at);
  if (argc > 3 && strcmp(argv[1], "--count") == 0)
    return run_launch_count(&at, strtol(argv[2], NULL, 10), argv[3]);
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
  size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : least_pairs;
  if (blocks < least_blocks || blocks > KDL_BENCH_LIMIT_BLOCKS || rounds > KDL_BENCH_LIMIT_BLOCKS) {
    fprintf(stderr, "bench cuda_launch: expected %d to %d blocks, at most %d rounds\n",
            least_blocks, KDL_BENCH_LIMIT_BLOCKS, KDL_BENCH_LIMIT_BLOCKS);
    return 2;
  }
  printf("kdl bench cuda_launch, libkdl %s: %zu interleaved blocks, %zu rounds of processes\n%s\n",
         kdl_version(), blocks, rounds, kdl_device_spec_text(at.device));
  static peer_instance instances[guest_count];
  peer_job job = job_of(&at);
  open_peers(instances, &job);
  putchar('\n');
  run_launches(&at, instances, blocks);
  run_loads(&at, instances, blocks);
  run_cold_processes(&at, instances, rounds);
  return 0;
}
