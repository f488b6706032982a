/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Products under the policy `adaptive`: the division among threads, or the tile of a GPU, that was
 * the fastest for their size, of a few that are tried (kdl_tuner of <kdl/launch.h>). On CPUs all of
 * them have the same results, bit by bit.
 */
#ifndef KDL_MATMUL_TUNED_H
#define KDL_MATMUL_TUNED_H

#include "matmul/gpu_plan.h"

/* The tuners of a CPU's kernels; none where the policy is another one, or a launch has one thread.
 */
kdl_status cpu_tuners_create(kdl_matmul *matmul);

kdl_status cpu_run_tuned(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                         const void *packed, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                         uint32_t k, kdl_matmul_mode mode);
kdl_status cpu_run_unpacked_tuned(const kdl_matmul *matmul, kdl_queue *queue,
                                  const kdl_matmul_matrix *a, const kdl_matmul_matrix *b,
                                  void *scratch, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                                  uint32_t k, kdl_matmul_mode mode);

/* The way of a GPU's product: way 0 is the plan of the least cost, others have a tile of their own,
 * with parts of K and without. */
enum { GPU_WAYS = 1 + 2 * GPU_SIZES };
kdl_matmul_gpu_problem gpu_problem_of_way(const kdl_matmul_gpu_problem *problem, uint32_t way);

/* Bits of the ways that a problem does not allow, or that have the plan of an earlier one. */
uint32_t gpu_unusable_ways(const gpu_machine *machine, const gpu_tile *tiles,
                           const kdl_matmul_gpu_problem *problem);

kdl_status gpu_tuner_create(kdl_kernel *kernel, kdl_tuner **out_tuner);

#endif
