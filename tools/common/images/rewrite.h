/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Carrying images from the library they are in to a new OffloadBinary. */
#ifndef KDL_TOOL_REWRITE_H
#define KDL_TOOL_REWRITE_H

#include "tools/common/input.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* --format=v1 or v2; `text` may be NULL for `otherwise`. */
kdl_status cli_format_parse(const char *text, int otherwise, int *out_format);

/* The OffloadBinary version that holds an image, 1 to 3; 0 for images of other containers. */
int cli_image_format(const kdl_image_info *image);

/* Whether that OffloadBinary is the file itself, and not in a section of another. */
bool cli_image_is_bare(const kdl_image_info *image);

/* The version to write a library again as: 1 where every outermost image is in a version 1 binary
 * or in another kind of container, else 2. */
int cli_library_format(const kdl_library *lib);

/* Whether the file can be written again as it was: a bare OffloadBinary can. */
kdl_status cli_library_check_rewritable(const cli_input *input);

/* What a writer of that format needs to hold image `index` unchanged, but for its bytes: the
 * library lends them when they are written. Pairs belong to the library. */
kdl_writer_image cli_image_describe(const cli_input *input, size_t index, int format);

/* Adds an image as it was described, and with the digest of its bytes where that is wanted. The
 * input must stay open until the writer is done. */
kdl_status cli_image_add(const cli_input *input, size_t index, const kdl_writer_image *image,
                         bool digest, kdl_writer *writer);

/* Describes and adds. */
kdl_status cli_image_copy(const cli_input *input, size_t index, int format, kdl_writer *writer);

/* The same with a digest: one that is there must be that of the bytes. */
kdl_status cli_image_copy_digested(const cli_input *input, size_t index, int format,
                                   kdl_writer *writer);

/* Whether the bytes of an image have the digest that the pairs say, where they say one. */
kdl_status cli_image_check_digest(const cli_input *input, size_t index, const kdl_pair *pairs,
                                  size_t count);

#endif
