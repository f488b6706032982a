/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What records are about: a kernel of an image on a device, a file, a driver. Kept once each, so
 * that a record holds a pointer, and until the process ends, so that records outlive libraries. */
#ifndef KDL_TRACE_SUBJECT_H
#define KDL_TRACE_SUBJECT_H

#include "support/base/trace_phase.h"

typedef struct kdl_trace_subject {
  struct kdl_trace_subject *next; /* with the same hash */
  uint64_t hash;
  kdl_trace_phase_info info; /* `bytes` and `failed` are the record's */
} kdl_trace_subject;

/* How many there can be. */
enum { KDL_TRACE_SUBJECT_LIMIT = 16384 };

/* The subject of `about`, which may be NULL. Beyond the limit, and out of memory, the one that says
 * nothing. */
const kdl_trace_subject *kdl_trace_subject_intern(const kdl_trace_phase_info *info);

/* How often a subject was not kept. */
uint64_t kdl_trace_subjects_lost(void);

#endif
