/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program of CUDA as far as the injected library sees it: it opens the library as the driver
 * does, and sends through the fake libcupti.so what the real one sends on an H200 with driver 580.
 *
 *     cuda_program CUBIN MODE    CUBIN: the first image of the embedded archs.fatbin
 */
#include "ext/inject/cupti_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* As compilers embed them; the pointers are to structs with which they are registered. */
__asm__(".section .nv_fatbin, \"a\"\n"
        ".balign 8\n archs: .incbin \"" GOLDEN "/fatbin/archs.fatbin\"\n"
        ".balign 8\n zstd: .incbin \"" GOLDEN "/fatbin/zstd.fatbin\"\n"
        ".balign 8\n other: .incbin \"" GOLDEN "/fatbin/debug.fatbin\"\n"
        ".text\n");
extern const char archs[], zstd[], other[];
typedef struct {
  uint32_t magic, version;
  const void *data;
  void *unused;
} wrapper;
enum { wrapper_magic = 0x466243b1 };

static void (*send)(int domain, uint32_t id, const void *data);
static uint64_t context; /* its address is its handle */

static void call(uint32_t id, const char *function, const void *arguments, int result,
                 const char *kernel, void (*within)(void *), void *user) {
  cupti_call about = {.function = function,
                      .arguments = arguments,
                      .result = &result,
                      .kernel = kernel,
                      .context = &context};
  send(CUPTI_DOMAIN_DRIVER, id, &about);
  memset(&about, 0xff, sizeof about); /* it is valid only within the callback */
  if (within)
    within(user);
  about = (cupti_call){.is_end = 1,
                       .function = function,
                       .arguments = arguments,
                       .result = &result,
                       .kernel = kernel,
                       .context = &context};
  send(CUPTI_DOMAIN_DRIVER, id, &about);
}

static void load_library(void *handle, const void *image) {
  const wrapper registered = {.magic = wrapper_magic, .version = 1, .data = image};
  void *out = handle;
  const void *arguments[] = {&out, &registered, NULL, NULL, NULL, NULL, NULL, NULL};
  call(CUPTI_cuLibraryLoadData, "cuLibraryLoadData", arguments, 0, NULL, NULL, NULL);
}

static void get_kernel(void *library, void *handle, const char *name, int result) {
  void *out = handle;
  const void *arguments[] = {&out, library, name};
  call(CUPTI_cuLibraryGetKernel, "cuLibraryGetKernel", arguments, result, NULL, NULL, NULL);
}

static void launch(void *kernel, const char *name, void (*within)(void *), void *user) {
  const void *arguments[11] = {kernel};
  call(CUPTI_cuLaunchKernel, "cuLaunchKernel", arguments, 0, name, within, user);
}

/* Within the first launch, as with lazy loading. */
static void load_module(void *user) {
  const cupti_resource about = {.context = &context, .about = user};
  send(CUPTI_DOMAIN_RESOURCE, CUPTI_MODULE_LOADED, &about);
}

static void read_file(const char *path, cupti_module *out_module) {
  FILE *file = fopen(path, "rb");
  static uint8_t bytes[1 << 16];
  out_module->size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  out_module->cubin = bytes;
  if (file)
    fclose(file);
}

static char handles[20000];

static void *launch_many(void *user) {
  for (int i = 0; i < 2000; ++i)
    launch(user, user == &handles[10] ? "axpy" : "scale", NULL, NULL);
  return NULL;
}

static void run_threads(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i)
    pthread_create(&threads[i], NULL, launch_many, &handles[i & 1 ? 10 : 20]);
  for (int i = 0; i < 8; ++i)
    pthread_join(threads[i], NULL);
}

static void run_normal(const char *cubin) {
  cupti_module native = {.number = 23}, compiled = {.number = 24};
  load_library(&handles[0], archs);
  get_kernel(&handles[0], &handles[10], "axpy", 0);
  read_file(cubin, &native);
  launch(&handles[10], "axpy", load_module, &native);
  launch(&handles[10], "axpy", NULL, NULL);
  load_library(&handles[1], zstd);
  get_kernel(&handles[1], &handles[20], "scale", 0);
  get_kernel(&handles[1], &handles[21], "never", 0);
  uint8_t changed[1 << 16];
  compiled.size = native.size;
  compiled.cubin = memcpy(changed, native.cubin, native.size);
  changed[native.size - 1] ^= 1;
  launch(&handles[20], "scale", load_module, &compiled);
}

/* A thread with a cancellation pending records a new kernel, in which files are opened. */
static void *launch_cancelled(void *user) {
  pthread_cancel(pthread_self());
  get_kernel(&handles[0], user, "of_the_cancelled", 0);
  launch(user, "of_the_cancelled", NULL, NULL);
  return NULL;
}

static void run_cancelled(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, launch_cancelled, &handles[30]);
  pthread_join(thread, NULL);
  get_kernel(&handles[0], &handles[31], "later", 0);
  launch(&handles[31], "later", NULL, NULL);
}

