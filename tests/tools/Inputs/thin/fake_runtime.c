/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* HIP's registration over the fake driver, which HIP_FAKE names: the code objects of every bundle
 * that is registered are given to it, and every kernel is looked up in those that it takes. What
 * came of that is printed at exit, with a hash of the names and of the code. Linked into a program,
 * or as libamdhip64 before a library that registers itself. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 64 };

struct wrapper {
  uint32_t magic, version;
  const char *bundle;
  void *unused;
};

typedef struct {
  void *modules[most];
  int count;
} registered;

static int (*load_module)(void **module, const void *image);
static int (*get_function)(void **function, void *module, const char *name);
static unsigned bundles, offered, taken, kernels, found;
static uint64_t hash = 14695981039346656037u;

static uint64_t load(const char *at) {
  uint64_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

static void add(const char *bytes, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i)
    hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
}

static void tell(void) {
  printf("%u bundles; %u code objects, the driver took %u; %u kernels, %u found; %016" PRIx64 "\n",
         bundles, offered, taken, kernels, found, hash);
  fflush(stdout);
}

static void start(void) {
  void *driver = dlopen(getenv("HIP_FAKE"), RTLD_NOW | RTLD_LOCAL);
  int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "hipInit") : NULL;
  int (*set)(int) = driver ? (int (*)(int))dlsym(driver, "hipSetDevice") : NULL;
  if (!init || !set || init(0) || set(0)) {
    printf("no device: %s\n", driver ? "hipInit failed" : dlerror());
    exit(1);
  }
  load_module = (int (*)(void **, const void *))dlsym(driver, "hipModuleLoadData");
  get_function = (int (*)(void **, void *, const char *))dlsym(driver, "hipModuleGetFunction");
  atexit(tell);
}

void **__hipRegisterFatBinary(const struct wrapper *wrapper) {
  registered *all = calloc(1, sizeof *all);
  const char *entry = wrapper->bundle + 32;
  if (!load_module)
    start();
  ++bundles;
  for (uint64_t i = 0, count = load(wrapper->bundle + 24); i < count; ++i) {
    const char *image = wrapper->bundle + load(entry);
    uint64_t size = load(entry + 8);
    if (size && strstr(entry + 24, "amdgcn")) {
      ++offered;
      if (all->count < most && !load_module(&all->modules[all->count], image)) {
        ++taken;
        ++all->count;
        add(image, size);
      }
    }
    entry += 24 + load(entry + 16);
  }
  return (void **)all;
}

void __hipRegisterFunction(void **handle, const void *host, char *name, const char *device_name) {
  const registered *all = (const registered *)handle;
  void *function;
  (void)host, (void)name;
  ++kernels;
  for (int i = 0; i < all->count; ++i) {
    if (!get_function(&function, all->modules[i], device_name)) {
      ++found;
      break;
    }
  }
  add(device_name, strlen(device_name) + 1);
}

void __hipUnregisterFatBinary(void **handle) {
  (void)handle;
}
void __hipRegisterVar(void) {}
void __hipRegisterManagedVar(void) {}
void __hipRegisterTexture(void) {}
void __hipRegisterSurface(void) {}
int hipLaunchKernel(void) {
  return 1;
}
int __hipPopCallConfiguration(void) {
  return 1;
}
int __hipPushCallConfiguration(void) {
  return 1;
}
