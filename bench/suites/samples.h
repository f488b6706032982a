/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries to measure on. */
#ifndef KDL_BENCH_SUITES_SAMPLES_H
#define KDL_BENCH_SUITES_SAMPLES_H

#include <kdl/kdl.h>

/* So many cubins of such a size, for one architecture after the other; without an index, as Clang
 * packs them. The caller frees *out_data. */
kdl_status samples_images(size_t images, size_t image_size, void **out_data, size_t *out_size);

/* One image for sm_90 whose metadata lists so many kernels, k0, k1, ... */
kdl_status samples_kernels(size_t kernels, void **out_data, size_t *out_size);

#endif
