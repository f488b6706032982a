// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// price FILE: loads FILE, an OffloadBinary or a bare image, through liboffload on the host plugin, and times its kernel `matmul`.
#include <OffloadAPI.h>
#include <chrono>
#include <cstdio>
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
  struct {
    std::vector<char> &File;
    ol_device_handle_t Device;
  } Search{File, nullptr};
  olIterateDevices(
      [](ol_device_handle_t Device, void *Data) {
        auto *S = static_cast<decltype(Search) *>(Data);
        bool Valid = false;
        olIsValidBinary(Device, S->File.data(), S->File.size(), &Valid);
        S->Device = Valid ? Device : nullptr;
        return !Valid;
      },
      &Search);
  if (!Search.Device)
    return std::puts("no device takes the file"), 1;

  ol_program_handle_t Program;
  ol_symbol_handle_t Kernel;
  check(olCreateProgram(Search.Device, File.data(), File.size(), &Program), "olCreateProgram");
  check(olGetSymbol(Program, "matmul", OL_SYMBOL_KIND_KERNEL, &Kernel), "olGetSymbol");

  int N = 512;
  std::vector<float> A(N * N, 1.0f), B(N * N, 2.0f), C(N * N);
  void *Pointers[] = {A.data(), B.data(), C.data()};
  void *Values[] = {&Pointers[0], &Pointers[1], &Pointers[2], &N};
  size_t Sizes[] = {sizeof(void *), sizeof(void *), sizeof(void *), sizeof N};
  ol_kernel_launch_size_args_t Size = {};
  Size.Dimensions = 1;
  Size.NumGroups = {1, 1, 1};
  Size.GroupSize = {1, 1, 1};
  double Best = 1e9;
  for (int I = 0; I < 40; ++I) {
    auto Start = std::chrono::steady_clock::now();
    check(olLaunchKernel(nullptr, Search.Device, Kernel, &Size, nullptr, 4, Values, Sizes), "olLaunchKernel");
    double Seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - Start).count();
    Best = Seconds < Best ? Seconds : Best;
  }
  for (float Element : C)
    if (Element != 2.0f * N)
      return std::puts("wrong product"), 1;
  std::printf("%.2f ms, %.1f Gflop/s\n", Best * 1e3, 2.0 * N * N * N / Best / 1e9);
  check(olDestroyProgram(Program), "olDestroyProgram");
  olShutDown();
}
