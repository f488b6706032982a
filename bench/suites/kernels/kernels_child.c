/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A process of `kdl bench kernels`: one peer on the CPU, or all on a GPU, which do as their parent
 * says. Every image has a kernel `mark` that writes down what it was compiled for, so that what is
 * measured is known to be the code that it is said to be.
 */
#include "suites/kernels/kernels_product.h"

#include "measure/harness.h"
#include "peers/gemm.h"
#include "peers/peer.h"
#include "suites/process.h"
#include "support/base/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { mark_size = 32, most_devices = 64 };

/* Plain C: FOLDER/c.so and FOLDER/openmp.so, of bench/kernels/plain.c. */
typedef void c_function(void *const buffers[], uint32_t n);

typedef struct {
  const char *name;
  const char *folder;
  kdl_device *device; /* NULL: plain C */
  kdl_queue *queue;
  void *object;
  /* Of the kernel that was asked for last. */
  kernels_problem problem;
  kdl_library *library;
  kdl_kernel *kernel;
  kdl_buffer buffers[KERNELS_BUFFERS];
  c_function *function;
  kernels_product product; /* of matrices */
  bool is_product;
  uint32_t threads;
} runner;

/* ------------------------------------------------------------------------------------------ */
/* Finding it                                                                                   */

static kdl_status find_platform(const char *platform, kdl_device **out_device) {
  for (int i = 0; i < most_devices; ++i) {
    char name[16];
    kdl_device *device = NULL;
    kdl_device_info info = {.size = sizeof info};
    snprintf(name, sizeof name, "opencl:%d", i);
    if (kdl_device_find(name, &device) != KDL_OK)
      break;
    if (kdl_device_get(device, &info) == KDL_OK && info.platform &&
        strncmp(info.platform, platform, strlen(platform)) == 0 &&
        info.device_class == KDL_DEVICE_CPU) {
      *out_device = device;
      return KDL_OK;
    }
  }
  return kdl_fail(KDL_UNSUPPORTED, "found no CPU of the OpenCL platform '%s'", platform);
}

static kdl_status open_plain(runner *r, const char *threads) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s.so", r->folder, strcmp(threads, "1") == 0 ? "c" : "openmp");
  if (access(path, R_OK) != 0)
    return kdl_fail(KDL_UNSUPPORTED, "%s is not there", path);
  r->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return r->object ? KDL_OK : kdl_fail(KDL_UNSUPPORTED, "%s", dlerror());
}

static kdl_status open_onednn(void) {
  const char *problem = gemm_onednn.open();
  return problem ? kdl_fail(KDL_UNSUPPORTED, "%s", problem) : KDL_OK;
}

static kdl_status open_runner(runner *r, const char *device, const char *threads, int channel) {
  kdl_status status = KDL_OK;
  r->threads = (uint32_t)strtoul(threads, NULL, 10);
  if (strcmp(r->name, "torch") == 0)
    return kernels_product_exec_torch(r->folder, threads, channel);
  if (strcmp(r->name, "onednn") == 0)
    return open_onednn();
  if (strcmp(r->name, "openmp") == 0)
    return open_plain(r, threads);
  if (strcmp(r->name, "pocl") == 0)
    status = find_platform("Portable Computing Language", &r->device);
  else if (strcmp(r->name, "intel") == 0)
    status = find_platform("Intel(R) OpenCL", &r->device);
  else
    status = kdl_device_find(device, &r->device);
  return status == KDL_OK ? kdl_queue_create(r->device, NULL, &r->queue) : status;
}

static void describe_runner(const runner *r, char *text, size_t size) {
  if (r->device) {
    snprintf(text, size, "%s", kdl_device_spec_text(r->device));
    return;
  }
  if (!r->object) {
    snprintf(text, size, "%s", gemm_onednn.title);
    return;
  }
  const char *const *compiler = dlsym(r->object, "kdl_bench_compiler");
  snprintf(text, size, "%s", compiler ? *compiler : "plain C");
}

/* ------------------------------------------------------------------------------------------ */
/* One kernel                                                                                   */

