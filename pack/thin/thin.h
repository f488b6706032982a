/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thinning: the same kind of file with fewer images.
 *
 *     thin_rules       what the user asks for       --for, --keep, --keep-ptx, ...
 *     thin_selection   which images stay, and why   selection.h
 *     thin_output      the new file as pieces       output.h
 *
 * Each kind of file has one function like thin_elf below, which makes an output from an input and a
 * selection. thin_output_write and thin_output_send write it.
 */
#ifndef KDL_PACK_THIN_THIN_H
#define KDL_PACK_THIN_THIN_H

#include "pack/thin/containers.h"
#include "pack/thin/output.h"
#include "pack/thin/selection.h"

typedef struct thin_layout_opts {
  bool sparse;            /* length and addresses stay; removed images become zeros */
  uint64_t min_hole_size; /* bytes that are worth a segment; 0: default */
} thin_layout_opts;

/* Why an image stays that nothing selected. */
typedef enum thin_retain_reason {
  THIN_RETAINED_POINTERS,   /* something points into its container or is part of it */
  THIN_RETAINED_SYCL,       /* SYCL's table describes it, and not all pointers to it are known */
  THIN_RETAINED_OFFLOAD,    /* not all pointers to its OffloadBinary are known */
  THIN_RETAINED_OBJECT,     /* not all pointers into its section of an object are known */
  THIN_RETAINED_LAST,       /* a runtime must find an image there */
  THIN_RETAINED_COMPRESSED, /* compressed with others */
  THIN_RETAINED_BARE,       /* it is bare, and its users know its position and size */
  THIN_RETAIN_REASON_COUNT
} thin_retain_reason;

typedef struct thin_retained {
  size_t images;
  uint64_t bytes; /* of the file */
} thin_retained;

/* What the rewriter did besides the selection. */
typedef struct thin_report {
  bool is_changed;
  uint64_t old_size;
  uint64_t new_size;
  size_t mappings;   /* additional mappings when the file is loaded */
  size_t containers; /* with device code */
  size_t moved;
  size_t unmoved; /* could not be moved: compacted in place */
  thin_retained
      retained[THIN_RETAIN_REASON_COUNT]; /* images that stay though nothing selected them */
  uint64_t zeroed_bytes;                  /* removed bytes that still take room in the file */
  bool *is_removed;                       /* per image; the caller frees it */
} thin_report;

/* Counts a retained image, by its index; the total of all reasons. */
void thin_report_add_retained(thin_report *report, const thin_input *input, size_t index,
                              thin_retain_reason why);
thin_retained thin_report_total_retained(const thin_report *report);

/* The position of an image in the file, or of its compressed stream. That of its header, since an
 * empty image may be at the end of its container. */
struct kdl_stored_image;
uint64_t thin_image_offset(const struct kdl_stored_image *image);

/* Whether the library has more than the one image as which a file without device code is listed. */
bool thin_has_device_code(const thin_input *input);

/* Checks that libkdl finds in the new file exactly the images that were to stay. KDL_UNSUPPORTED
 * where it does not. `is_packed`: stored sizes may differ. */
kdl_status thin_compare_images(const thin_input *input, const thin_report *report, bool is_packed,
                               kdl_library *lib, const char *name);

/* A shared object or executable: memory keeps its addresses, except for containers with only
 * relocations as references. The output was compared with the input as a loader maps both. Its
 * pieces point into the input. */
kdl_status thin_elf(const thin_input *input, const thin_selection *selection,
                    const thin_layout_opts *layout_opts, thin_report *out_report, thin_output *out);

#endif
