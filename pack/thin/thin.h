/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thinning: the same kind of file with fewer images.
 *
 *     thin_rules     what the user asks for          --for, --keep, --keep-ptx, ...
 *     thin_selection    which images stay, and why      choice.h
 *     thin_output    the new file as pieces          output.h
 *
 * A kind of file has one function like thin_elf below, which makes an output from an input and a
 * choice. Nothing is written by it; thin_output_write and thin_output_send do.
 */
#ifndef KDL_TOOL_THIN_H
#define KDL_TOOL_THIN_H

#include "pack/thin/containers.h"
#include "pack/thin/output.h"
#include "pack/thin/selection.h"

typedef struct thin_layout_opts {
  bool sparse;            /* the length and every address stay; what goes becomes zeros */
  uint64_t min_hole_size; /* bytes that are worth a segment; 0: the usual */
} thin_layout_opts;

/* Why an image stays that nothing asked for. */
typedef enum thin_retain_reason {
  THIN_RETAINED_POINTERS,   /* something points into its container, or lies in it */
  THIN_RETAINED_SYCL,       /* SYCL's table describes it, and not all pointers to it are known */
  THIN_RETAINED_OFFLOAD,    /* in an OffloadBinary, to which not all pointers are known */
  THIN_RETAINED_OBJECT,     /* not all pointers into its section of an object are known */
  THIN_RETAINED_LAST,       /* a runtime must find one there */
  THIN_RETAINED_COMPRESSED, /* compressed with others */
  THIN_RETAINED_BARE,       /* others know where it is and how large */
  THIN_RETAIN_REASON_COUNT
} thin_retain_reason;

typedef struct thin_retained {
  size_t images;
  uint64_t bytes; /* of the file */
} thin_retained;

/* What a rewriting did beyond the choice. */
typedef struct thin_report {
  bool is_changed;
  uint64_t old_size;
  uint64_t new_size;
  size_t mappings;   /* that loading the file takes more than before */
  size_t containers; /* with device code */
  size_t moved;
  size_t unmoved; /* could not be moved: compacted where they lie */
  thin_retained
      retained[THIN_RETAIN_REASON_COUNT]; /* images that nothing asked for, and that stay */
  uint64_t zeroed_bytes;                  /* that went and still take room in the file */
  bool *is_removed;                       /* each image: out of the file; the caller frees it */
} thin_report;

/* Counts an image that stays, by its index; all of them, whatever the reason. */
void thin_report_add_retained(thin_report *report, const thin_input *input, size_t index,
                              thin_retain_reason why);
thin_retained thin_report_total_retained(const thin_report *report);

/* Where an image lies in the file, or the stream that it is in: by its header, since one without
 * bytes may stand at the end of its container. */
struct kdl_stored_image;
uint64_t thin_image_offset(const struct kdl_stored_image *image);

/* Whether there is more than one image, the file itself, as which a file without device code is
 * listed. */
bool thin_has_device_code(const thin_input *input);

/* Whether what libkdl finds in the new file is what was to stay, image by image. KDL_UNSUPPORTED
 * where it is not. `is_packed`: sizes as stored may differ. */
kdl_status thin_compare_images(const thin_input *input, const thin_report *report, bool is_packed,
                               kdl_library *lib, const char *name);

/* A shared object or executable: what stays in memory lies where it lay, but for containers whose
 * every reference is a relocation. The output was checked against the input as a loader maps both.
 * The output's pieces lie in the input. */
kdl_status thin_elf(const thin_input *input, const thin_selection *selection,
                    const thin_layout_opts *layout_opts, thin_report *out_report, thin_output *out);

#endif
