/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images as a program passes them to a driver: a pointer without a size. */
#ifndef KDL_EXT_INJECT_IMAGE_BYTES_H
#define KDL_EXT_INJECT_IMAGE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* The image, also where the pointer is to the struct with which compilers register it. */
const void *kdl_image_start(const void *image);

/* The size of a fatbin, an ELF file, a Clang offload bundle or PTX, by its own headers; 0 where it
 * is none of them. */
size_t kdl_image_bytes_at(const void *image);

/* "sm_90", from the header of a cubin; "" where it is none. */
const char *kdl_cubin_arch(const uint8_t *cubin, size_t size, char room[16]);

#endif
