/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a launch costs once the kernel is bound: on a driver that does nothing, next to a direct
 * call of the driver's function pointer with its 11 arguments; and on the host, next to a plain
 * call of the same function, a call through an IFUNC, and an empty target region of OpenMP, which
 * goes through LLVM's offload runtime.
 *
 *     bench_launch [BLOCKS]          times
 *     bench_launch --count N KIND   N of one kind, for callgrind
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "lib/inspect/launches.h"
#include "measure/harness.h"
#include "measure/must.h"
#include "peers/peer.h"

#include <kdl/host_abi.h>
#include <kdl/kdl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int driver_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **params, void **extra);

typedef struct {
  kdl_kernel *kernel;
  kdl_kernel *variant;  /* the same, before images with conditions */
  kdl_kernel *shaped;   /* with three arguments that describe the problem */
  kdl_kernel *adaptive; /* the same under the policy adaptive, decided */
  kdl_kernel *special;  /* with an image for the values of those arguments */
  kdl_kernel *observed; /* without one, while launches are observed */
  kdl_queue *queue;
  void *function;
  driver_launch **direct;
  kdl_host_function *plain;
  kdl_launch_desc desc; /* a program that launches often has it ready */
} subject;

/* ------------------------------------------------------------------------------------------ */
/* The cases. Not inlined, so that callgrind can tell them apart. */

#define CASE __attribute__((noinline)) static void

CASE launch_direct(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  void *params[] = {&n};
  int code = (*at->direct)(at->function, 16, 1, 1, 128, 1, 1, 0, at->queue, params, NULL);
  bench_do_not_optimize((const void *)(uintptr_t)code);
}

