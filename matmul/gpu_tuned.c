/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "matmul/tuned.h"

#include <string.h>

kdl_matmul_gpu_problem gpu_problem_of_way(const kdl_matmul_gpu_problem *problem, uint32_t way) {
  kdl_matmul_gpu_problem made = *problem;
  if (way) {
    made.tile = (way - 1) / 2 + 1;
    made.parts = (way - 1) % 2;
  }
  return made;
}

uint32_t gpu_unusable_ways(const gpu_machine *machine, const gpu_tile *tiles,
                           const kdl_matmul_gpu_problem *problem) {
  kdl_matmul_gpu_plan plans[GPU_WAYS];
  uint32_t bits = 0;
  for (uint32_t way = 0; way < GPU_WAYS; ++way) {
    const kdl_matmul_gpu_problem as = gpu_problem_of_way(problem, way);
    plans[way] = gpu_plan(machine, tiles, &as);
    if (way && !plans[way].rows)
      bits |= 1u << way;
    for (uint32_t other = 0; other < way; ++other) {
      if (memcmp(&plans[other], &plans[way], sizeof plans[way]) == 0)
        bits |= 1u << way;
    }
  }
  return bits;
}

kdl_status gpu_tuner_create(kdl_kernel *kernel, kdl_tuner **out_tuner) {
  static const char *const names[] = {"m", "n", "k", "batch", "forms"};
  static const char *const ways[GPU_WAYS] = {"model",        "tile 0", "tile 0 whole", "tile 1",
                                             "tile 1 whole", "tile 2", "tile 2 whole", "tile 3",
                                             "tile 3 whole", "tile 4", "tile 4 whole", "tile 5",
                                             "tile 5 whole"};
  const kdl_tuner_desc desc = {
      .size = sizeof desc, .names = names, .name_count = 5, .way_count = GPU_WAYS, .ways = ways};
  return kdl_tuner_create(kernel, &desc, out_tuner);
}
