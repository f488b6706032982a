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

#include <OffloadAPI.h>
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

namespace {

using Bytes = std::vector<unsigned char>;

constexpr char KernelName[] = "nothing";
constexpr int QueueDepth = 100;

const char StartOption[] = "--start";
const char *Self;

// The image: the file that OFFLOAD_DISPATCH_IMAGE names, or the one for the
// host that was built along with the benchmark.
Bytes readImage() {
  const char *Path = std::getenv("OFFLOAD_DISPATCH_IMAGE");
  std::ifstream File(Path ? Path : HOST_IMAGE, std::ios::binary);
  Bytes Image{std::istreambuf_iterator<char>(File),
              std::istreambuf_iterator<char>()};
  if (Image.empty()) {
    std::fprintf(stderr, "%s: no image\n", Path ? Path : HOST_IMAGE);
    std::exit(EXIT_FAILURE);
  }
  return Image;
}

// The image with another machine in its ELF header, so that no device runs it.
Bytes makeForeign(Bytes Image) {
  // e_machine, and a value that no machine has.
  constexpr size_t Machine = 18;
  if (Image.size() > Machine + 1)
    Image[Machine] = Image[Machine + 1] = 0xfe;
  return Image;
}

// Runs this program anew, to call start, and returns whether it succeeded.
bool runStart() {
  char *const Arguments[] = {const_cast<char *>(Self),
                             const_cast<char *>(StartOption), nullptr};
  pid_t Child;
  int Status;
  return posix_spawn(&Child, Self, nullptr, nullptr, Arguments, environ) == 0 &&
         waitpid(Child, &Status, 0) == Child && Status == 0;
}

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

void start() {
  Setup On;
  Program Loaded(On);
  Loaded.launch(On);
  CHECK(olSyncQueue(On.Queue));
}

void registerBenchmarks() {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("Start", Start)->UseRealTime();
  RegisterBenchmark("Find", Find)->Arg(1)->Arg(8)->Arg(64);
  RegisterBenchmark("Load", Load)->UseRealTime();
  RegisterBenchmark("Launch", Launch)->UseRealTime();
  RegisterBenchmark("Queue", Queue)->UseRealTime();
}

} // namespace

int main(int Argc, char **Argv) {
  Self = Argv[0];
  if (Argc == 2 && !std::strcmp(Argv[1], StartOption)) {
    start();
    return EXIT_SUCCESS;
  }
  benchmark::Initialize(&Argc, Argv);
  if (benchmark::ReportUnrecognizedArguments(Argc, Argv))
    return EXIT_FAILURE;
  registerBenchmarks();
  benchmark::RunSpecifiedBenchmarks();
  return EXIT_SUCCESS;
}
