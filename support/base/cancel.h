/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * No function of libkdl is a cancellation point: pthread_cancel takes effect after the call
 * returns, and no lock stays held. Launches, runs of sequences and kdl_sync are too short for that:
 * they disable cancellation only around libkdl's own waiting, loading and logging, not around the
 * call of the driver.
 */
#ifndef KDL_SUPPORT_BASE_CANCEL_H
#define KDL_SUPPORT_BASE_CANCEL_H

#include <pthread.h>

static inline int kdl_cancel_disable(void) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  return state;
}

static inline void kdl_cancel_restore(const int *state) {
  pthread_setcancelstate(*state, NULL);
}

/* Disables cancellation until the end of the block. */
#define KDL_NOT_CANCELLED                                                                          \
  const int cancel_state __attribute__((cleanup(kdl_cancel_restore), unused)) = kdl_cancel_disable()

#endif
