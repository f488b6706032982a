/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program of HIP's without libkdl, laid out as HIP's compiler does it: a bundle in `.hip_fatbin`,
 * and a record that points to it and is registered when the program starts. The runtime looks for
 * the image of its GPU. scripts/evidence-amd.sh runs it as it is and thinned; BUNDLE is the file of
 * the bundle. */
#include <stdio.h>

typedef struct {
  unsigned x, y, z;
} extent;

int hipMalloc(void **memory, size_t size);
int hipMemcpy(void *to, const void *from, size_t size, int kind);
int hipLaunchKernel(const void *function, extent grid, extent block, void **arguments,
                    size_t shared, void *stream);
void **__hipRegisterFatBinary(const void *record);
void __hipRegisterFunction(void **module, const void *function, const char *name,
                           const char *device_name, unsigned threads, void *thread, void *block,
                           void *block_size, void *grid_size, int *warp);

__asm__(".section .hip_fatbin, \"a\", @progbits\n"
        ".p2align 12\n"
        "bundle: .incbin \"" BUNDLE "\"\n"
        ".text\n");
extern const char bundle[];
static const struct {
  unsigned magic, version;
  const void *bundle, *unused;
} record __attribute__((section(".hipFatBinSegment"))) = {0x48495046, 1, bundle, NULL};
static const char scale; /* to the host a kernel is an address */

int main(void) {
  enum { count = 100, to_device = 1, to_host = 2 };
  float host[count], a = 3;
  unsigned n = count, wrong = 0;
  void *x, *y, *arguments[] = {&a, &x, &y, &n};
  void **module = __hipRegisterFatBinary(&record);
  __hipRegisterFunction(module, &scale, "scale", "scale", ~0u, NULL, NULL, NULL, NULL, NULL);
  for (unsigned i = 0; i < count; ++i)
    host[i] = (float)i;
  int error = hipMalloc(&x, sizeof host);
  error = error ? error : hipMalloc(&y, sizeof host);
  error = error ? error : hipMemcpy(x, host, sizeof host, to_device);
  error = error
              ? error
              : hipLaunchKernel(&scale, (extent){2, 1, 1}, (extent){64, 1, 1}, arguments, 0, NULL);
  error = error ? error : hipMemcpy(host, y, sizeof host, to_host);
  for (unsigned i = 0; i < count; ++i)
    wrong += host[i] != 3 * (float)i;
  printf("HIP's error %d, %u of %d wrong\n", error, wrong, count);
  return error || wrong;
}
