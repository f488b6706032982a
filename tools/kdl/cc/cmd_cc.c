/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl cc: one C file, compiled for every kind of device, in one OffloadBinary. */
#include "base/error.h"
#include "cc/build.h"
#include "cc/depfile.h"
#include "cc/messages.h"
#include "cc/sources.h"
#include "cli/report.h"
#include "commands.h"
#include "images/rewrite.h"

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
} call;

/* ------------------------------------------------------------------------------------------ */
/* The command line                                                                             */

/* Options that Clang gets as they are, in the order in which they were given. */
static kdl_status read_flags(call *c) {
  static const struct {
    const char *option, *prefix;
  } passed[] = {{"define", "-D"}, {"include", "-I"}, {"warning", "-W"}, {"flag", ""}};
  const char **flags = kdl_arena_alloc(&c->arena, (c->args->setting_count + 1) * sizeof *flags);
  if (!flags)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the command line");
  for (size_t i = 0; i < c->args->setting_count; ++i) {
    const cli_setting *setting = &c->args->settings[i];
    for (size_t k = 0; k < sizeof passed / sizeof *passed; ++k) {
      if (strcmp(setting->option->name, passed[k].option) != 0)
        continue;
      const char *flag = kdl_arena_format(&c->arena, "%s%s", passed[k].prefix, setting->value);
      if (!flag)
        return kdl_fail(KDL_NO_MEMORY, "out of memory for the command line");
      flags[c->plan.flag_count++] = flag;
    }
  }
  c->plan.flags = flags;
  return KDL_OK;
}

static kdl_status read_threads(call *c) {
  const char *text = cli_args_value(c->args, "jobs");
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  char *end = NULL;
  unsigned long threads = text ? strtoul(text, &end, 10) : online > 0 ? (unsigned long)online : 1;
  if (text && (*end || end == text || threads == 0 || threads > 256))
    return kdl_fail(KDL_BAD_CALL, "--jobs: found '%s', expected a number from 1 to 256", text);
  c->threads = (unsigned)threads;
  return KDL_OK;
}

/* -MD and the like, as of compilers. */
static kdl_status read_depfile(call *c) {
  static const char *const details[] = {"MF", "MT", "MQ", "MP"};
  const char *quoted = cli_args_value(c->args, "MQ");
  const char *target = cli_args_value(c->args, "MT");
  c->plan.depends = cli_args_has(c->args, "MD")    ? "-MD"
                    : cli_args_has(c->args, "MMD") ? "-MMD"
                                                   : NULL;
  for (size_t i = 0; i < sizeof details / sizeof *details && !c->plan.depends; ++i) {
    if (cli_args_has(c->args, details[i]))
      return kdl_fail(KDL_BAD_CALL, "found -%s without -MD or -MMD, expected one of them",
                      details[i]);
  }
  c->depfile = (cc_depfile){.path = cli_args_value(c->args, "MF"),
                            .target = target   ? target
                                      : quoted ? quoted
                                               : cli_args_value(c->args, "output"),
                            .is_quoted = !target,
                            .has_phony = cli_args_has(c->args, "MP")};
  return KDL_OK;
}

static bool is_level(const char *level) {
  static const char *const levels[] = {"0", "1", "2", "3", "s", "z", "g", "fast"};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i) {
    if (strcmp(level, levels[i]) == 0)
      return true;
  }
  return false;
}

