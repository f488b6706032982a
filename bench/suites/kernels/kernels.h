/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl bench kernels: the example kernels and those with barriers, as compiled by kdl cc, next to
 * the same kernels of other compilers and runtimes. */
#ifndef KDL_BENCH_SUITES_KERNELS_KERNELS_H
#define KDL_BENCH_SUITES_KERNELS_KERNELS_H

#include "measure/results.h"
#include "suites/kernels/kernels_cases.h"

enum { KERNELS_PEERS = 6, KERNELS_THREADS = 12 };

/* Who else there is; "kdl" is not among them. */
typedef struct kernels_peer {
  const char *name;
  bool on_gpu;      /* CUDA; else the host */
  bool of_products; /* it multiplies matrices, and nothing else */
  const char *what;
} kernels_peer;
extern const kernels_peer kernels_peers[KERNELS_PEERS];

typedef struct kernels_request {
  /* NULL, or how long a problem would take at the limits of the machine, in ns; 0: not known. Then
   * figures are called scale/THREADS/KERNEL SIZE/WHO, and make curves over the threads. */
  double (*roofline_ns)(const void *machine, uint32_t threads, const kernels_case *what,
                        uint32_t n);
  const void *machine;
  const char *folder;  /* as bench/kernels/make.sh makes it */
  const char *program; /* the folder of the program */
  const char *device;  /* "host", "cuda:0" */
  bool on_gpu;
  unsigned peers;   /* bits, by kernels_peers */
  bool required;    /* a peer that is missing is an error */
  unsigned sizes;   /* bits, by kernels_sizes */
  unsigned kernels; /* bits, by kernels_cases */
  uint32_t threads[KERNELS_THREADS];
  size_t thread_count;
  size_t blocks;
  double milliseconds; /* of one kernel in one block, at least */
  int pin;             /* of what has one thread */
} kernels_request;

/* Figures are called kernels/THREADS/SIZE/KERNEL/WHO, where THREADS is "gpu" for a GPU. Comparisons
 * are of WHO to kdl: above 1 where kdl takes less time. */
kdl_status suite_kernels(const kernels_request *request, bench_results *results);

/* What a process of it runs: `kdl bench child kernels FOLDER DEVICE PEER,... THREADS`. */
int kernels_child(const char *folder, const char *device, const char *peers, const char *threads);

/* kdl bench scale --threads: curves over the threads, with what the machine could do. */
kdl_status suite_scale_threads(kernels_request *request, bench_results *results);

/* How many operations, and bytes of memory, a problem takes; 0: not known. */
double kernels_operations(const kernels_case *what, uint32_t n);
double kernels_bytes(const kernels_case *what, uint32_t n);

/* Whether it takes longer to compute than to read and write. */
bool kernels_computes(const kernels_case *what, uint32_t n);

/* ------------------------------------------------------------------------------------------ */
/* What the process is told, and what it answers                                                */

typedef struct kernels_command {
  uint32_t peer;    /* of those that the process has */
  uint32_t kernel;  /* in kernels_cases */
  uint32_t n;       /* the size of its problem */
  uint64_t repeats; /* 0: make the problem, launch once, and compare */
} kernels_command;

/* The process begins with one for each peer: whether it is there. */
typedef struct kernels_reply {
  bool good;
  double ns;      /* of all repeats */
  char text[312]; /* what ran; where it is not good, why */
} kernels_reply;

#endif
