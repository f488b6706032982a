/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tiles of the microkernel that was linked into kernels of this library, which one of them has.
 */
#ifndef KDL_MATMUL_READ_TILES_H
#define KDL_MATMUL_READ_TILES_H

#include <kdl/kdl.h>

/* Launches the kernel, which writes `size` bytes to its only argument, and reads them. */
kdl_status read_tiles(kdl_device *device, kdl_kernel *kernel, void *tiles, size_t size);

#endif
