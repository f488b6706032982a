/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The suites of `kdl bench`. Each fills results; none prints. */
#ifndef KDL_BENCH_SUITES_SUITE_H
#define KDL_BENCH_SUITES_SUITE_H

#include "measure/results.h"
#include "peers/peer.h"
#include "recorder.h"

#include <kdl/kdl.h>

/* ------------------------------------------------------------------------------------------ */
/* A dispatch, layer by layer: layers, cold, launch                                             */

enum { SUITE_PEER_LIMIT = 8 };

/* Which parts of it. */
enum {
  SUITE_COLD = 1,   /* from nothing to a first result, each time in a process of its own */
  SUITE_LOAD = 2,   /* from bytes to a kernel and back, in a process that is warm */
  SUITE_HOT = 4,    /* a launch of a loaded kernel, then a wait for it */
  SUITE_QUEUED = 8, /* a hundred launches, then a wait */
};

typedef struct dispatch_request {
  const char *suite;
  unsigned modes;
  peer_job job;
  const peer *peers[SUITE_PEER_LIMIT]; /* libkdl is the first */
  size_t peer_count;
  bool required; /* a peer that does not work here is an error, and not just left out */
  size_t cold;   /* processes of each peer */
  size_t warm;   /* launches of each peer */
  int pin;       /* a CPU, or BENCH_PIN_; processes that start cold are not pinned */
} dispatch_request;

kdl_status suite_dispatch(const dispatch_request *request, bench_results *results);

/* The names of what a cold process does outside the layers. */
#define SUITE_PROCESS_START "process start"
#define SUITE_PROCESS_END "process end"

/* What such a process runs: `kdl bench child WORDS...`. Returns its exit code. */
int suite_child(const char *const words[], size_t count);

/* A peer by its name. Of one in a shared object of its own only name and backend are known: its
 * runtime is not for this process. NULL where there is none; peer_error() says why. */
const peer *suite_peer_find(const char *name);

/* The same to be run; opens kdl_peer_NAME.so: along KDL_BENCH_PEER_PATH, in the folder of the
 * program, in
 * ../lib and ../lib/kdl from there. */
const peer *suite_peer_open(const char *name);

/* ------------------------------------------------------------------------------------------ */
/* The parts of it that need no device                                                          */

/* A library in memory with a kernel that takes one pointer and does nothing, for the host too. */
typedef struct suite_built_in {
  const void *data;
  size_t size;
  const char *kernel;
} suite_built_in;

/* `blocks` interleaved blocks of each case. */
typedef kdl_status suite_function(const suite_built_in *built_in, size_t blocks,
                                  bench_results *results);
suite_function suite_open;
suite_function suite_select;
suite_function suite_scale;

/* Recorded sequences, on the host and on a CUDA device where there is one. */
suite_function suite_sequence;

#endif
