/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Peers: ways from a kernel's bytes to its result, libkdl's own among them, cut into the same
 * layers so that they can be timed side by side on the same image.
 *
 * A peer is a table of steps. The measuring program runs the steps in order and reads the clock
 * between them; a peer never reads it. State of a peer is its own, begins with
 * the job, and is zeroed before its first step.
 * A process that ends need not close its peers.
 */
#ifndef KDL_BENCH_PEERS_PEER_H
#define KDL_BENCH_PEERS_PEER_H

#include "support/base/trace_phase.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is launched: the same for every peer. All of it outlives the peer. */
typedef struct peer_job {
  const char *device;  /* "cuda:0", "host" */
  const char *library; /* the file that libkdl opens; NULL: `data` */
  const void *data;    /* the same in memory */
  size_t data_size;
  const char *kernel;
  const void *image; /* the one image of it that the others load */
  size_t image_size;
  const char *image_path; /* a file that holds it; NULL where there is none */
  uint32_t grid[3];
  uint32_t block[3];
  /* Arguments by value, as a program has them. One that is a buffer is an offset into memory of
   * `buffer_size` bytes, which each peer allocates. */
  uint32_t arg_count;
  const uint32_t *arg_sizes;
  const uint32_t *arg_offsets; /* in the packed form */
  const bool *arg_is_buffer;
  const void *args; /* the packed form */
  size_t args_size;
  size_t buffer_size;
  const void *buffer_data; /* what the memory holds at first; NULL: anything */
} peer_job;

typedef struct peer_step {
  kdl_trace_phase phase;
  bool (*run)(void *state);
} peer_step;

typedef struct peer {
  const char *name;                               /* as in --peers= */
  const char *what;                               /* for people */
  const char *backend;                            /* devices it runs on: "cuda", "opencl", "host" */
  bool (*open)(void *state, const peer_job *job); /* not timed; touches no driver */
  void (*close)(void *state);     /* likewise: gives back what the caller would see; may be NULL */
  peer_step start[6];             /* once in a process; behind the last there is no `run` */
  peer_step load[4];              /* from bytes to something to launch */
  bool (*unload)(void *state);    /* undoes `load`; NULL where nothing does */
  bool (*arguments)(void *state); /* puts the arguments where `launch` wants them */
  bool (*launch)(void *state);
  bool (*sync)(void *state);
  bool (*read)(void *state, void *byte); /* begins to read the buffer back; may be NULL */
} peer;

/* Until one fails. */
static inline bool peer_run_steps(const peer_step *steps, void *state) {
  bool ok = true;
  for (; ok && steps->run; ++steps)
    ok = steps->run(state);
  return ok;
}

/* Most that a peer keeps of itself. */
enum { PEER_STATE_LIMIT = 4096, PEER_ARGS_LIMIT = 32, PEER_ARGS_BYTES = 512 };

/* Arguments as launches want them: a copy of the values, and pointers into it. */
typedef struct peer_args {
  _Alignas(16) char values[PEER_ARGS_BYTES];
  void *pointers[PEER_ARGS_LIMIT];
} peer_args;

/* What the state of a peer begins with where it launches by such arguments. */
typedef struct peer_head {
  const peer_job *job;
  uint64_t buffer; /* the address of the job's memory */
  peer_args args;
} peer_head;

/* Reads the buffer back where there is one, and waits. */
static inline bool peer_result(const peer *what, void *state) {
  const peer_job *job = *(const peer_job *const *)state;
  static char byte;
  return (!what->read || !job->buffer_size || what->read(state, &byte)) && what->sync(state);
}

/* Fails where the job has more arguments than fit. */
bool peer_args_fit(const peer_job *job);

/* `open`, or the first step of it. */
bool peer_open_head(void *state, const peer_job *job);

/* `arguments` */
bool peer_fill_arguments(void *state);

/* A peer by its name; NULL where there is none. */
const peer *peer_find(const char *name);

/* Records why a step failed, and returns false. peer_error() tells it. */
bool peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *peer_error(void);

/* Opens the first of `libraries` (NULL behind the last) and fills the table. */
struct kdl_driver_symbol;
bool peer_load_library(const char *const *libraries, const struct kdl_driver_symbol *symbols,
                       size_t count, void *table);

/* A pattern for mkstemp and mkdtemp: "/tmp/kdl-NAME-XXXXXX", or below TMPDIR. */
enum { PEER_PATH = 256 };
void peer_temporary(const char *name, char out_path[PEER_PATH]);

/* The number behind the colon: "cuda:1" is the second device; 0 where there is none. */
unsigned peer_ordinal(const char *device);

extern const peer peer_kdl;
extern const peer peer_driver;         /* the CUDA driver, modules */
extern const peer peer_driver_library; /* the CUDA driver, libraries */
extern const peer peer_liboffload;
extern const peer peer_cudart;
extern const peer peer_mlir;   /* MLIR's CUDA wrapper */
extern const peer peer_opencl; /* OpenCL itself */
extern const peer peer_plain;  /* the host image, opened and called by hand */

/* What a peer in a shared object of its own exports: kdl_peer_NAME.so. */
#define PEER_SYMBOL "kdl_bench_peer"
typedef const peer *peer_function(bool (*fail)(const char *format, ...));

/* A symbol of a shared object, which stays open; NULL where there is none, which peer_error()
 * tells. */
void *peer_symbol(const char *path, const char *name);

/* Opens such an object; NULL where it cannot be, which peer_error() tells. */
const peer *peer_open(const char *path);

#endif
