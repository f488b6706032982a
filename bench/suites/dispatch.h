/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of suite_dispatch. */
#ifndef KDL_BENCH_SUITES_DISPATCH_H
#define KDL_BENCH_SUITES_DISPATCH_H

#include "job.h"
#include "suite.h"

/* Those of the request that work here. */
typedef struct peer_list {
  const peer *all[SUITE_PEER_LIMIT];
  size_t count;
} peer_list;

kdl_status cold_probe(const dispatch_request *request, const job_folder *folder, peer_list *peers,
                      bench_results *results);
/* One round: the trials from `first` on, before `last`. */
kdl_status cold_measure(const dispatch_request *request, const job_folder *folder,
                        const peer_list *peers, size_t first, size_t last, bench_results *results);
/* One round of so many launches, in this process. */
kdl_status warm_measure(const dispatch_request *request, const peer_list *peers, size_t launches,
                        bench_results *results);

/* What the processes run; they return the exit code. */
int cold_child(const char *folder, const char *peer_name, const char *mode);

/* libkdl next to each of the others, by blocks[peer][block]. */
void dispatch_compare(const dispatch_request *request, const char *mode, const peer_list *peers,
                      const double *const *blocks, size_t count, bench_results *results);

/* Rows of so many samples each; false where there is no memory for all of them. */
bool dispatch_rows_make(double *rows[], size_t count, size_t length);
void dispatch_rows_free(double *rows[], size_t count);

#endif