static void release_runner(runner *r) {
  for (size_t i = 0; i < KERNELS_BUFFERS && r->device; ++i)
    kdl_free(&r->buffers[i]);
  memset(r->buffers, 0, sizeof r->buffers);
  kernels_product_free(&r->product);
  kdl_close(r->library);
  r->library = NULL;
  kernels_problem_free(&r->problem);
}

/* Launches, and waits for the last. */
static kdl_status run_repeats(const runner *r, uint64_t repeats) {
  const kernels_problem *p = &r->problem;
  const void *pointers[KERNELS_ARGUMENTS];
  for (size_t i = 0; i < p->argument_count; ++i) {
    const kernels_argument *a = &p->arguments[i];
    pointers[i] = a->buffer < 0 ? (const void *)&a->bits : &r->buffers[a->buffer];
  }
  kdl_args args = {p->argument_count, pointers, NULL};
  kdl_status status = KDL_OK;
  for (uint64_t i = 0; i < repeats && status == KDL_OK; ++i) {
    if (r->is_product)
      status = kernels_product_run(&r->product);
    else if (r->function)
      r->function(p->buffers, p->n);
    else
      status = kdl_launch_items(r->kernel, r->queue, p->items, args);
  }
  return status == KDL_OK && r->queue ? kdl_sync(r->queue) : status;
}

/* What the image says that it was compiled for must be what libkdl, or the peer's name, says. */
static kdl_status check_mark(const runner *r, char found[mark_size]) {
  kdl_kernel *mark = NULL;
  kdl_buffer out = {0};
  kdl_kernel_info kernel = {.size = sizeof kernel};
  kdl_image_info image = {.size = sizeof image};
  kdl_status status = kdl_alloc(r->device, mark_size, &out);
  if (status == KDL_OK)
    status = kdl_sym(r->library, r->device, "mark", NULL, &mark);
  if (status == KDL_OK)
    status = kdl_launch_items(mark, r->queue, kdl_extent1(1), KDL_ARGS(&out));
  if (status == KDL_OK)
    status = kdl_read(r->queue, found, &out, 0, mark_size);
  if (status == KDL_OK)
    status = kdl_sync(r->queue);
  if (status == KDL_OK)
    status = kdl_kernel_get(r->kernel, &kernel);
  if (status == KDL_OK)
    status = kdl_image_get(r->library, kernel.image, &image);
  kdl_free(&out);
  if (status != KDL_OK)
    return status;
  found[mark_size - 1] = '\0';
  found[strcspn(found, "/")] = '\0';
  const char *want = strcmp(r->name, "nvcc") == 0 ? "nvcc"
                     : image.kind == KDL_IMAGE_CL ? "opencl-c"
                                                  : image.arch.data;
  return strcmp(found, want) == 0
             ? KDL_OK
             : kdl_fail(KDL_DEVICE, "the code that ran says '%s', expected '%s'", found, want);
}

static kdl_status load_device(runner *r, const kernels_case *what, char found[mark_size]) {
  bool is_nvcc = strcmp(r->name, "nvcc") == 0; /* all of its kernels are in one library */
  char path[PATH_MAX];
  const kdl_open_opts as_it_stands = {.size = sizeof as_it_stands, .flags = KDL_OPEN_FILE};
  snprintf(path, sizeof path, "%s/%s.offload", r->folder, is_nvcc ? "nvcc" : what->library);
  kdl_status status = kdl_open(path, &as_it_stands, &r->library);
  if (status == KDL_OK)
    status = kdl_sym(r->library, r->device, is_nvcc ? what->name : what->kernel, NULL, &r->kernel);
  for (size_t i = 0; i < r->problem.buffer_count && status == KDL_OK; ++i) {
    status = kdl_alloc(r->device, r->problem.bytes[i], &r->buffers[i]);
    if (status == KDL_OK)
      status = kdl_write(r->queue, &r->buffers[i], 0, r->problem.buffers[i], r->problem.bytes[i]);
  }
  if (status == KDL_OK)
    status = kdl_sync(r->queue);
  return status == KDL_OK ? check_mark(r, found) : status;
}

static kdl_status load_plain(runner *r, const kernels_case *what) {
  char name[64];
  snprintf(name, sizeof name, "kdl_bench_%s", what->name);
  void *symbol = dlsym(r->object, name);
  memcpy(&r->function, &symbol, sizeof r->function);
  return symbol ? KDL_OK : kdl_fail(KDL_NO_MATCH, "it has no %s", name);
}

