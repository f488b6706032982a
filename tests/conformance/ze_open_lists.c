/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For HANDLE_LIFETIME of Level Zero's loaders after 1.9, which takes every immediate command list
 * for a closed one and refuses what is appended (docs/upstream-bugs.md). This library is loaded
 * before the program and resets each list that libkdl makes: to the layer it is open then, and all
 * else that the layer checks can be tried. dlsym is this library's, since libkdl looks its
 * functions up. */
#include "../functions/real_dlsym.h"

#include <dlfcn.h>
#include <string.h>

typedef int create(void *context, void *device, const void *desc, void **list);
typedef int reset(void *list);

static create *real_create;
static reset *real_reset;

static int create_open(void *context, void *device, const void *desc, void **list) {
  int error = real_create(context, device, desc, list);
  return error ? error : real_reset(*list);
}

/* The last call is a jump (this file is compiled with -O2): glibc tells by the return address who
 * asks. */
__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name) {
  if (strcmp(name, "zeCommandListCreateImmediate") == 0) {
    void *found_create = real_dlsym()(handle, name);
    void *found_reset = real_dlsym()(handle, "zeCommandListReset");
    create *own = create_open;
    void *replacement;
    memcpy(&real_create, &found_create, sizeof found_create);
    memcpy(&real_reset, &found_reset, sizeof found_reset);
    memcpy(&replacement, &own, sizeof replacement);
    return found_create && found_reset ? replacement : found_create;
  }
  return real_dlsym()(handle, name);
}
