/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cc: one C file, compiled for every kind of device, in one OffloadBinary. */
#include "cc/command.h"
#include "cc/driver.h"
#include "support/base/error.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/temp_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const cli_args *args;
  kdl_arena arena;
  cc_plan plan;
  cc_source *sources;
  size_t source_count;
  cc_target *targets;
  size_t target_count;
  cc_job *jobs;
  size_t job_count;
  unsigned threads;
  int format;
  cc_depfile depfile;
} cc_invocation;

/* ------------------------------------------------------------------------------------------ */
/* The command line                                                                             */

/* Options that are passed on to Clang unchanged, in their order. */
static void parse_flags(cc_invocation *c) {
  static const struct {
    const char *option, *prefix;
  } passed[] = {{"define", "-D"}, {"include", "-I"}, {"warning", "-W"}, {"flag", ""}};
  const char **flags = xarena_alloc(&c->arena, (c->args->setting_count + 1) * sizeof *flags);
  for (size_t i = 0; i < c->args->setting_count; ++i) {
    const cli_setting *setting = &c->args->settings[i];
    for (size_t k = 0; k < sizeof passed / sizeof *passed; ++k) {
      if (strcmp(setting->option->name, passed[k].option) == 0)
        flags[c->plan.flag_count++] =
            xarena_format(&c->arena, "%s%s", passed[k].prefix, setting->value);
    }
  }
  c->plan.flags = flags;
}

/* --field=shape=m,n,k: lists are written with spaces, because metadata has no commas. */
static kdl_status parse_fields(cc_invocation *c) {
  static const char *const known[] = {"shape", "effects", "trial", "numerics", "specialize"};
  const char **fields = xarena_alloc(&c->arena, (c->args->setting_count + 1) * sizeof *fields);
  size_t cursor = 0;
  for (const char *text; (text = cli_args_next(c->args, "field", &cursor));) {
    kdl_string name = {text, strcspn(text, "=")};
    bool has_value =
        text[name.length] && text[name.length + 1 + strspn(text + name.length + 1, ", ")];
    if (!has_value || !KDL_TEXT_AMONG(name, known))
      return kdl_fail(KDL_BAD_CALL,
                      "--field: bad value '%s': use shape=PARAMETERS, effects=idempotent, add or "
                      "atomic, trial=safe, numerics=exact, or specialize=PARAMETERS",
                      text);
    size_t size = strlen(text) + 1;
    char *copy = xarena_alloc(&c->arena, size);
    for (size_t i = 0; i < size; ++i)
      copy[i] = (char)(text[i] == ',' ? ' ' : text[i]);
    fields[c->plan.field_count++] = copy;
  }
  c->plan.fields = fields;
  return KDL_OK;
}

static kdl_status parse_threads(cc_invocation *c) {
  const char *text = cli_args_value(c->args, "jobs");
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  char *end = NULL;
  unsigned long threads = text ? strtoul(text, &end, 10) : online > 0 ? (unsigned long)online : 1;
  if (text && (*end || end == text || threads == 0 || threads > 256))
    return kdl_fail(KDL_BAD_CALL, "--jobs: bad value '%s': use a number from 1 to 256", text);
  c->threads = (unsigned)threads;
  return KDL_OK;
}

/* -MD and related options, as compilers have them. */
static kdl_status parse_depfile_options(cc_invocation *c) {
  static const char *const details[] = {"MF", "MT", "MQ", "MP"};
  const char *quoted = cli_args_value(c->args, "MQ");
  const char *target = cli_args_value(c->args, "MT");
  c->plan.depends = cli_args_has(c->args, "MD")    ? "-MD"
                    : cli_args_has(c->args, "MMD") ? "-MMD"
                                                   : NULL;
  for (size_t i = 0; i < sizeof details / sizeof *details && !c->plan.depends; ++i) {
    if (cli_args_has(c->args, details[i]))
      return kdl_fail(KDL_BAD_CALL, "-%s needs -MD or -MMD", details[i]);
  }
  const char *path = cli_args_value(c->args, "MF");
  const char *output = cli_args_value(c->args, "output");
  c->depfile = (cc_depfile){.path = path ? path : cc_depfile_default(&c->arena, output),
                            .target = target   ? target
                                      : quoted ? quoted
                                               : output,
                            .is_quoted = !target,
                            .has_phony = cli_args_has(c->args, "MP")};
  return KDL_OK;
}

