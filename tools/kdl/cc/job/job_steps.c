/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/job_steps.h"

#include "base/error.h"
#include "cc/job/math.h"
#include "cc/job/vendor_language.h"
#include "cc/source/wrapper.h"
#include "image/opencl_c.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Steps                                                                                        */

kdl_status cc_no_memory(const cc_job *job) {
  return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for %s", job->source->path, job->label);
}

/* Words that kdl says itself, which go before the compilers'. */
kdl_status cc_refuse(cc_job *job, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_fail_va(KDL_BAD_FILE, format, args);
  va_end(args);
  job->trouble = kdl_arena_format(&job->arena, "%s", kdl_error_message());
  return status;
}

/* Line tables have the path of a file below the current folder without that folder's. */
static bool is_source(const cc_job *job, kdl_string file) {
  kdl_string path = kdl_text_of(job->source->path);
  return file.length < path.length && path.data[path.length - file.length - 1] == '/' &&
         kdl_text_equal(kdl_text_from(path, path.length - file.length), file);
}

kdl_status cc_refuse_at(cc_job *job, cc_place place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_fail_va(KDL_BAD_FILE, format, args);
  va_end(args);
  if (place.file.length == 0 || is_source(job, place.file))
    place.file = kdl_text_of(job->source->path);
  const char *words = kdl_error_message();
  job->has_place = true;
  job->trouble =
      place.column ? kdl_arena_format(&job->arena, "%.*s:%u:%u: error: %s", (int)place.file.length,
                                      place.file.data, place.line, place.column, words)
      : place.line ? kdl_arena_format(&job->arena, "%.*s:%u: error: %s", (int)place.file.length,
                                      place.file.data, place.line, words)
                   : kdl_arena_format(&job->arena, "%.*s: error: %s", (int)place.file.length,
                                      place.file.data, words);
  return status;
}

const char *cc_file_of(cc_job *job, const char *extension) {
  return kdl_arena_format(&job->arena, "%s/%zu.%s", job->plan->folder, job->number, extension);
}

static kdl_status add_message(cc_job *job, kdl_string text) {
  kdl_string *messages = kdl_arena_alloc(&job->arena, (job->message_count + 1) * sizeof *messages);
  if (!messages)
    return cc_no_memory(job);
  if (job->message_count)
    memcpy(messages, job->messages, job->message_count * sizeof *messages);
  messages[job->message_count++] = text;
  job->messages = messages;
  return KDL_OK;
}

void cc_add_message(cc_job *job, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *kept = kdl_arena_format(&job->arena, "%s\n", text);
  if (kept)
    add_message(job, kdl_text_of(kept));
}

/* KDL_BAD_FILE where the program fails; its messages then say why. */
kdl_status cc_step(cc_job *job, const kdl_words *words, const char *out_path) {
  char *shell = job->plan->verbose ? kdl_words_shell(words) : NULL;
  cc_ended ended;
  char end[CC_END_ROOM];
  if (shell)
    fprintf(stderr, "%s%s%s\n", shell, out_path ? " > " : "", out_path ? out_path : "");
  free(shell);
  kdl_status status = cc_run(&job->arena, words, out_path, &ended);
  if (status == KDL_OK && ended.messages.length)
    status = add_message(job, ended.messages);
  if (status != KDL_OK || ended.code == 0)
    return status;
  job->is_told = job->message_count > 0;
  if (!job->is_told || ended.code > 256)
    return cc_refuse(job, "%s ended with %s", words->items[0], cc_end_words(ended.code, end));
  return kdl_fail(KDL_BAD_FILE, "%s failed", words->items[0]);
}

kdl_status cc_refuse_name(cc_job *job, const cc_kernel *kernel) {
  return cc_refuse_at(job, kernel->place,
                      "kernel %s has the name of a function that its own code calls, and would "
                      "call it; expected another name on the CPU",
                      kernel->name);
}

kdl_status cc_write_file(cc_job *job, const char *path, bool copies,
                         void (*write)(FILE *out, const cc_job *job)) {
  FILE *out = path ? fopen(path, "we") : NULL;
  if (!out)
    return path ? kdl_fail(kdl_status_of(errno), "%s: cannot open: %s", path, strerror(errno))
                : cc_no_memory(job);
  kdl_status status = copies ? cc_source_copy(out, job->source->path) : KDL_OK;
  if (status == KDL_OK)
    write(out, job);
  int failed = ferror(out);
  if (fclose(out) != 0 || failed)
    return status == KDL_OK
               ? kdl_fail(kdl_status_of(errno), "%s: cannot write: %s", path, strerror(errno))
               : status;
  return status;
}

kdl_status cc_read_file(cc_job *job, const char *path, kdl_string *out_text) {
  return path ? cc_text_read(&job->arena, path, out_text) : cc_no_memory(job);
}

