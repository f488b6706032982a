/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A job: one source file compiled for one target. `kdl cc` runs several at once. */
#ifndef KDL_CC_JOB_JOB_H
#define KDL_CC_JOB_JOB_H

#include "cc/job/process.h"
#include "cc/job/toolchain.h"
#include "cc/source/kernels.h"
#include "cc/source/target.h"
#include "tools/common/lines.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The language of opencl-c, as OpenCL's compilers and kdl.cl_std name it. */
#define CC_OPENCL_VERSION "CL1.2"

/* A source file, and the command line's settings for images from it. */
typedef struct cc_source {
  const char *path;
  cc_language language;
  const char *tag;      /* variant_tag; NULL for none */
  const char *features; /* required feature tokens; "" for none */
  uint32_t priority;    /* variant_priority */
  const char *when;     /* the condition of its kernels; NULL for none */
  const char *defines;  /* macros joined by '+': "M=4+N=8"; NULL for none */
  bool is_override;     /* replaces the first file for its targets */
  const char *targets;  /* names joined by '+'; NULL for all that it applies to */
} cc_source;

/* The settings that all jobs share. */
typedef struct cc_plan {
  cc_toolchain tools;
  const char *folder;       /* for temporary files */
  const char *optimization; /* what follows -O */
  const char *const *flags; /* more words for Clang */
  size_t flag_count;
  const char *const *fields; /* of the kernels' keys, as "shape=m n k" */
  size_t field_count;
  const char *depends; /* -MD or -MMD: list the included files; NULL for no list */
  bool bitcode;
  bool verbose;
  bool colour; /* in messages */
} cc_plan;

typedef struct cc_job {
  const cc_plan *plan;
  const cc_source *source;
  const cc_target *target;
  size_t number;     /* among all jobs: part of its files' names */
  const char *label; /* for messages: the target's name, and the variant's */
  kdl_arena arena;   /* owns everything below */
  kdl_status status;
  const char *error; /* kdl's own error message; NULL if a compiler's says why it failed */
  bool has_location; /* `error` begins with a source location */
  bool is_explained; /* a compiler's messages explain the failure */
  cli_list messages; /* kdl_string: one for each compiler that printed some */
  cc_kernels kernels;
  const char *code;  /* the compiled file: the source, or its replacement (dynamic_local.c) */
  const char *names; /* CPUs: a file that renames the kernels (wrapper.h), once written */
  bool has_bf16, has_half, has_double; /* it uses __bf16, _Float16, double */
  bool has_group_atomics;              /* SPIR-V: possibly (ir/ir_text.h) */
  bool has_int64_atomics;              /* OpenCL C: possibly, until the code is read */
  bool calls_math;                     /* it calls <kdl/math.h>, and needs its libraries */
  bool calls_libm;                     /* CPUs: calls libm of the machine that loads it */
  cc_location assembly;                /* of inline assembly; line 0 if there is none */
  const char *math_constants;          /* AMD: bitcode that ocml needs, once made */
  kdl_string preprocessed;             /* OpenCL C */
  bool is_relaxed; /* OpenCL C: parsed as a later version, whose variables are as in C */
  kdl_string image;
  kdl_image_kind kind;
  bool is_unknown_to_ptxas; /* NVIDIA: ptxas does not know the architecture; the image is PTX */
  kdl_feature_set needs;    /* tokens that the image requires beyond its architecture */
} cc_job;

/* Runs all steps in the calling thread. `status` is the result. */
void cc_job_run(cc_job *job);

#endif
