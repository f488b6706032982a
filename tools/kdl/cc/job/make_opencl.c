/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The image of opencl-c is the source after the preprocessor, with what OpenCL C 1.2 lacks put in
 * its words (opencl/rewrite.h). That it compiles, and what it needs, is found out by compiling it
 * to SPIR-V.
 */
#include "base/error.h"
#include "base/text_stream.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "cc/opencl/functions.h"
#include "cc/opencl/names.h"
#include "cc/opencl/rewrite.h"
#include "cc/source/line_marks.h"
#include "image/image.h"
#include "image/opencl_c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the flags keep products and sums apart; the last one counts. */
static bool keeps_apart(const cc_plan *plan) {
  bool is_off = false;
  for (size_t i = 0; i < plan->flag_count; ++i) {
    const char *flag = plan->flags[i];
    if (strncmp(flag, "-ffp-contract=", 14) == 0)
      is_off = strcmp(flag + 14, "off") == 0;
    else if (strncmp(flag, "-ffp-model=", 11) == 0)
      is_off = strcmp(flag + 11, "strict") == 0;
  }
  return is_off;
}

static void write_marked(FILE *out, const cc_job *job) {
  if (keeps_apart(job->plan))
    fputs("#pragma OPENCL FP_CONTRACT OFF\n", out);
  cc_line_marks_write(out, job->preprocessed);
}

/* The text with blanks in place of line marks: places in its syntax tree are then its own. */
static void write_unmarked(FILE *out, const cc_job *job) {
  kdl_string text = job->preprocessed;
  for (size_t at = 0, end; at < text.length; at = end + 1) {
    end = kdl_text_find(text, at, "\n");
    kdl_string line = {text.data + at, end - at};
    if (kdl_text_starts(line, "# "))
      fprintf(out, "%*s\n", (int)line.length, "");
    else
      fprintf(out, "%.*s\n", (int)line.length, line.data);
  }
}

typedef struct {
  FILE *out;
  const char *written; /* up to here */
} renaming;

static int rename_builtin(void *user, const char *name, size_t length) {
  renaming *to = user;
  if (!cc_opencl_has_function((kdl_string){name, length}))
    return 0;
  fwrite(to->written, 1, (size_t)(name - to->written), to->out);
  fputs(KDL_OPENCL_C_PREFIX, to->out);
  to->written = name;
  return 0;
}

/* A driver may have a macro of a function's name, and then does not find the kernel. Others of that
 * name are the driver's: <kdl/math.h> calls them. */
static kdl_status rename_kernels(cc_job *job) {
  kdl_string *text = &job->preprocessed;
  char *renamed = NULL;
  size_t length = 0;
  FILE *out = kdl_text_stream(&renamed, &length);
  if (!out)
    return cc_no_memory(job);
  renaming to = {out, text->data};
  /* Where a macro hides the kernels, none is found. */
  kdl_status status =
      kdl_image_read_kernels(KDL_IMAGE_CL, text->data, text->length, rename_builtin, &to);
  fwrite(to.written, 1, text->length - (size_t)(to.written - text->data), out);
  bool is_whole = fclose(out) == 0;
  if (is_whole && status == KDL_OK)
    *text = kdl_arena_string(&job->arena, renamed, length);
  free(renamed);
  return is_whole && text->data ? KDL_OK : cc_no_memory(job);
}

static bool is_kernel(void *user, kdl_string name) {
  const cc_job *job = user;
  for (size_t i = 0; i < job->kernels.count; ++i) {
    if (kdl_text_is(name, job->kernels.items[i].name))
      return true;
  }
  return false;
}

/* Whether a driver's own function is hidden by another of its name differs between drivers. */
static kdl_status rename_functions(cc_job *job) {
  char *renamed = NULL;
  size_t length = 0;
  FILE *out = kdl_text_stream(&renamed, &length);
  if (!out)
    return cc_no_memory(job);
  kdl_status status = cc_opencl_rename(job->preprocessed, KDL_OPENCL_C_PREFIX, is_kernel, job, out);
  bool is_whole = fclose(out) == 0;
  if (is_whole && status == KDL_OK)
    job->preprocessed = kdl_arena_string(&job->arena, renamed, length);
  free(renamed);
  return is_whole && job->preprocessed.data ? status : cc_no_memory(job);
}

static kdl_status preprocess(cc_job *job, const char *path) {
  kdl_status status = cc_compile(job, job->code, CC_WORDS("-E", "-cl-no-stdinc"), path);
  return status == KDL_OK ? cc_read_file(job, path, &job->preprocessed) : status;
}

