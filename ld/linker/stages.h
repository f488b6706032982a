/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The time of each stage of a link, for the report. */
#ifndef KDL_LD_STAGES_H
#define KDL_LD_STAGES_H

#include <stdint.h>
#include <time.h>

typedef enum ld_stage {
  LD_STAGE_START, /* arguments, LLVM's initialisation */
  LD_STAGE_PARSE, /* bitcode, of the caller and of microkernels */
  LD_STAGE_CHOOSE,
  LD_STAGE_LINK,
  LD_STAGE_OPTIMISE,
  LD_STAGE_COMPILE, /* LLVM's code generator */
  LD_STAGE_PROGRAM, /* ld.lld or ptxas */
  LD_STAGE_WRITE,
  LD_STAGE_COUNT,
} ld_stage;

typedef struct ld_stages {
  uint64_t microseconds[LD_STAGE_COUNT];
  uint64_t since; /* in microseconds */
} ld_stages;

static inline uint64_t ld_stages_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Adds the time since the last call to a stage. */
static inline void ld_stages_end(ld_stages *stages, ld_stage stage) {
  uint64_t now = ld_stages_now();
  stages->microseconds[stage] += now - stages->since;
  stages->since = now;
}

#endif
