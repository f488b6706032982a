// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// price_gpu FILE: as price.cpp, on the first device that takes FILE and is no host.
#include <OffloadAPI.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>
static void check(ol_result_t Result, const char *What) {
  if (!Result)
    return;
  std::printf("%s: %s\n", What, Result->Details ? Result->Details : "failed");
  std::exit(1);
}
int main(int Count, char **Arguments) {
  std::ifstream Stream(Arguments[Count - 1], std::ios::binary);
  std::vector<char> File{std::istreambuf_iterator<char>(Stream), {}};
  check(olInit(nullptr), "olInit");
  struct S { std::vector<char> &File; ol_device_handle_t Device; } Search{File, nullptr};
  olIterateDevices([](ol_device_handle_t Device, void *Data) {
    auto *P = static_cast<S *>(Data);
    bool Valid = false;
    olIsValidBinary(Device, P->File.data(), P->File.size(), &Valid);
    if (Valid) P->Device = Device;
    return !Valid;
  }, &Search);
  if (!Search.Device)
    return std::puts("no device takes the file"), 1;
  ol_program_handle_t Program;
  ol_symbol_handle_t Kernel;
  check(olCreateProgram(Search.Device, File.data(), File.size(), &Program), "olCreateProgram");
  check(olGetSymbol(Program, "matmul", OL_SYMBOL_KIND_KERNEL, &Kernel), "olGetSymbol");
  int N = 4096;
  std::vector<uint16_t> H(size_t(N) * N, 0x3c00); // 1.0
  void *A, *B, *C;
  check(olMemAlloc(Search.Device, OL_ALLOC_TYPE_DEVICE, H.size() * 2, &A), "olMemAlloc");
  check(olMemAlloc(Search.Device, OL_ALLOC_TYPE_DEVICE, H.size() * 2, &B), "olMemAlloc");
  check(olMemAlloc(Search.Device, OL_ALLOC_TYPE_DEVICE, H.size() * 4, &C), "olMemAlloc");
  ol_queue_handle_t Queue;
  check(olCreateQueue(Search.Device, &Queue), "olCreateQueue");
  ol_device_handle_t Host = nullptr;
  olIterateDevices([](ol_device_handle_t D, void *Data) {
    ol_platform_handle_t P; ol_platform_backend_t K;
    olGetDeviceInfo(D, OL_DEVICE_INFO_PLATFORM, sizeof P, &P);
    olGetPlatformInfo(P, OL_PLATFORM_INFO_BACKEND, sizeof K, &K);
    if (K == OL_PLATFORM_BACKEND_HOST) *static_cast<ol_device_handle_t *>(Data) = D;
    return true;
  }, &Host);
  check(olMemcpy(Queue, A, Search.Device, H.data(), Host, H.size() * 2), "olMemcpy");
  check(olMemcpy(Queue, B, Search.Device, H.data(), Host, H.size() * 2), "olMemcpy");
  void *Values[] = {&A, &B, &C, &N};
  size_t Sizes[] = {8, 8, 8, sizeof N};
  ol_kernel_launch_size_args_t Size = {};
  Size.Dimensions = 2;
  Size.NumGroups = {uint32_t(N / 64), uint32_t(N / 64), 1};
  Size.GroupSize = {256, 1, 1};
  double Best = 1e9;
  for (int I = 0; I < 20; ++I) {
    check(olSyncQueue(Queue), "olSyncQueue");
    auto Start = std::chrono::steady_clock::now();
    check(olLaunchKernel(Queue, Search.Device, Kernel, &Size, nullptr, 4, Values, Sizes), "olLaunchKernel");
    check(olSyncQueue(Queue), "olSyncQueue");
    double T = std::chrono::duration<double>(std::chrono::steady_clock::now() - Start).count();
    Best = T < Best ? T : Best;
  }
  std::vector<float> R(H.size());
  check(olMemcpy(Queue, R.data(), Host, C, Search.Device, R.size() * 4), "olMemcpy");
  check(olSyncQueue(Queue), "olSyncQueue");
  for (float X : R)
    if (X != float(N))
      return std::printf("wrong product: %f\n", X), 1;
  std::printf("%.3f ms, %.1f Tflop/s\n", Best * 1e3, 2.0 * N * N * N / Best / 1e12);
  std::fflush(stdout);
  std::_Exit(0);
}
