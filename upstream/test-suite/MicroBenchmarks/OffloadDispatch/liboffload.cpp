// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch of a kernel costs through liboffload, layer by layer:
//
//   Start   a process that loads liboffload, initializes it, finds a device for
//           the image, loads the image, launches once and ends
//   Find    the devices for one of several images, the last of which can run
//   Load    an image and look a kernel up in it, and unload it
//   Launch  one kernel and wait for it
//   Queue   a hundred kernels and wait for the last
//
// The kernel does nothing. By default it is compiled for the host, where the
// host plugin runs it; OFFLOAD_DISPATCH_IMAGE names a file with another image
// of a kernel `nothing` with one pointer as its parameter.

#include "dispatch.h"

#include <OffloadAPI.h>

namespace {

constexpr char KernelName[] = "nothing";
constexpr int QueueDepth = 100;

// Ends the program: nothing that is measured after a failed call means much.
void check(ol_result_t Result, const char *Call) {
  if (!Result)
    return;
  std::fprintf(stderr, "%s: %s\n", Call, Result->Details);
  std::exit(EXIT_FAILURE);
}
#define CHECK(Call) check(Call, #Call)

bool takeDevice(ol_device_handle_t Device, void *Found) {
  *static_cast<ol_device_handle_t *>(Found) = Device;
  return false;
}

ol_device_handle_t findDevice(const Bytes &Image) {
  ol_device_handle_t Device = nullptr;
  CHECK(olIterateCompatibleDevices(Image.data(), Image.size(), takeDevice,
                                   &Device));
  return Device;
}

// A device for the image, and a queue on it.
struct Setup {
  Bytes Image = readImage();
  ol_device_handle_t Device = nullptr;
  ol_context_handle_t Context = nullptr;
  ol_queue_handle_t Queue = nullptr;

  Setup() {
    CHECK(olInit(nullptr));
    Device = findDevice(Image);
    if (!Device) {
      std::fprintf(stderr, "no device of liboffload runs the image\n");
      std::exit(EXIT_FAILURE);
    }
    CHECK(olCreateContext(1, &Device, &Context));
    CHECK(olCreateQueue(Context, Device, &Queue));
  }
  ~Setup() {
    CHECK(olDestroyQueue(Queue));
    CHECK(olDestroyContext(Context));
    CHECK(olShutDown());
  }
};

// A program, and the kernel in it.
struct Program {
  ol_program_handle_t Handle = nullptr;
  ol_symbol_handle_t Kernel = nullptr;

  explicit Program(const Setup &On) {
    CHECK(olCreateProgram(On.Context, On.Device, On.Image.data(),
                          On.Image.size(), &Handle));
    CHECK(olGetSymbol(Handle, KernelName, OL_SYMBOL_KIND_KERNEL, &Kernel));
  }
  ~Program() { CHECK(olDestroyProgram(Handle)); }

  void launch(const Setup &On) const {
    static const ol_kernel_launch_size_args_t One = {
        1, {1, 1, 1}, {1, 1, 1}, /*DynSharedMemory=*/0};
    void *Argument = nullptr;
    void *Arguments[] = {&Argument};
    const size_t Sizes[] = {sizeof(Argument)};
    CHECK(olLaunchKernel(On.Queue, On.Device, Kernel, &One,
                         /*Properties=*/nullptr, 1, Arguments, Sizes));
  }
};

void Start(benchmark::State &State) {
  for (auto _ : State)
    if (!runStart())
      State.SkipWithError("the process failed");
}

void Find(benchmark::State &State) {
  Setup On;
  Bytes Other = makeForeign(On.Image);
  for (auto _ : State) {
    ol_device_handle_t Found = nullptr;
    for (int64_t I = 1; I < State.range(0); ++I)
      Found = Found ? Found : findDevice(Other);
    Found = Found ? Found : findDevice(On.Image);
    if (Found != On.Device)
      State.SkipWithError("another image was taken");
  }
}

void Load(benchmark::State &State) {
  Setup On;
  for (auto _ : State)
    Program Loaded(On);
}

void Launch(benchmark::State &State) {
  Setup On;
  Program Loaded(On);
  for (auto _ : State) {
    Loaded.launch(On);
    CHECK(olSyncQueue(On.Queue));
  }
}

void Queue(benchmark::State &State) {
  Setup On;
  Program Loaded(On);
  for (auto _ : State) {
    for (int I = 0; I < QueueDepth; ++I)
      Loaded.launch(On);
    CHECK(olSyncQueue(On.Queue));
  }
  State.SetItemsProcessed(State.iterations() * QueueDepth);
}

} // namespace

void start() {
  Setup On;
  Program Loaded(On);
  Loaded.launch(On);
  CHECK(olSyncQueue(On.Queue));
}

void registerBenchmarks() {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("Start/liboffload", Start)->UseRealTime();
  RegisterBenchmark("Find/liboffload", Find)->Arg(1)->Arg(8)->Arg(64);
  RegisterBenchmark("Load/liboffload", Load)->UseRealTime();
  RegisterBenchmark("Launch/liboffload", Launch)->UseRealTime();
  RegisterBenchmark("Queue/liboffload", Queue)->UseRealTime();
}