CASE launch_kdl(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_status status = kdl_launch(at->kernel, at->queue, &at->desc, KDL_ARGS(&n));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_anew(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_launch_desc desc = kdl_grid(16, 1, 1);
  desc.block[0] = 128, desc.block[1] = 1, desc.block[2] = 1;
  kdl_status status = kdl_launch(at->kernel, at->queue, &desc, KDL_ARGS(&n));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_default_queue(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_status status = kdl_launch(at->kernel, NULL, &at->desc, KDL_ARGS(&n));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_call(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_args args = KDL_ARGS(&n);
  kdl_status status = kdl_launch_call(at->kernel, at->queue, &at->desc, &args);
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_items(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_status status = kdl_launch_items(at->kernel, at->queue, kdl_extent1(2000), KDL_ARGS(&n));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

/* Of two images, the first is for other launches. */
CASE launch_when(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_status status = kdl_launch_items(at->variant, at->queue, kdl_extent1(2000), KDL_ARGS(&n));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

static inline void launch_matrix(kdl_kernel *kernel, kdl_queue *queue) {
  uint32_t m = 2000, n = 768, k = 3072;
  kdl_status status = kdl_launch_items(kernel, queue, kdl_extent2(m, n), KDL_ARGS(&m, &n, &k));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

CASE launch_shaped(void *context) {
  const subject *at = context;
  launch_matrix(at->shaped, at->queue);
}

/* The class of the problem is decided. */
CASE launch_adaptive(void *context) {
  const subject *at = context;
  launch_matrix(at->adaptive, at->queue);
}

/* There is an image for these values. */
CASE launch_special(void *context) {
  const subject *at = context;
  launch_matrix(at->special, at->queue);
}

CASE launch_observed(void *context) {
  const subject *at = context;
  launch_matrix(at->observed, at->queue);
}

CASE host_plain(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  const void *args[] = {&n};
  kdl_host_group group = {.size = sizeof group, .group_count = {1, 1, 1}, .block = {1, 1, 1}};
  at->plain(&group, args);
}

CASE host_launch(void *context) {
  const subject *at = context;
  uint32_t n = 5;
  kdl_status status = kdl_launch(at->kernel, at->queue, &at->desc, KDL_ARGS(&n));
  bench_do_not_optimize((const void *)(uintptr_t)status);
}

/* What ld.so offers for functions that come in several versions: the resolver runs when the program
 * is loaded, a call is one indirect jump. */
static void ifunc_baseline(const kdl_host_group *group, const void *const *args) {
  bench_do_not_optimize(group);
  bench_do_not_optimize(args);
}

static void ifunc_newer(const kdl_host_group *group, const void *const *args) {
  bench_do_not_optimize(args);
  bench_do_not_optimize(group);
}

/* Runs before anything else, a sanitizer's own start included. */
__attribute__((used, no_sanitize("address", "undefined", "thread"))) static kdl_host_function *
choose_version(void) {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") ? ifunc_newer : ifunc_baseline;
#else
  return (uintptr_t)ifunc_newer < (uintptr_t)ifunc_baseline ? ifunc_newer : ifunc_baseline;
#endif
}

__attribute__((ifunc("choose_version"))) void bench_ifunc(const kdl_host_group *group,
                                                          const void *const *args);

CASE host_ifunc(void *context) {
  (void)context;
  uint32_t n = 5;
  const void *args[] = {&n};
  kdl_host_group group = {.size = sizeof group, .group_count = {1, 1, 1}, .block = {1, 1, 1}};
  bench_ifunc(&group, args);
}

typedef struct {
  const peer *what;
  peer_job job;
  _Alignas(16) char state[PEER_STATE_LIMIT];
} peer_instance;

CASE host_omp(void *context) {
  peer_instance *at = context;
  if (!at->what->launch(at->state))
    bench_die(peer_error());
}

/* ------------------------------------------------------------------------------------------ */
/* Set-up                                                                                       */

static kdl_string to_kdl_string(const char *words) {
  return (kdl_string){words, strlen(words)};
}

enum { declared_bitcode = 2, declared_cubin = 3 }; /* LLVM's numbers */

static void add_image_bytes(kdl_writer *writer, const char *key, uint16_t kind, const void *data,
                            size_t size) {
  kdl_pair pairs[] = {{to_kdl_string("triple"), to_kdl_string("nvptx64-nvidia-cuda")},
                      {to_kdl_string("arch"), to_kdl_string("sm_90")},
                      {to_kdl_string("kdl.kernel.k"), to_kdl_string(key)}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kind,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = data,
                            .data_size = size};
  bench_require(kdl_writer_add(writer, &image), "writer");
}

static void add_null_image(kdl_writer *writer, const char *key) {
  add_image_bytes(writer, key, declared_cubin, "image", 5);
}

/* A library of images whose bytes do not matter. */
static kdl_library *null_library(bool with_condition) {
  void *data; /* stays until the program ends */
  size_t size;
  kdl_writer *writer;
  kdl_library *lib;
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "writer");
  if (with_condition)
    add_null_image(writer, "sig=u32; block=128x1x1; names=n; when=items.x>=64 & n%4==0");
  add_null_image(writer, "sig=u32; block=128x1x1");
  bench_require(kdl_writer_finish(writer, &data, &size), "writer");
  kdl_writer_destroy(writer);
  bench_require(kdl_open_memory(data, size, NULL, &lib), "open");
  return lib;
}

static kdl_library *shaped_library(void) {
  static const char key[] =
      "sig=u32 u32 u32; block=128x1x1; names=m n k; shape=m n k; effects=idempotent";
  void *data;
  size_t size;
  kdl_writer *writer;
  kdl_library *lib;
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "writer");
  add_null_image(writer, key);
  add_null_image(writer, key);
  bench_require(kdl_writer_finish(writer, &data, &size), "writer");
  kdl_writer_destroy(writer);
  bench_require(kdl_open_memory(data, size, NULL, &lib), "open");
  return lib;
}

/* Bitcode whose contents do not matter: the fake kdl-ld does not read it. */
static kdl_kernel *special_kernel(kdl_device *device, const char *mode) {
  void *data;
  size_t size;
  kdl_writer *writer;
  kdl_library *lib;
  kdl_kernel *kernel;
  setenv("KDL_LD", KDL_BENCH_FAKE_LD, 1);
  setenv("KDL_FAKE_LD_IMAGE", KDL_BENCH_PTX, 1);
  setenv("KDL_SPECIALIZE", mode, 1);
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "writer");
  add_image_bytes(writer, "sig=u32 u32 u32; block=128x1x1; names=m n k; specialize=m n k",
                  declared_bitcode,
                  "BC\xc0\xde"
                  "1234",
                  8);
  bench_require(kdl_writer_finish(writer, &data, &size), "writer");
  kdl_writer_destroy(writer);
  bench_require(kdl_open_memory(data, size, NULL, &lib), "open");
  bench_require(kdl_sym(lib, device, "k", NULL, &kernel), "kernel");
  bench_require(kdl_prefetch(kernel), "load");
  return kernel;
}

static void wait_for_special(const subject *at) {
  unsigned ready = 0, failed = 0;
  launch_matrix(at->special, at->queue);
  while (!ready && !failed) {
    usleep(1000);
    kdl_kernel_count_specialized(at->special, &ready, &failed);
  }
  if (failed)
    bench_die("no image for the values: see KDL_DEBUG=link");
}

static subject null_subject(void) {
  subject made = {.desc = kdl_grid(16, 1, 1)};
  kdl_device *device = kdl_device_at(0);
  bench_require(kdl_queue_create(device, NULL, &made.queue), "queue");
  bench_require(kdl_sym(null_library(false), device, "k", NULL, &made.kernel), "kernel");
  bench_require(kdl_prefetch(made.kernel), "load");
  bench_require(kdl_sym(null_library(true), device, "k", NULL, &made.variant), "kernel");
  bench_require(kdl_prefetch(made.variant), "load");
  const kdl_select_opts adaptive = {.size = sizeof adaptive, .policy = KDL_POLICY_ADAPTIVE};
  kdl_library *shaped = shaped_library();
  bench_require(kdl_sym(shaped, device, "k", NULL, &made.shaped), "kernel");
  bench_require(kdl_sym(shaped, device, "k", &adaptive, &made.adaptive), "kernel");
  launch_matrix(made.shaped, made.queue);
  launch_matrix(made.adaptive, made.queue);
  made.special = special_kernel(device, "auto,1");
  made.observed = special_kernel(device, "auto,1000000");
  wait_for_special(&made);
  bench_require(kdl_kernel_native(made.kernel, &made.function), "native");
  made.direct = dlsym(dlopen(KDL_NULL_BACKEND, RTLD_NOW), "null_launch");
  if (!made.direct)
    bench_die("null_launch");
  return made;
}

static subject host_subject(void) {
  subject made = {.desc = kdl_grid(1, 1, 1)};
  kdl_library *lib;
  kdl_device *device;
  void *function;
  bench_require(kdl_open(KDL_HOST_IMAGE, NULL, &lib), "open");
  bench_require(kdl_device_find("host", &device), "host");
  bench_require(kdl_queue_create(device, NULL, &made.queue), "queue");
  bench_require(kdl_sym(lib, device, "nothing", NULL, &made.kernel), "kernel");
  bench_require(kdl_kernel_native(made.kernel, &function), "native");
  memcpy(&made.plain, &function, sizeof made.plain);
  return made;
}

/* False where the parts are missing, which is printed. */
static bool open_omp(peer_instance *at) {
  if (!*KDL_PEER_OMP)
    return peer_fail("built without clang-22, libomp-22-dev or liboffload-22-dev");
  at->what = peer_open(KDL_PEER_OMP);
  return at->what && at->what->open(at->state, &at->job) &&
         peer_run_steps(at->what->start, at->state) && peer_run_steps(at->what->load, at->state);
}

static void report_cases(const char *title, const bench_case *cases, size_t count, size_t blocks) {
  static bench_run run;
  bench_measure(cases, count, blocks, 2, &run);
  printf("%s\n", title);
  for (size_t i = 0; i < count; ++i) {
    bench_summary each = bench_summarise(&run, i);
    bench_interval more = bench_difference(&run, i, 0);
    printf("  %-38s %8.2f ns", cases[i].name, each.median);
    if (i)
      printf("  %+7.2f ns  %+7.2f .. %+7.2f (95%% interval)", more.median, more.low, more.high);
    putchar('\n');
  }
}

static int run_launch_count(const subject *at, long count, const char *which) {
  static const bench_case named[] = {
      {"direct", launch_direct, NULL},     {"launch", launch_kdl, NULL},
      {"anew", launch_anew, NULL},         {"default", launch_default_queue, NULL},
      {"call", launch_call, NULL},         {"items", launch_items, NULL},
      {"when", launch_when, NULL},         {"shaped", launch_shaped, NULL},
      {"adaptive", launch_adaptive, NULL}, {"special", launch_special, NULL},
      {"observed", launch_observed, NULL}};
  for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
    if (strcmp(named[i].name, which) != 0)
      continue;
    subject context = *at;
    while (count-- > 0)
      named[i].run(&context);
    return 0;
  }
  return 2;
}

int main(int argc, char **argv) {
  setenv("KDL_BACKEND_PATH", KDL_NULL_BACKEND, 1);
  setenv("KDL_EXPLORE", "0", 1); /* every class is decided */
  setenv("KDL_CACHE", "off", 1);
  subject null = null_subject();
  if (argc > 3 && strcmp(argv[1], "--count") == 0)
    return run_launch_count(&null, strtol(argv[2], NULL, 10), argv[3]);
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
  printf("kdl bench launch, libkdl %s: %zu interleaved blocks\n\n", kdl_version(), blocks);
  bench_case on_null[] = {{"the driver's function pointer", launch_direct, &null},
                          {"kdl_launch", launch_kdl, &null},
                          {"kdl_launch, default queue", launch_default_queue, &null},
                          {"kdl_launch, descriptor made each time", launch_anew, &null},
                          {"kdl_launch_call", launch_call, &null},
                          {"kdl_launch_items", launch_items, &null},
                          {"kdl_launch_items, by a condition", launch_when, &null},
                          {"kdl_launch_items, three sizes", launch_shaped, &null},
                          {"the same, adaptive and decided", launch_adaptive, &null},
                          {"the same, specialized", launch_special, &null},
                          {"the same, observed", launch_observed, &null}};
  report_cases("a driver that does nothing", on_null, sizeof on_null / sizeof *on_null, blocks);
  subject host = host_subject();
  static peer_instance omp;
  bench_case on_host[] = {{"a plain call", host_plain, &host},
                          {"a call through an IFUNC", host_ifunc, &host},
                          {"kdl_launch", host_launch, &host},
                          {"omp target", host_omp, &omp}};
  bool with_omp = open_omp(&omp);
  report_cases("an empty kernel on the host, one group", on_host, with_omp ? 4 : 3, blocks);
  if (!with_omp)
    printf("  %-38s skipped: %s\n", "omp target", peer_error());
  return 0;
}
