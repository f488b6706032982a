/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/job_steps.h"

#include "cc/job/math.h"
#include "cc/source/wrapper.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"
#include "tools/common/lines.h"
#include "tools/common/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Messages                                                                                     */

/* Line tables omit the current folder from the path of a file below it. */
static bool is_source(const cc_job *job, kdl_string file) {
  kdl_string path = kdl_text_of(job->source->path);
  return file.length < path.length && path.data[path.length - file.length - 1] == '/' &&
         kdl_text_has_suffix(path, file);
}

kdl_status cc_error(cc_job *job, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_fail_va(KDL_BAD_FILE, format, args);
  va_end(args);
  job->error = xarena_format(&job->arena, "%s", kdl_error_message());
  return status;
}

kdl_status cc_error_at(cc_job *job, cc_location location, const char *format, ...) {
  char numbers[32] = "";
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_fail_va(KDL_BAD_FILE, format, args);
  va_end(args);
  if (location.file.length == 0 || is_source(job, location.file))
    location.file = kdl_text_of(job->source->path);
  if (location.column)
    snprintf(numbers, sizeof numbers, ":%u:%u", location.line, location.column);
  else if (location.line)
    snprintf(numbers, sizeof numbers, ":%u", location.line);
  job->has_location = true;
  job->error = xarena_format(&job->arena, "%.*s%s: error: %s", CLI_STRING_ARGS(location.file),
                             numbers, kdl_error_message());
  return status;
}

kdl_status cc_error_reserved_name(cc_job *job, const cc_kernel *kernel) {
  return cc_error_at(job, kernel->location,
                     "kernel %s has the name of a function that its own code calls, and would "
                     "call it; expected another name on the CPU",
                     kernel->name);
}

static void append_message(cc_job *job, kdl_string text) {
  *(kdl_string *)cli_list_add(&job->arena, &job->messages, sizeof text) = text;
}

void cc_add_message(cc_job *job, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  append_message(job, xarena_string(&job->arena, text, strlen(text)));
}

kdl_string cc_last_message(const cc_job *job) {
  const kdl_string *messages = job->messages.items;
  return job->messages.count ? messages[job->messages.count - 1] : (kdl_string){"", 0};
}