/* Found out before anything is compiled. The sources are known. */
static kdl_status check_outputs(const cc_invocation *c) {
  const char *output = cli_args_value(c->args, "output");
  KDL_TRY(cli_output_check(output));
  if (!c->plan.depends)
    return KDL_OK;
  if (strcmp(c->depfile.path, output) == 0)
    return kdl_fail(KDL_BAD_CALL,
                    "%s: output is also the file of dependencies: use another name for -MF",
                    output);
  return cli_output_check(c->depfile.path);
}

static kdl_status parse_invocation(cc_invocation *c) {
  static const char *const levels[] = {"0", "1", "2", "3", "s", "z", "g", "fast"};
  const char *emit = cli_args_value(c->args, "emit");
  const char *level = NULL;
  for (size_t cursor = 0, last = 0; !last;) { /* the last one wins */
    const char *next = cli_args_next(c->args, "optimize", &cursor);
    level = next ? next : level;
    last = !next;
  }
  if (!cli_args_value(c->args, "output"))
    return kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT");
  if (emit && strcmp(emit, "bitcode") != 0 && strcmp(emit, "image") != 0)
    return kdl_fail(KDL_BAD_CALL, "--emit: bad value '%s': use image or bitcode", emit);
  if (level && !KDL_TEXT_AMONG(kdl_text_of(level), levels))
    return kdl_fail(KDL_BAD_CALL, "-O: bad value '%s': use 0 to 3, s, z, g or fast", level);
  c->plan.bitcode = emit && *emit == 'b';
  c->plan.optimization = level ? level : "3";
  c->plan.verbose = cli_args_has(c->args, "verbose");
  c->plan.colour = cli_stream_has_colour(stderr);
  KDL_TRY(cli_format_parse(cli_args_value(c->args, "format"), KDL_FORMAT_V1, &c->format));
  KDL_TRY(parse_threads(c));
  KDL_TRY(parse_depfile_options(c));
  parse_flags(c);
  KDL_TRY(parse_fields(c));
  KDL_TRY(cc_sources_parse(&c->arena, c->args, &c->sources, &c->source_count));
  KDL_TRY(check_outputs(c));
  KDL_TRY(cc_targets_parse(&c->arena, c->args, &c->targets, &c->target_count));
  return cc_jobs_create(&c->arena, &c->plan, c->sources, c->source_count, c->targets,
                        c->target_count, &c->jobs, &c->job_count);
}

/* ------------------------------------------------------------------------------------------ */
/* Messages                                                                                     */

static void warn_of_missing_tools(const cc_invocation *c) {
  bool wants_ptxas = false;
  bool wants_validator = false;
  for (size_t i = 0; i < c->target_count && !c->plan.bitcode; ++i) {
    wants_ptxas |= c->targets[i].family == CC_NVIDIA && !c->targets[i].is_virtual;
    wants_validator |= c->targets[i].family == CC_SPIRV;
  }
  if (wants_ptxas && !c->plan.tools.ptxas)
    cli_note(
        "no ptxas was found: images for sm_ targets are PTX, which the driver compiles (KDL_PTXAS "
        "names one)");
  if (wants_validator && !c->plan.tools.spirv_val && c->plan.verbose)
    cli_note("no spirv-val was found: SPIR-V is not validated (Debian: spirv-tools)");
}

/* Machine code has no values that could become constants. */
static void warn_of_unused_fields(const cc_invocation *c) {
  bool has_bitcode = c->plan.bitcode, is_asked = false;
  for (size_t i = 0; i < c->target_count; ++i)
    has_bitcode |= c->targets[i].family == CC_PORTABLE;
  for (size_t i = 0; i < c->plan.field_count; ++i)
    is_asked |= kdl_starts_with(c->plan.fields[i], "specialize=");
  if (is_asked && !has_bitcode)
    cli_warning("--field=specialize needs bitcode, of which there is none: use --targets=portable "
                "or --emit=bitcode");
}

