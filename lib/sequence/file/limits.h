/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How much a sequence can have, recorded or read (docs/sequences.md#limits). */
#ifndef KDL_SEQUENCE_FILE_LIMITS_H
#define KDL_SEQUENCE_FILE_LIMITS_H

enum {
  KDL_LIMIT_NODES = 1 << 20,
  KDL_LIMIT_MARKS = 1 << 22,
  KDL_LIMIT_SLOTS = 1 << 12,
  KDL_LIMIT_SCALAR = 4096,
  KDL_LIMIT_FORKS = 64,
  KDL_LIMIT_LOOPS = 8,
};

#endif
