/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thins files of every kind, by their first bytes: shared objects and executables (thin.h), and
 * files that are not mapped, so that they can shrink: relocatable objects, static archives, and
 * bare fatbins, bundles and OffloadBinaries.
 */
#ifndef KDL_PACK_THIN_FILE_KINDS_H
#define KDL_PACK_THIN_FILE_KINDS_H

#include "pack/thin/thin.h"

#include <stddef.h>

/* Calls the function for the file's kind; KDL_UNSUPPORTED with that kind where there is none. If
 * nothing is removed, the output is the input. */
kdl_status thin_file(const thin_input *input, const thin_selection *selection,
                     const thin_layout_opts *layout_opts, thin_report *out_report,
                     thin_output *out);

/* Kinds of files that can be thinned. */
typedef enum thin_kind {
  THIN_KIND_OTHER,
  THIN_KIND_LINKED,    /* a shared object or executable */
  THIN_KIND_OBJECT,    /* a relocatable object */
  THIN_KIND_ARCHIVE,   /* a static archive */
  THIN_KIND_CONTAINER, /* a fatbin, or a bundle, plain or compressed */
  THIN_KIND_OFFLOAD,   /* an OffloadBinary */
  THIN_KIND_ZIP,
} thin_kind;

/* Decides by the first bytes, up to THIN_SNIFF_SIZE. */
enum { THIN_SNIFF_SIZE = 256 };
thin_kind thin_sniff(const uint8_t *data, uint64_t size);

/* A part of a file that is rewritten. */
typedef struct thin_range {
  uint64_t at;
  uint64_t size;
} thin_range;

/* An outermost image, with the position of its header in the file, or of the stream that it is
 * compressed in. */
typedef struct thin_located_image {
  uint64_t at;
  uint32_t image;
} thin_located_image;

/* Shared by the functions below: the input, the selection, and the containers. */
typedef struct thin_context {
  const thin_input *input;
  const thin_selection *selection;
  thin_container_list containers;
  thin_located_image *located_images; /* by position */
  size_t located_image_count;
  thin_report *report;
} thin_context;

/* The caller frees the context, also after a failure. */
kdl_status thin_context_init(const thin_input *input, const thin_selection *selection,
                             thin_report *report, thin_context *out_context);
void thin_context_destroy(thin_context *context);

/* The images in a range. */
const thin_located_image *thin_images_in_range(const thin_context *context, thin_range range,
                                               size_t *out_count);

/* Maps a byte of a range to the output: for the first byte of each container, and for bytes outside
 * of containers. */
typedef struct thin_move {
  uint64_t from, size; /* in the range */
  uint64_t to, new_size;
} thin_move;

typedef struct thin_moves {
  thin_move *items;
  size_t count;
  size_t capacity;
} thin_moves;

/* Rewrites a sequence of containers and the bytes between them: a section or a file. `moves` may be
 * NULL. Adds it unchanged if nothing is removed. */
kdl_status thin_container_range(const thin_context *context, thin_range range, thin_moves *moves,
                                thin_output *out);

/* The same for OffloadBinaries. */
kdl_status thin_offload_binaries(const thin_context *context, thin_range range, thin_moves *moves,
                                 thin_output *out);

/* A relocatable ELF object: sections with images shrink, the others stay; symbols and relocations
 * that point to a container follow it. */
kdl_status thin_object(const thin_context *context, thin_range range, thin_output *out);

/* An archive: rewrites its objects; its symbol index gets their new offsets. */
kdl_status thin_archive(const thin_context *context, thin_output *out);

/* Whether an image in the range is removed or stored differently. */
bool thin_range_changes(const thin_context *context, thin_range range);

/* Records what was removed from a rewritten range. */
void thin_report_removed(const thin_context *context, thin_range range);

/* ------------------------------------------------------------------------------------------ */
/* Packages of Linux distributions, which are not opened                                        */

/* "is a Debian package, which is not opened: ..."; NULL for any other file. `head`
 * is the first bytes of the file. */
const char *pack_system_package(const void *head, size_t size);

#endif