static void warn_of_old_ptxas(const cc_invocation *c) {
  for (size_t i = 0; i < c->job_count; ++i) {
    if (c->jobs[i].is_unknown_to_ptxas)
      cli_note("%s: %s does not know it: the image is PTX, which the driver compiles",
               c->jobs[i].label, c->plan.tools.ptxas);
  }
}

static void print_images(const cc_invocation *c) {
  for (size_t i = 0; i < c->job_count; ++i) {
    const cc_job *job = &c->jobs[i];
    if (job->status == KDL_OK)
      cli_note("%s: %s, %zu bytes, %zu kernel%s", job->label, kdl_image_kind_name(job->kind),
               job->image.length, job->kernels.count, job->kernels.count == 1 ? "" : "s");
  }
}

/* Reports the result for each target; KDL_BAD_FILE if one failed. */
static kdl_status summarize_jobs(const cc_invocation *c, size_t *out_good) {
  size_t used = 0;
  char names[512] = "";
  *out_good = 0;
  for (size_t i = 0; i < c->job_count; ++i) {
    if (c->jobs[i].status == KDL_OK) {
      ++*out_good;
      continue;
    }
    int length =
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", c->jobs[i].label);
    used = used + (size_t)length < sizeof names ? used + (size_t)length : sizeof names - 1;
  }
  if (*out_good == c->job_count)
    return KDL_OK;
  bool writes_rest = cli_args_has(c->args, "keep-going") && *out_good;
  return kdl_fail(KDL_BAD_FILE, "%zu of %zu images failed: %s; %s", c->job_count - *out_good,
                  c->job_count, names,
                  writes_rest ? "the others were written"
                  : *out_good ? "nothing was written (--keep-going writes the others)"
                              : "nothing was written");
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status build_images(cc_invocation *c) {
  const char *output = cli_args_value(c->args, "output");
  size_t good = 0;
  KDL_TRY(cc_build_run(c->jobs, c->job_count, c->threads));
  cc_messages_print(c->jobs, c->job_count);
  warn_of_old_ptxas(c);
  if (summarize_jobs(c, &good) == KDL_OK || (good && cli_args_has(c->args, "keep-going"))) {
    KDL_TRY(cc_build_save(c->jobs, c->job_count, c->format, output));
    if (c->plan.depends)
      KDL_TRY(cc_depfile_write(&c->arena, c->jobs, c->job_count, &c->depfile));
    if (c->plan.verbose)
      print_images(c);
  }
  return summarize_jobs(c, &good);
}

/* It links images for AMD's GPUs and for CPUs. */
static bool needs_lld(const cc_invocation *c) {
  bool needs = false;
  for (size_t i = 0; i < c->target_count && !c->plan.bitcode; ++i)
    needs |= c->targets[i].family == CC_AMD || c->targets[i].family == CC_HOST;
  return needs;
}

static kdl_status run_invocation(cc_invocation *c) {
  bool keeps = cli_args_has(c->args, "save-temps");
  KDL_TRY(parse_invocation(c));
  KDL_TRY(cc_folder_create(&c->arena, keeps ? cli_args_value(c->args, "output") : NULL,
                           &c->plan.folder));
  KDL_TRY(
      cc_toolchain_find(&c->arena, cli_args_value(c->args, "clang"), needs_lld(c), &c->plan.tools));
  warn_of_missing_tools(c);
  warn_of_unused_fields(c);
  return build_images(c);
}

int cli_run_cc(const cli_args *args) {
  cc_invocation c = {.args = args};
  int code = cli_report_status(run_invocation(&c));
  for (size_t i = 0; i < c.job_count; ++i)
    kdl_arena_free(&c.jobs[i].arena);
  temp_folder_remove();
  kdl_arena_free(&c.arena);
  if (cc_build_stop_signal()) { /* so that the parent process sees the signal */
    signal(cc_build_stop_signal(), SIG_DFL);
    raise(cc_build_stop_signal());
  }
  return code;
}
