/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * libkdl-trace-cuda.so: records which modules a CUDA program loads and which kernels it launches.
 * The driver opens it (CUDA_INJECTION64_PATH) and calls InitializeInjection. The CUDA runtime calls
 * the driver through private tables, which only CUPTI sees.
 *
 * With lazy loading, the default, cuLibraryLoadData selects the image and compiles PTX; the module
 * is loaded within a later call, mostly the first launch of one of its kernels. Where no image
 * fits, cuLibraryLoadData succeeds and cuLibraryGetKernel fails.
 */
#include "ext/inject/cupti_abi.h"
#include "ext/inject/image_bytes.h"
#include "ext/inject/launches.h"
#include "ext/inject/recording.h"
#include "support/system/variables.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"libcupti.so.14", "libcupti.so.13", "libcupti.so.12",
                                    "libcupti.so"};
enum { name_count = sizeof names / sizeof *names };

/* Folders of loaded libraries of CUDA; a few are enough. */
typedef struct {
  char paths[8][PATH_MAX];
  size_t count;
} folder_list;

static int add_folder(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  folder_list *list = user;
  const char *name = object->dlpi_name, *slash = name ? strrchr(name, '/') : NULL;
  if (!slash || list->count == sizeof list->paths / sizeof *list->paths ||
      (strncmp(slash + 1, "libcudart", 9) != 0 && strncmp(slash + 1, "libcublas", 9) != 0 &&
       strncmp(slash + 1, "libnvrtc", 8) != 0))
    return 0;
  snprintf(list->paths[list->count++], PATH_MAX, "%.*s", (int)(slash - name), name);
  return 0;
}

static void *open_in(const char *folder, const char *below) {
  for (size_t i = 0; i < name_count; ++i) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s%s/%s", folder, below, names[i]);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
  }
  return NULL;
}

static void *open_near_cuda(void) {
  static folder_list list;
  void *library = NULL;
  dl_iterate_phdr(add_folder, &list);
  for (size_t i = 0; i < list.count && !library; ++i) {
    library = open_in(list.paths[i], "");
    if (!library) /* site-packages/nvidia/cuda_runtime/lib */
      library = open_in(list.paths[i], "/../../cuda_cupti/lib");
  }
  return library;
}

static void *open_by_name(int flags) {
  void *library = NULL;
  for (size_t i = 0; i < name_count && !library; ++i)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | flags);
  return library;
}

static void *open_cupti(void) {
  static const char *const folders[] = {
      "/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64",
      "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/local/cuda/targets/sbsa-linux/lib"};
  const char *given = kdl_environment(KDL_VARIABLE_CUPTI);
  if (given && given[0])
    return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  void *library = open_by_name(RTLD_NOLOAD); /* two in one process do not work */
  if (!library)
    library = open_near_cuda();
  if (!library)
    library = open_by_name(0);
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; ++i)
    library = open_in(folders[i], "");
  return library;
}

static void *find_cupti(char *out_path, size_t size) {
  struct link_map *map;
  void *library = open_cupti();
  if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
    snprintf(out_path, size, "%s", map->l_name);
  return library;
}

enum { name_room = 4096, text_room = PATH_MAX + 16 };

static cupti_get_device *get_device;
static int (*get_handle)(int *handle, int device);
static int (*get_attribute)(int *value, int attribute, int device);
static int (*get_version)(int *version);
static int (*get_name)(const char **name, void *function);

/* The call of the driver that this thread is in, other than launches of known kernels. */
typedef struct {
  const char *function; /* NULL: none */
  uint32_t id;
  uint32_t load; /* the load call that it is, or that its handles come from; 0: unknown */
  uint64_t begin;
} current_call;

static _Thread_local current_call current;

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

static const void *pointer_at(const cupti_call *call, size_t index) {
  return ((const void *const *)call->arguments)[index];
}

/* What the function wrote to the handle that its argument points to. */
static const void *handle_made(const cupti_call *call, size_t index) {
  const void *const *to = pointer_at(call, index);
  return to ? *to : NULL;
}

static int result_of(const cupti_call *call) {
  return *(const int *)call->result;
}

