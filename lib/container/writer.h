/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing files whose images are not all in memory: each is held while it is written. */
#ifndef KDL_CONTAINER_WRITER_H
#define KDL_CONTAINER_WRITER_H

#include "lib/container/container.h"

#include <kdl/kdl.h>

/* The bytes of an image in another file, which must stay open until the writer is destroyed. */
typedef struct kdl_lender {
  kdl_container *container; /* NULL: the image's bytes are at its `data` */
  uint32_t index;
} kdl_lender;

/* The image as this version knows it, where what it points to is given. */
kdl_status kdl_writer_image_read(const char *call, const kdl_writer_image *image,
                                 kdl_writer_image *out_image);

/* kdl_writer_add for an image whose bytes are lent: `data` is not looked at. */
kdl_status kdl_writer_add_lent(kdl_writer *writer, const kdl_writer_image *image,
                               kdl_lender lender);

/* Writes what kdl_writer_finish lays out, image by image; compressed formats all the same at once.
 * `shown` is what messages call the file. */
kdl_status kdl_writer_write(kdl_writer *writer, int fd, const char *shown);

#endif