/* ------------------------------------------------------------------------------------------ */
/* Clang's words                                                                                */

static void add_features(kdl_words *words, const cc_job *job) {
  const cc_target *target = job->target;
  kdl_feature_set set = target->plus;
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
    kdl_words_add(words, "-Xclang");
    kdl_words_add(words, "-target-feature");
    kdl_words_add(words, "-Xclang");
    kdl_words_format(words, "+%s", name);
  }
}

static void add_target(kdl_words *words, const cc_job *job) {
  const cc_target *target = job->target;
  kdl_words_format(words, "--target=%s", target->triple);
  switch (target->family) {
  case CC_NVIDIA:
    kdl_words_format(words, "-march=%s", target->cpu);
    /* Otherwise it is that of the CUDA installed here, or one too old for the architecture. */
    kdl_words_format(words, "--cuda-feature=+ptx%u", target->ptx);
    kdl_words_add(words, "-Wno-unknown-cuda-version");
    kdl_words_add(words, "-nogpulib");
    break;
  case CC_AMD:
    kdl_words_format(words, "-mcpu=%s", target->cpu);
    /* Version 6 introduced generic processors; drivers that know no other part of it know 5. */
    kdl_words_add(words,
                  target->is_generic ? "-mcode-object-version=6" : "-mcode-object-version=5");
    kdl_words_add(words, "-nogpulib");
    break;
  case CC_HOST:
    /* Clang for AArch64 takes versions of the architecture by one name, and CPUs by the other. */
    kdl_words_format(words, "%s=%s", target->is_cpu ? "-mcpu" : "-march", target->cpu);
    kdl_words_add(words, "-fPIC");
    kdl_words_add(words, "-fvisibility=hidden");
    if (target->features == KDL_CLASS_AARCH64)
      kdl_words_add(words, "-mno-outline-atomics");   /* which are a library's */
    kdl_words_add(words, "-fstack-clash-protection"); /* KDL_LOCAL lies on the stack */
    kdl_words_add(words, "-Wframe-larger-than=262144");
    kdl_words_add(words, "-Werror=frame-larger-than");
    add_features(words, job);
    break;
  case CC_SPIRV:
  case CC_OPENCL:
    break;
  }
}

/* With variables outside of functions and plain pointers to them, under the name of the other. */
static void add_later_version(kdl_words *words) {
  static const char *const later[] = {
      "-cl-std=CL3.0",
      "-Xclang",
      "-cl-ext=+__opencl_c_program_scope_global_variables,+__opencl_c_generic_address_space",
      "-Wno-builtin-macro-redefined",
      "-U__OPENCL_C_VERSION__",
      "-D__OPENCL_C_VERSION__=120"};
  for (size_t i = 0; i < sizeof later / sizeof *later; ++i)
    kdl_words_add(words, later[i]);
}

/* NVPTX's part of <gpuintrin.h> is no older C than 17. What C++ would leave to a program that
 * starts and ends is not there. */
static void add_standard(kdl_words *words, const cc_job *job) {
  if (job->target->family == CC_OPENCL) {
    kdl_words_add(words, "-xcl");
    if (job->source->language == CC_C) /* which OpenCL C lets no kernel have */
      kdl_words_add(words, "-Dmain=" KDL_OPENCL_C_PREFIX "main");
    if (job->is_relaxed)
      add_later_version(words);
    else
      kdl_words_add(words, "-cl-std=" CC_OPENCL_VERSION);
    return;
  }
  if (job->source->language == CC_CXX) {
    static const char *const cxx[] = {"-xc++", "-std=gnu++17", "-nostdinc++", "-fno-exceptions",
                                      "-fno-rtti", "-fno-threadsafe-statics",
                                      /* of extern "C" twice, which __gpu_kernel may be */
                                      "-Wno-duplicate-decl-specifier",
                                      "-Werror=global-constructors",
                                      "-Werror=exit-time-destructors"};
    for (size_t i = 0; i < sizeof cxx / sizeof *cxx; ++i)
      kdl_words_add(words, cxx[i]);
  } else {
    kdl_words_add(words, "-xc");
    kdl_words_add(words, "-std=gnu17");
  }
  kdl_words_add(words, "-ffreestanding");
  kdl_words_add(words, "-fno-math-errno");
  kdl_words_add(words, "-fcomplex-arithmetic=improved"); /* the full one calls a library */
  kdl_words_add(words, "-Wno-overriding-complex-range"); /* by -ffast-math */
  kdl_words_add(words, "-fsigned-char");                 /* as in OpenCL and on GPUs */
}

/* -std=c++20 is not for C, and no -std= for OpenCL C, whose version is -cl-std=. */
static bool is_for_language(const char *flag, const cc_job *job) {
  if (strncmp(flag, "-std=", 5) != 0)
    return true;
  bool is_cxx = strstr(flag, "++") != NULL;
  return job->target->family != CC_OPENCL && is_cxx == (job->source->language != CC_C);
}