static bool is_load(uint32_t id) {
  return (id >= CUPTI_cuModuleLoad && id <= CUPTI_cuModuleLoadFatBinary) ||
         id == CUPTI_cuLibraryLoadData || id == CUPTI_cuLibraryLoadFromFile;
}

static bool is_load_of_file(uint32_t id) {
  return id == CUPTI_cuModuleLoad || id == CUPTI_cuLibraryLoadFromFile;
}

static bool is_launch(uint32_t id) {
  return id == CUPTI_cuLaunchKernel || id == CUPTI_cuLaunchKernel_ptsz ||
         id == CUPTI_cuLaunchKernelEx || id == CUPTI_cuLaunchKernelEx_ptsz ||
         id == CUPTI_cuLaunchCooperativeKernel || id == CUPTI_cuLaunchCooperativeKernel_ptsz;
}

/* The handle of the kernel that is launched. */
static const void *launched_function(const cupti_call *call, uint32_t id) {
  bool is_ex = id == CUPTI_cuLaunchKernelEx || id == CUPTI_cuLaunchKernelEx_ptsz;
  return pointer_at(call, is_ex ? 1 : 0);
}

/* The load call that a call is, or that its arguments come from; 0: unknown. */
static uint32_t load_of_call(const cupti_call *call, uint32_t id) {
  switch (id) {
  case CUPTI_cuLibraryGetModule:
  case CUPTI_cuKernelGetFunction:
  case CUPTI_cuModuleGetFunction:
  case CUPTI_cuLibraryGetKernel:
    return kdl_handle_load(pointer_at(call, 1));
  case CUPTI_cuLibraryGetGlobal:
  case CUPTI_cuLibraryGetManaged:
    return kdl_handle_load(pointer_at(call, 2));
  default:
    return is_load(id)     ? kdl_load_number()
           : is_launch(id) ? kdl_handle_load(launched_function(call, id))
                           : 0;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Devices and failures                                                                         */

static uint32_t device_of(void *context) {
  uint32_t device = 0;
  if (context && get_device)
    get_device(context, &device);
  return device;
}

static void record_device(uint32_t device) {
  enum { capability_major = 75, capability_minor = 76 };
  int handle, major = 0, minor = 0, version = 0;
  if (!get_attribute || !get_handle || get_handle(&handle, (int)device) != 0 ||
      get_attribute(&major, capability_major, handle) != 0 ||
      get_attribute(&minor, capability_minor, handle) != 0)
    return;
  if (get_version)
    get_version(&version);
  kdl_record("device\t%u\tcuda:sm_%d%d driver=%d.%d", device, major, minor, version / 1000,
             version % 1000 / 10);
}

/* CUresults that mean that there is no code which the device can run. */
static bool is_image_error(int result) {
  enum { invalid_image = 200, no_binary = 209, first_jit = 218, last_jit = 223, source = 300 };
  return result == invalid_image || result == no_binary || result == source ||
         (result >= first_jit && result <= last_jit);
}

/* The bytes of an image in memory are saved as long as the call lasts: the program may free them.
 */
static void record_failure(const current_call *in, const cupti_call *call, const char *kernel) {
  char path[text_room] = "", room[name_room];
  uint64_t offset;
  const void *image =
      is_load(in->id) && !is_load_of_file(in->id) ? kdl_image_start(pointer_at(call, 1)) : NULL;
  if (image && !kdl_record_find_file(image, path, sizeof path, &offset))
    kdl_record_save(image, kdl_image_bytes_at(image), path, sizeof path);
  else
    path[0] = '\0';
  kdl_record("fail\t%d\t%u\t%u\t%s\t%s\t%s", result_of(call), in->load, device_of(call->context),
             call->function, kdl_record_text(kernel, room, sizeof room), path);
}

/* ------------------------------------------------------------------------------------------ */
/* Loads                                                                                        */

static void end_load(const current_call *in, const cupti_call *call) {
  char path[text_room] = "", room[text_room];
  uint64_t offset = 0, ns = kdl_record_now() - in->begin;
  if (is_load_of_file(in->id))
    snprintf(path, sizeof path, "%s", (const char *)pointer_at(call, 1));
  else
    kdl_record_find_file(kdl_image_start(pointer_at(call, 1)), path, sizeof path, &offset);
  kdl_record("load\t%u\t%s\t%d\t%llu\t%u\t%llu\t%s", in->load, call->function, result_of(call),
             (unsigned long long)ns, device_of(call->context), (unsigned long long)offset,
             kdl_record_text(path, room, sizeof room));
  if (result_of(call) == 0)
    kdl_handle_set(handle_made(call, 0), in->load, NULL);
}

static void record_module(const cupti_resource *resource, bool is_loaded) {
  const cupti_module *module = resource->about;
  atomic_fetch_add(&kdl_record_generation, 1); /* handles may be used again */
  if (!module)
    return;
  if (!is_loaded) {
    kdl_record("unload\t%u", module->number);
    return;
  }
  const current_call *in = &current;
  char arch[16];
  /* A context takes long to create, with modules and without. */
  bool is_timed = in->function && in->id != CUPTI_cuDevicePrimaryCtxRetain;
  uint64_t ns = is_timed ? kdl_record_now() - in->begin : 0;
  kdl_record("module\t%u\t%u\t%zu\t%016llx\t%s\t%llu\t%u\t%s", module->number,
             in->function ? in->load : 0, module->size,
             (unsigned long long)kdl_recording_hash(module->cubin, module->size),
             kdl_cubin_arch(module->cubin, module->size, arch), (unsigned long long)ns,
             device_of(resource->context), in->function ? in->function : "");
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

static void begin_call(const cupti_call *call, uint32_t id) {
  current = (current_call){call->function, id, load_of_call(call, id), kdl_record_now()};
}

static void on_launch(const cupti_call *call, uint32_t id) {
  const void *function = launched_function(call, id);
  kdl_launch_count *count = kdl_launch_find(function);
  if (!call->is_end) {
    if (!count)
      begin_call(call, id);
    return;
  }
  int result = result_of(call);
  if (!count) {
    if (is_image_error(result))
      record_failure(&current, call, call->kernel);
    current.function = NULL;
  }
  if (result == 0 && count)
    kdl_launch_add(count);
  else if (result == 0 && call->kernel)
    kdl_launch_first(function, call->kernel);
}

/* Nodes that are captured are launches on the stream that is captured; others are added. */
static void on_graph_node(const cupti_call *call) {
  const void *const *node = pointer_at(call, 4);
  const char *name = call->kernel;
  if (!call->is_end || result_of(call) != 0 || !node)
    return;
  if (!name && get_name)
    get_name(&name, (void *)(uintptr_t)node[0]);
  if (name)
    kdl_launch_first(node[0], name);
}

/* ------------------------------------------------------------------------------------------ */
/* Calls                                                                                        */

static void end_call(const current_call *in, const cupti_call *call) {
  int result = result_of(call);
  bool names_kernel = in->id == CUPTI_cuLibraryGetKernel || in->id == CUPTI_cuModuleGetFunction;
  if (is_load(in->id))
    end_load(in, call);
  else if (result == 0 && (names_kernel || in->id == CUPTI_cuKernelGetFunction ||
                           in->id == CUPTI_cuLibraryGetModule))
    kdl_handle_set(handle_made(call, 0), in->load, NULL);
  if (is_image_error(result))
    record_failure(in, call, names_kernel ? pointer_at(call, 2) : NULL);
}

static void on_call(const cupti_call *call, uint32_t id) {
  if (is_launch(id)) {
    on_launch(call, id);
  } else if (id == CUPTI_cuGraphLaunch || id == CUPTI_cuGraphLaunch_ptsz) {
    if (call->is_end && result_of(call) == 0)
      kdl_launch_add(kdl_record_graphs());
  } else if (id == CUPTI_cuGraphAddKernelNode || id == CUPTI_cuGraphAddKernelNode_v2) {
    on_graph_node(call);
  } else if (!call->is_end) {
    if (id == CUPTI_cuLibraryUnload)
      atomic_fetch_add(&kdl_record_generation, 1);
    begin_call(call, id);
  } else if (current.function && current.id == id) {
    end_call(&current, call);
    current.function = NULL;
  }
}

static void on_event(void *user, int domain, uint32_t id, const void *data) {
  (void)user;
  if (!data)
    return;
  if (domain == CUPTI_DOMAIN_DRIVER)
    on_call(data, id);
  else if (id == CUPTI_CONTEXT_CREATED)
    record_device(device_of(((const cupti_resource *)data)->context));
  else
    record_module(data, id == CUPTI_MODULE_LOADED);
}

/* ------------------------------------------------------------------------------------------ */
/* Start                                                                                        */

static cupti_enable *enable_callback;
static void *subscriber;

static const uint32_t calls[] = {
    CUPTI_cuLaunchKernel,
    CUPTI_cuLaunchKernel_ptsz,
    CUPTI_cuLaunchKernelEx,
    CUPTI_cuLaunchKernelEx_ptsz,
    CUPTI_cuLaunchCooperativeKernel,
    CUPTI_cuLaunchCooperativeKernel_ptsz,
    CUPTI_cuModuleLoad,
    CUPTI_cuModuleLoadData,
    CUPTI_cuModuleLoadDataEx,
    CUPTI_cuModuleLoadFatBinary,
    CUPTI_cuModuleGetFunction,
    CUPTI_cuDevicePrimaryCtxRetain,
    CUPTI_cuGraphAddKernelNode,
    CUPTI_cuGraphLaunch,
    CUPTI_cuGraphLaunch_ptsz,
    CUPTI_cuLibraryLoadData,
    CUPTI_cuLibraryLoadFromFile,
    CUPTI_cuLibraryUnload,
    CUPTI_cuLibraryGetKernel,
    CUPTI_cuLibraryGetModule,
    CUPTI_cuKernelGetFunction,
    CUPTI_cuLibraryGetGlobal,
    CUPTI_cuLibraryGetManaged,
    CUPTI_cuGraphAddKernelNode_v2,
};

static void enable_callbacks(void) {
  static const uint32_t events[] = {CUPTI_CONTEXT_CREATED, CUPTI_MODULE_LOADED,
                                    CUPTI_MODULE_UNLOADS};
  size_t failed = 0;
  for (size_t i = 0; i < sizeof events / sizeof *events; ++i)
    failed += enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, events[i]) != CUPTI_OK;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    if (is_launch(calls[i]) && kdl_environment(KDL_VARIABLE_TRACE_NO_LAUNCHES))
      continue;
    failed += enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, calls[i]) != CUPTI_OK;
  }
  if (failed)
    kdl_record("note\tCUPTI refused %zu of the callbacks: the list may be incomplete", failed);
}

