/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A job asks Clang three times: for the kernels (-ast-dump), for their signatures (constants in
 * IR), and for the code, of which it makes the image (make_image.c).
 */
#include "base/error.h"
#include "cc/ir/atomic_places.h"
#include "cc/ir/bf16.h"
#include "cc/job/backend_errors.h"
#include "cc/job/checks.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "cc/job/vendor_language.h"
#include "cc/source/signature.h"
#include "cc/source/waiting.h"
#include "image/opencl_c.h"
#include "system/loader.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The kernels                                                                                  */

static void write_queries(FILE *out, const cc_job *job) {
  cc_signature_ask(out, job->target, job->source->language, &job->kernels);
}

static bool last_has(const cc_job *job, const char *words) {
  return job->message_count && kdl_text_contains(job->messages[job->message_count - 1], words);
}

/* What a file lacks that was written for another compiler. */
static kdl_status hint(cc_job *job, kdl_status status) {
  kdl_string text = {"", 0};
  if (status != KDL_BAD_FILE || cc_vendor_is(job) || job->source->language == CC_OPENCL_C ||
      cc_text_read(&job->arena, job->source->path, &text) != KDL_OK)
    return status;
  if (last_has(job, "' file not found"))
    cc_add_message(job,
                   "%s: note: kernels have no C or C++ library: <stdint.h>, <stddef.h> and the "
                   "like are there, <kdl/kernel.h>, <kdl/math.h>, and what -I names",
                   job->source->path);
  else if (!kdl_text_contains(text, "kdl/kernel.h") && !kdl_text_contains(text, "gpuintrin.h") &&
           !kdl_text_contains(text, "#include \"") && /* which may include it */
           (last_has(job, "KDL_") || last_has(job, "__gpu_") || last_has(job, "__kernel") ||
            last_has(job, "__global")))
    cc_add_message(job,
                   "%s: note: found no #include of <kdl/kernel.h> or <gpuintrin.h>; -x says what "
                   "language a file is in that is not C for kernels",
                   job->source->path);
  return status;
}

/* Whether OpenCL C 1.2 lacks what opencl/rewrite.h has words for. */
static bool may_be_relaxed(const cc_job *job) {
  return job->target->family == CC_OPENCL && job->source->language == CC_C && !job->is_relaxed &&
         (last_has(job, "program scope variable must reside in constant address space") ||
          last_has(job, "variables in function scope cannot be declared static"));
}

/* OpenCL C has no kernel of that name: job_steps.c compiles it under another. */
static void name_main(cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    cc_kernel *kernel = &kernels->items[i];
    if (strcmp(kernel->name, KDL_OPENCL_C_PREFIX "main") == 0)
      kernel->name = "main";
  }
}

static kdl_status read_kernels(cc_job *job) {
  const char *path = cc_file_of(job, "ast");
  kdl_string ast = {"", 0};
  kdl_words words = cc_start_clang(job, job->source->path);
  kdl_words_add(&words, "-DKDL_CC_READS");
  kdl_words_add(&words, "-fno-color-diagnostics"); /* or the dump has colours */
  kdl_words_add(&words, "-fsyntax-only");
  kdl_words_add(&words, "-Xclang");
  kdl_words_add(&words, "-ast-dump");
  if (job->plan->depends) {
    kdl_words_add(&words, job->plan->depends);
    kdl_words_add(&words, "-MF");
    kdl_words_format(&words, "%s/%zu.d", job->plan->folder, job->number);
    kdl_words_add(&words, "-MT");
    kdl_words_add(&words, "image");
  }
  kdl_status status = path ? cc_step(job, &words, path) : cc_no_memory(job);
  if (status == KDL_BAD_FILE && may_be_relaxed(job)) {
    --job->message_count;
    job->is_told = false;
    job->is_relaxed = true;
    return read_kernels(job);
  }
  if (status == KDL_OK)
    status = cc_read_file(job, path, &ast);
  if (status == KDL_OK)
    status = cc_kernels_read(&job->arena, ast, &job->kernels);
  if (job->target->family == CC_OPENCL)
    name_main(&job->kernels);
  if (status != KDL_OK || job->kernels.count)
    return status;
  if (!job->plan->bitcode)
    return cc_refuse_at(job, (cc_place){.line = 0},
                        "found no kernel, expected a function with __gpu_kernel");
  if (job->kernels.microkernel_count == 0)
    return cc_refuse_at(job, (cc_place){.line = 0},
                        "found no kernel and no microkernel, expected a function with __gpu_kernel "
                        "or KDL_UKERNEL");
  return KDL_OK;
}

