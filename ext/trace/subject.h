/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What records are about: a kernel of an image on a device, a file, a driver. Subjects are
 * interned, so that a record holds a pointer, and never freed, so that records outlive
 * libraries. */
#ifndef KDL_EXT_TRACE_SUBJECT_H
#define KDL_EXT_TRACE_SUBJECT_H

#include "support/base/trace_phase.h"

typedef struct kdl_trace_subject {
  struct kdl_trace_subject *next; /* with the same hash */
  uint64_t hash;
  kdl_trace_phase_info info; /* without `bytes` and `failed`, which are in the record */
} kdl_trace_subject;

/* The largest number of subjects. */
enum { KDL_TRACE_SUBJECT_LIMIT = 16384 };

/* The subject for `info`, which may be NULL. Beyond the limit, or out of memory, an empty one. */
const kdl_trace_subject *kdl_trace_subject_intern(const kdl_trace_phase_info *info);

/* How many subjects were lost to the limit. */
uint64_t kdl_trace_subjects_lost(void);

#endif
