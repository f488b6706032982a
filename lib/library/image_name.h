/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What messages call an image of a library. */
#ifndef KDL_LIBRARY_IMAGE_NAME_H
#define KDL_LIBRARY_IMAGE_NAME_H

#include "lib/library/library.h"

/* "image 2 (cubin sm_90)" */
void kdl_image_name(const kdl_library *lib, uint32_t image, char *buffer, size_t size);

/* "saxpy.offload: image 2 (cubin sm_90)" */
void kdl_image_name_in_library(const kdl_library *lib, uint32_t image, char *buffer, size_t size);

/* The image's variant_tag, or NULL. */
const char *kdl_image_variant_tag(const kdl_library *lib, uint32_t image);

#endif
