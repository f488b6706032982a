/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl-trace-hip.so: records which code a HIP program loads and which kernels it launches. It is
 * loaded before the program (LD_PRELOAD); its functions take the places of HIP's, which they call.
 * Calls through dlsym of a handle of libamdhip64.so, as libkdl makes them, do not come here.
 *
 * HIP does not report which image of a bundle it selects, so that none is recorded.
 */
#include "ext/inject/image_bytes.h"
#include "ext/inject/launches.h"
#include "ext/inject/recording.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { text_room = PATH_MAX + 16, name_room = 4096 };

typedef struct {
  unsigned x, y, z;
} extent;

/* hipKernelNodeParams, as far as it is used. */
typedef struct {
  extent block;
  void **extra;
  const void *function;
} kernel_node;

/* ------------------------------------------------------------------------------------------ */
/* HIP's own functions                                                                          */

/* A library that was opened with RTLD_LOCAL, as Python's modules are, is not found by RTLD_NEXT. */
static void *find_function(const char *name) {
  static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5", "libamdhip64.so"};
  void *found = dlsym(RTLD_NEXT, name);
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !found; ++i) {
    void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
    found = library ? dlsym(library, name) : NULL;
  }
  return found;
}

/* Defines `real`, a pointer to the function that the caller takes the place of. */
enum { hip_not_supported = 801 };
#define REAL(type, name)                                                                           \
  static _Atomic(void *) name##_found;                                                             \
  void *name##_now = atomic_load_explicit(&name##_found, memory_order_acquire);                    \
  if (!name##_now) {                                                                               \
    name##_now = find_function(#name);                                                             \
    atomic_store_explicit(&name##_found, name##_now, memory_order_release);                        \
  }                                                                                                \
  type *real;                                                                                      \
  memcpy(&real, &name##_now, sizeof real);                                                         \
  if (!real)                                                                                       \
  return hip_not_supported

/* ------------------------------------------------------------------------------------------ */
/* Devices and failures                                                                         */

static uint32_t current_device(void) {
  int (*get)(int *);
  int device = 0;
  void *found = find_function("hipGetDevice");
  memcpy(&get, &found, sizeof get);
  return get && get(&device) == 0 ? (uint32_t)device : 0;
}

static void record_device_now(void) {
  enum { properties_room = 4096, arch_r0600 = 1160, arch_r0000 = 396 };
  static _Alignas(16) char properties[properties_room];
  int (*get)(void *, int), (*get_version)(int *), version = 0;
  void *found = find_function("hipGetDevicePropertiesR0600");
  size_t at = found ? arch_r0600 : arch_r0000;
  void *version_found = find_function("hipRuntimeGetVersion");
  found = found ? found : find_function("hipGetDeviceProperties");
  memcpy(&get, &found, sizeof get);
  memcpy(&get_version, &version_found, sizeof get_version);
  uint32_t device = current_device();
  if (!get || get(properties, (int)device) != 0)
    return;
  if (get_version)
    get_version(&version); /* 60443484: 6.4.43484 */
  properties[at + 255] = '\0';
  kdl_record("device\t%u\thip:%s driver=%d.%d.%d", device, properties + at, version / 10000000,
             version / 100000 % 100, version % 100000);
}

/* Once, since properties take long; not while HIP starts. */
static void record_device(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, record_device_now);
}

/* hipErrors that mean that there is no code which the device can run. */
static bool is_image_error(int result) {
  enum { invalid_function = 98, invalid_image = 200, no_binary = 209, file_not_found = 301 };
  return result == invalid_function || result == invalid_image || result == no_binary ||
         result == file_not_found;
}

static void record_failure(int result, uint32_t load, const char *function, const char *kernel,
                           const void *image) {
  char path[text_room] = "", room[name_room];
  uint64_t offset;
  record_device();
  if (image && !kdl_record_find_file(image, path, sizeof path, &offset))
    kdl_record_save(image, kdl_image_bytes_at(image), path, sizeof path);
  else
    path[0] = '\0';
  kdl_record("fail\t%d\t%u\t%u\t%s\t%s\t%s", result, load, current_device(), function,
             kdl_record_text(kernel, room, sizeof room), path);
}

/* ------------------------------------------------------------------------------------------ */
/* Loads                                                                                        */

/* Started with the process, and with the first call at the latest. */
static bool is_recording(void) {
  static atomic_int state; /* 1: yes, 2: no */
  if (!atomic_load_explicit(&state, memory_order_acquire))
    atomic_store_explicit(&state, kdl_recording_start() ? 1 : 2, memory_order_release);
  return atomic_load_explicit(&state, memory_order_relaxed) == 1;
}

static void record_load(uint32_t load, const char *function, int result, uint64_t ns,
                        const void *image, const char *file) {
  char path[text_room] = "", room[text_room];
  uint64_t offset = 0;
  if (file)
    snprintf(path, sizeof path, "%s", file);
  else
    kdl_record_find_file(image, path, sizeof path, &offset);
  kdl_record("load\t%u\t%s\t%d\t%llu\t%u\t%llu\t%s", load, function, result, (unsigned long long)ns,
             0, (unsigned long long)offset, kdl_record_text(path, room, sizeof room));
}

static void record_module(uint32_t load, uint64_t ns, const char *function, size_t bytes) {
  record_device();
  kdl_record("module\t%u\t%u\t%zu\t0\t\t%llu\t%u\t%s", load, load, bytes, (unsigned long long)ns,
             current_device(), function);
}

static int end_load(void **module, const void *image, const char *file, const char *function,
                    int result, uint64_t begin) {
  uint32_t load = kdl_load_number();
  uint64_t ns = kdl_record_now() - begin;
  record_load(load, function, result, 0, image, file);
  if (result == 0) {
    kdl_handle_set(*module, load, NULL);
    record_module(load, ns, function, image ? kdl_image_bytes_at(image) : 0);
  } else if (is_image_error(result)) {
    record_failure(result, load, function, NULL, image);
  }
  return result;
}

typedef int load_function(void **module, const char *path);
EXPORT load_function hipModuleLoad;
int hipModuleLoad(void **module, const char *path) {
  REAL(load_function, hipModuleLoad);
  if (!is_recording())
    return real(module, path);
  uint64_t begin = kdl_record_now();
  return end_load(module, NULL, path, "hipModuleLoad", real(module, path), begin);
}

typedef int load_data_function(void **module, const void *image);
EXPORT load_data_function hipModuleLoadData;
int hipModuleLoadData(void **module, const void *image) {
  REAL(load_data_function, hipModuleLoadData);
  if (!is_recording())
    return real(module, image);
  uint64_t begin = kdl_record_now();
  return end_load(module, kdl_image_start(image), NULL, "hipModuleLoadData", real(module, image),
                  begin);
}

typedef int load_data_ex_function(void **module, const void *image, unsigned count, void *options,
                                  void **values);
EXPORT load_data_ex_function hipModuleLoadDataEx;
int hipModuleLoadDataEx(void **module, const void *image, unsigned count, void *options,
                        void **values) {
  REAL(load_data_ex_function, hipModuleLoadDataEx);
  if (!is_recording())
    return real(module, image, count, options, values);
  uint64_t begin = kdl_record_now();
  return end_load(module, kdl_image_start(image), NULL, "hipModuleLoadDataEx",
                  real(module, image, count, options, values), begin);
}

typedef int unload_function(void *module);
EXPORT unload_function hipModuleUnload;
int hipModuleUnload(void *module) {
  REAL(unload_function, hipModuleUnload);
  if (is_recording()) {
    atomic_fetch_add(&kdl_record_generation, 1); /* handles may be used again */
    kdl_record("unload\t%u", kdl_handle_load(module));
  }
  return real(module);
}

typedef int get_function_function(void **function, void *module, const char *name);
EXPORT get_function_function hipModuleGetFunction;
int hipModuleGetFunction(void **function, void *module, const char *name) {
  REAL(get_function_function, hipModuleGetFunction);
  int result = real(function, module, name);
  if (!is_recording())
    return result;
  if (result == 0)
    kdl_handle_set(*function, kdl_handle_load(module), name);
  else if (is_image_error(result))
    record_failure(result, kdl_handle_load(module), "hipModuleGetFunction", name, NULL);
  return result;
}

/* The code that compilers embed is loaded with the first launch of one of its kernels. */
typedef void **register_binary_function(const void *wrapper);
EXPORT register_binary_function __hipRegisterFatBinary;
void **__hipRegisterFatBinary(const void *wrapper) {
  void *found = find_function("__hipRegisterFatBinary");
  register_binary_function *real;
  memcpy(&real, &found, sizeof real);
  void **modules = real ? real(wrapper) : NULL;
  if (modules && is_recording()) {
    uint32_t load = kdl_load_number();
    kdl_handle_set(modules, load, NULL);
    record_load(load, "__hipRegisterFatBinary", 0, 0, kdl_image_start(wrapper), NULL);
  }
  return modules;
}

typedef void register_function_function(void **modules, const void *host_function,
                                        char *device_function, const char *name, unsigned threads,
                                        void *thread, void *block, void *block_size,
                                        void *grid_size, int *wave);
EXPORT register_function_function __hipRegisterFunction;
void __hipRegisterFunction(void **modules, const void *host_function, char *device_function,
                           const char *name, unsigned threads, void *thread, void *block,
                           void *block_size, void *grid_size, int *wave) {
  void *found = find_function("__hipRegisterFunction");
  register_function_function *real;
  memcpy(&real, &found, sizeof real);
  if (is_recording())
    kdl_handle_set(host_function, kdl_handle_load(modules), name);
  if (real)
    real(modules, host_function, device_function, name, threads, thread, block, block_size,
         grid_size, wave);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* Whether the first launch from a registered binary is counted as its load. */
static bool is_first_of_load(uint32_t load) {
  enum { most_loads = 1 << 16 };
  static atomic_bool seen[most_loads];
  return load && load < most_loads && !atomic_exchange(&seen[load], true);
}

static int end_launch(const void *function, const char *called, int result, uint64_t begin,
                      bool is_registered) {
  kdl_launch_count *count = kdl_launch_find(function);
  const char *kernel = count ? NULL : kdl_handle_name(function);
  uint32_t load = count ? 0 : kdl_handle_load(function);
  if (!count && result == 0 && is_registered && is_first_of_load(load))
    record_module(load, kdl_record_now() - begin, called, 0);
  if (!count && is_image_error(result))
    record_failure(result, load, called, kernel, NULL);
  if (result == 0 && count)
    kdl_launch_add(count);
  else if (result == 0 && kernel)
    kdl_launch_first(function, kernel);
  return result;
}

/* `call` is a call of `real`. The clock is read only for kernels that are new to the thread. */
#define LAUNCH(type, name, function, is_registered, call)                                          \
  REAL(type, name);                                                                                \
  if (!is_recording())                                                                             \
    return call;                                                                                   \
  uint64_t begin = kdl_launch_find(function) ? 0 : kdl_record_now();                               \
  return end_launch(function, #name, call, begin, is_registered)

typedef int module_launch_function(const void *function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                   void *stream, void **arguments, void **extra);
EXPORT module_launch_function hipModuleLaunchKernel;
int hipModuleLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **extra) {
  LAUNCH(module_launch_function, hipModuleLaunchKernel, function, false,
         real(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra));
}

typedef int module_cooperative_function(const void *function, unsigned gx, unsigned gy, unsigned gz,
                                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                        void *stream, void **arguments);
EXPORT module_cooperative_function hipModuleLaunchCooperativeKernel;
int hipModuleLaunchCooperativeKernel(const void *function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                     void *stream, void **arguments) {
  LAUNCH(module_cooperative_function, hipModuleLaunchCooperativeKernel, function, false,
         real(function, gx, gy, gz, bx, by, bz, shared, stream, arguments));
}

typedef int ext_module_launch_function(const void *function, uint32_t gx, uint32_t gy, uint32_t gz,
                                       uint32_t bx, uint32_t by, uint32_t bz, size_t shared,
                                       void *stream, void **arguments, void **extra, void *start,
                                       void *stop, uint32_t flags);
EXPORT ext_module_launch_function hipExtModuleLaunchKernel;
int hipExtModuleLaunchKernel(const void *function, uint32_t gx, uint32_t gy, uint32_t gz,
                             uint32_t bx, uint32_t by, uint32_t bz, size_t shared, void *stream,
                             void **arguments, void **extra, void *start, void *stop,
                             uint32_t flags) {
  LAUNCH(
      ext_module_launch_function, hipExtModuleLaunchKernel, function, false,
      real(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra, start, stop, flags));
}

typedef int launch_function(const void *function, extent grid, extent block, void **arguments,
                            size_t shared, void *stream);
EXPORT launch_function hipLaunchKernel;
int hipLaunchKernel(const void *function, extent grid, extent block, void **arguments,
                    size_t shared, void *stream) {
  LAUNCH(launch_function, hipLaunchKernel, function, true,
         real(function, grid, block, arguments, shared, stream));
}

EXPORT launch_function hipLaunchKernel_spt;
int hipLaunchKernel_spt(const void *function, extent grid, extent block, void **arguments,
                        size_t shared, void *stream) {
  LAUNCH(launch_function, hipLaunchKernel_spt, function, true,
         real(function, grid, block, arguments, shared, stream));
}

typedef int ext_launch_function(const void *function, extent grid, extent block, void **arguments,
                                size_t shared, void *stream, void *start, void *stop, int flags);
EXPORT ext_launch_function hipExtLaunchKernel;
int hipExtLaunchKernel(const void *function, extent grid, extent block, void **arguments,
                       size_t shared, void *stream, void *start, void *stop, int flags) {
  LAUNCH(ext_launch_function, hipExtLaunchKernel, function, true,
         real(function, grid, block, arguments, shared, stream, start, stop, flags));
}

typedef int cooperative_function(const void *function, extent grid, extent block, void **arguments,
                                 unsigned shared, void *stream);
EXPORT cooperative_function hipLaunchCooperativeKernel;
int hipLaunchCooperativeKernel(const void *function, extent grid, extent block, void **arguments,
                               unsigned shared, void *stream) {
  LAUNCH(cooperative_function, hipLaunchCooperativeKernel, function, true,
         real(function, grid, block, arguments, shared, stream));
}

typedef int launch_ex_function(const void *config, const void *function, void **arguments);
EXPORT launch_ex_function hipLaunchKernelExC;
int hipLaunchKernelExC(const void *config, const void *function, void **arguments) {
  LAUNCH(launch_ex_function, hipLaunchKernelExC, function, true, real(config, function, arguments));
}

typedef int graph_launch_function(void *graph, void *stream);
EXPORT graph_launch_function hipGraphLaunch;
int hipGraphLaunch(void *graph, void *stream) {
  REAL(graph_launch_function, hipGraphLaunch);
  int result = real(graph, stream);
  if (result == 0 && is_recording())
    kdl_launch_add(kdl_record_graphs());
  return result;
}

typedef int add_node_function(void **node, void *graph, const void *before, size_t count,
                              const kernel_node *about);
EXPORT add_node_function hipGraphAddKernelNode;
int hipGraphAddKernelNode(void **node, void *graph, const void *before, size_t count,
                          const kernel_node *about) {
  REAL(add_node_function, hipGraphAddKernelNode);
  int result = real(node, graph, before, count, about);
  const char *kernel = is_recording() && about ? kdl_handle_name(about->function) : NULL;
  if (result == 0 && kernel)
    kdl_launch_first(about->function, kernel);
  return result;
}