/* The first launch, whose result is compared. Plain C and products work in the problem's own
 * memory, so that the comparison is with another copy of what it started from. */
static kdl_status launch_first(runner *r, const kernels_case *what) {
  kernels_problem *p = &r->problem, before = *p;
  bool is_in_place = r->function || r->is_product;
  void *result = malloc(p->bytes[p->result]);
  if (!result || (is_in_place && !kernels_problem_make(what, p->n, &before))) {
    free(result);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %s", what->name);
  }
  kdl_status status = run_repeats(r, 1);
  if (status == KDL_OK && is_in_place)
    memcpy(result, p->buffers[p->result], p->bytes[p->result]);
  else if (status == KDL_OK)
    status = kdl_read(r->queue, result, &r->buffers[p->result], 0, p->bytes[p->result]);
  if (status == KDL_OK && r->queue)
    status = kdl_sync(r->queue);
  double apart = status == KDL_OK ? what->max_error(&before, result) : 0;
  if (is_in_place)
    kernels_problem_free(&before);
  free(result);
  return status != KDL_OK || apart <= what->tolerance
             ? status
             : kdl_fail(KDL_DEVICE, "its result is wrong: %g apart, expected at most %g", apart,
                        what->tolerance);
}

static kdl_status prepare_command(runner *r, const kernels_command *command,
                                  char found[mark_size]) {
  const kernels_case *what = &kernels_cases[command->kernel];
  release_runner(r);
  if (!kernels_problem_make(what, command->n, &r->problem))
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %s", what->name);
  r->is_product = !what->library;
  kdl_status status = r->is_product ? kernels_product_prepare(r->folder, r->queue, r->threads, what,
                                                              &r->problem, &r->product)
                      : r->device   ? load_device(r, what, found)
                                    : load_plain(r, what);
  return status == KDL_OK ? launch_first(r, what) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* The dialogue                                                                                 */

static void send_reply(int channel, kdl_status status, kernels_reply *reply) {
  reply->good = status == KDL_OK;
  if (status != KDL_OK)
    snprintf(reply->text, sizeof reply->text, "%s", kdl_error_message());
  if (write(channel, reply, sizeof *reply) != (ssize_t)sizeof *reply)
    _exit(1);
}

static void run_command(runner *r, const kernels_command *command, int channel) {
  kernels_reply reply = {.ns = 0};
  kdl_status status;
  char found[mark_size] = "";
  if (!command->repeats) {
    status = prepare_command(r, command, found);
    snprintf(reply.text, sizeof reply.text, "%s", found);
  } else {
    status = run_repeats(r, 1); /* what was asleep wakes up */
    double start = bench_now_ns();
    if (status == KDL_OK)
      status = run_repeats(r, command->repeats);
    reply.ns = bench_now_ns() - start;
  }
  send_reply(channel, status, &reply);
}

int kernels_child(const char *folder, const char *device, const char *peers, const char *threads) {
  static runner runners[KERNELS_PEERS + 1];
  static char names[KERNELS_PEERS + 1][16];
  size_t count = 0;
  int channel = process_result_fd();
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may be stopped when its parent dies */
  signal(SIGINT, SIG_IGN);          /* which is for the parent to tell */
  while (*peers && count <= KERNELS_PEERS) {
    size_t length = strcspn(peers, ",");
    snprintf(names[count], sizeof names[count], "%.*s", (int)length, peers);
    runners[count] = (runner){.name = names[count], .folder = folder};
    kernels_reply reply = {.ns = 0};
    kdl_status status = open_runner(&runners[count], device, threads, channel);
    if (status == KDL_OK)
      describe_runner(&runners[count], reply.text, sizeof reply.text);
    send_reply(channel, status, &reply);
    ++count;
    peers += length + (peers[length] == ',');
  }
  kernels_command command;
  while (read(STDIN_FILENO, &command, sizeof command) == (ssize_t)sizeof command) {
    if (command.peer < count && command.kernel < kernels_case_count)
      run_command(&runners[command.peer], &command, channel);
  }
  _exit(0); /* drivers' own ends are no part of this */
}