static kdl_status read_waiting(cc_job *job, kdl_string ir) {
  char linker[PATH_MAX];
  job->kernels.can_relax = kdl_linker_path(linker);
  return cc_waiting_read(&job->arena, ir, &job->kernels);
}

static kdl_status read_signatures(cc_job *job) {
  const char *source = cc_file_of(job, "queries.src");
  const char *answers = cc_file_of(job, "answers.ll");
  kdl_string ir = {"", 0};
  job->calls_math = job->kernels.count == 0; /* maybe: microkernels are not asked about */
  if (job->kernels.count == 0)
    return KDL_OK;
  kdl_status status = cc_write_file(job, source, true, write_queries);
  if (status == KDL_OK)
    status = cc_compile(
        job, source,
        CC_WORDS("-w", "-O0", "-S", "-emit-llvm", "-gline-tables-only", "-DKDL_CC_ASKS"), answers);
  if (status == KDL_OK)
    status = cc_read_file(job, answers, &ir);
  if (status == KDL_OK && !job->plan->bitcode && !cc_vendor_is(job))
    status = cc_check_code(job, ir);
  if (status == KDL_OK && job->target->family == CC_HOST)
    status = read_waiting(job, ir);
  job->calls_math = status == KDL_OK && cc_examine_math(ir, job->target, &job->calls_libm);
  job->has_bf16 = status == KDL_OK && cc_bf16_is_in(ir);
  job->has_group_atomics = status == KDL_OK && cc_atomic_places_may_be(ir);
  job->has_int64_atomics = status == KDL_OK && (kdl_text_contains(ir, "@_Z8atom_add") ||
                                                kdl_text_contains(ir, "@_Z12atom_cmpxchg"));
  job->has_half = status == KDL_OK && cc_examine_type(ir, " half").line != 0;
  job->has_double = status == KDL_OK && cc_examine_type(ir, " double").line != 0;
  return status == KDL_OK ? cc_signature_read(&job->arena, ir, &job->kernels) : status;
}

/* What a language has no image for, on this target. */
static kdl_status check_language(cc_job *job) {
  cc_language language = job->source->language;
  bool is_opencl = job->target->family == CC_OPENCL;
  if (language == CC_CXX && is_opencl)
    return cc_refuse(
        job,
        "%s: opencl-c is the source itself, for drivers that take C alone; C++ becomes "
        "spirv64 for OpenCL's drivers, or --variant=targets=opencl-c:FILE.c says what to "
        "take in its place",
        job->source->path);
  if (language == CC_OPENCL_C && !is_opencl)
    return cc_refuse(
        job,
        "%s: OpenCL C is for the target opencl-c alone; C that includes <kdl/kernel.h> "
        "is for all (-x c takes the file as that)",
        job->source->path);
  const char *refusal = cc_vendor_is(job) ? cc_vendor_refusal(job) : NULL;
  if (refusal)
    return cc_refuse(job, "%s: %s", job->source->path, refusal);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The whole                                                                                    */

static void add_asked_features(cc_job *job) {
  kdl_feature_set asked = {{0, 0}};
  kdl_feature_parse(job->target->features, kdl_text_of(job->source->features), &asked, NULL);
  kdl_feature_join(&job->needs, asked);
}

static kdl_status find_kernels(cc_job *job) {
  return hint(job, cc_explain_opencl(job, read_kernels(job)));
}

/* From the source to the image, each where those before it went well. */
static kdl_status (*const steps[])(cc_job *job) = {
    check_language,   find_kernels, cc_check_declarations, read_signatures,
    cc_check_kernels, cc_find_code, cc_make_image,         cc_check_image,
};

void cc_job_run(cc_job *job) {
  kdl_status status = KDL_OK;
  job->has_int64_atomics = true;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && status == KDL_OK; ++i)
    status = steps[i](job);
  add_asked_features(job);
  if (status != KDL_OK && !job->trouble)
    cc_backend_error_place(job);
  if (status != KDL_OK && !job->trouble && !job->is_told)
    job->trouble = kdl_arena_format(&job->arena, "%s", kdl_error_message());
  job->status = status;
}

void cc_job_free(cc_job *job) {
  kdl_arena_free(&job->arena);
}
