// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the benchmarks of the runtimes share.
#ifndef OFFLOAD_DISPATCH_H
#define OFFLOAD_DISPATCH_H

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

using Bytes = std::vector<unsigned char>;

// The image: the file that OFFLOAD_DISPATCH_IMAGE names, or the one for the
// host that was built along with the benchmark.
Bytes readImage();

// The image with another machine in its ELF header, so that no device runs it.
Bytes makeForeign(Bytes Image);

// Runs this program anew, to call start, and returns whether it succeeded.
bool runStart();

// What a runtime has: one pass through everything, in a process of its own, and
// its benchmarks.
void start();
void registerBenchmarks();

#endif
