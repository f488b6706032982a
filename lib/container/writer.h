/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing OffloadBinaries, within the library. */
#ifndef KDL_LIB_CONTAINER_WRITER_H
#define KDL_LIB_CONTAINER_WRITER_H

#include "lib/inspect/libraries.h"

typedef struct kdl_container kdl_container;

/* The bytes of an image in another file, which must stay open until the writer is destroyed. */
typedef struct kdl_image_ref {
  kdl_container *container; /* NULL: the image's bytes are at its `data` */
  uint32_t index;
} kdl_image_ref;

/* Copies the caller's struct in this version's layout, after checking its pointers. */
kdl_status kdl_writer_image_read(const char *call, const kdl_writer_image *image,
                                 kdl_writer_image *out_image);

/* kdl_writer_add for an image reference: ignores `data`. */
kdl_status kdl_writer_add_ref(kdl_writer *writer, const kdl_writer_image *image, kdl_image_ref ref);

/* kdl_writer_add_with_digest for an image reference. */
kdl_status kdl_writer_add_ref_digested(kdl_writer *writer, const kdl_writer_image *image,
                                       kdl_image_ref ref);

#endif
