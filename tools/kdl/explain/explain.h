/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The data of `kdl explain`: the ranking of a library's images on a device, kept after kdl_explain
 * has returned, and the coverage; and the functions that print it. */
#ifndef KDL_TOOLS_KDL_EXPLAIN_EXPLAIN_H
#define KDL_TOOLS_KDL_EXPLAIN_EXPLAIN_H

#include "lib/inspect/selection.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/sequences.h"
#include "tools/common/images/terms.h"
#include "tools/common/input.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"

#include <kdl/sequence.h>

#include <stdbool.h>
#include <stddef.h>

/* --args: values of a launch, which decide the conditions of images. */
typedef struct cli_launch {
  const char *text;
  cli_terms terms;
  kdl_extent items;
  bool has_items;
} cli_launch;

/* The caller frees *out_launch, also after a failure. */
kdl_status cli_launch_parse(const char *text, cli_launch *out_launch);
void cli_launch_free(cli_launch *launch);

/* The question. */
typedef struct cli_query {
  const cli_input *input;
  const char *kernel;       /* NULL: everything */
  kdl_inventory *inventory; /* where `kernel` is NULL, else NULL */
  size_t module_count;
  bool every_image;   /* list all images, however many */
  cli_launch *launch; /* NULL: images with conditions are not chosen */
  kdl_select_opts opts;
} cli_query;

/* Fills in what depends on the library alone. The caller frees it, also after a failure. */
kdl_status cli_query_open(cli_query *query);
void cli_query_close(cli_query *query);

/* Above this number images are not listed one by one, unless every image is wanted. */
enum { CLI_MANY_IMAGES = 32 };
static inline bool cli_query_is_summarized(const cli_query *query, size_t images) {
  return images > CLI_MANY_IMAGES && !query->every_image;
}

typedef struct cli_ranking {
  const char *device;    /* spec of the route that admits the chosen image */
  kdl_device_info about; /* of the same route */
  kdl_verdict *items;    /* in rank order */
  size_t count;
  const kdl_verdict *chosen; /* for the kernel, or a file of one module; else NULL */
  size_t by_launch;          /* so many images, of which measured times choose; 0: ranks do */
  bool is_hollow;            /* the chosen image's code of the kernel does nothing */
  bool fits;                 /* everything that was asked for runs */
  kdl_coverage coverage;     /* where no kernel was asked for */
  kdl_arena arena;
} cli_ranking;

/* The caller frees *out_ranking, also after a failure. */
kdl_status cli_ranking_make(const cli_query *query, kdl_device *device, cli_ranking *out_ranking);
void cli_ranking_free(cli_ranking *ranking);

/* Moves the choice to the image that the query's launch uses on the device. */
kdl_status cli_launch_choose(const cli_query *query, kdl_device *device, cli_ranking *ranking);

/* The condition under which launches use the image; `data` is NULL where it has none. */
kdl_string cli_image_condition(const cli_query *query, size_t image);

/* Whether the code of the kernel in the chosen image only traps or prints, or only ends while that
 * of another image of the same kind does not. */
bool cli_ranking_is_hollow(const cli_query *query, const cli_ranking *ranking);

/* Whether the image is known to lack the kernel. */
bool cli_verdict_lacks_kernel(const kdl_verdict *verdict);

/* "15,008" */
enum { CLI_COUNT_ROOM = 32 };
const char *cli_count(size_t number, char room[CLI_COUNT_ROOM]);

/* Groups images by kind and architecture, for libraries with too many to list: those whose position
 * in the ranking is flagged in `shown`. */
kdl_status cli_explain_groups(const cli_query *query, cli_ranking *ranking, const bool *shown);

/* As text: `before`, the device, a table with the reasons, and the outcome. */
kdl_status cli_explain_text(const cli_query *query, cli_ranking *ranking, const char *before);

/* The stable JSON object: docs/cli.md. */
void cli_explain_json(cli_json *json, const cli_query *query, const cli_ranking *ranking);

/* Where the chosen image is bitcode: the microkernels that it would be linked with, and the others
 * with their reasons; nothing otherwise. Runs kdl-ld. The second function adds a member to the
 * current object. */
#if KDL_WITH_JIT
kdl_status cli_explain_link(const cli_query *query, const cli_ranking *ranking);
void cli_explain_link_json(cli_json *json, const cli_query *query, const cli_ranking *ranking);
#else
static inline kdl_status cli_explain_link(const cli_query *query, const cli_ranking *ranking) {
  (void)query, (void)ranking;
  return KDL_OK;
}

static inline void cli_explain_link_json(cli_json *json, const cli_query *query,
                                         const cli_ranking *ranking) {
  (void)json, (void)query, (void)ranking;
}
#endif

/* A matrix of devices and images. *out_fits is true where a device admits something. */
kdl_status cli_explain_matrix(const cli_query *query, const cli_devices *devices, bool *out_fits);
kdl_status cli_explain_matrix_json(const cli_query *query, const cli_devices *devices,
                                   bool *out_fits);

/* ------------------------------------------------------------------------------------------ */
/* Recorded sequences                                                                           */

/* Prints slots, kernels and steps. */
kdl_status cli_sequence_print(const char *file, const cli_sequence *sequence);

/* A digraph: a node per launch, copy and fill, an edge where one waits for another, a box around
 * each loop. */
void cli_sequence_dot(const cli_sequence *sequence);

/* Parts of both outputs: "64x64x1 items", "copy 16 bytes: x = y+8", "while done". */
void cli_sequence_put_shape(FILE *out, const kdl_seqfile *saved, const kdl_seqfile_launch *launch);
void cli_sequence_put_copy(FILE *out, const kdl_seqfile *saved, const kdl_seqfile_step *step);
void cli_sequence_put_condition(FILE *out, const kdl_seqfile *saved, const kdl_operand *condition);

#endif
