/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Thinning: the same kind of file with fewer images.
 *
 *     thin_rules     what the user asks for          --for, --keep, --keep-ptx, ...
 *     thin_choice    which images stay, and why      choice.h
 *     thin_output    the new file as pieces          output.h
 *
 * A kind of file has one function like thin_elf below, which makes an output from an input and a
 * choice. Nothing is written by it; thin_output_write and thin_output_send do.
 */
#ifndef KDL_TOOL_THIN_H
#define KDL_TOOL_THIN_H

#include "thin/choice.h"
#include "thin/containers.h"
#include "thin/output.h"

typedef struct thin_shape {
  bool sparse;         /* the length and every address stay; what goes becomes zeros */
  uint64_t least_hole; /* bytes that are worth a segment; 0: the usual */
} thin_shape;

/* What a rewriting did beyond the choice. */
typedef struct thin_report {
  bool is_changed;
  uint64_t old_size;
  uint64_t new_size;
  size_t mappings;   /* that loading the file takes more than before */
  size_t containers; /* with device code */
  size_t moved;
  size_t stayed;           /* could not be moved: compacted where they lie */
  size_t untouched_images; /* in no container that can be written again */
  uint64_t untouched_bytes;
  uint64_t zeroed_bytes; /* that went and still take room in the file */
  bool *went;            /* each image: out of the file; the caller frees it */
} thin_report;

/* Whether first bytes are those of a shared object or executable. */
bool thin_is_linked_elf(const uint8_t *data, uint64_t size);

/* A shared object or executable: what stays in memory lies where it lay, but for containers whose
 * every reference is a relocation. The output was checked against the input as a loader maps both.
 * The output's pieces lie in the input. */
kdl_status thin_elf(const thin_input *input, const thin_choice *choice, const thin_shape *shape,
                    thin_report *out_report, thin_output *out);

#endif
