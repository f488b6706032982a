/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Launches of an empty kernel, the worst case of a trace: with callbacks and without by turns.
 *   launches [PAIRS]        in one process, with KDL_CUPTI=cupti_switch.so
 *   launches plain [BLOCKS] without turns: the median time of a launch */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <vector>

__global__ void nothing(float *) {}

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

/* Ends with a wait outside of the time, so that the queue is never full. */
static double block(float *x) {
  enum { launches = 500 };
  double begin = now();
  for (int i = 0; i < launches; ++i)
    nothing<<<1, 32>>>(x);
  double end = now();
  cudaDeviceSynchronize();
  return (end - begin) / launches;
}

static double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int main(int count, char **words) {
  bool plain = count > 1 && !strcmp(words[1], "plain");
  int pairs = count > 1 + plain ? atoi(words[1 + plain]) : 1000;
  float *x;
  if (cudaMalloc(&x, 4))
    return 1;
  for (int i = 0; i < 20; ++i)
    block(x);
  if (plain) {
    std::vector<double> times;
    for (int i = 0; i < pairs; ++i)
      times.push_back(block(x));
    printf("plain %.1f ns a launch\n", median(times));
    return 0;
  }
  void *library = dlopen(getenv("KDL_CUPTI"), RTLD_NOW | RTLD_NOLOAD);
  auto turn = library ? (void (*)(int))dlsym(library, "cupti_switch") : nullptr;
  if (!turn)
    return 2;
  std::vector<double> off, on, ratios;
  for (int i = 0; i < pairs; ++i) {
    double times[2];
    for (int k = 0; k < 2; ++k) {
      int traced = (k + i) & 1;
      turn(traced);
      block(x); /* unmeasured */
      times[traced] = block(x);
    }
    off.push_back(times[0]);
    on.push_back(times[1]);
    ratios.push_back(times[1] / times[0]);
  }
  std::sort(ratios.begin(), ratios.end());
  int half = pairs / 2, reach = int(0.98 * std::sqrt(double(pairs)));
  printf("launches: off %.1f ns, on %.1f ns a launch; ratio %.4f [%.4f, %.4f]\n", median(off),
         median(on), ratios[half], ratios[half - reach], ratios[half + reach]);
}
