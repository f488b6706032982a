/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of a job: the programs that it runs, their command lines, and what it says where one
 * fails. */
#ifndef KDL_TOOL_CC_JOB_STEPS_H
#define KDL_TOOL_CC_JOB_STEPS_H

#include "cc/job/job.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Messages                                                                                     */

/* A line that goes behind the compilers' messages. */
void cc_add_message(cc_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last of the compilers' messages; empty where there is none. And the same, taken away, where
 * kdl says it in its own words. */
kdl_string cc_last_message(const cc_job *job);
kdl_string cc_remove_last_message(cc_job *job);

/* Words that kdl says itself, which go before the compilers'. KDL_BAD_FILE. */
kdl_status cc_error(cc_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, of a place in the source: "saxpy.c:8:19: error: ..." */
kdl_status cc_error_at(cc_job *job, cc_location location, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a kernel that has the name of a function which compilers call. */
kdl_status cc_error_reserved_name(cc_job *job, const cc_kernel *kernel);

/* Errors of code generators and assemblers, which know no lines: where the last message of a job
 * that failed is one, it becomes the job's own words, with the place of the kernel that it names,
 * or of the only one. */
void cc_locate_backend_error(cc_job *job);

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

/* The path of a temporary file of the job. */
const char *cc_temp_path(cc_job *job, const char *extension);

/* Writes a file of what `write` prints, behind a copy of the source where `copies`. */
kdl_status cc_write_file(const cc_job *job, const char *path, bool copies,
                         void (*write)(FILE *out, const cc_job *job));
kdl_status cc_write_text(const char *path, kdl_string text);

/* The whole of a file, in the job's arena. */
kdl_status cc_read_file(cc_job *job, const char *path, kdl_string *out_text);

/* ------------------------------------------------------------------------------------------ */
/* Running compilers                                                                            */

/* A list of words for the functions below. */
#define CC_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
void cc_add_words(kdl_string_list *words, const char *const *more);

/* Runs a program. KDL_BAD_FILE where it fails; its messages then say why. */
kdl_status cc_run_step(cc_job *job, const kdl_string_list *words, const char *out_path);

/* A command that compiles `path`, but for what to make of it. */
kdl_string_list cc_clang_command(cc_job *job, const char *path);

/* The same behind the step that reads the kernels: what KDL_BLOCK and the like say is used there
 * alone. */
kdl_string_list cc_compile_command(cc_job *job, const char *path);

/* Compiles a source; the same with the functions of <kdl/math.h>; IR with them. */
kdl_status cc_compile(cc_job *job, const char *path, const char *const *more, const char *out_path);
kdl_status cc_compile_with_math(cc_job *job, const char *path, const char *const *more,
                                const char *out_path);
kdl_status cc_compile_ir(cc_job *job, const char *path, const char *const *more,
                         const char *out_path);

/* Compiles a source and reads what came of it. */
kdl_status cc_compile_text(cc_job *job, const char *path, const char *const *more,
                           const char *out_path, kdl_string *out_text);

/* CUDA and HIP, as Clang has them: the device's side of a program, with the vendor's own headers.
 */
bool cc_is_vendor_language(const cc_job *job);

/* Why the target has no image from such a source; NULL where it has one. */
const char *cc_vendor_unsupported_reason(const cc_job *job);

/* The target and the language of such a source, for every call of Clang. */
void cc_vendor_add_flags(kdl_string_list *words, const cc_job *job);

/* ------------------------------------------------------------------------------------------ */
/* Checks: what compilers would not refuse, or in words that name no line of the source         */

/* Kernels as they are declared. */
kdl_status cc_check_declarations(cc_job *job);

/* What they are, once their signatures are known. */
kdl_status cc_check_kernels(cc_job *job);

/* LLVM IR with line tables, before it is optimised: what it calls and the target has not. */
kdl_status cc_check_code(cc_job *job, kdl_string ir);

/* The kernels of the image against those of the source. */
kdl_status cc_check_image(cc_job *job);

/* ------------------------------------------------------------------------------------------ */
/* Making the image                                                                             */

/* Sets `code`. */
kdl_status cc_prepare_code(cc_job *job);

/* Work-group lowering, for CPUs: from IR in which a kernel that waits does one work-item, code in
 * which it does a group. kdl-ld does that. */
kdl_status cc_lower_groups(cc_job *job, const char *items, const char *out_path);

/* Makes the image of the job's target from `code`. Sets `kind` and `image`. */
kdl_status cc_make_image(cc_job *job);

/* The same for opencl-c. */
kdl_status cc_make_opencl(cc_job *job);

/* After Clang has refused a source in C as OpenCL C: puts one message in the place of its own where
 * a keyword of OpenCL C is a name there. */
kdl_status cc_explain_opencl(cc_job *job, kdl_status status);

#endif