/* `to` is a pointer to a pointer to a function. */
static void find_function(void *library, const char *name, void *to) {
  void *found = library ? dlsym(library, name) : NULL;
  memcpy(to, &found, sizeof found);
}

/* Called by the driver before anything else of it can be used. */
int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void) {
  char path[text_room] = "", room[text_room];
  if (!kdl_recording_start())
    return 1;
  void *cupti = find_cupti(path, sizeof path);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  cupti_subscribe *subscribe = NULL;
  find_function(cupti, "cuptiSubscribe", &subscribe);
  find_function(cupti, "cuptiEnableCallback", &enable_callback);
  if (!subscribe || !enable_callback) {
    kdl_record("note\tlibcupti.so was not found, and without it neither modules nor launches of a "
               "CUDA program are seen: install it (nvidia-cuda-cupti of the Python index, or "
               "CUDA's toolkit), or name it by KDL_CUPTI");
    return 1;
  }
  find_function(cupti, "cuptiGetDeviceId", &get_device);
  find_function(driver, "cuDeviceGet", &get_handle);
  find_function(driver, "cuDeviceGetAttribute", &get_attribute);
  find_function(driver, "cuDriverGetVersion", &get_version);
  find_function(driver, "cuFuncGetName", &get_name);
  int status = subscribe(&subscriber, on_event, NULL);
  if (status == CUPTI_OTHER_SUBSCRIBER)
    kdl_record("note\tCUPTI has another subscriber, a profiler or debugger, and takes only one: "
               "nothing of this program is seen");
  else if (status != CUPTI_OK)
    kdl_record("note\tcuptiSubscribe failed with error %d: nothing of this program is seen",
               status);
  else
    enable_callbacks();
  kdl_record("cupti\t%d\t%s", status, kdl_record_text(path, room, sizeof room));
  return 1;
}
