/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* C += A B of one process, on the device that is its own. */
#ifndef EXAMPLE_MPI_MULTIPLY_H
#define EXAMPLE_MPI_MULTIPLY_H

#include <kdl/matmul.h>

#include <stdbool.h>

typedef struct multiplier {
  kdl_device *device;
  kdl_queue *queue;
  kdl_library *lib;
  bool is_host;      /* the matmul library of libkdl; else the kernel of panel.c */
  kdl_matmul matmul; /* of the one */
  void *scratch;
  kdl_kernel *panel; /* of the other */
  kdl_buffer a, b, c;
  float *result; /* the m by n part of this process */
  uint32_t m, n, k;
  char where[256]; /* the device and the image, for people */
} multiplier;

/* For panels of at most k columns. `result` is zeroed. With `by_panel`, CPUs take the kernel of
 * panel.c too. Ends the process where libkdl fails. */
void multiplier_open(multiplier *it, const char *panel_library, bool by_panel, float *result,
                     uint32_t m, uint32_t n, uint32_t k);

/* Begins result += a b, with `k` columns of a and rows of b, each in one piece. */
void multiplier_add(multiplier *it, const float *a, const float *b, uint32_t k);

/* Waits until `a` and `b` may be written again. */
void multiplier_wait(multiplier *it);

/* The result is in its place. */
void multiplier_finish(multiplier *it);
void multiplier_close(multiplier *it);

#endif
