/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loads a library of thin_library.py and prints what its wrappers lead to, as a runtime would see
 * it; linked with it, of the program itself; with WAIT, once its input ends. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wrapper {
  unsigned magic, version;
  const void *data;
  void *names;
};

static void *library;

static void *find(const char *name) {
  void *found = dlsym(library, name);
  if (!found)
    printf("no %s\n", name);
  return found;
}

static unsigned hash(const unsigned char *bytes, uint64_t size) {
  unsigned value = 0;
  for (uint64_t i = 0; i < size; ++i)
    value = value * 31 + bytes[i];
  return value;
}

static uint64_t word(const void *at) {
  uint64_t value;
  memcpy(&value, at, 8);
  return value;
}

static void walk_fatbin(int index, const unsigned char *data) {
  uint32_t magic, header_size, arch;
  memcpy(&magic, data, 4);
  uint64_t body = word(data + 8);
  if (magic != 0xba55ed50)
    printf("fatbin %d: no magic\n", index);
  for (const unsigned char *at = data + 16; at < data + 16 + body;) {
    memcpy(&header_size, at + 4, 4);
    memcpy(&arch, at + 28, 4);
    uint64_t size = word(at + 8);
    printf("fatbin %d kind %d sm_%u%s, %u\n", index, *at, arch, word(at + 40) >> 20 & 1 ? "a" : "",
           hash(at, header_size + size));
    at += header_size + size;
  }
}

static void walk_bundle(int index, const unsigned char *data) {
  if (memcmp(data, "__CLANG_OFFLOAD_BUNDLE__", 24) != 0 || (uintptr_t)data % 4096)
    printf("bundle %d: no magic\n", index);
  const unsigned char *at = data + 32;
  for (uint64_t i = 0; i < word(data + 24); ++i) {
    uint64_t offset = word(at), size = word(at + 8), length = word(at + 16);
    printf("bundle %d %.*s, %u\n", index, (int)length, (const char *)at + 24,
           hash(data + offset, size));
    at += 24 + length;
  }
}

int main(int argc, char **argv) {
#ifdef WAIT
  getchar();
#endif
  library = dlopen(argc > 1 ? argv[1] : NULL, RTLD_NOW);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  struct wrapper *cuda = find("cuda_wrappers"), *hip = find("hip_wrappers");
  for (int i = 0; i < *(int *)find("cuda_count"); ++i)
    walk_fatbin(i, cuda[i].data);
  for (int i = 0; i < *(int *)find("hip_count"); ++i)
    walk_bundle(i, hip[i].data);
  printf("by code: %d\n", ((const void *(*)(void))find("by_code"))() == cuda[5].data);
  printf("by symbol: %d\n", find("by_symbol") == cuda[6].data);
  printf("data: %u\n", ((unsigned (*)(void))find("sum"))());
  return 0;
}
