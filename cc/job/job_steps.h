/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of a job: the programs that it runs, their command lines, and its error messages. */
#ifndef KDL_CC_JOB_JOB_STEPS_H
#define KDL_CC_JOB_JOB_STEPS_H

#include "cc/job/job.h"

#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Messages                                                                                     */

/* Adds a line after the compilers' messages. */
void cc_add_message(cc_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last of the compilers' messages; empty if there is none. The second also removes it, for kdl
 * to replace it. */
kdl_string cc_last_message(const cc_job *job);
kdl_string cc_remove_last_message(cc_job *job);

/* Sets kdl's own error message, which precedes the compilers'. Returns KDL_BAD_FILE. */
kdl_status cc_error(cc_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with a source location: "saxpy.c:8:19: error: ..." */
kdl_status cc_error_at(cc_job *job, cc_location location, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a kernel whose name is that of a function which compilers call. */
kdl_status cc_error_reserved_name(cc_job *job, const cc_kernel *kernel);

/* Errors of code generators and assemblers have no lines. If the last message of a failed job is
 * one, this makes it the job's own error, located at the kernel that it names, or at the only
 * one. */
void cc_locate_backend_error(cc_job *job);

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

/* The path of a temporary file of the job. */
const char *cc_temp_path(cc_job *job, const char *extension);

/* Writes a file with what `write` prints, after a copy of the source if `copies`. */
kdl_status cc_write_file(const cc_job *job, const char *path, bool copies,
                         void (*write)(FILE *out, const cc_job *job));
kdl_status cc_write_text(const char *path, kdl_string text);

/* Reads a file into the job's arena. */
kdl_status cc_read_file(cc_job *job, const char *path, kdl_string *out_text);

/* ------------------------------------------------------------------------------------------ */
/* Running compilers                                                                            */

/* A list of words for the functions below. */
#define CC_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
void cc_add_words(kdl_string_list *words, const char *const *more);

/* Runs a program. KDL_BAD_FILE if it fails; its messages then say why. */
kdl_status cc_run_step(cc_job *job, const kdl_string_list *words, const char *out_path);

/* A command that compiles `path`, without its output options. */
kdl_string_list cc_clang_command(cc_job *job, const char *path);

/* The same after the step that reads the kernels, which alone uses KDL_BLOCK and the other
 * macros. */
kdl_string_list cc_compile_command(cc_job *job, const char *path);

/* Compiles a source; a source with the functions of <kdl/math.h>; IR with them. */
kdl_status cc_compile(cc_job *job, const char *path, const char *const *more, const char *out_path);
kdl_status cc_compile_with_math(cc_job *job, const char *path, const char *const *more,
                                const char *out_path);
kdl_status cc_compile_ir(cc_job *job, const char *path, const char *const *more,
                         const char *out_path);

/* Compiles a source and reads the output. */
kdl_status cc_compile_text(cc_job *job, const char *path, const char *const *more,
                           const char *out_path, kdl_string *out_text);

/* CUDA and HIP, as Clang compiles them: the device side of a program, with the vendor's headers. */
bool cc_is_vendor_language(const cc_job *job);

/* Why the target has no image from such a source; NULL if it has one. */
const char *cc_vendor_unsupported_reason(const cc_job *job);

/* The target and language options of such a source, for every call of Clang. */
void cc_vendor_add_flags(kdl_string_list *words, const cc_job *job);

/* ------------------------------------------------------------------------------------------ */
/* Checks for what compilers would accept, or refuse without a line of the source               */

/* The kernels' declarations. */
kdl_status cc_check_declarations(cc_job *job);

/* The kernels, once their signatures are known. */
kdl_status cc_check_kernels(cc_job *job);

/* LLVM IR with line tables, not optimised: refuses what the target does not support. */
kdl_status cc_check_code(cc_job *job, kdl_string ir);

/* Compares the kernels of the image with those of the source. */
kdl_status cc_check_image(cc_job *job);

/* ------------------------------------------------------------------------------------------ */
/* Making the image                                                                             */

/* Sets `code`. */
kdl_status cc_prepare_code(cc_job *job);

/* Work-group lowering for CPUs, by kdl-ld: from IR in which a kernel with barriers runs one
 * work-item, code in which it runs a group. */
kdl_status cc_restate_linker_error(cc_job *job, kdl_status status);
kdl_status cc_lower_groups(cc_job *job, const char *items, const char *out_path);

/* Makes the image of the job's target from `code`. Sets `kind` and `image`. */
kdl_status cc_make_image(cc_job *job);

/* The same for portable. */
kdl_status cc_make_portable(cc_job *job);

/* The same for opencl-c. */
kdl_status cc_make_opencl(cc_job *job);

/* After Clang refused a C source as OpenCL C: replaces its messages by one if the source uses a
 * keyword of OpenCL C as a name. */
kdl_status cc_explain_opencl(cc_job *job, kdl_status status);

#endif
