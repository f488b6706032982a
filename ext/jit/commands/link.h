/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode images linked ahead of time: kdl-ld, called once per image and device, and what it
 * reports. docs/linking.md describes that program. */
#ifndef KDL_TOOL_LINK_H
#define KDL_TOOL_LINK_H

#include "ext/jit/link_report.h"
#include "ext/jit/ukernels.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* What is the same for every call. Values are those of the command line's options. */
typedef struct cli_link_job {
  const cli_input *input;
  const cli_args *args; /* --const, --ukernels and --no-builtin are passed on */
  const char *emit;     /* "image", "ir", "bitcode", "asm" or "choice" */
} cli_link_job;

/* "ukernels.offload image 2 (x86-64-v4 avx512)", for a candidate; cut to the buffer. */
void cli_link_candidate_label(const kdl_link_candidate *candidate, char *buffer, size_t size);

/* Whether it is for devices of the same family as the caller is, whose triple is given: others are
 * not worth telling people. */
bool cli_link_candidate_is_near(const kdl_link_candidate *candidate, kdl_string triple);

typedef struct cli_link_result {
  kdl_link_report report;
  kdl_ukernels ukernels; /* whose names the report has */
  void *data;            /* what was emitted; NULL for "choice" */
  size_t size;
} cli_link_result;

/* Runs kdl-ld over one image for a device, given by its spec. Where kdl-ld refuses, the failure is
 * its message, and the report is there as far as it came. The caller frees *out_result, also after
 * a failure. */
kdl_status cli_link_run(const cli_link_job *job, size_t image, const char *device,
                        cli_link_result *out_result);
void cli_link_result_free(cli_link_result *result);

/* The metadata of an image that was linked: its caller's, for the device it is for now, and what it
 * was made of. kdl.linked.SYMBOL says where each microkernel is from, kdl.constant.NAME what each
 * constant is. In the arena; *out_count is how many. */
kdl_pair *cli_link_pairs_make(const kdl_image_info *caller, const kdl_link_report *report,
                              kdl_arena *arena, size_t *out_count);

/* Sets the flags of the bitcode images to link for a device: of each kernel that bitcode holds, the
 * one the device would take. KDL_NO_MATCH where it would take none. */
kdl_status cli_link_choose(const cli_input *input, kdl_device *device, bool *chosen);

#endif
