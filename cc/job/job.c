/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A job runs Clang three times: for the kernels (-ast-dump), for their signatures (constants in
 * IR), and for the code, from which it makes the image (make_image.c).
 */
#include "cc/ast/clang_ast.h"
#include "cc/ir/ir_text.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "cc/source/wrapper.h"
#include "compiler/text/ir_text.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"
#include "support/system/loader.h"

/* ------------------------------------------------------------------------------------------ */
/* The kernels                                                                                  */

static void write_queries(FILE *out, const cc_job *job) {
  cc_signature_write_queries(out, job->target, job->source->language, &job->kernels);
}

static bool last_message_contains(const cc_job *job, const char *words) {
  return kdl_text_contains(cc_last_message(job), words);
}

/* What a source written for another compiler lacks. */
static kdl_status add_hint(cc_job *job, kdl_status status) {
  kdl_string text = {"", 0};
  if (status != KDL_BAD_FILE || cc_is_vendor_language(job) ||
      job->source->language == CC_OPENCL_C ||
      cc_read_text_file(&job->arena, job->source->path, &text) != KDL_OK)
    return status;
  if (last_message_contains(job, "poisoned identifier") ||
      last_message_contains(job, "kdl_p1_is_host"))
    cc_add_message(job,
                   "%s: note: the target portable has no macro that names a device, which is known "
                   "when the image is loaded: leave out the test, use KDL_HOST as a value, or give "
                   "portable a file of its own (--variant=targets=portable:FILE)",
                   job->source->path);
  else if (last_message_contains(job, "' file not found"))
    cc_add_message(job,
                   "%s: note: kernels have no C or C++ library: <stdint.h>, <stddef.h> and the "
                   "like are there, <kdl/kernel.h>, <kdl/math.h>, and what -I names",
                   job->source->path);
  else if (!kdl_text_contains(text, "kdl/kernel.h") && !kdl_text_contains(text, "gpuintrin.h") &&
           !kdl_text_contains(text, "#include \"") && /* it may include kdl/kernel.h */
           (last_message_contains(job, "KDL_") || last_message_contains(job, "__gpu_") ||
            last_message_contains(job, "__kernel") || last_message_contains(job, "__global")))
    cc_add_message(job,
                   "%s: note: found no #include of <kdl/kernel.h> or <gpuintrin.h>; -x says what "
                   "language a file is in that is not C for kernels",
                   job->source->path);
  return status;
}

/* Whether OpenCL C 1.2 lacks what opencl/opencl_c.h rewrites. */
static bool may_be_relaxed(const cc_job *job) {
  return job->target->family == CC_OPENCL && job->source->language == CC_C && !job->is_relaxed &&
         (last_message_contains(job,
                                "program scope variable must reside in constant address space") ||
          last_message_contains(job, "variables in function scope cannot be declared static"));
}

/* OpenCL C allows no kernel of that name: job_steps.c compiles it under another. */
static void restore_main_name(cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    cc_kernel *kernel = &kernels->items[i];
    if (strcmp(kernel->name, KDL_OPENCL_C_PREFIX "main") == 0)
      kernel->name = "main";
  }
}

/* Clang's dump of the source, compiled as a later OpenCL C if that helps. */
static kdl_status dump_source(cc_job *job, kdl_string *out_dump) {
  const char *path = cc_temp_path(job, "ast");
  kdl_string_list words = cc_clang_command(job, job->source->path);
  /* -fno-color-diagnostics: the dump would have colours. */
  cc_add_words(&words, CC_WORDS("-DKDL_CC_READS", "-fno-color-diagnostics", "-fsyntax-only",
                                "-Xclang", "-ast-dump"));
  if (job->plan->depends) {
    const char *rule = xarena_format(&job->arena, "%s/%zu.d", job->plan->folder, job->number);
    cc_add_words(&words, CC_WORDS(job->plan->depends, "-MF", rule, "-MT", "image"));
  }
  kdl_status status = cc_run_step(job, &words, path);
  if (status == KDL_BAD_FILE && may_be_relaxed(job)) {
    cc_remove_last_message(job);
    job->is_relaxed = true;
    return dump_source(job, out_dump);
  }
  return status == KDL_OK ? cc_read_file(job, path, out_dump) : status;
}

