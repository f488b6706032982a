/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dispatch.h"

#include "base/error.h"
#include "measure/progress.h"
#include "objects.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Peers                                                                                        */

const char suite_peer_names[] = "driver, driver-library, liboffload, cudart, plain, omp";

/* Those that are not part of the program. */
static bool is_object(const char *name) {
  return strcmp(name, "omp") == 0;
}

static const peer *find_object(const char *name) {
  char path[PATH_MAX];
  return suite_object_find(name, path) ? peer_open(path) : NULL;
}

const peer *suite_peer_find(const char *name) {
  const peer *found = peer_find(name);
  if (found || is_object(name))
    return found ? found : find_object(name);
  peer_fail("unknown peer '%s'; expected some of %s", name, suite_peer_names);
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

void dispatch_compare(const dispatch_request *request, const char *mode, const peer_list *peers,
                      const double *const *blocks, size_t count, bench_results *results) {
  for (size_t i = 1; i < peers->count; ++i) {
    char of[BENCH_NAME], to[BENCH_NAME];
    snprintf(of, sizeof of, "%s/%s/%s/total", request->suite, mode, peers->all[0]->name);
    snprintf(to, sizeof to, "%s/%s/%s/total", request->suite, mode, peers->all[i]->name);
    bench_comparison_add(results, of, to, blocks[0], blocks[i], count);
  }
}

kdl_status suite_dispatch(const dispatch_request *request, bench_results *results) {
  job_folder folder;
  peer_list peers = {.count = 0};
  kdl_status status = job_save(&request->job, &folder);
  if (status != KDL_OK)
    return status;
  status = cold_probe(request, &folder, &peers, results);
  if (status == KDL_OK && request->modes & SUITE_COLD)
    status = cold_measure(request, &folder, &peers, results);
  job_remove(&folder);
  if (status == KDL_OK && request->modes & (SUITE_LOAD | SUITE_HOT | SUITE_QUEUED) &&
      !bench_stopped()) {
    if (!bench_machine_pin(request->pin, &results->machine))
      bench_skip_add(results, "pinning", "the system does not allow it");
    status = warm_measure(request, &peers, results);
  }
  bench_progress_end();
  results->interrupted = bench_stopped();
  return status;
}
