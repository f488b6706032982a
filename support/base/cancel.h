/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * No function of libkdl is a cancellation point: a thread that is cancelled in one goes on to
 * its end, and nothing that it holds stays held. Launches, runs of sequences and kdl_sync cannot
 * afford it: there, only what waits, loads or logs something for libkdl is not cancelled, and the
 * driver is called as the thread is.
 */
#ifndef KDL_BASE_CANCEL_H
#define KDL_BASE_CANCEL_H

#include <pthread.h>

static inline int kdl_cancel_disable(void) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  return state;
}

static inline void kdl_cancel_restore(const int *state) {
  pthread_setcancelstate(*state, NULL);
}

/* From here to the end of the block. */
#define KDL_NOT_CANCELLED                                                                          \
  const int cancel_state __attribute__((cleanup(kdl_cancel_restore), unused)) = kdl_cancel_disable()

#endif
