/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl explain` shows: the ranking of a library's images on a device, kept after kdl_explain
 * has returned, and three ways to print it. */
#ifndef KDL_TOOL_EXPLAIN_H
#define KDL_TOOL_EXPLAIN_H

#include "base/arena.h"
#include "choose_for.h"
#include "input.h"
#include "json.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_ranking {
  const char *device; /* spec of the route that takes the chosen image */
  kdl_verdict *items; /* in rank order */
  size_t count;
  bool fits; /* the first one is chosen */
  kdl_arena arena;
} cli_ranking;

/* The caller frees *out_ranking, also after a failure. */
kdl_status cli_ranking_make(kdl_library *lib, kdl_device *device, const char *kernel,
                            const kdl_select_opts *opts, cli_ranking *out_ranking);
void cli_ranking_free(cli_ranking *ranking);

/* What was asked. */
typedef struct cli_question {
  const cli_input *input;
  const char *kernel; /* NULL: any */
  kdl_select_opts opts;
} cli_question;

/* For people: the device, a table with the reasons, and the outcome. */
kdl_status cli_explain_text(const cli_question *question, cli_ranking *ranking);

/* The promised object: docs/cli.md. */
void cli_explain_json(cli_json *json, const cli_question *question, const cli_ranking *ranking);

/* Where the chosen image is bitcode: the microkernels it would be linked with, and the others with
 * their reasons; nothing otherwise. Runs kdl-ld. The second adds a member to the object at hand. */
kdl_status cli_explain_link(const cli_question *question, const cli_ranking *ranking);
void cli_explain_link_json(cli_json *json, const cli_question *question,
                           const cli_ranking *ranking);

/* Devices by images. *out_fits says whether one of the devices takes something. */
kdl_status cli_explain_matrix(const cli_question *question, const cli_devices *devices,
                              bool *out_fits);
kdl_status cli_explain_matrix_json(const cli_question *question, const cli_devices *devices,
                                   bool *out_fits);

/* Fails with KDL_NO_MATCH and near names where no image holds the kernel. An image that does not
 * tell may hold it. */
kdl_status cli_kernel_check(const cli_input *input, const char *kernel);

#endif
