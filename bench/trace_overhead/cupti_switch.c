/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A libcupti.so for KDL_CUPTI that forwards to the one of CUPTI_SWITCH, and turns the callbacks off
 * and on between blocks of one process: cupti_switch(0), cupti_switch(1). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int subscribe_function(void **subscriber, void *callback, void *user);
typedef int enable_function(uint32_t enable, void *subscriber, int domain, uint32_t id);
typedef int device_function(void *context, uint32_t *device);

static struct {
  int domain;
  uint32_t id;
} enabled[256];
static size_t enabled_count;
static void *subscriber_made;

static void *real(const char *name) {
  static void *library;
  const char *path = getenv("CUPTI_SWITCH");
  if (!library && path)
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : NULL;
}

int cuptiSubscribe(void **subscriber, void *callback, void *user);
int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id);
int cuptiGetDeviceId(void *context, uint32_t *device);
void cupti_switch(int on);

int cuptiSubscribe(void **subscriber, void *callback, void *user) {
  subscribe_function *call;
  *(void **)&call = real("cuptiSubscribe");
  int status = call ? call(subscriber, callback, user) : 15;
  subscriber_made = *subscriber;
  return status;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id) {
  enable_function *call;
  *(void **)&call = real("cuptiEnableCallback");
  if (enabled_count < sizeof enabled / sizeof *enabled) {
    enabled[enabled_count].domain = domain;
    enabled[enabled_count++].id = id;
  }
  return call ? call(enable, subscriber, domain, id) : 15;
}

int cuptiGetDeviceId(void *context, uint32_t *device) {
  device_function *call;
  *(void **)&call = real("cuptiGetDeviceId");
  return call ? call(context, device) : 15;
}

void cupti_switch(int on) {
  enable_function *call;
  *(void **)&call = real("cuptiEnableCallback");
  for (size_t i = 0; call && i < enabled_count; ++i)
    call((uint32_t)on, subscriber_made, enabled[i].domain, enabled[i].id);
}