static kdl_status read_call(call *c) {
  const char *emit = cli_args_value(c->args, "emit");
  const char *level = NULL;
  for (size_t cursor = 0, last = 0; !last;) { /* the last one counts */
    const char *next = cli_args_next(c->args, "optimize", &cursor);
    level = next ? next : level;
    last = !next;
  }
  if (!cli_args_value(c->args, "output"))
    return kdl_fail(KDL_BAD_CALL, "found no -o OUT, expected where to write");
  if (emit && strcmp(emit, "bitcode") != 0 && strcmp(emit, "image") != 0)
    return kdl_fail(KDL_BAD_CALL, "--emit: found '%s', expected image or bitcode", emit);
  if (level && !is_level(level))
    return kdl_fail(KDL_BAD_CALL, "-O: found '%s', expected 0 to 3, s, z, g or fast", level);
  c->plan.bitcode = emit && *emit == 'b';
  c->plan.optimization = level ? level : "3";
  c->plan.verbose = cli_args_has(c->args, "verbose");
  c->plan.colour = cli_stream_has_colour(stderr);
  kdl_status status =
      cli_format_parse(cli_args_value(c->args, "format"), KDL_FORMAT_V1, &c->format);
  if (status == KDL_OK)
    status = read_threads(c);
  if (status == KDL_OK)
    status = read_depfile(c);
  if (status == KDL_OK)
    status = read_flags(c);
  if (status == KDL_OK)
    status = cc_sources_read(&c->arena, c->args, &c->sources, &c->source_count);
  if (status == KDL_OK)
    status = cc_targets_read(&c->arena, c->args, &c->targets, &c->target_count);
  return status == KDL_OK ? cc_jobs_make(&c->arena, &c->plan, c->sources, c->source_count,
                                         c->targets, c->target_count, &c->jobs, &c->job_count)
                          : status;
}

/* ------------------------------------------------------------------------------------------ */
/* What is said                                                                                 */

static void warn_of_tools(const call *c) {
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

static void warn_of_ptxas(const call *c) {
  for (size_t i = 0; i < c->job_count; ++i) {
    if (c->jobs[i].is_beyond_ptxas)
      cli_note("%s: %s does not know it: the image is PTX, which the driver compiles",
               c->jobs[i].label, c->plan.tools.ptxas);
  }
}

static void describe_images(const call *c) {
  for (size_t i = 0; i < c->job_count; ++i) {
    const cc_job *job = &c->jobs[i];
    if (job->status == KDL_OK)
      cli_note("%s: %s, %zu bytes, %zu kernel%s", job->label, kdl_image_kind_name(job->kind),
               job->image.length, job->kernels.count, job->kernels.count == 1 ? "" : "s");
  }
}

/* What became of the targets; KDL_BAD_FILE where one failed. */
static kdl_status sum_up(const call *c, size_t *out_good) {
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

static kdl_status build(call *c) {
  const char *output = cli_args_value(c->args, "output");
  size_t good = 0;
  kdl_status status = cc_build_run(c->jobs, c->job_count, c->threads);
  if (status == KDL_OK)
    status = cc_messages_print(c->jobs, c->job_count);
  if (status != KDL_OK)
    return status;
  warn_of_ptxas(c);
  kdl_status whole = sum_up(c, &good);
  bool writes = whole == KDL_OK || (good && cli_args_has(c->args, "keep-going"));
  if (writes)
    status = cc_build_save(c->jobs, c->job_count, c->format, output);
  if (writes && status == KDL_OK && c->plan.depends)
    status = cc_depfile_write(&c->arena, c->jobs, c->job_count, &c->depfile, output);
  if (status == KDL_OK && writes && c->plan.verbose)
    describe_images(c);
  return status == KDL_OK && whole != KDL_OK ? sum_up(c, &good) : status;
}

int cli_run_cc(const cli_args *args) {
  call c = {.args = args};
  kdl_status status = read_call(&c);
  bool keeps = cli_args_has(args, "save-temps");
  if (status == KDL_OK)
    status =
        cc_folder_create(&c.arena, keeps ? cli_args_value(args, "output") : NULL, &c.plan.folder);
  if (status == KDL_OK)
    status = cc_toolchain_find(&c.arena, cli_args_value(args, "clang"), c.targets, c.target_count,
                               &c.plan.tools);
  if (status == KDL_OK) {
    warn_of_tools(&c);
    status = build(&c);
  }
  int code = cli_finish(status);
  for (size_t i = 0; i < c.job_count; ++i)
    cc_job_free(&c.jobs[i]);
  if (c.plan.folder && !keeps)
    cc_folder_remove(c.plan.folder);
  kdl_arena_free(&c.arena);
  if (cc_build_stopped()) { /* the parent process is to know */
    signal(cc_build_stopped(), SIG_DFL);
    raise(cc_build_stopped());
  }
  return code;
}
