/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One set of tests over the public API that every backend has to pass.
 *
 * A test is a function that returns NULL, or what it found wrong. expectations.def lists what a
 * backend cannot do and what it is known to do wrong, each with the reason; an entry whose test
 * passes is stale, and fails the run.
 */
#ifndef KDL_TESTS_CONFORMANCE_SUITE_H
#define KDL_TESTS_CONFORMANCE_SUITE_H

#include <kdl/kdl.h>

typedef struct suite {
  kdl_device *device;
  kdl_library *lib;
  kdl_queue *queue;
  uint32_t
      largest; /* work-items in a launch: what interprets kernels needs seconds for a million */
} suite;

typedef struct suite_test {
  const char *name;
  const char *(*run)(const suite *at);
} suite_test;

/* sequence.c */
const char *sequence_runs_as_bound(const suite *at);
const char *sequence_copies_and_fills(const suite *at);
const char *sequence_of_memory_in_the_middle(const suite *at);
const char *sequence_forks_and_nests(const suite *at);
const char *sequence_records_events(const suite *at);
const char *sequence_launches_cooperatively(const suite *at);
const char *sequence_of_as_many_items_as_bound(const suite *at);
const char *sequence_refuses_wrong_bindings(const suite *at);
const char *sequence_runs_on_several_queues(const suite *at);
const char *sequence_is_captured(const suite *at);
const char *sequence_repeats(const suite *at);

extern const suite_test suite_tests[];
extern const size_t suite_test_count;

#endif
