/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_MLIR_BENCH_UPSTREAM_H
#define KDL_MLIR_BENCH_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

/* False if there is no NVIDIA driver or no device. */
bool upstream_open(void);

/* Loads what the program's constructor recorded, once the driver is open. */
void upstream_load(void);

/* MLIR's functions under another prefix. */
void *upstreamModuleLoadJIT(const char *text, int32_t opt_level);
void upstreamModuleUnload(void *handle);
void *upstreamModuleGetFunction(void **handle, const char *name);
void *upstreamStreamCreate(void);
void upstreamStreamDestroy(void *stream);
void upstreamStreamSynchronize(void *stream);
void upstreamLaunchKernel(void *function, intptr_t grid_x, intptr_t grid_y, intptr_t grid_z,
                          intptr_t block_x, intptr_t block_y, intptr_t block_z, int32_t shared,
                          void *stream, void **params, void **extra, uint64_t count);

#endif
