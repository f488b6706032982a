/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A job asks Clang three times: for the kernels (-ast-dump), for their signatures (constants in
 * IR), and for the code, of which it makes the image (make_image.c).
 */
#include "base/error.h"
#include "cc/ir/bf16.h"
#include "cc/job/backend_errors.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "cc/job/vendor_language.h"
#include "cc/source/signature.h"
#include "cc/source/waiting.h"
#include "system/loader.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The kernels                                                                                  */

static void write_questions(FILE *out, const cc_job *job) {
  cc_signature_ask(out, job->target, job->source->language, &job->kernels);
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
  if (status == KDL_OK)
    status = cc_read_file(job, path, &ast);
  if (status == KDL_OK)
    status = cc_kernels_read(&job->arena, ast, &job->kernels);
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

/* Every linker and driver would notice, each in its own way, and LLVM's SPIR-V backend by dying. */
static kdl_status refuse_undefined(cc_job *job, kdl_string ir) {
  kdl_string name = cc_examine_undefined(ir, job->target);
  if (name.length == 0)
    return KDL_OK;
  if (kdl_text_is(name, "printf"))
    return cc_refuse_at(
        job, cc_examine_use(ir, name),
        "printf writes nowhere here: of kernels, those of opencl-c and of CUDA files "
        "have it, from their drivers");
  return cc_refuse_at(job, cc_examine_use(ir, name),
                      "%.*s is called and not defined; --emit=bitcode leaves it to a later link",
                      (int)name.length, name.data);
}

static kdl_status read_waiting(cc_job *job, kdl_string ir) {
  char linker[PATH_MAX];
  job->kernels.can_relax = kdl_linker_path(linker);
  return cc_waiting_read(&job->arena, ir, &job->kernels);
}

static kdl_status read_signatures(cc_job *job) {
  const char *source = cc_file_of(job, "questions.src");
  const char *answers = cc_file_of(job, "answers.ll");
  kdl_string ir = {"", 0};
  job->calls_math = job->kernels.count == 0; /* maybe: microkernels are not asked about */
  if (job->kernels.count == 0)
    return KDL_OK;
  kdl_status status = cc_write_file(job, source, true, write_questions);
  if (status == KDL_OK)
    status = cc_compile(
        job, source,
        CC_WORDS("-w", "-O0", "-S", "-emit-llvm", "-gline-tables-only", "-DKDL_CC_ASKS"), answers);
  if (status == KDL_OK)
    status = cc_read_file(job, answers, &ir);
  if (status == KDL_OK && !job->plan->bitcode && !cc_vendor_is(job))
    status = refuse_undefined(job, ir);
  if (status == KDL_OK && job->target->family == CC_HOST)
    status = read_waiting(job, ir);
  job->calls_math = status == KDL_OK && cc_examine_math(ir, job->target, &job->calls_libm);
  job->has_bf16 = status == KDL_OK && cc_bf16_is_in(ir);
  job->has_half = status == KDL_OK && cc_examine_type(ir, " half").line != 0;
  job->has_double = status == KDL_OK && cc_examine_type(ir, " double").line != 0;
  if (job->has_bf16 && job->target->family == CC_OPENCL)
    return cc_refuse_at(job, cc_examine_type(ir, " bfloat"),
                        "OpenCL C has no __bf16: keep numbers as kdl_bf16, and compute with floats "
                        "(kdl_bf16_float, kdl_float_bf16)");
  return status == KDL_OK ? cc_signature_read(&job->arena, ir, &job->kernels) : status;
}

static kdl_status check_pointers(cc_job *job, const cc_kernel *kernel) {
  for (size_t i = 0; i < kernel->param_count; ++i) {
    const cc_param *param = &kernel->params[i];
    if (!param->is_pointer || param->is_global)
      continue;
    if (strstr(param->is, "__gpu_local") || strstr(param->is, "__local"))
      return cc_refuse_at(
          job, param->place,
          "kernel %s: parameter %zu (%s) is a pointer to group memory, which no launch can give; "
          "declare the memory in the kernel: KDL_LOCAL(float, name[256])",
          kernel->name, i, param->name);
    return cc_refuse_at(job, param->place,
                        "kernel %s: parameter %zu (%s) is a plain pointer, '%s'; expected "
                        "__gpu_global before what it points to: OpenCL forbids others, and to "
                        "SPIR-V a plain one is a pointer into the function's own memory",
                        kernel->name, i, param->name, param->type);
  }
  return KDL_OK;
}

static kdl_status check_waiting(cc_job *job, const cc_kernel *kernel) {
  if (!kernel->does_group || !cc_kernel_waits(kernel))
    return KDL_OK;
  return cc_refuse_at(job, kernel->place,
                      "kernel %s does a whole group in one call (KDL_KERNEL), where no work-item "
                      "waits for another: found a call of __gpu_sync_threads, expected none",
                      kernel->name);
}

/* What compilers call on their own account, and the wrapper defines. */
static kdl_status check_name(cc_job *job, const cc_kernel *kernel) {
  static const char *const names[] = {"memcpy", "memmove", "memset"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(kernel->name, names[i]) == 0)
      return cc_refuse_name(job, kernel);
  }
  return check_waiting(job, kernel);
}

/* C++ has names for types in a function's symbol, which no launch would give. */
static kdl_status check_linkage(cc_job *job, const cc_kernel *kernel) {
  if (job->source->language == CC_C || job->source->language == CC_OPENCL_C || kernel->has_c_name ||
      kernel->does_group)
    return KDL_OK;
  return cc_refuse_at(job, kernel->place,
                      "kernel %s has C++'s linkage, and no name that a launch could give; expected "
                      "extern \"C\" before it, or the __gpu_kernel of <kdl/kernel.h>",
                      kernel->name);
}

/* A launch gives values. */
static kdl_status check_references(cc_job *job) {
  for (size_t i = 0; i < job->kernels.count; ++i) {
    const cc_kernel *kernel = &job->kernels.items[i];
    for (size_t k = 0; k < kernel->param_count; ++k) {
      const cc_param *param = &kernel->params[k];
      if (*param->is && param->is[strlen(param->is) - 1] == '&')
        return cc_refuse_at(job, param->place,
                            "kernel %s: parameter %zu (%s) is a reference, '%s', which no launch "
                            "can give; expected a value, or a pointer",
                            kernel->name, k, param->name, param->type);
    }
  }
  return KDL_OK;
}

static kdl_status check_kernels(cc_job *job) {
  bool is_host = job->target->family == CC_HOST;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < job->kernels.count && status == KDL_OK; ++i) {
    const cc_kernel *kernel = &job->kernels.items[i];
    status = check_linkage(job, kernel);
    if (status == KDL_OK)
      status = is_host             ? check_name(job, kernel)
               : cc_vendor_is(job) ? KDL_OK /* whose pointers are plain */
                                   : check_pointers(job, kernel);
  }
  return status;
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

void cc_job_run(cc_job *job) {
  kdl_status status = check_language(job);
  if (status == KDL_OK)
    status = read_kernels(job);
  if (status == KDL_OK)
    status = check_references(job);
  if (status == KDL_OK)
    status = read_signatures(job);
  if (status == KDL_OK)
    status = check_kernels(job);
  if (status == KDL_OK)
    status = cc_find_code(job);
  if (status == KDL_OK)
    status = cc_make_image(job);
  if (status == KDL_OK)
    status = cc_examine_kernels(job->kind, job->image, &job->kernels);
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