static kdl_status read_kernels(cc_job *job) {
  kdl_string dump;
  KDL_TRY(dump_source(job, &dump));
  job->kernels = cc_ast_kernels(&job->arena, dump);
  if (job->target->family == CC_OPENCL)
    restore_main_name(&job->kernels);
  if (job->kernels.count)
    return KDL_OK;
  if (!job->plan->bitcode)
    return cc_error_at(job, (cc_location){.line = 0},
                       "found no kernel, expected a function with __gpu_kernel");
  if (job->kernels.microkernel_count == 0)
    return cc_error_at(job, (cc_location){.line = 0},
                       "found no kernel and no microkernel, expected a function with __gpu_kernel "
                       "or KDL_UKERNEL");
  return KDL_OK;
}

static kdl_status read_signatures(cc_job *job) {
  const char *source = cc_temp_path(job, "queries.src");
  char linker[PATH_MAX];
  kdl_string ir;
  if (job->kernels.count == 0) {
    job->calls_math = true; /* possibly: microkernels are not examined */
    return KDL_OK;
  }
  KDL_TRY(cc_write_file(job, source, true, write_queries));
  KDL_TRY(cc_compile_text(
      job, source, CC_WORDS("-w", "-O0", "-S", "-emit-llvm", "-gline-tables-only", "-DKDL_CC_ASKS"),
      cc_temp_path(job, "answers.ll"), &ir));
  if (!job->plan->bitcode && !cc_is_vendor_language(job))
    KDL_TRY(cc_check_code(job, ir));
  if (job->target->family == CC_HOST) {
    job->kernels.can_relax_atomics = kdl_linker_path(linker);
    cc_ir_find_barriers(&job->arena, ir, &job->kernels);
  }
  job->calls_math = cc_examine_math(ir, job->target, &job->calls_libm);
  job->has_bf16 = ir_text_has_bf16(ir);
  job->has_group_atomics = ir_text_may_have_atomic_addresses(ir);
  job->has_int64_atomics =
      kdl_text_contains(ir, "@_Z8atom_add") || kdl_text_contains(ir, "@_Z12atom_cmpxchg");
  job->has_half = cc_ir_location_of_type(ir, " half").line != 0;
  job->has_double = cc_ir_location_of_type(ir, " double").line != 0;
  return cc_signature_read(&job->arena, ir, &job->kernels);
}

/* Languages without an image for this target. */
static kdl_status check_language(cc_job *job) {
  cc_language language = job->source->language;
  bool is_opencl = job->target->family == CC_OPENCL;
  if (language == CC_CXX && is_opencl)
    return cc_error(
        job,
        "%s: opencl-c is the source itself, for drivers that take C alone; C++ becomes "
        "spirv64 for OpenCL's drivers, or --variant=targets=opencl-c:FILE.c says what to "
        "take in its place",
        job->source->path);
  if (language == CC_OPENCL_C && !is_opencl)
    return cc_error(job,
                    "%s: OpenCL C is for the target opencl-c alone; C that includes <kdl/kernel.h> "
                    "is for all (-x c takes the file as that)",
                    job->source->path);
  const char *refusal = cc_is_vendor_language(job) ? cc_vendor_unsupported_reason(job) : NULL;
  if (refusal)
    return cc_error(job, "%s: %s", job->source->path, refusal);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The job                                                                                      */

static kdl_status find_kernels(cc_job *job) {
  return add_hint(job, cc_explain_opencl(job, read_kernels(job)));
}

/* From the source to the image; each step runs if those before it succeeded. */
static kdl_status (*const steps[])(cc_job *job) = {
    check_language,   find_kernels,    cc_check_declarations, read_signatures,
    cc_check_kernels, cc_prepare_code, cc_make_image,         cc_check_image,
};

void cc_job_run(cc_job *job) {
  kdl_feature_set asked = {{0, 0}};
  kdl_status status = KDL_OK;
  job->has_int64_atomics = true;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && status == KDL_OK; ++i)
    status = steps[i](job);
  kdl_feature_parse(job->target->features, kdl_text_of(job->source->features), &asked, NULL);
  kdl_feature_join(&job->needs, asked);
  if (status != KDL_OK && !job->error)
    cc_locate_backend_error(job);
  if (status != KDL_OK && !job->error && !job->is_explained)
    job->error = xarena_format(&job->arena, "%s", kdl_error_message());
  job->status = status;
}