kdl_string cc_remove_last_message(cc_job *job) {
  kdl_string last = cc_last_message(job);
  --job->messages.count;
  job->is_explained = false;
  return last;
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

const char *cc_temp_path(cc_job *job, const char *extension) {
  return xarena_format(&job->arena, "%s/%zu.%s", job->plan->folder, job->number, extension);
}

kdl_status cc_write_text(const char *path, kdl_string text) {
  FILE *out = fopen(path, "we");
  if (!out)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot open: %s", path, strerror(errno));
  bool is_short = fwrite(text.data, 1, text.length, out) < text.length;
  if (fclose(out) != 0 || is_short)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", path, strerror(errno));
  return KDL_OK;
}

kdl_status cc_write_file(const cc_job *job, const char *path, bool copies,
                         void (*write)(FILE *out, const cc_job *job)) {
  char *text;
  size_t length;
  FILE *out = xtext_stream(&text, &length);
  kdl_status status = copies ? cc_source_copy(out, job->source->path) : KDL_OK;
  write(out, job);
  xtext_close(out);
  if (status == KDL_OK)
    status = cc_write_text(path, (kdl_string){text, length});
  free(text);
  return status;
}

kdl_status cc_read_file(cc_job *job, const char *path, kdl_string *out_text) {
  return cc_read_text_file(&job->arena, path, out_text);
}

/* ------------------------------------------------------------------------------------------ */
/* Clang's options                                                                              */

kdl_status cc_run_step(cc_job *job, const kdl_string_list *words, const char *out_path) {
  cc_process_result ended;
  char end[CC_EXIT_TEXT_SIZE];
  if (job->plan->verbose) {
    char *shell = cli_check_alloc(kdl_string_list_shell_command(words));
    cli_text_printf(stderr, "%s%s%s\n", shell, out_path ? " > " : "", out_path ? out_path : "");
    free(shell);
  }
  KDL_TRY(cc_run_process(&job->arena, words, out_path, &ended));
  if (ended.messages.length)
    append_message(job, ended.messages);
  if (ended.code == 0)
    return KDL_OK;
  job->is_explained = job->messages.count > 0;
  if (!job->is_explained || ended.code > 256)
    return cc_error(job, "%s ended with %s", words->items[0], cc_format_exit(ended.code, end));
  return kdl_fail(KDL_BAD_FILE, "%s failed", words->items[0]);
}

void cc_add_words(kdl_string_list *words, const char *const *more) {
  for (; *more; ++more)
    kdl_string_list_append(words, *more);
}

static void add_features(kdl_string_list *words, const cc_job *job) {
  const cc_target *target = job->target;
  kdl_feature_set set = target->extra_features;
  kdl_feature_set asked = {{0, 0}};
  kdl_feature_parse(target->features, kdl_text_of(job->source->features), &asked, NULL);
  kdl_feature_join(&set, asked);
  for (unsigned bit = 0; bit < 128; ++bit) {
    char name[64];
    if (!kdl_feature_has(set, bit) || !kdl_feature_name(target->features, bit))
      continue;
    cc_target_feature_name(target->features, bit, name, sizeof name);
    if (!*name)
      continue;
    cc_add_words(words, CC_WORDS("-Xclang", "-target-feature", "-Xclang"));
    kdl_string_list_append_format(words, "+%s", name);
  }
}

static void add_target(kdl_string_list *words, const cc_job *job) {
  const cc_target *target = job->target;
  kdl_string_list_append_format(words, "--target=%s", target->triple);
  switch (target->family) {
  case CC_NVIDIA:
    kdl_string_list_append_format(words, "-march=%s", target->cpu);
    /* The default would be that of the installed CUDA, or one too old for the architecture. */
    kdl_string_list_append_format(words, "--cuda-feature=+ptx%u", target->ptx);
    cc_add_words(words, CC_WORDS("-Wno-unknown-cuda-version", "-nogpulib"));
    break;
  case CC_AMD:
    kdl_string_list_append_format(words, "-mcpu=%s", target->cpu);
    /* Version 6 introduced generic processors; drivers that know nothing else of it know 5. A
     * launch has whole blocks only; from Clang 23 on kernels would check that. */
    cc_add_words(
        words, CC_WORDS(target->is_generic ? "-mcode-object-version=6" : "-mcode-object-version=5",
                        "-foffload-uniform-block", "-nogpulib"));
    break;
  case CC_HOST:
    /* Clang for AArch64 has one option for versions of the architecture, and another for CPUs. */
    kdl_string_list_append_format(words, "%s=%s", target->is_cpu ? "-mcpu" : "-march", target->cpu);
    /* KDL_LOCAL is on the stack; outlined atomics would need a library. */
    cc_add_words(words,
                 CC_WORDS("-fPIC", "-fvisibility=hidden", "-fstack-clash-protection",
                          "-Wframe-larger-than=262144", "-Werror=frame-larger-than",
                          target->features == KDL_CLASS_AARCH64 ? "-mno-outline-atomics" : NULL));
    add_features(words, job);
    break;
  case CC_PORTABLE:
    /* Nothing of this processor is in the image: kdl-ld checks that. */
    cc_add_words(words, CC_WORDS("-march=sm_80", "--cuda-feature=+ptx70", "-nogpulib",
                                 "-Wno-unknown-cuda-version", "-DKDL_PORTABLE", "-U__NVPTX__",
                                 "-U__PTX__", "-U__CUDA_ARCH__"));
    break;
  case CC_SPIRV:
  case CC_OPENCL:
    break;
  }
}

/* NVPTX's part of <gpuintrin.h> needs C17. C++ gets no library, exceptions or initialisers that run
 * before and after a program. */
static void add_standard(kdl_string_list *words, const cc_job *job) {
  if (job->target->family == CC_OPENCL) {
    kdl_string_list_append(words, "-xcl");
    if (job->source->language == CC_C) /* OpenCL C allows no kernel of that name */
      kdl_string_list_append(words, "-Dmain=" KDL_OPENCL_C_PREFIX "main");
    /* A later version has file-scope variables and generic pointers to them. */
    cc_add_words(words, job->is_relaxed
                            ? CC_WORDS("-cl-std=CL3.0", "-Xclang",
                                       "-cl-ext=+__opencl_c_program_scope_global_variables,"
                                       "+__opencl_c_generic_address_space",
                                       "-Wno-builtin-macro-redefined", "-U__OPENCL_C_VERSION__",
                                       "-D__OPENCL_C_VERSION__=120")
                            : CC_WORDS("-cl-std=" CC_OPENCL_VERSION));
    return;
  }
  /* -Wno-duplicate-decl-specifier: __gpu_kernel may repeat extern "C". */
  cc_add_words(words, job->source->language == CC_CXX
                          ? CC_WORDS("-xc++", "-std=gnu++17", "-nostdinc++", "-fno-exceptions",
                                     "-fno-rtti", "-fno-threadsafe-statics",
                                     "-Wno-duplicate-decl-specifier", "-Werror=global-constructors",
                                     "-Werror=exit-time-destructors")
                          : CC_WORDS("-xc", "-std=gnu17"));
  /* Full complex arithmetic calls a library, and -ffast-math overrides it; char is signed, as in
   * OpenCL and on GPUs. */
  cc_add_words(words, CC_WORDS("-ffreestanding", "-fno-math-errno", "-fcomplex-arithmetic=improved",
                               "-Wno-overriding-complex-range", "-fsigned-char"));
}

/* -std=c++20 does not apply to C, and no -std= to OpenCL C, whose version is -cl-std=. */
static bool is_for_language(const char *flag, const cc_job *job) {
  if (strncmp(flag, "-std=", 5) != 0)
    return true;
  bool is_cxx = strstr(flag, "++") != NULL;
  return job->target->family != CC_OPENCL && is_cxx == (job->source->language != CC_C);
}

/* The user's flags, and macros that describe the compilation. */
static void add_user_flags(kdl_string_list *words, const cc_job *job) {
  const cc_plan *plan = job->plan;
  if (job->target->family != CC_PORTABLE)
    kdl_string_list_append_format(words, "-DKDL_TARGET=\"%s\"", job->target->name);
  kdl_string_list_append_format(words, "-DKDL_TAG=\"%s\"",
                                job->source->tag ? job->source->tag : "");
  for (size_t i = 0; i < plan->flag_count; ++i) {
    if (is_for_language(plan->flags[i], job))
      kdl_string_list_append(words, plan->flags[i]);
  }
  for (const char *at = job->source->defines; at && *at; at += *at == '+') {
    size_t length = strcspn(at, "+");
    kdl_string_list_append_format(words, "-D%.*s", (int)length, at);
    at += length;
  }
}

static void add_language(kdl_string_list *words, const cc_job *job) {
  const cc_plan *plan = job->plan;
  bool is_opencl = job->target->family == CC_OPENCL;
  add_standard(words, job);
  kdl_string_list_append(words, "-nostdlibinc");
  if (job->names) /* before the user's includes */
    cc_add_words(words, CC_WORDS("-include", job->names));
  if (job->target->family == CC_HOST)
    kdl_string_list_append(words, "-DKDL_CC"); /* ir/ir_text.h */
  if (job->target->family == CC_PORTABLE)
    cc_add_words(words, CC_WORDS("-include", "kdl/kernel/portable_source.h"));
  cc_math_define(words, job);
  if (is_opencl && job->has_half) /* <kdl/kernel/opencl.h> */
    kdl_string_list_append(words, "-DKDL_OPENCL_HALF");
  if (is_opencl && job->has_double) /* <kdl/math/opencl.h> */
    kdl_string_list_append(words, "-DKDL_OPENCL_DOUBLE");
  if (is_opencl && job->has_int64_atomics) /* <kdl/kernel/opencl.h> */
    kdl_string_list_append(words, "-DKDL_OPENCL_INT64_ATOMICS");
  add_user_flags(words, job);
  /* Clang has no <gpuintrin.h> here, and OpenCL no <stdint.h>: <kdl/kernel.h> replaces them. */
  if (is_opencl || job->target->family == CC_HOST || job->target->family == CC_PORTABLE)
    kdl_string_list_append_format(words, "-isystem%s/kdl/wrappers", plan->tools.include);
  if (is_opencl)
    kdl_string_list_append_format(words, "-isystem%s/kdl/wrappers/opencl", plan->tools.include);
  kdl_string_list_append_format(words, "-isystem%s/kdl/wrappers/c", plan->tools.include);
  kdl_string_list_append_format(words, "-isystem%s", plan->tools.include);
}

/* Debugging information and __FILE__ have paths from the source's folder, the current one and the
 * headers' on, so that the same source gives the same bytes wherever it lies. The user's own maps
 * come later and count more. */
static void add_path_maps(kdl_string_list *words, const cc_job *job) {
  const char *slash = strrchr(job->source->path, '/');
  char folder[PATH_MAX];
  cc_add_words(words, CC_WORDS("-ffile-compilation-dir=.", "-ffile-prefix-map=./="));
  kdl_string_list_append_format(words, "-ffile-prefix-map=%s/=", job->plan->tools.include);
  if (getcwd(folder, sizeof folder))
    kdl_string_list_append_format(words, "-ffile-prefix-map=%s/=", folder);
  if (slash && slash != job->source->path)
    kdl_string_list_append_format(
        words, "-ffile-prefix-map=%.*s/=", (int)(slash - job->source->path), job->source->path);
}

kdl_string_list cc_clang_command(cc_job *job, const char *path) {
  const cc_plan *plan = job->plan;
  const char *slash = strrchr(job->source->path, '/');
  kdl_string_list words = {.arena = &job->arena};
  kdl_string_list_append(&words, plan->tools.clang);
  add_path_maps(&words, job);
  if (cc_is_vendor_language(job)) {
    cc_vendor_add_flags(&words, job);
    add_user_flags(&words, job);
    kdl_string_list_append_format(&words, "-isystem%s", plan->tools.include);
  } else {
    add_target(&words, job);
    add_language(&words, job);
  }
  kdl_string_list_append_format(&words, "-O%s", plan->optimization);
  kdl_string_list_append(&words, "-fno-crash-diagnostics"); /* crash reports are files that stay */
  if (plan->colour)
    kdl_string_list_append(&words, "-fcolor-diagnostics");
  if (path != job->source->path) /* a copy: its includes are relative to the source */
    kdl_string_list_append_format(&words, "-iquote%.*s",
                                  slash ? (int)(slash - job->source->path) + 1 : 1,
                                  slash ? job->source->path : ".");
  if (path != job->source->path) /* the copy's name means nothing to a debugger */
    kdl_string_list_append_format(&words, "-ffile-prefix-map=%s=%s", path,
                                  slash ? slash + 1 : job->source->path);
  kdl_string_list_append(&words, path);
  return words;
}

kdl_string_list cc_compile_command(cc_job *job, const char *path) {
  kdl_string_list words = cc_clang_command(job, path);
  kdl_string_list_append(&words, "-Wno-unused-const-variable");
  return words;
}

static kdl_status run_compile_step(cc_job *job, kdl_string_list *words, const char *const *more,
                                   const char *out_path) {
  cc_add_words(words, more);
  cc_add_words(words, CC_WORDS("-o", out_path));
  return cc_run_step(job, words, NULL);
}

kdl_status cc_compile(cc_job *job, const char *path, const char *const *more,
                      const char *out_path) {
  kdl_string_list words = cc_compile_command(job, path);
  return run_compile_step(job, &words, more, out_path);
}

kdl_status cc_compile_with_math(cc_job *job, const char *path, const char *const *more,
                                const char *out_path) {
  KDL_TRY(cc_math_prepare(job));
  kdl_string_list words = cc_compile_command(job, path);
  cc_math_link(&words, job);
  return run_compile_step(job, &words, more, out_path);
}

/* The source's options apply too: some configure the passes. */
kdl_status cc_compile_ir(cc_job *job, const char *path, const char *const *more,
                         const char *out_path) {
  kdl_string_list words = {.arena = &job->arena};
  kdl_string_list_append(&words, job->plan->tools.clang);
  add_target(&words, job);
  kdl_string_list_append_format(&words, "-O%s", job->plan->optimization);
  for (size_t i = 0; i < job->plan->flag_count; ++i)
    kdl_string_list_append(&words, job->plan->flags[i]);
  cc_add_words(&words, CC_WORDS("-Qunused-arguments", "-fno-crash-diagnostics"));
  cc_math_link(&words, job);
  cc_add_words(&words, more);
  return run_compile_step(job, &words, CC_WORDS("-xir", path), out_path);
}

kdl_status cc_compile_text(cc_job *job, const char *path, const char *const *more,
                           const char *out_path, kdl_string *out_text) {
  KDL_TRY(cc_compile(job, path, more, out_path));
  return cc_read_file(job, out_path, out_text);
}
