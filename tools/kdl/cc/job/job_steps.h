/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of a job: the programs that it runs, their words, and what it says where one fails. */
#ifndef KDL_TOOL_CC_JOB_STEPS_H
#define KDL_TOOL_CC_JOB_STEPS_H

#include "cc/job/job.h"

#include <stdio.h>

/* A list of words for cc_compile(). */
#define CC_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

kdl_status cc_no_memory(const cc_job *job);

/* A line that goes behind the compilers' messages. */
void cc_add_message(cc_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Words that kdl says itself, which go before the compilers'. */
kdl_status cc_refuse(cc_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, of a place in the source: "saxpy.c:8:19: error: ..." */
kdl_status cc_refuse_at(cc_job *job, cc_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a kernel that has the name of a function which compilers call. */
kdl_status cc_refuse_name(cc_job *job, const cc_kernel *kernel);

/* A temporary file of the job; NULL when out of memory. */
const char *cc_file_of(cc_job *job, const char *extension);

/* Writes a file, of the source where `copies`, and of what `write` adds. */
kdl_status cc_write_file(cc_job *job, const char *path, bool copies,
                         void (*write)(FILE *out, const cc_job *job));
kdl_status cc_read_file(cc_job *job, const char *path, kdl_string *out_text);

/* KDL_BAD_FILE where the program fails; its messages then say why. */
kdl_status cc_step(cc_job *job, const kdl_words *words, const char *out_path);

/* A command that compiles `path`, but for what to make of it. */
kdl_words cc_start_clang(cc_job *job, const char *path);

/* The same behind the step that reads the kernels: what KDL_BLOCK and the like say is used there
 * alone. */
kdl_words cc_start_compiling(cc_job *job, const char *path);

/* Likewise for IR, whose path follows. */
kdl_words cc_start_ir(cc_job *job);

kdl_status cc_compile(cc_job *job, const char *path, const char *const *more, const char *out_path);

/* Sets `code`. */
kdl_status cc_find_code(cc_job *job);

/* For CPUs: from IR in which a kernel that waits does one work-item, code in which it does a group.
 * kdl-ld does that. */
kdl_status cc_make_groups(cc_job *job, const char *items, const char *out_path);

/* Makes the image of the job's target from `code`. Sets `kind` and `image`. */
kdl_status cc_make_image(cc_job *job);

/* The same for opencl-c. */
kdl_status cc_make_opencl(cc_job *job);

/* After Clang has refused a source in C as OpenCL C: puts one message in the place of its own where
 * a keyword of OpenCL C is a name there. */
kdl_status cc_explain_opencl(cc_job *job, kdl_status status);

#endif
