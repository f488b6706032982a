/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A sequence as it stands in a file (docs/formats.md#recorded-sequences): slots, kernels by name,
 * and the calls that record it, one by one. No device is needed to read or write it.
 *
 * Calls, and not nodes with edges: whatever order and loops they make is what the recorder makes of
 * them, so that a file cannot say anything that a program could not have recorded.
 *
 * lib/sequence/file reads and writes one; save.c and open.c, a folder above, make one of a
 * recording and a sequence of one.
 */
#ifndef KDL_INSPECT_SEQUENCES_H
#define KDL_INSPECT_SEQUENCES_H

#include "support/base/arena.h"
#include "support/base/magic.h"

#include <kdl/kdl.h>

/* How much a sequence can have, recorded or read (docs/sequences.md#limits). */
enum {
  KDL_LIMIT_NODES = 1 << 20,
  KDL_LIMIT_MARKS = 1 << 22,
  KDL_LIMIT_SLOTS = 1 << 12,
  KDL_LIMIT_SCALAR = 4096,
  KDL_LIMIT_FORKS = 64,
  KDL_LIMIT_LOOPS = 8,
};

/* docs/formats.md#limits */
enum {
  KDL_SEQFILE_MAGIC = KDL_MAGIC_SEQUENCE, /* f7 "KSQ" */
  KDL_SEQFILE_VERSION = 1,
  KDL_SEQFILE_HEADER = 32,         /* bytes */
  KDL_SEQFILE_SLOT_NAME = 255,     /* bytes */
  KDL_SEQFILE_KERNEL_NAME = 65536, /* also of its library, and its signature */
  KDL_SEQFILE_CONSTANTS = 256,
  KDL_SEQFILE_CONSTANT = 4096, /* bytes of a name, of a value */
  KDL_SEQFILE_STEPS = KDL_LIMIT_NODES + KDL_LIMIT_MARKS,
  KDL_SEQFILE_ARGS = 256,
};

/* The key in the metadata of the image that says what a sequence is called. */
#define KDL_SEQUENCE_KEY "kdl.sequence"

typedef struct kdl_seqfile_slot {
  kdl_string name; /* "" where it has none */
  kdl_slot_kind kind;
  uint64_t bytes;
} kdl_seqfile_slot;

#define KDL_SEQFILE_UNKNOWN UINT32_MAX

/* A kernel, and what was known of the image that was loaded when it was recorded. */
typedef struct kdl_seqfile_kernel {
  kdl_string name;
  kdl_string library; /* where it was found, for messages alone */
  kdl_string sig;     /* as in kdl.kernel.NAME; "" where it is not known */
  uint32_t rev;       /* likewise; KDL_SEQFILE_UNKNOWN */
  uint32_t param_count;
  const uint32_t *param_sizes; /* 0 for one that is not known */
  uint32_t block[3], tile[3];  /* 0 where they are not known */
  const kdl_constant *constants;
  uint32_t constant_count;
} kdl_seqfile_kernel;

typedef enum kdl_step_kind {
  KDL_STEP_LAUNCH = 1,
  KDL_STEP_COPY,
  KDL_STEP_FILL,
  KDL_STEP_FORK,
  KDL_STEP_BRANCH,
  KDL_STEP_JOIN,
  KDL_STEP_WHILE,
  KDL_STEP_END,
} kdl_step_kind;

/* Operands are VALUE, SLOT, or BUFFER, which is then a null pointer. */
typedef struct kdl_seqfile_launch {
  uint32_t kernel;
  uint32_t arg_count;
  kdl_operand *args;
  kdl_operand items; /* ITEMS or SLOT; kind 0: the grid of `desc` */
  kdl_launch_desc desc;
} kdl_seqfile_launch;

typedef struct kdl_seqfile_copy {
  kdl_operand to, from; /* SLOT; a fill has no `from` */
  uint64_t bytes;
  uint32_t pattern_size;
  uint8_t pattern[16];
} kdl_seqfile_copy;

typedef struct kdl_seqfile_step {
  kdl_step_kind kind;
  union { /* each in `memory` of the whole: most that a short file can have is marks */
    kdl_seqfile_launch *launch;
    kdl_seqfile_copy *copy; /* COPY and FILL */
    kdl_operand *condition; /* WHILE */
  } of;
} kdl_seqfile_step;

typedef struct kdl_seqfile {
  kdl_arena memory; /* of what is pointed to; values may lie in the bytes that were read */
  kdl_seqfile_slot *slots;
  uint32_t slot_count;
  kdl_seqfile_kernel *kernels;
  uint32_t kernel_count;
  kdl_seqfile_step *steps;
  uint32_t step_count;
  uint32_t launch_count;
} kdl_seqfile;

/* Reads a sequence, of which values stay where they are in `data`. KDL_BAD_FILE with the offset,
 * the field, found and expected; KDL_UNSUPPORTED where it is of a later version. */
kdl_status kdl_seqfile_read(const void *data, size_t size, kdl_seqfile *out_saved);

/* Lays one out, into memory that the caller frees. What is read again is the same. */
kdl_status kdl_seqfile_write(const kdl_seqfile *saved, void **out_data, size_t *out_size);

void kdl_seqfile_free(kdl_seqfile *saved);

/* What it is called: the value of its key, or "" where it has none. */
kdl_string kdl_seqfile_name(const kdl_pair *pairs, size_t count);

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* kdl_launch_items with dynamic group memory of the caller's; 0: as the image asks. */
kdl_status kdl_launch_items_shared(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                   uint32_t shared, const kdl_args *args);

#endif