/* What the user says, and what says what is compiled for. */
static void add_words(kdl_words *words, const cc_job *job) {
  const cc_plan *plan = job->plan;
  kdl_words_format(words, "-DKDL_TARGET=\"%s\"", job->target->name);
  kdl_words_format(words, "-DKDL_TAG=\"%s\"", job->source->tag ? job->source->tag : "");
  for (size_t i = 0; i < plan->flag_count; ++i) {
    if (is_for_language(plan->flags[i], job))
      kdl_words_add(words, plan->flags[i]);
  }
}

static void add_language(kdl_words *words, const cc_job *job) {
  const cc_plan *plan = job->plan;
  bool is_opencl = job->target->family == CC_OPENCL;
  add_standard(words, job);
  kdl_words_add(words, "-nostdlibinc");
  if (job->names) { /* before anything that the user includes */
    kdl_words_add(words, "-include");
    kdl_words_add(words, job->names);
  }
  if (job->target->family == CC_HOST)
    kdl_words_add(words, "-DKDL_CC"); /* group_variables.h */
  cc_math_define(words, job);
  if (is_opencl && job->has_half) /* <kdl/kernel/opencl.h> */
    kdl_words_add(words, "-DKDL_OPENCL_HALF");
  if (is_opencl && job->has_double) /* <kdl/math/opencl.h> */
    kdl_words_add(words, "-DKDL_OPENCL_DOUBLE");
  if (is_opencl && job->has_int64_atomics) /* <kdl/kernel/opencl.h> */
    kdl_words_add(words, "-DKDL_OPENCL_INT64_ATOMICS");
  add_words(words, job);
  /* Where Clang has no <gpuintrin.h>, and OpenCL no <stdint.h>, <kdl/kernel.h> stands in. */
  if (is_opencl || job->target->family == CC_HOST)
    kdl_words_format(words, "-isystem%s/kdl/stand_in", plan->tools.include);
  if (is_opencl)
    kdl_words_format(words, "-isystem%s/kdl/stand_in/opencl", plan->tools.include);
  kdl_words_format(words, "-isystem%s/kdl/stand_in/c", plan->tools.include);
  kdl_words_format(words, "-isystem%s", plan->tools.include);
}

/* A command that compiles `path`, but for what to make of it. */
kdl_words cc_start_clang(cc_job *job, const char *path) {
  const cc_plan *plan = job->plan;
  const char *slash = strrchr(job->source->path, '/');
  kdl_words words = {.arena = &job->arena};
  kdl_words_add(&words, plan->tools.clang);
  if (cc_vendor_is(job)) {
    cc_vendor_add(&words, job);
    add_words(&words, job);
    kdl_words_format(&words, "-isystem%s", plan->tools.include);
  } else {
    add_target(&words, job);
    add_language(&words, job);
  }
  kdl_words_format(&words, "-O%s", plan->optimization);
  kdl_words_add(&words, "-fno-crash-diagnostics"); /* which are files that stay */
  if (plan->colour)
    kdl_words_add(&words, "-fcolor-diagnostics");
  if (path != job->source->path) /* a copy, whose includes are the source's */
    kdl_words_format(&words, "-iquote%.*s", slash ? (int)(slash - job->source->path) + 1 : 1,
                     slash ? job->source->path : ".");
  if (path != job->source->path) /* and whose own name is nothing to a debugger */
    kdl_words_format(&words, "-ffile-prefix-map=%s=%s", path, job->source->path);
  kdl_words_add(&words, path);
  return words;
}

kdl_words cc_start_compiling(cc_job *job, const char *path) {
  kdl_words words = cc_start_clang(job, path);
  kdl_words_add(&words, "-Wno-unused-const-variable");
  return words;
}

kdl_status cc_compile(cc_job *job, const char *path, const char *const *more,
                      const char *out_path) {
  if (!path || !out_path)
    return cc_no_memory(job);
  kdl_words words = cc_start_compiling(job, path);
  for (; *more; ++more)
    kdl_words_add(&words, *more);
  kdl_words_add(&words, "-o");
  kdl_words_add(&words, out_path);
  return cc_step(job, &words, NULL);
}

/* The options of the source's own count here too: some are those of the passes. */
kdl_words cc_start_ir(cc_job *job) {
  kdl_words words = {.arena = &job->arena};
  kdl_words_add(&words, job->plan->tools.clang);
  add_target(&words, job);
  kdl_words_format(&words, "-O%s", job->plan->optimization);
  for (size_t i = 0; i < job->plan->flag_count; ++i)
    kdl_words_add(&words, job->plan->flags[i]);
  kdl_words_add(&words, "-Qunused-arguments");
  kdl_words_add(&words, "-fno-crash-diagnostics");
  return words;
}
