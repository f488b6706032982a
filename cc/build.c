/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/driver.h"
#include "lib/inspect/formats.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "tools/common/images/variants.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

typedef struct {
  cc_job *jobs;
  size_t count;
  size_t next;
  size_t done;
  pthread_mutex_t lock;
} job_pool;

static volatile sig_atomic_t stopped_by;

static void on_stop(int number) {
  stopped_by = number;
  cc_kill_processes();
}

int cc_build_stop_signal(void) {
  return stopped_by;
}

/* Called with the lock held. */
static void show_progress(const job_pool *w, const cc_job *job) {
  cli_progress_step((double)w->done / (double)w->count, "%zu of %zu, %s", w->done, w->count,
                    job->label);
}

static void *run_next_jobs(void *user) {
  job_pool *w = user;
  pthread_mutex_lock(&w->lock);
  while (w->next < w->count && !stopped_by) {
    cc_job *job = &w->jobs[w->next++];
    show_progress(w, job);
    pthread_mutex_unlock(&w->lock);
    cc_job_run(job);
    pthread_mutex_lock(&w->lock);
    ++w->done;
    show_progress(w, job);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

kdl_status cc_build_run(cc_job *jobs, size_t count, unsigned threads) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  enum { signal_count = sizeof signals / sizeof *signals, most_threads = 256 };
  struct sigaction before[signal_count];
  struct sigaction action = {.sa_handler = on_stop};
  job_pool w = {.jobs = jobs, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t workers[most_threads];
  unsigned worker_count = 0;
  if (!jobs[0].plan->verbose)
    cli_progress_begin("compiling", STDERR_FILENO);
  for (int i = 0; i < signal_count; ++i)
    sigaction(signals[i], &action, &before[i]);
  while (worker_count + 1 < threads && worker_count + 1 < count && worker_count < most_threads &&
         pthread_create(&workers[worker_count], NULL, run_next_jobs, &w) == 0)
    ++worker_count;
  run_next_jobs(&w);
  for (unsigned i = 0; i < worker_count; ++i)
    pthread_join(workers[i], NULL);
  for (int i = 0; i < signal_count; ++i)
    sigaction(signals[i], &before[i], NULL);
  cli_progress_end();
  return stopped_by ? kdl_fail(KDL_IO, "stopped by signal %d", (int)stopped_by) : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Packing                                                                                      */

enum { key_count = 13 }; /* without those of kernels */

typedef struct {
  kdl_pair *items;
  size_t count;
} pair_list;

static void add_pair(pair_list *pairs, const char *key, const char *value) {
  pairs->items[pairs->count++] = (kdl_pair){kdl_text_of(key), kdl_text_of(value)};
}

static void out_extent(kdl_out *out, const char *name, const uint32_t *extent) {
  kdl_out_format(out, "; %s=%ux%ux%u", name, extent[0], extent[1], extent[2]);
}

/* "; const=1 2" */
static void out_constants(kdl_out *out, const cc_kernel *kernel) {
  const char *join = "; const=";
  for (size_t i = 0; i < kernel->param_count; ++i)
    if (kernel->params[i].is_const) {
      kdl_out_format(out, "%s%zu", join, i);
      join = " ";
    }
}

/* "; names=a x y n" */
static void out_names(kdl_out *out, const cc_kernel *kernel) {
  kdl_out_format(out, "; names=");
  for (size_t i = 0; i < kernel->param_count; ++i)
    kdl_out_format(out, "%s%s", i ? " " : "",
                   *kernel->params[i].name ? kernel->params[i].name : "_");
}

static bool has_param(const cc_kernel *kernel, kdl_string name) {
  for (size_t i = 0; i < kernel->param_count; ++i) {
    if (kdl_text_is(name, kernel->params[i].name))
      return true;
  }
  return false;
}

/* Whether the value of the field names parameters. */
static bool names_params(const char *field) {
  return kdl_starts_with(field, "shape=") || kdl_starts_with(field, "specialize=");
}

/* Whether the field is for the kernel: one that names parameters is for kernels that have all of
 * them; the block is the launch's. */
static bool has_field(const cc_kernel *kernel, const char *field) {
  if (!names_params(field))
    return true;
  for (const char *at = strchr(field, '=') + 1; *at;) {
    size_t length = strcspn(at, " ");
    kdl_string name = {at, length};
    bool is_block = kdl_text_is(name, "block") && kdl_starts_with(field, "specialize=");
    if (length && !is_block && !has_param(kernel, name))
      return false;
    at += length + strspn(at + length, " ");
  }
  return true;
}

/* "sig=f32 ptr<f32>; block=256x1x1; tile=256x1x1; rev=1; const=1" */
static const char *format_kernel_value(kdl_arena *arena, const cc_kernel *kernel,
                                       const cc_job *job) {
  const char *when = job->source->when;
  bool has_names = when != NULL;
  enum { longest_number = 21 };
  size_t room = strlen(kernel->sig) + 256 + kernel->param_count * longest_number;
  for (size_t i = 0; i < kernel->param_count; ++i)
    room += strlen(kernel->params[i].name) + 2;
  for (size_t i = 0; i < job->plan->field_count; ++i) {
    room += strlen(job->plan->fields[i]) + 2;
    has_names |= names_params(job->plan->fields[i]) && has_field(kernel, job->plan->fields[i]);
  }
  room += when ? strlen(when) : 0;
  char *text = xarena_alloc(arena, room);
  kdl_out out = {text, room, 0};
  bool has_block = cc_kernel_has(kernel, CC_BLOCK);
  bool has_tile = cc_kernel_has(kernel, CC_TILE);
  kdl_out_format(&out, "sig=%s", kernel->sig);
  if (has_block)
    out_extent(&out, "block", kernel->values[CC_BLOCK]);
  if (has_tile || has_block)
    out_extent(&out, "tile", kernel->values[has_tile ? CC_TILE : CC_BLOCK]);
  if (cc_kernel_has(kernel, CC_SHARED))
    kdl_out_format(&out, "; shared=%u", kernel->values[CC_SHARED][0]);
  if (cc_kernel_has(kernel, CC_SUBGROUP))
    kdl_out_format(&out, "; subgroup=%u", kernel->values[CC_SUBGROUP][0]);
  kdl_out_format(&out, "; rev=%u", cc_kernel_has(kernel, CC_REV) ? kernel->values[CC_REV][0] : 1);
  out_constants(&out, kernel);
  if (has_names)
    out_names(&out, kernel);
  for (size_t i = 0; i < job->plan->field_count; ++i) {
    if (has_field(kernel, job->plan->fields[i]))
      kdl_out_format(&out, "; %s", job->plan->fields[i]);
  }
  if (when)
    kdl_out_format(&out, "; when=%s", when);
  return text;
}

/* The version of the form, the LLVM that wrote it, and what it needs of a device. */
static void add_portable_pairs(pair_list *pairs, const cc_job *job, kdl_arena *arena) {
  char producer[64];
  kdl_bitcode_producer(job->image.data, job->image.length, producer, sizeof producer);
  add_pair(pairs, KDL_PORTABLE_KEY, KDL_PORTABLE_VERSION);
  if (kdl_starts_with(producer, "LLVM"))
    add_pair(pairs, "kdl.llvm", xarena_format(arena, "%s", producer + sizeof "LLVM" - 1));
  if (job->has_half || job->has_double)
    add_pair(pairs, KDL_NEEDS_KEY,
             job->has_half && job->has_double ? "fp16+fp64"
             : job->has_half                  ? "fp16"
                                              : "fp64");
}

static pair_list collect_pairs(const cc_job *job, kdl_arena *arena) {
  const cc_target *target = job->target;
  const cc_kernels *kernels = &job->kernels;
  size_t room = key_count + kernels->count + kernels->microkernel_count;
  pair_list pairs = {xarena_alloc(arena, room * sizeof *pairs.items), 0};
  kdl_image_target read = {.version_major = 0};
  char *features = xarena_alloc(arena, 1024);
  features[0] = '\0';
  kdl_out_features(&(kdl_out){features, 1024, 0}, target->features, job->needs);
  add_pair(&pairs, "triple", target->packed_triple);
  if (target->arch[0])
    add_pair(&pairs, "arch", target->arch);
  if (job->kind == KDL_IMAGE_PTX)
    add_pair(&pairs, "min_sm", xarena_format(arena, "%u", target->capability));
  if (target->family == CC_PORTABLE)
    add_portable_pairs(&pairs, job, arena);
  if (target->family == CC_OPENCL) {
    add_pair(&pairs, "kdl.kind", "cl");
    add_pair(&pairs, "kdl.cl_std", CC_OPENCL_VERSION);
  }
  /* For PTX, SPIR-V and AMD's code objects: readers of an index do not open the image, and the
   * driver may be too old for it. */
  if (kdl_image_read_target(job->kind, job->image.data, job->image.length, &read) == KDL_OK &&
      read.version_major)
    add_pair(&pairs, "kdl.version",
             xarena_format(arena, "%u.%u", read.version_major, read.version_minor));
  if (kernels->has_fast_math)
    add_pair(&pairs, "kdl.math", "fast");
  if (*features)
    add_pair(&pairs, "requires_features", features);
  if (job->source->priority)
    add_pair(&pairs, "variant_priority", xarena_format(arena, "%u", job->source->priority));
  if (job->source->tag)
    add_pair(&pairs, "variant_tag", job->source->tag);
  for (size_t i = 0; i < kernels->count; ++i)
    add_pair(&pairs, xarena_format(arena, KDL_KERNEL_PREFIX "%s", kernels->items[i].name),
             format_kernel_value(arena, &kernels->items[i], job));
  for (size_t i = 0; job->plan->bitcode && i < kernels->microkernel_count; ++i)
    add_pair(&pairs, xarena_format(arena, "kdl.ukernel.%s", kernels->microkernels[i]),
             job->source->path);
  return pairs;
}

/* "saxpy has a, x, y, n; scale has n" */
static const char *params_of_kernels(kdl_arena *arena, const cc_kernels *kernels) {
  const char *text = "";
  for (size_t k = 0; k < kernels->count; ++k) {
    const cc_kernel *kernel = &kernels->items[k];
    text = xarena_format(arena, "%s%s%s has %s", text, k ? "; " : "", kernel->name,
                         kernel->param_count ? "" : "no parameters");
    for (size_t i = 0; i < kernel->param_count; ++i)
      text = xarena_format(arena, "%s%s%s", text, i ? ", " : "", kernel->params[i].name);
  }
  return text;
}

/* A field that names parameters is for some kernel. */
static kdl_status check_fields(kdl_arena *arena, const cc_job *jobs, size_t count) {
  const cc_plan *plan = jobs[0].plan;
  for (size_t i = 0; i < plan->field_count; ++i) {
    bool is_used = false;
    const cc_kernels *kernels = NULL;
    for (size_t j = 0; j < count; ++j) {
      if (jobs[j].status != KDL_OK)
        continue;
      kernels = kernels ? kernels : &jobs[j].kernels;
      for (size_t k = 0; k < jobs[j].kernels.count; ++k)
        is_used |= has_field(&jobs[j].kernels.items[k], plan->fields[i]);
    }
    if (kernels && kernels->count && !is_used)
      return kdl_fail(KDL_BAD_CALL,
                      "--field: bad value '%s': no kernel has all of these parameters: %s",
                      plan->fields[i], params_of_kernels(arena, kernels));
  }
  return KDL_OK;
}

/* A condition names parameters, which each kernel of the file must have; those of a shape are
 * integers. */
static kdl_status check_conditions(const cc_job *job, const pair_list *pairs, kdl_arena *arena) {
  for (size_t i = 0; i < pairs->count; ++i) {
    const kdl_pair *pair = &pairs->items[i];
    kdl_kernel_key key;
    kdl_parse_error error;
    kdl_string kernel;
    if (!kdl_kernel_name(pair->key, &kernel) || kdl_kernel_parse(pair->value, &key, &error))
      continue;
    if (!job->source->when)
      return kdl_fail(KDL_BAD_CALL, "%s: kernel %.*s: \"%s\": column %zu: expected %s",
                      job->source->path, (int)kernel.length, kernel.data, pair->value.data,
                      error.position + 1, error.expected);
    size_t begin = pair->value.length - strlen(job->source->when);
    return kdl_fail(KDL_BAD_CALL, "%s: kernel %.*s: when=%s: column %zu: expected %s; %s",
                    job->source->path, (int)kernel.length, kernel.data, job->source->when,
                    error.position >= begin ? error.position - begin + 1 : 1, error.expected,
                    params_of_kernels(arena, &job->kernels));
  }
  return KDL_OK;
}

static kdl_status pack_image(const cc_job *job, kdl_arena *arena, cli_variants *variants,
                             kdl_writer *writer) {
  pair_list pairs = collect_pairs(job, arena);
  KDL_TRY(check_conditions(job, &pairs, arena));
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(job->kind),
                            .offload_kind = job->target->offload_kind,
                            .pairs = pairs.items,
                            .pair_count = pairs.count,
                            .data = job->image.data,
                            .data_size = job->image.length};
  KDL_TRY(kdl_writer_add_with_digest(writer, &image));
  cli_variants_add(variants, job->label, job->number, pairs.items, pairs.count);
  return KDL_OK;
}

kdl_status cc_build_save(const cc_job *jobs, size_t count, int format, const char *output) {
  kdl_arena arena = {0};
  cli_variants variants = {.count = 0};
  kdl_writer *writer = NULL;
  kdl_status status = kdl_writer_create(format, &writer);
  if (status == KDL_OK && count)
    status = check_fields(&arena, jobs, count);
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    if (jobs[i].status == KDL_OK)
      status = pack_image(&jobs[i], &arena, &variants, writer);
  }
  if (status == KDL_OK)
    status = cli_variants_check(&variants);
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  cli_variants_free(&variants);
  kdl_writer_destroy(writer);
  kdl_arena_free(&arena);
  return status;
}
