/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stands in for HIP's runtime: prints the bundles that a program registers when it starts. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wrapper {
  uint32_t magic, version;
  const char *bundle;
  void *unused;
};

static uint64_t load(const char *at) {
  uint64_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

void **__hipRegisterFatBinary(const struct wrapper *wrapper) {
  static void *handle;
  const char *entry = wrapper->bundle + 32;
  if (memcmp(wrapper->bundle, "CCOB", 4) == 0) {
    printf("compressed bundle of %" PRIu64 " bytes\n", load(wrapper->bundle + 8));
    return &handle;
  }
  for (uint64_t i = 0, count = load(wrapper->bundle + 24); i < count; ++i) {
    const char *image = wrapper->bundle + load(entry);
    printf("%.*s %" PRIu64 " bytes%s\n", (int)load(entry + 16), entry + 24, load(entry + 8),
           load(entry + 8) && memcmp(image, "\177ELF", 4) == 0 ? ", ELF" : "");
    entry += 24 + load(entry + 16);
  }
  return &handle;
}

void __hipRegisterFunction(void) {}
void __hipUnregisterFatBinary(void) {}
int hipLaunchKernel(void) {
  return 1;
}
int __hipPopCallConfiguration(void) {
  return 1;
}

int main(void) {
  return 0;
}
