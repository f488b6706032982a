/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the programs of the suites share: a device, memory that both sides see in turn, launches,
 * and comparing. Whatever fails ends the program. */
#ifndef KDL_TEST_SUITE_H
#define KDL_TEST_SUITE_H

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

typedef struct {
  kdl_device *device;
  kdl_queue *queue;
  kdl_library *library;
  unsigned wrong;
} suite;

/* A buffer and the same on the host. */
typedef struct {
  kdl_buffer buffer;
  void *host;
  size_t size;
} shared;

shared share(suite *s, size_t size);
void send(suite *s, const shared *m);
void receive(suite *s, const shared *m);
void unshare(shared *m);

/* `grid` groups of the block that the kernel says. */
void run(suite *s, const char *kernel, unsigned x, unsigned y, kdl_args args);

/* Each number within `apart` of the expected one, relative to it where it is larger than 1. */
void compare_floats(suite *s, const char *what, const float *found, const float *expected,
                    size_t count, double apart);
void compare_ints(suite *s, const char *what, const int32_t *found, const int32_t *expected,
                  size_t count);

/* rodinia.c, polybench.c */
void run_rodinia(suite *s);
void run_polybench(suite *s);

#define GROUPS(items, block) (unsigned)(((items) + (block) - 1) / (block))

#endif
