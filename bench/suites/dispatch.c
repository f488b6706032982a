/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dispatch.h"

#include "measure/progress.h"
#include "objects.h"
#include "process.h"
#include "support/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Peers                                                                                        */

static const char peer_names[] =
    "driver, driver-library, liboffload, cudart, mlir, opencl, plain, omp";

/* Those that are not part of the program; what they run on is all that is known of them. */
static const peer object_peers[] = {{.name = "omp", .backend = "host"}};

static const peer *find_object_peer(const char *name) {
  for (size_t i = 0; i < sizeof object_peers / sizeof *object_peers; ++i) {
    if (strcmp(object_peers[i].name, name) == 0)
      return &object_peers[i];
  }
  return NULL;
}

const peer *suite_peer_find(const char *name) {
  const peer *found = peer_find(name);
  found = found ? found : find_object_peer(name);
  if (!found)
    peer_fail("unknown peer '%s': use some of %s", name, peer_names);
  return found;
}

const peer *suite_peer_open(const char *name) {
  const peer *found = suite_peer_find(name);
  char path[PATH_MAX];
  if (!found || peer_find(name))
    return found;
  return suite_object_find(name, path) ? peer_open(path) : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

void dispatch_compare(const dispatch_request *request, const char *mode, const peer_list *peers,
                      const double *const *blocks, size_t count, bench_results *results) {
  double *ratios = calloc(count + 1, sizeof *ratios);
  results->no_memory |= !ratios;
  for (size_t i = 1; ratios && i < peers->count; ++i) {
    char of[BENCH_NAME], to[BENCH_NAME];
    snprintf(of, sizeof of, "%s/%s/%s/total", request->suite, mode, peers->all[0]->name);
    snprintf(to, sizeof to, "%s/%s/%s/total", request->suite, mode, peers->all[i]->name);
    for (size_t k = 0; k < count; ++k)
      ratios[k] = blocks[0][k] / blocks[i][k];
    bench_comparison_add(results, of, to, ratios, count);
  }
  free(ratios);
}

/* ------------------------------------------------------------------------------------------ */
/* A process that is warm                                                                       */

enum { warm_modes = SUITE_LOAD | SUITE_HOT | SUITE_QUEUED };

/* warm FOLDER SUITE PEERS MODES LAUNCHES PIN */
static kdl_status measure_warm(const dispatch_request *request, const job_folder *folder,
                               const peer_list *peers, size_t launches, bench_results *results) {
  char names[256] = "", modes[16], count[24], pin[16];
  for (size_t i = 0, length = 0; i < peers->count && length < sizeof names; ++i)
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? "," : "",
                               peers->all[i]->name);
  snprintf(modes, sizeof modes, "%u", request->modes & warm_modes);
  snprintf(count, sizeof count, "%zu", launches);
  snprintf(pin, sizeof pin, "%d", request->pin);
  const char *words[] = {"warm", folder->path, request->suite, names, modes, count, pin, NULL};
  return process_collect_results(words, results);
}

/* "kdl,driver,...", as they were found to work. */
static kdl_status open_peers(const char *names, peer_list *peers) {
  for (const char *name = names; *name;) {
    char copy[64];
    size_t length = strcspn(name, ",");
    snprintf(copy, sizeof copy, "%.*s", (int)length, name);
    const peer *what = peers->count < SUITE_PEER_LIMIT ? suite_peer_open(copy) : NULL;
    if (!what)
      return kdl_fail(KDL_DEVICE, "%s", peer_error());
    peers->all[peers->count++] = what;
    name += length + (name[length] == ',');
  }
  return KDL_OK;
}

static kdl_status run_warm(const char *const words[6], bench_results *results) {
  peer_list peers = {.count = 0};
  dispatch_request request = {.suite = words[1],
                              .modes = (unsigned)strtoul(words[3], NULL, 10),
                              .pin = (int)strtol(words[5], NULL, 10)};
  kdl_status status = job_load(words[0], JOB_LIBRARY_AS_GIVEN, &request.job)
                          ? open_peers(words[2], &peers)
                          : kdl_fail(KDL_IO, "%s", peer_error());
  if (status == KDL_OK)
    status = warm_measure(&request, &peers, strtoul(words[4], NULL, 10), results);
  job_unload(&request.job);
  return status;
}

static int warm_child(const char *const words[6]) {
  int channel = process_result_fd();
  bench_results results = {.machine = {.pinned = -1}};
  bench_catch_interrupts();
  bench_progress_hide();
  kdl_status status = run_warm(words, &results);
  bool told = status == KDL_OK ? bench_results_send(&results, channel)
                               : bench_error_send(kdl_error_message(), channel);
  bench_results_free(&results);
  return told ? 0 : 1;
}

int suite_child(const char *const words[], size_t count) {
  if (count == 4 && strcmp(words[0], "cold") == 0)
    return cold_child(words[1], words[2], words[3]);
  if (count == 7 && strcmp(words[0], "warm") == 0)
    return warm_child(words + 1);
  return 2;
}

/* ------------------------------------------------------------------------------------------ */
/* Rounds                                                                                       */

/* Everything is measured a little in each round, so that what a machine does for seconds at a time
 * is seen by all of it, and by the intervals. */
enum { most_rounds = 20, least_rounds = 5, least_launches = 100 };

static size_t count_rounds(const dispatch_request *request) {
  size_t rounds = request->modes & warm_modes ? request->warm / least_launches : request->cold;
  if (request->modes & warm_modes && rounds < least_rounds)
    return least_rounds;
  return rounds > most_rounds ? most_rounds : rounds;
}

static kdl_status run_round(const dispatch_request *request, const job_folder *folder,
                            const peer_list *peers, size_t round, size_t rounds,
                            bench_results *results) {
  kdl_status status = KDL_OK;
  size_t first =
      (round * request->cold + rounds - 1) / rounds; /* fewer trials: in the first ones */
  size_t last = ((round + 1) * request->cold + rounds - 1) / rounds;
  if (request->modes & SUITE_COLD && first < last)
    status = cold_measure(request, folder, peers, first, last, results);
  if (status == KDL_OK && request->modes & warm_modes && !bench_was_interrupted())
    status = measure_warm(request, folder, peers, request->warm / rounds, results);
  return status;
}

kdl_status suite_dispatch(const dispatch_request *request, bench_results *results) {
  job_folder folder;
  peer_list peers = {.count = 0};
  kdl_status status = job_save(&request->job, &folder);
  if (status != KDL_OK)
    return status;
  status = cold_probe(request, &folder, &peers, results);
  size_t rounds = count_rounds(request);
  for (size_t i = 0; i < rounds && status == KDL_OK && !bench_was_interrupted(); ++i) {
    bench_progress("rounds", i, rounds);
    status = run_round(request, &folder, &peers, i, rounds, results);
  }
  job_remove(&folder);
  bench_progress_end();
  results->interrupted = bench_was_interrupted();
  return status;
}

bool dispatch_rows_make(double *rows[], size_t count, size_t length) {
  bool ok = true;
  for (size_t i = 0; i < count; ++i)
    ok &= (rows[i] = calloc(length, sizeof(double))) != NULL;
  return ok;
}

void dispatch_rows_free(double *rows[], size_t count) {
  for (size_t i = 0; i < count; ++i)
    free(rows[i]);
}
