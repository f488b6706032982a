/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The time of each stage of a link, for the report. */
#ifndef KDL_COMPILER_IR_LINKER_STAGES_H
#define KDL_COMPILER_IR_LINKER_STAGES_H

#include <stdint.h>
#include <time.h>

typedef enum ir_stage {
  IR_STAGE_START, /* arguments, LLVM's initialisation */
  IR_STAGE_PARSE, /* bitcode, of the caller and of microkernels */
  IR_STAGE_CHOOSE,
  IR_STAGE_LINK,
  IR_STAGE_OPTIMISE,
  IR_STAGE_COMPILE, /* LLVM's code generator */
  IR_STAGE_PROGRAM, /* ld.lld or ptxas */
  IR_STAGE_WRITE,
  IR_STAGE_COUNT,
} ir_stage;

typedef struct ir_stages {
  uint64_t microseconds[IR_STAGE_COUNT];
  uint64_t since; /* in microseconds */
} ir_stages;

static inline uint64_t ir_stages_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Adds the time since the last call to a stage. */
static inline void ir_stages_end(ir_stages *stages, ir_stage stage) {
  uint64_t now = ir_stages_now();
  stages->microseconds[stage] += now - stages->since;
  stages->since = now;
}

#endif
