/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A saved sequence (docs/formats.md#recorded-sequences): slots, kernels by name, and the recording
 * calls. Reading and writing one needs no device.
 *
 * It has calls instead of nodes with edges: the recorder derives order and loops from them, so that
 * a file can only contain what a program could have recorded.
 *
 * lib/sequence/file reads and writes saved sequences; lib/sequence/save.c makes one of a recording,
 * and open_saved.c makes a sequence of one.
 */
#ifndef KDL_LIB_INSPECT_SEQUENCES_H
#define KDL_LIB_INSPECT_SEQUENCES_H

#include "support/base/arena.h"
#include "support/base/magic.h"

#include <kdl/sequence.h>

/* Limits of a sequence (docs/sequences.md#limits). */
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

/* The metadata key with the sequence's name. */
#define KDL_SEQUENCE_KEY "kdl.sequence"

typedef struct kdl_seqfile_slot {
  kdl_string name; /* "" where it has none */
  kdl_slot_kind kind;
  uint64_t bytes;
} kdl_seqfile_slot;

#define KDL_SEQFILE_UNKNOWN UINT32_MAX

/* A kernel, and the properties of the image that was loaded when it was recorded. */
typedef struct kdl_seqfile_kernel {
  kdl_string name;
  kdl_string library; /* the library's name, for messages only */
  kdl_string sig;     /* as in kdl.kernel.NAME; "" where it is unknown */
  uint32_t rev;       /* as in kdl.kernel.NAME, or KDL_SEQFILE_UNKNOWN */
  uint32_t param_count;
  const uint32_t *param_sizes; /* 0 for an unknown size */
  uint32_t block[3], tile[3];  /* 0 where they are unknown */
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

/* Operands are VALUE, SLOT, or BUFFER, which is a null pointer here. */
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
  union { /* pointers into `memory`, to keep steps small: many are marks */
    kdl_seqfile_launch *launch;
    kdl_seqfile_copy *copy; /* COPY and FILL */
    kdl_operand *condition; /* WHILE */
  } of;
} kdl_seqfile_step;

typedef struct kdl_seqfile {
  kdl_arena memory; /* owns what is pointed to, except values in the bytes that were read */
  kdl_seqfile_slot *slots;
  uint32_t slot_count;
  kdl_seqfile_kernel *kernels;
  uint32_t kernel_count;
  kdl_seqfile_step *steps;
  uint32_t step_count;
  uint32_t launch_count;
} kdl_seqfile;

/* Reads a sequence; values point into `data`. KDL_BAD_FILE with the offset, the field, found and
 * expected; KDL_UNSUPPORTED for a later version. */
kdl_status kdl_seqfile_read(const void *data, size_t size, kdl_seqfile *out_saved);

void kdl_seqfile_free(kdl_seqfile *saved);

#endif
