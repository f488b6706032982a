/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Records which functions of drivers libkdl calls, in any program and on any machine:
 *
 *     mkdir calls && LD_PRELOAD=librecorder.so KDL_FUNCTIONS_RECORD=calls program
 *
 * dlsym is this library's. What libkdl looks up of a driver by it, and what the driver itself finds
 * for libkdl by name, is given out as a stub of ours that marks its line in a file and jumps to the
 * function. The file is mapped, so that it holds what was called however the process ends: one for
 * each process, one line for each function and place that looked it up, "*NAME LIBRARY
 * ASKER+OFFSET" where it was called and " NAME LIBRARY ASKER+OFFSET" where it was only looked up. A
 * program that has libkdl linked in may look up functions itself: the place tells.
 * scripts/driver-functions.py reads them.
 */
#include "real_dlsym.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the stubs are for x86-64"
#endif

/* The stubs' own numbers are the same. */
enum { most_functions = 1024, line_size = 512 };

__attribute__((visibility("hidden"))) char *recorder_lines;
__attribute__((visibility("hidden"))) void *recorder_targets[most_functions];
__attribute__((visibility("hidden"))) extern const char recorder_stubs[];
enum { stub_size = 32 };

/* %r11 is free where a function is entered. */
__asm__(".text\n"
        ".balign 32\n"
        ".hidden recorder_stubs\n"
        ".globl recorder_stubs\n"
        "recorder_stubs:\n"
        ".set number, 0\n"
        ".rept 1024\n"
        "  movq recorder_lines(%rip), %r11\n"
        "  movb $'*', 512 * number(%r11)\n"
        "  jmp *recorder_targets + 8 * number(%rip)\n"
        "  .balign 32\n"
        "  .set number, number + 1\n"
        ".endr\n");

typedef int find_cuda(const char *name, void **function, int version, uint64_t flags, int *outcome);
typedef void *find_opencl(void *platform, const char *name);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t function_count;
static find_cuda *real_find_cuda;
static find_opencl *real_find_opencl;

/* A file for this process, mapped whole. */
static char *open_lines(void) {
  const char *folder = getenv("KDL_FUNCTIONS_RECORD");
  char path[4096];
  int file = -1;
  for (int i = 0; folder && file < 0 && i < 1000; ++i) {
    snprintf(path, sizeof path, "%s/%ld-%d.functions", folder, (long)getpid(), i);
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  if (file < 0 || ftruncate(file, (off_t)most_functions * line_size) != 0)
    return NULL;
  void *lines =
      mmap(NULL, (size_t)most_functions * line_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return lines == MAP_FAILED ? NULL : lines;
}

static const char *base_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path ? path : "?";
}

/* The stub for a function that `asker` looked up; the function itself where there is no room. */
static void *stub_for(const char *name, void *function, void *target, const char *asker) {
  Dl_info where = {0}, whose = {0};
  if (!function || !dladdr(function, &where) || !dladdr(asker, &whose))
    return function;
  pthread_mutex_lock(&lock);
  if (!recorder_lines)
    recorder_lines = open_lines();
  char line[line_size];
  int length =
      snprintf(line, sizeof line, " %s %s %s+0x%zx\n", name, where.dli_fname,
               base_name(whose.dli_fname), (size_t)(asker - (const char *)whose.dli_fbase));
  bool fits = recorder_lines && length > 0 && length < line_size;
  size_t at = 0;
  while (fits && at < function_count &&
         (recorder_targets[at] != target ||
          strcmp(recorder_lines + at * line_size + 1, line + 1) != 0))
    ++at;
  if (fits && at == function_count && at < most_functions) {
    memcpy(recorder_lines + at * line_size, line, (size_t)length + 1);
    recorder_targets[at] = target;
    ++function_count;
  }
  fits = fits && at < function_count;
  pthread_mutex_unlock(&lock);
  return fits ? (void *)(uintptr_t)(recorder_stubs + at * stub_size) : function;
}

static int find_cuda_recorded(const char *name, void **function, int version, uint64_t flags,
                              int *outcome) {
  int error = real_find_cuda(name, function, version, flags, outcome);
  if (error == 0)
    *function = stub_for(name, *function, *function, __builtin_return_address(0));
  return error;
}

static void *find_opencl_recorded(void *platform, const char *name) {
  void *function = real_find_opencl(platform, name);
  return stub_for(name, function, function, __builtin_return_address(0));
}

/* libkdl itself, or a program that has it linked in; drivers look up each other's functions too. */
static bool is_ours(const void *caller) {
  Dl_info of_caller, of_program;
  if (!dladdr(caller, &of_caller) || !of_caller.dli_fname)
    return false;
  if (strncmp(base_name(of_caller.dli_fname), "libkdl", 6) == 0)
    return true;
  return dladdr((void *)getauxval(AT_ENTRY), &of_program) &&
         of_program.dli_fbase == of_caller.dli_fbase;
}

static bool is_of_a_driver(const char *name) {
  static const char *const prefixes[] = {"cu", "hip", "ze", "cl"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i) {
    size_t length = strlen(prefixes[i]);
    if (strncmp(name, prefixes[i], length) == 0 && name[length] >= 'A' && name[length] <= 'Z')
      return true;
  }
  return false;
}

static void *recorded(void *handle, const char *name, const char *asker) {
  void *function = real_dlsym()(handle, name);
  void *target = function;
  if (function && strcmp(name, "cuGetProcAddress_v2") == 0 && !real_find_cuda) {
    memcpy(&real_find_cuda, &function, sizeof function);
    target = (void *)(uintptr_t)find_cuda_recorded;
  } else if (function && strcmp(name, "clGetExtensionFunctionAddressForPlatform") == 0 &&
             !real_find_opencl) {
    memcpy(&real_find_opencl, &function, sizeof function);
    target = (void *)(uintptr_t)find_opencl_recorded;
  }
  return stub_for(name, function, target, asker);
}

/* The last call is a jump (this file is compiled with -O2): glibc tells by the return address who
 * asks. */
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name) {
  if (handle != RTLD_NEXT && handle != RTLD_DEFAULT && is_of_a_driver(name) &&
      getenv("KDL_FUNCTIONS_RECORD") && is_ours(__builtin_return_address(0)))
    return recorded(handle, name, __builtin_return_address(0));
  return real_dlsym()(handle, name);
}
