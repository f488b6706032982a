/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ahead-of-time linking of bitcode: kdl-ld is called once per image and device. docs/linking.md
 * describes it and its report. */
#ifndef KDL_EXT_JIT_COMMANDS_LINK_H
#define KDL_EXT_JIT_COMMANDS_LINK_H

#include "ext/jit/link_report.h"
#include "ext/jit/ukernels.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* Settings that all calls share. The strings are option values of the command line. */
typedef struct cli_link_job {
  const cli_input *input;
  const cli_args *args; /* --const, --ukernels and --no-builtin are passed on */
  const char *emit;     /* "image", "ir", "bitcode", "asm" or "choice" */
} cli_link_job;

/* "ukernels.offload image 2 (x86-64-v4 avx512)" for a candidate; truncated to the buffer. */
void cli_link_candidate_label(const kdl_link_candidate *candidate, char *buffer, size_t size);

/* Whether a candidate is for the family of devices that the caller's triple has. Others are not
 * worth printing. */
bool cli_link_candidate_is_near(const kdl_link_candidate *candidate, kdl_string triple);

typedef struct cli_link_result {
  kdl_link_report report;
  kdl_ukernels ukernels; /* the report points to their names */
  void *data;            /* the output; NULL for "choice" */
  size_t size;
} cli_link_result;

/* Runs kdl-ld over one image for a device, given by its spec. Where kdl-ld refuses, the failure is
 * its message, and the report is as complete as it was written. The caller frees *out_result, also
 * after a failure. */
kdl_status cli_link_run(const cli_link_job *job, size_t image, const char *device,
                        cli_link_result *out_result);
void cli_link_result_free(cli_link_result *result);

/* The metadata of a linked image: its caller's, changed for the device, with kdl.linked.SYMBOL for
 * the origin of each microkernel and kdl.constant.NAME for each constant. In the arena; *out_count
 * is how many. */
kdl_pair *cli_link_pairs_make(const kdl_image_info *caller, const kdl_link_report *report,
                              kdl_arena *arena, size_t *out_count);

/* Sets the flags of the bitcode images to link for a device: for each kernel in bitcode, the image
 * that the device would select. KDL_NO_MATCH where it selects none. */
kdl_status cli_link_choose(const cli_input *input, kdl_device *device, bool *chosen);

#endif
