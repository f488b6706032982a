/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The image of opencl-c is the preprocessed source, with what OpenCL C 1.2 lacks rewritten
 * (opencl/opencl_c.h). Compiling it to SPIR-V checks it, and finds what it needs.
 */
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "cc/opencl/opencl_c.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"

/* Whether the flags forbid to contract products and sums; the last one wins. */
static bool disables_fp_contract(const cc_plan *plan) {
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
  if (disables_fp_contract(job->plan))
    fputs("#pragma OPENCL FP_CONTRACT OFF\n", out);
  cc_line_marks_write(out, job->preprocessed);
}

/* The text with line marks blanked: offsets in its syntax tree are then those of the text. */
static void write_unmarked(FILE *out, const cc_job *job) {
  kdl_string line;
  for (kdl_string rest = job->preprocessed; cli_next_line(&rest, &line);)
    fprintf(out, kdl_text_starts(line, "# ") ? "%*s\n" : "%.*s\n", (int)line.length,
            kdl_text_starts(line, "# ") ? "" : line.data);
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

/* A driver may define a macro with a kernel's name, and then does not find the kernel. Other
 * functions of that name are the driver's: <kdl/math.h> calls them. */
static void rename_kernels(cc_job *job) {
  kdl_string text = job->preprocessed;
  char *renamed;
  size_t length;
  renaming to = {xtext_stream(&renamed, &length), text.data};
  /* If a macro hides the kernels, none is found. */
  kdl_status status =
      kdl_image_read_kernels(KDL_IMAGE_CL, text.data, text.length, rename_builtin, &to);
  fwrite(to.written, 1, text.length - (size_t)(to.written - text.data), to.out);
  text = cli_text_close(&job->arena, to.out, &renamed, &length);
  if (status == KDL_OK)
    job->preprocessed = text;
}

/* Drivers differ in whether a function hides the driver's own of the same name. */
static void rename_functions(cc_job *job) {
  char *renamed;
  size_t length;
  FILE *out = xtext_stream(&renamed, &length);
  cc_opencl_rename(job->preprocessed, KDL_OPENCL_C_PREFIX, &job->kernels, out);
  job->preprocessed = cli_text_close(&job->arena, out, &renamed, &length);
}

static kdl_status preprocess(cc_job *job) {
  return cc_compile_text(job, job->code, CC_WORDS("-E", "-cl-no-stdinc"), cc_temp_path(job, "i"),
                         &job->preprocessed);
}

kdl_status cc_explain_opencl(cc_job *job, kdl_status status) {
  kdl_string text, keyword;
  size_t messages = job->messages.count;
  if (status != KDL_BAD_FILE || job->target->family != CC_OPENCL || job->source->language != CC_C ||
      job->error)
    return status;
  kdl_status read = cc_compile_text(job, job->source->path, CC_WORDS("-w", "-E", "-cl-no-stdinc"),
                                    cc_temp_path(job, "failed.i"), &text);
  job->messages.count = messages;
  if (read != KDL_OK || !cc_opencl_find_keyword(text, &keyword))
    return status;
  cc_remove_last_message(job);
  cc_location location = cc_line_marks_location(text, (size_t)(keyword.data - text.data));
  location.column = 0; /* macros before it may be longer */
  return cc_error_at(job, location, "'%.*s' is a keyword of OpenCL C; expected another name",
                     CLI_STRING_ARGS(keyword));
}

static kdl_status read_nodes(cc_job *job, cc_nodes *out_nodes) {
  const char *path = cc_temp_path(job, "unmarked.cl"), *dump_path = cc_temp_path(job, "tree");
  kdl_string dump;
  KDL_TRY(cc_write_file(job, path, false, write_unmarked));
  kdl_string_list words = cc_compile_command(job, path);
  cc_add_words(&words,
               CC_WORDS("-w", "-fno-color-diagnostics", "-fsyntax-only", "-Xclang", "-ast-dump"));
  KDL_TRY(cc_run_step(job, &words, dump_path));
  KDL_TRY(cc_read_file(job, dump_path, &dump));
  *out_nodes = cc_ast_nodes(&job->arena, dump, path, job->preprocessed);
  return KDL_OK;
}

/* Sets `code` to a text in OpenCL C 1.2. */
static kdl_status rewrite_as_opencl12(cc_job *job) {
  cc_nodes nodes;
  char *text;
  size_t length;
  KDL_TRY(read_nodes(job, &nodes));
  FILE *out = xtext_stream(&text, &length);
  cc_rewrite_error refusal = cc_rewrite_as_opencl12(&job->arena, job->preprocessed, &nodes, out);
  kdl_string written = cli_text_close(&job->arena, out, &text, &length);
  if (refusal.why)
    return cc_error_at(job, cc_line_marks_location(job->preprocessed, refusal.at), "%s",
                       refusal.why);
  job->code = cc_temp_path(job, "rewritten.cl");
  job->is_relaxed = false;
  return cc_write_text(job->code, written);
}

static kdl_status find_needs(cc_job *job) {
  kdl_string code;
  KDL_TRY(cc_compile_text(job, job->code, CC_WORDS("-c"), cc_temp_path(job, "spv"), &code));
  KDL_TRY(cc_examine_capabilities(code, &job->needs));
  cc_examine_blocks(code, &job->kernels);
  /* Addresses in the compiled module have 64 bits, which requires nothing of the source. */
  job->needs.word[0] &= ~((uint64_t)1 << KDL_GPU_INT64);
  if (!job->has_half) /* vload_half causes it in LLVM, and every OpenCL has that */
    job->needs.word[0] &= ~((uint64_t)1 << KDL_GPU_FP16);
  return KDL_OK;
}

kdl_status cc_make_opencl(cc_job *job) {
  const char *image = cc_temp_path(job, "cl");
  bool is_c = job->source->language == CC_C;
  job->kind = KDL_IMAGE_CL;
  KDL_TRY(preprocess(job));
  if (is_c && (job->is_relaxed || cc_rewrite_has_bf16(job->preprocessed))) {
    KDL_TRY(rewrite_as_opencl12(job));
    KDL_TRY(preprocess(job));
  }
  KDL_TRY(find_needs(job));
  rename_kernels(job);
  if (is_c)
    rename_functions(job);
  KDL_TRY(cc_write_file(job, image, false, write_marked));
  return cc_read_file(job, image, &job->image);
}
