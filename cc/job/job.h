/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One source file compiled for one target: what `kdl cc` does several of at once. */
#ifndef KDL_TOOL_CC_JOB_H
#define KDL_TOOL_CC_JOB_H

#include "cc/job/process.h"
#include "cc/job/toolchain.h"
#include "cc/source/kernels.h"
#include "cc/source/target.h"
#include "cc/source/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The language of opencl-c, as OpenCL's compilers and kdl.cl_std name it. */
#define CC_OPENCL_VERSION "CL1.2"

/* A source file, and what the command line says of images made from it. */
typedef struct cc_source {
  const char *path;
  cc_language language;
  const char *tag;      /* variant_tag; NULL for none */
  const char *features; /* tokens it needs; "" for none */
  uint32_t priority;    /* variant_priority */
  bool is_override;     /* takes the place of the first file for its targets */
  const char *targets;  /* names joined by '+'; NULL for all that suit it */
} cc_source;

/* What is the same for all jobs. */
typedef struct cc_plan {
  cc_toolchain tools;
  const char *folder;       /* for temporary files */
  const char *optimization; /* what follows -O */
  const char *const *flags; /* more words for Clang */
  size_t flag_count;
  const char *depends; /* -MD or -MMD: what the source includes is wanted; NULL where it is not */
  bool bitcode;
  bool verbose;
  bool colour; /* in messages */
} cc_plan;

typedef struct cc_job {
  const cc_plan *plan;
  const cc_source *source;
  const cc_target *target;
  size_t number;     /* among all jobs: names its files */
  const char *label; /* in messages: the target's name, and the variant's */
  kdl_arena arena;   /* of everything below */
  kdl_status status;
  const char *error; /* why it failed, where kdl says so and not the compiler; else NULL */
  bool has_location; /* which begins with the place in the source */
  bool is_explained; /* a compiler's messages say why it failed */
  cc_list messages;  /* kdl_string: of the compilers, one for each that had some */
  cc_kernels kernels;
  const char *code;  /* what is compiled: the source, or what takes its place (dynamic.c) */
  const char *names; /* CPUs: a file that renames the kernels (wrapper.h), once it is written */
  bool has_bf16, has_half, has_double; /* __bf16, _Float16, double are among its types */
  bool has_group_atomics;              /* SPIR-V: maybe (ir/ir_text.h) */
  bool has_int64_atomics;              /* OpenCL C: maybe, until the code is read */
  bool calls_math;                     /* of <kdl/math.h>, and needs its libraries */
  bool calls_libm;                     /* CPUs: what the machine that loads the image has */
  cc_location assembly;                /* where there is some; line 0 where there is none */
  const char *math_constants;          /* AMD: bitcode that ocml needs, once it is made */
  kdl_string preprocessed;             /* OpenCL C */
  bool is_relaxed; /* OpenCL C: taken as a later version, whose variables are as in C */
  kdl_string image;
  kdl_image_kind kind;
  bool is_unknown_to_ptxas; /* NVIDIA: which does not know the architecture; the image is PTX */
  kdl_feature_set needs;    /* tokens that the image needs beyond its architecture */
} cc_job;

/* Does it all, in the calling thread. `status` says how it went. */
void cc_job_run(cc_job *job);

#endif
