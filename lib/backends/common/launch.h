/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The fast path of launches on CUDA and HIP, whose launch functions have the same signature.
 * Inline, so that each backend's entry is one call of its driver. */
#ifndef KDL_LIB_BACKENDS_COMMON_LAUNCH_H
#define KDL_LIB_BACKENDS_COMMON_LAUNCH_H

#include <kdl/backend.h>

#include <string.h>

#define kdl_unlikely(condition) __builtin_expect(!!(condition), 0)

/* cuLaunchKernel, hipModuleLaunchKernel */
typedef int kdl_launch_function(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z,
                                unsigned shared, void *stream, void **params, void **extra);

/* The first member of a kernel, so that a launch reads one cache line. */
typedef struct kdl_launch_head {
  kdl_launch_function *launch;
  void *function;
  uint32_t block[3]; /* default block */
} kdl_launch_head;

/* The block where neither metadata, image nor driver prefers one. */
enum { KDL_DEFAULT_BLOCK = 256 };

/* The driver does not write the array, although its parameter is not const. */
static inline void **kdl_launch_pointers(const kdl_args *args) {
  return (void **)(uintptr_t)args->pointers;
}

/* Loads two adjacent members of a descriptor at once, to test both for zero. */
static inline uint64_t kdl_launch_pair(const kdl_launch_desc *desc, size_t offset) {
  uint64_t both;
  memcpy(&both, (const char *)desc + offset, sizeof both);
  return both;
}

/* Zero for a launch without group memory, flags and cluster. */
static inline uint64_t kdl_launch_extras(const kdl_launch_desc *desc) {
  _Static_assert(offsetof(kdl_launch_desc, flags) == offsetof(kdl_launch_desc, shared) + 4 &&
                     offsetof(kdl_launch_desc, cluster) == offsetof(kdl_launch_desc, shared) + 8,
                 "neighbours");
  return kdl_launch_pair(desc, offsetof(kdl_launch_desc, shared)) |
         kdl_launch_pair(desc, offsetof(kdl_launch_desc, cluster));
}

static inline const uint32_t *kdl_launch_block(const kdl_launch_head *kernel,
                                               const kdl_launch_desc *desc) {
  return desc->block[0] ? desc->block : kernel->block;
}

/* Returns the driver's error. `shared` is the descriptor's, or a constant 0, which saves an
 * instruction. */
static inline __attribute__((always_inline)) int
kdl_launch_plain(const kdl_launch_head *kernel, void *stream, const kdl_launch_desc *desc,
                 const uint32_t *block, uint32_t shared, const kdl_args *args) {
  return kernel->launch(kernel->function, desc->grid[0], desc->grid[1], desc->grid[2], block[0],
                        block[1], block[2], shared, stream, kdl_launch_pointers(args), NULL);
}

#endif