static void run_graph(void) {
  const void *arguments[] = {&handles[30], NULL};
  call(CUPTI_cuGraphLaunch, "cuGraphLaunch", arguments, 0, NULL, NULL, NULL);
  call(CUPTI_cuGraphLaunch, "cuGraphLaunch", arguments, 0, NULL, NULL, NULL);
}

/* The module is loaded when the context is created, or by functions that CUPTI does not report. */
static void run_eager(const char *cubin) {
  cupti_module module = {.number = 5};
  const void *arguments[] = {NULL, NULL};
  read_file(cubin, &module);
  load_library(&handles[1], zstd);
  load_library(&handles[0], archs);
  call(CUPTI_cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", arguments, 0, NULL, load_module,
       &module);
  module.number = 6;
  load_module(&module);
  static const uint8_t unknown[64] = {0x7f, 'E', 'L', 'F'};
  load_module(&(cupti_module){7, sizeof unknown, unknown});
}

/* A cubin for another device: in the file, and in memory that is freed at once. */
static void run_failure(const char *cubin) {
  load_library(&handles[0], archs);
  get_kernel(&handles[0], &handles[10], "k", 209);
  get_kernel(&handles[0], &handles[10], "k", 209);
  cupti_module module;
  read_file(cubin, &module);
  void *copy = memcpy(malloc(module.size), module.cubin, module.size), *out = NULL;
  const void *arguments[] = {&out, copy};
  call(CUPTI_cuModuleLoadData, "cuModuleLoadData", arguments, 209, NULL, NULL, NULL);
  free(copy);
}

/* The module is loaded within the call that names the file. */
static void run_file(const char *cubin) {
  cupti_module module = {.number = 8};
  void *out = &handles[2];
  const void *arguments[] = {&out, cubin};
  read_file(cubin, &module);
  call(CUPTI_cuModuleLoad, "cuModuleLoad", arguments, 0, NULL, load_module, &module);
}

static void run_kernels(void) {
  char name[32];
  for (int i = 0; i < 10000; ++i) {
    snprintf(name, sizeof name, "kernel_%05d", i);
    launch(&handles[100 + i], name, NULL, NULL);
  }
}

/* From now on no file may grow. */
static void run_limited(void) {
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1, 1});
  launch(&handles[50], "unwritten", NULL, NULL);
}

/* Unloading a module makes its handles free for others. */
static void run_unload(void) {
  const cupti_module module = {.number = 23};
  const cupti_resource about = {.context = &context, .about = &module};
  launch(&handles[40], "before", NULL, NULL);
  send(CUPTI_DOMAIN_RESOURCE, CUPTI_MODULE_UNLOADS, &about);
  launch(&handles[40], "after", NULL, NULL);
}

static void run_fork(void) {
  launch(&handles[10], "axpy", NULL, NULL);
  if (fork() == 0) {
    launch(&handles[10], "axpy", NULL, NULL);
    launch(&handles[20], "of_the_child", NULL, NULL);
    _exit(0);
  }
  wait(NULL);
}

static void run(const char *mode, const char *cubin) {
  if (strcmp(mode, "fail") == 0) {
    run_failure(cubin);
    return;
  }
  if (strcmp(mode, "eager") == 0 || strcmp(mode, "file") == 0) {
    (strcmp(mode, "eager") == 0 ? run_eager : run_file)(cubin);
    return;
  }
  run_normal(cubin);
  if (strcmp(mode, "threads") == 0)
    run_threads();
  else if (strcmp(mode, "cancelled") == 0)
    run_cancelled();
  else if (strcmp(mode, "graph") == 0)
    run_graph();
  else if (strcmp(mode, "kernels") == 0)
    run_kernels();
  else if (strcmp(mode, "limited") == 0)
    run_limited();
  else if (strcmp(mode, "unload") == 0)
    run_unload();
  else if (strcmp(mode, "fork") == 0)
    run_fork();
  else if (strcmp(mode, "_exit") == 0)
    _exit(3);
  else if (strcmp(mode, "abort") == 0)
    abort();
  else if (strcmp(mode, "kill") == 0)
    raise(SIGKILL);
}

static void *find(const char *variable, int flags, const char *function) {
  const char *path = getenv(variable);
  void *library = path ? dlopen(path, RTLD_NOW | flags) : NULL;
  return library ? dlsym(library, function) : NULL;
}

int main(int count, char **words) {
  int (*initialize)(void), (*init)(unsigned);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (count != 3 || !driver)
    return 2;
  *(void **)&init = dlsym(driver, "cuInit");
  *(void **)&initialize = find("CUDA_INJECTION64_PATH", 0, "InitializeInjection");
  if (!initialize || initialize() != 1 || init(0) != 0)
    return 2;
  *(void **)&send = find("KDL_CUPTI", RTLD_NOLOAD, "fake_cupti_send");
  if (!send)
    return 0; /* without CUPTI */
  const cupti_resource created = {.context = &context};
  send(CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_CREATED, &created);
  run(words[2], words[1]);
  return 0;
}
