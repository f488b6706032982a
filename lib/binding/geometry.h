/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Block and tile of a kernel: from its key, from the image, and whether the images agree. */
#ifndef KDL_BINDING_GEOMETRY_H
#define KDL_BINDING_GEOMETRY_H

#include "lib/binding/kernel.h"
#include "lib/inspect/kernels.h"

/* What the key of an image says of the kernel, by its place in the ranking; nothing is present
 * where there is none. */
void kdl_geometry_read_key(const kdl_kernel *kernel, size_t position, kdl_kernel_key *out_key);

/* What a key says, zeros where it says nothing. A group covers its block unless said otherwise. */
kdl_image_geometry kdl_geometry_of_key(const kdl_kernel_key *key);

/* Sets the kernel's block and tile from its key and what was loaded; fails where they contradict.
 */
kdl_status kdl_geometry_resolve(kdl_kernel *kernel);

/* Why an explicit grid would mean different things to images that may run, to be freed; NULL where
 * it does not, or when out of memory for the words. */
char *kdl_geometry_conflict(const kdl_kernel *kernel);

#endif