kdl_status cc_explain_opencl(cc_job *job, kdl_status status) {
  const char *path = cc_file_of(job, "failed.i");
  kdl_string text = {"", 0}, keyword;
  size_t messages = job->message_count;
  if (status != KDL_BAD_FILE || job->target->family != CC_OPENCL || job->source->language != CC_C ||
      job->trouble)
    return status;
  if (cc_compile(job, job->source->path, CC_WORDS("-w", "-E", "-cl-no-stdinc"), path) == KDL_OK &&
      cc_read_file(job, path, &text) == KDL_OK && cc_opencl_find_keyword(text, &keyword)) {
    job->message_count = messages - 1;
    cc_place place = cc_line_marks_place(text, (size_t)(keyword.data - text.data));
    place.column = 0; /* macros before it may be longer */
    return cc_refuse_at(job, place, "'%.*s' is a keyword of OpenCL C; expected another name",
                        (int)keyword.length, keyword.data);
  }
  job->message_count = messages;
  return status;
}

static kdl_status read_tree(cc_job *job, cc_nodes *out_nodes) {
  const char *path = cc_file_of(job, "unmarked.cl");
  const char *dump_path = cc_file_of(job, "tree");
  kdl_string dump = {"", 0};
  KDL_TRY(dump_path ? cc_write_file(job, path, false, write_unmarked) : cc_no_memory(job));
  kdl_words words = cc_start_compiling(job, path);
  static const char *const more[] = {"-w", "-fno-color-diagnostics", "-fsyntax-only", "-Xclang",
                                     "-ast-dump"};
  for (size_t i = 0; i < sizeof more / sizeof *more; ++i)
    kdl_words_add(&words, more[i]);
  kdl_status status = cc_step(job, &words, dump_path);
  if (status == KDL_OK)
    status = cc_read_file(job, dump_path, &dump);
  return status == KDL_OK ? cc_nodes_read(&job->arena, dump, path, job->preprocessed, out_nodes)
                          : status;
}

static kdl_status write_rewritten(cc_job *job, const cc_nodes *nodes, const char *path) {
  cc_rewrite_refusal refusal = {.why = NULL};
  FILE *out = path ? fopen(path, "we") : NULL;
  if (!out)
    return path ? kdl_fail(kdl_status_of(errno), "%s: cannot open: %s", path, strerror(errno))
                : cc_no_memory(job);
  kdl_status status = cc_rewrite_write(&job->arena, job->preprocessed, nodes, out, &refusal);
  int failed = ferror(out);
  if ((fclose(out) != 0 || failed) && status == KDL_OK)
    return kdl_fail(kdl_status_of(errno), "%s: cannot write: %s", path, strerror(errno));
  return refusal.why ? cc_refuse_at(job, cc_line_marks_place(job->preprocessed, refusal.at), "%s",
                                    refusal.why)
                     : status;
}

/* Sets `code` to a text in OpenCL C 1.2. */
static kdl_status rewrite(cc_job *job) {
  const char *path = cc_file_of(job, "rewritten.cl");
  cc_nodes nodes = {.count = 0};
  kdl_status status = read_tree(job, &nodes);
  if (status == KDL_OK)
    status = write_rewritten(job, &nodes, path);
  job->code = path;
  job->is_relaxed = false;
  return status;
}

static kdl_status find_needs(cc_job *job) {
  const char *module = cc_file_of(job, "spv");
  kdl_string code = {"", 0};
  kdl_status status = cc_compile(job, job->code, CC_WORDS("-c"), module);
  if (status == KDL_OK)
    status = cc_read_file(job, module, &code);
  if (status == KDL_OK)
    status = cc_examine_capabilities(code, &job->needs);
  if (status == KDL_OK)
    status = cc_examine_blocks(code, &job->kernels);
  /* Addresses are 64 bits wide in what was compiled here, which asks nothing of the source. */
  job->needs.word[0] &= ~((uint64_t)1 << KDL_GPU_INT64);
  if (!job->has_half) /* vload_half, which LLVM says it of, is in every OpenCL */
    job->needs.word[0] &= ~((uint64_t)1 << KDL_GPU_FP16);
  return status;
}

kdl_status cc_make_opencl(cc_job *job) {
  const char *marked = cc_file_of(job, "i");
  const char *image = cc_file_of(job, "cl");
  kdl_status status = preprocess(job, marked);
  bool rewrites = status == KDL_OK && job->source->language == CC_C &&
                  (job->is_relaxed || cc_rewrite_has_bf16(job->preprocessed));
  if (rewrites) {
    status = rewrite(job);
    if (status == KDL_OK)
      status = preprocess(job, marked);
  }
  if (status == KDL_OK)
    status = find_needs(job);
  if (status == KDL_OK)
    status = rename_kernels(job);
  if (status == KDL_OK && job->source->language == CC_C)
    status = rename_functions(job);
  if (status == KDL_OK)
    status = cc_write_file(job, image, false, write_marked);
  job->kind = KDL_IMAGE_CL;
  return status == KDL_OK ? cc_read_file(job, image, &job->image) : status;
}
