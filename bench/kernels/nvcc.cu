// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The very sources of the measured kernels as CUDA C++, by cuda/kdl/kernel.h; nvcc.sh compiles them. Each is in a namespace, for
// its constants, and has its kernels renamed to what `kdl bench kernels` calls them.
#include <kdl/kernel.h>

#include <math.h>

// Functions of group.h run on the device.
#define static static __device__

namespace of_saxpy {
#include "../../examples/kernels/saxpy.c"
}
namespace of_reduce {
#include "../../examples/kernels/reduce.c"
}
#undef EXAMPLES_KERNELS_GROUP_H
namespace of_softmax {
#include "../../examples/kernels/softmax.c"
}
#undef EXAMPLES_KERNELS_GROUP_H
namespace of_layernorm {
#include "../../examples/kernels/layernorm.c"
}
namespace of_matmul {
#include "../../examples/kernels/matmul.c"
}
namespace of_matmul_tiled {
#define matmul matmul_tiled
#include "../../examples/kernels/matmul_tiled.c"
#undef matmul
}
namespace of_histogram {
#include "../../examples/kernels/histogram.c"
}
namespace of_barriers {
#define reduce group_reduce
#define scan group_scan
#define matmul group_matmul
#define transpose group_transpose
#define histogram group_histogram
#define sort group_sort
#define stencil group_stencil
#include "../barriers/kernels.c"
}

extern "C" __global__ void mark(uint8_t *out) {
  const char word[] = "nvcc/";
  for (int i = 0; i < 32; ++i)
    out[i] = i < (int)sizeof word ? word[i] : 0;
}
