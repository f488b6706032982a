/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Block and tile of a kernel: from its key, from the image, and whether the images agree. */
#ifndef KDL_LIB_BINDING_GEOMETRY_H
#define KDL_LIB_BINDING_GEOMETRY_H

#include "lib/binding/kernel.h"
#include "lib/inspect/images.h"

/* Reads the kernel's key in the image at `position` of the ranking; an absent key has no members
 * present. */
void kdl_geometry_read_key(const kdl_kernel *kernel, size_t position, kdl_kernel_key *out_key);

/* The geometry that a key declares; zeros where it declares none. The tile defaults to the
 * block. */
kdl_image_geometry kdl_geometry_of_key(const kdl_kernel_key *key);

/* Sets the kernel's block and tile from its key and the loaded image; fails if they contradict. */
kdl_status kdl_geometry_resolve(kdl_kernel *kernel);

/* Why an explicit grid would mean different problems to the images that may run; the caller frees
 * it. NULL where they agree, and when out of memory for the text. */
char *kdl_geometry_conflict(const kdl_kernel *kernel);

#endif
