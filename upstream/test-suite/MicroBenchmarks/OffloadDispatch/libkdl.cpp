// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same layers through libkdl, on the same image, where libkdl is installed.

#include "dispatch.h"

#include <kdl/kdl.h>

#include <cstring>

namespace {

constexpr char KernelName[] = "nothing";
constexpr int QueueDepth = 100;

void check(kdl_status Status, const char *Call) {
  if (Status == KDL_OK)
    return;
  std::fprintf(stderr, "%s: %s\n", Call, kdl_error_message());
  std::exit(EXIT_FAILURE);
}
#define CHECK(Call) check(Call, #Call)

// The image, opened as a library, and the device for it.
struct Library {
  kdl_library *Handle = nullptr;
  kdl_device *Device = nullptr;

  explicit Library(const Bytes &Image) {
    CHECK(kdl_open_memory(Image.data(), Image.size(), nullptr, &Handle));
    CHECK(kdl_device_for(Handle, KernelName, nullptr, &Device));
  }
  ~Library() { kdl_close(Handle); }

  kdl_kernel *load() const {
    kdl_kernel *Kernel = nullptr;
    CHECK(kdl_sym(Handle, Device, KernelName, nullptr, &Kernel));
    CHECK(kdl_prefetch(Kernel));
    return Kernel;
  }
};

struct Queue {
  kdl_queue *Handle = nullptr;
  explicit Queue(const Library &On) {
    CHECK(kdl_queue_create(On.Device, nullptr, &Handle));
  }
  ~Queue() { kdl_queue_destroy(Handle); }
};

void launch(kdl_kernel *Kernel, const Queue &On) {
  static const kdl_launch_desc One = {
      sizeof(kdl_launch_desc), {1, 1, 1}, {1, 1, 1}, 0, 0, {0, 0, 0}, 0};
  void *Argument = nullptr;
  const void *Arguments[] = {&Argument};
  kdl_args Args = {1, Arguments, nullptr};
  CHECK(kdl_launch(Kernel, On.Handle, &One, Args));
}

// An OffloadBinary of so many images, the last of which can run.
Bytes pack(const Bytes &Image, int64_t Count) {
  auto Text = [](const char *Words) {
    return kdl_string{Words, std::strlen(Words)};
  };
  Bytes Other = makeForeign(Image);
  kdl_writer *Writer = nullptr;
  CHECK(kdl_writer_create(KDL_FORMAT_V1, &Writer));
  for (int64_t I = 1; I <= Count; ++I) {
    const Bytes &Added = I == Count ? Image : Other;
    kdl_pair Pairs[] = {
        {Text("triple"),
         Text(I == Count ? "x86_64-unknown-linux-gnu" : "nvptx64-nvidia-cuda")},
        {Text("arch"), Text(I == Count ? "x86-64" : "sm_90")}};
    kdl_writer_image Described = {};
    Described.size = sizeof(Described);
    Described.pairs = Pairs;
    Described.pair_count = 2;
    Described.data = Added.data();
    Described.data_size = Added.size();
    CHECK(kdl_writer_add(Writer, &Described));
  }
  void *Data = nullptr;
  size_t Size = 0;
  CHECK(kdl_writer_finish(Writer, &Data, &Size));
  kdl_writer_destroy(Writer);
  auto *Begin = static_cast<unsigned char *>(Data);
  Bytes Packed(Begin, Begin + Size);
  std::free(Data);
  return Packed;
}

void Start(benchmark::State &State) {
  for (auto _ : State)
    if (!runStart())
      State.SkipWithError("the process failed");
}

// Opens one library of several images and chooses one of them.
void Find(benchmark::State &State) {
  Bytes Image = readImage();
  Library One(Image);
  Bytes Many = pack(Image, State.range(0));
  for (auto _ : State) {
    kdl_library *Opened = nullptr;
    kdl_selection Choice = {};
    Choice.size = sizeof(Choice);
    CHECK(kdl_open_memory(Many.data(), Many.size(), nullptr, &Opened));
    CHECK(kdl_select(Opened, One.Device, KernelName, nullptr, &Choice));
    kdl_close(Opened);
  }
}

void Load(benchmark::State &State) {
  Bytes Image = readImage();
  for (auto _ : State)
    Library(Image).load();
}

void Launch(benchmark::State &State) {
  Bytes Image = readImage();
  Library From(Image);
  Queue On(From);
  kdl_kernel *Kernel = From.load();
  for (auto _ : State) {
    launch(Kernel, On);
    CHECK(kdl_sync(On.Handle));
  }
}

void QueueMany(benchmark::State &State) {
  Bytes Image = readImage();
  Library From(Image);
  Queue On(From);
  kdl_kernel *Kernel = From.load();
  for (auto _ : State) {
    for (int I = 0; I < QueueDepth; ++I)
      launch(Kernel, On);
    CHECK(kdl_sync(On.Handle));
  }
  State.SetItemsProcessed(State.iterations() * QueueDepth);
}

} // namespace

void start() {
  Bytes Image = readImage();
  Library From(Image);
  Queue On(From);
  launch(From.load(), On);
  CHECK(kdl_sync(On.Handle));
}

void registerBenchmarks() {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("Start/libkdl", Start)->UseRealTime();
  RegisterBenchmark("Find/libkdl", Find)->Arg(1)->Arg(8)->Arg(64);
  RegisterBenchmark("Load/libkdl", Load)->UseRealTime();
  RegisterBenchmark("Launch/libkdl", Launch)->UseRealTime();
  RegisterBenchmark("Queue/libkdl", QueueMany)->UseRealTime();
}
