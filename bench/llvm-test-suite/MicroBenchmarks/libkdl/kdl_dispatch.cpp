// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What comes before a launch, without any device: opening a library, the first choice from it, and
// a choice that is remembered. `kdl bench` measures the rest.
#include <kdl/kdl.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>

namespace {

kdl_string text(const char *words) {
  return {words, std::strlen(words)};
}

// So many images for one architecture after the other, as a packer writes them.
struct Library {
  void *data = nullptr;
  size_t size = 0;
  ~Library() { std::free(data); }

  explicit Library(size_t images) {
    static const char *const archs[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"};
    static const unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8,  0,
                                            0,    0,   0,   0,   0, 0, 2, 0,    190};
    kdl_writer *writer = nullptr;
    bool well = kdl_writer_create(KDL_FORMAT_V1, &writer) == KDL_OK;
    for (size_t i = 0; well && i < images; ++i) {
      kdl_pair pairs[] = {{text("triple"), text("nvptx64-nvidia-cuda")},
                          {text("arch"), text(archs[(i + 4) % 6])}};
      kdl_writer_image image = {};
      image.size = sizeof image;
      image.declared_kind = 3;
      image.offload_kind = KDL_OFFLOAD_CUDA;
      image.pairs = pairs;
      image.pair_count = 2;
      image.data = cubin;
      image.data_size = sizeof cubin;
      well = kdl_writer_add(writer, &image) == KDL_OK;
    }
    if (!well || kdl_writer_finish(writer, &data, &size) != KDL_OK)
      std::abort();
    kdl_writer_destroy(writer);
  }
};

kdl_library *open(const Library &from) {
  kdl_library *lib = nullptr;
  if (kdl_open_memory(from.data, from.size, nullptr, &lib) != KDL_OK)
    std::abort();
  return lib;
}

void choose(kdl_library *lib, kdl_device *device) {
  kdl_selection choice = {};
  choice.size = sizeof choice;
  if (kdl_select(lib, device, nullptr, nullptr, &choice) != KDL_OK)
    std::abort();
  benchmark::DoNotOptimize(choice.data);
}

kdl_device *h200() {
  kdl_device *device = nullptr;
  if (kdl_device_find("cuda:sm_90 driver=13.0", &device) != KDL_OK)
    std::abort();
  return device;
}

void Open(benchmark::State &state) {
  Library library(static_cast<size_t>(state.range(0)));
  for (auto _ : state)
    kdl_close(open(library));
}

void OpenAndChoose(benchmark::State &state) {
  Library library(static_cast<size_t>(state.range(0)));
  kdl_device *device = h200();
  for (auto _ : state) {
    kdl_library *lib = open(library);
    choose(lib, device);
    kdl_close(lib);
  }
}

void ChooseAgain(benchmark::State &state) {
  Library library(static_cast<size_t>(state.range(0)));
  kdl_device *device = h200();
  kdl_library *lib = open(library);
  for (auto _ : state)
    choose(lib, device);
  kdl_close(lib);
}

} // namespace

BENCHMARK(Open)->Arg(1)->Arg(64)->Arg(1024);
BENCHMARK(OpenAndChoose)->Arg(1)->Arg(64)->Arg(1024);
BENCHMARK(ChooseAgain)->Arg(1)->Arg(64)->Arg(1024);
BENCHMARK_MAIN();
