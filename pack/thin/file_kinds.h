/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thinning of every kind of file, by its first bytes: shared objects and executables (thin.h), and
 * here what nothing maps, so that it can shrink: relocatable objects, static archives, fatbins,
 * bundles and OffloadBinaries by themselves.
 */
#ifndef KDL_TOOL_THIN_KINDS_H
#define KDL_TOOL_THIN_KINDS_H

#include "pack/thin/thin.h"

/* The one that suits; KDL_UNSUPPORTED where there is none, with what the file is. Where nothing
 * goes, the output is the input. */
kdl_status thin_file(const thin_input *input, const thin_selection *selection,
                     const thin_layout_opts *layout_opts, thin_report *out_report,
                     thin_output *out);

/* What can be thinned, by first bytes. */
typedef enum thin_kind {
  THIN_KIND_OTHER,
  THIN_KIND_LINKED,    /* a shared object or executable */
  THIN_KIND_OBJECT,    /* a relocatable object */
  THIN_KIND_ARCHIVE,   /* a static archive */
  THIN_KIND_CONTAINER, /* a fatbin, or a bundle, plain or compressed */
  THIN_KIND_OFFLOAD,   /* an OffloadBinary */
  THIN_KIND_ZIP,
} thin_kind;

/* As many first bytes as there are, up to THIN_SNIFF_SIZE, decide. */
enum { THIN_SNIFF_SIZE = 256 };
thin_kind thin_sniff(const uint8_t *data, uint64_t size);

/* A part of a file that is being written again. */
typedef struct thin_range {
  uint64_t at;
  uint64_t size;
} thin_range;

/* An image that is in no other, by where its header lies in the file, or what it is compressed in.
 */
typedef struct thin_located_image {
  uint64_t at;
  uint32_t image;
} thin_located_image;

/* What the functions below share: the input, what stays, and the containers in it. */
typedef struct thin_context {
  const thin_input *input;
  const thin_selection *selection;
  thin_container_list containers;
  thin_located_image *located_images; /* in their order */
  size_t located_image_count;
  thin_report *report;
} thin_context;

/* The caller ends the work, also after a failure. */
kdl_status thin_context_init(const thin_input *input, const thin_selection *selection,
                             thin_report *report, thin_context *out_context);
void thin_context_destroy(thin_context *context);

/* The images that lie in a range. */
const thin_located_image *thin_images_in_range(const thin_context *context, thin_range range,
                                               size_t *out_count);

/* Where a byte of a range is in what was written for it: of the first byte of each container, and
 * of what lies in none. */
typedef struct thin_move {
  uint64_t from, size; /* in the range */
  uint64_t to, new_size;
} thin_move;

typedef struct thin_moves {
  thin_move *items;
  size_t count;
  size_t capacity;
} thin_moves;

/* A sequence of containers and what lies between them, as a section or a file holds it. `moves`
 * may be NULL. Where nothing of it goes, it is added as it is. */
kdl_status thin_container_range(const thin_context *context, thin_range range, thin_moves *moves,
                                thin_output *out);

/* The same for OffloadBinaries. */
kdl_status thin_offload_binaries(const thin_context *context, thin_range range, thin_moves *moves,
                                 thin_output *out);

/* A relocatable ELF object: the sections with images shrink, the others stay as they are; symbols
 * and relocations that point to a container follow it. */
kdl_status thin_object(const thin_context *context, thin_range range, thin_output *out);

/* An archive: its objects as above; the index of its symbols tells their new places. */
kdl_status thin_archive(const thin_context *context, thin_output *out);

/* Whether an image whose bytes lie in the range goes, or is stored otherwise. */
bool thin_range_changes(const thin_context *context, thin_range range);

/* Notes in the report what went out of a range that was written again. */
void thin_report_removed(const thin_context *context, thin_range range);

#endif
