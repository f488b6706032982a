/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Why an image is where it is in a ranking, in words. `kdl explain`, kdl_explain and
 * KDL_DEBUG=select all print what is made here. */
#ifndef KDL_SELECT_EXPLAIN_H
#define KDL_SELECT_EXPLAIN_H

#include "lib/select/ranking.h"

enum { KDL_EXPLAIN_REASONS = 8, KDL_EXPLAIN_TEXT = 320 };

typedef struct kdl_explained_reason {
  const char *code; /* "xnack_mismatch": stable, for programs */
  char words[KDL_EXPLAIN_TEXT];
  char fix[KDL_EXPLAIN_TEXT]; /* "" where nothing short of another image or device would help */
} kdl_explained_reason;

typedef struct kdl_explanation {
  const char *fit; /* "exact", "lower minor", "PTX", ...; "" where the image may not run */
  kdl_explained_reason reasons[KDL_EXPLAIN_REASONS];
  size_t reason_count;
} kdl_explanation;

/* An eligible image has a fit and no reasons; any other has at least one reason. The candidate is
 * one of a ranking that kdl_rank made. */
void kdl_explain_candidate(const kdl_ranking *ranking, const kdl_candidate *candidate,
                           kdl_explanation *out_explanation);

/* ------------------------------------------------------------------------------------------ */
/* A kernel that no image holds                                                                 */

/* KDL_NO_MATCH with near names where no image holds the kernel; KDL_OK where one does, or does not
 * tell. Reads the kernels of every image until it is found. */
kdl_status kdl_kernel_absent(kdl_catalog *catalog, kdl_string kernel);

#endif
