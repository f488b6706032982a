/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Products on CPUs, without the checks and tuners of <kdl/matmul.h>. The MLIR runtime has them,
 * too.
 */
#ifndef KDL_MATMUL_CPU_H
#define KDL_MATMUL_CPU_H

#include "matmul/division.h"

#include <stdbool.h>

/* The caches of a folder like Linux's /sys/devices/system/cpu/cpu0/cache. What is not known is
 * taken to be small. */
kdl_matmul_machine cpu_read_machine(const char *folder);

kdl_status cpu_find(kdl_library *lib, kdl_device *host, kdl_matmul_type type, uint32_t threads,
                    kdl_matmul *out_matmul);

/* Whether size_t counts the bytes of a packed K by N matrix of any type. */
bool cpu_packed_is_counted(uint32_t n, uint32_t k);

/* Kernels count rows, columns and steps of K by signed 32 bits, beyond the end by a block. */
kdl_status cpu_check_sizes(uint32_t m, uint32_t n, uint32_t k);

kdl_status cpu_pack(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *b,
                    void *packed, uint32_t n, uint32_t k);
kdl_status cpu_run(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                   const void *packed, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                   uint32_t k, kdl_matmul_mode mode);
kdl_status cpu_run_unpacked(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                            const kdl_matmul_matrix *b, void *scratch, const kdl_matmul_matrix *c,
                            uint32_t m, uint32_t n, uint32_t k, kdl_matmul_mode mode);

/* The same with a division of the caller's. With unpacked B: one launch, or two where K is divided.
 */
kdl_status cpu_run_divided(const kdl_matmul *matmul, kdl_queue *queue, const kdl_matmul_matrix *a,
                           const void *packed, const kdl_matmul_matrix *c, uint32_t m, uint32_t n,
                           uint32_t k, kdl_matmul_mode mode, const kdl_matmul_division *division);
kdl_status cpu_run_unpacked_divided(const kdl_matmul *matmul, kdl_queue *queue,
                                    const kdl_matmul_matrix *a, const kdl_matmul_matrix *b,
                                    void *scratch, const kdl_matmul_matrix *c, uint32_t m,
                                    uint32_t n, uint32_t k, kdl_matmul_mode mode,
                                    const kdl_matmul_division *division);

#endif
