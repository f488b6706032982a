/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Copies images of a library to a new OffloadBinary. */
#ifndef KDL_TOOLS_COMMON_IMAGES_REWRITE_H
#define KDL_TOOLS_COMMON_IMAGES_REWRITE_H

#include "tools/common/input.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* --format=v1 or v2; `otherwise` where `text` is NULL. */
kdl_status cli_format_parse(const char *text, int otherwise, int *out_format);

/* The OffloadBinary version that holds an image, 1 to 3; 0 for images of other containers. */
int cli_image_format(const kdl_image_info *image);

/* Whether that OffloadBinary is the file itself, not a section of one. */
bool cli_image_is_bare(const kdl_image_info *image);

/* The version for writing a library again: 1 where every outermost image is in a version 1 binary
 * or in another kind of container, else 2. */
int cli_library_format(const kdl_library *lib);

/* Fails unless the file can be written again in its own format: a bare OffloadBinary can. */
kdl_status cli_library_check_rewritable(const cli_input *input);

/* Describes image `index` for a writer of that format. The writer acquires its bytes when it writes
 * them. Pairs belong to the library. */
kdl_writer_image cli_image_describe(const cli_input *input, size_t index, int format);

/* Adds a described image, with the digest of its bytes where wanted. The input must stay open until
 * the writer is done. */
kdl_status cli_image_add(const cli_input *input, size_t index, const kdl_writer_image *image,
                         bool digest, kdl_writer *writer);

/* Describes and adds. */
kdl_status cli_image_copy(const cli_input *input, size_t index, int format, kdl_writer *writer);

/* The same with a digest. An existing digest must match the bytes. */
kdl_status cli_image_copy_digested(const cli_input *input, size_t index, int format,
                                   kdl_writer *writer);

/* A signature is of an image's bytes and metadata. Removes that of an image whose metadata changed,
 * and warns. */
void cli_signature_drop(const char *output, size_t index, kdl_pair *pairs, size_t *count);

/* Warns of a signature beside the file (kdl sign --detached), after the file was written. */
void cli_signature_check_beside(const char *output);

/* Fails where the digest in the pairs, if any, does not match the image's bytes. */
kdl_status cli_image_check_digest(const cli_input *input, size_t index, const kdl_pair *pairs,
                                  size_t count);

#endif
