// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dispatch.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static const char StartOption[] = "--start";
static const char *Self;

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

Bytes makeForeign(Bytes Image) {
  // e_machine, and a value that no machine has.
  constexpr size_t Machine = 18;
  if (Image.size() > Machine + 1)
    Image[Machine] = Image[Machine + 1] = 0xfe;
  return Image;
}

bool runStart() {
  char *const Arguments[] = {const_cast<char *>(Self),
                             const_cast<char *>(StartOption), nullptr};
  pid_t Child;
  int Status;
  return posix_spawn(&Child, Self, nullptr, nullptr, Arguments, environ) == 0 &&
         waitpid(Child, &Status, 0) == Child && Status == 0;
}

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
