/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl bench` launches. */
#include "bench.h"
#include "support/base/text.h"

#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"
#include "tools/common/run_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The kernel that does nothing                                                                 */

#define CARRY(symbol, file)                                                                        \
  __asm__(".pushsection .rodata\n"                                                                 \
          ".p2align 4\n" #symbol ":\n"                                                             \
          ".incbin \"" file "\"\n" #symbol "_end:\n"                                               \
          ".p2align 3\n" #symbol "_size:\n"                                                        \
          ".quad " #symbol "_end - " #symbol "\n"                                                  \
          ".popsection\n");                                                                        \
  extern const unsigned char symbol[];                                                             \
  extern const uint64_t symbol##_size

CARRY(bench_host_image, KDL_BENCH_HOST_IMAGE);
CARRY(bench_gpu_images, KDL_BENCH_GPU_IMAGES);

const char cli_bench_built_in_kernel[] = "nothing";

/* The images that are not in the file: the host's, which CMake builds, and one that any OpenCL
 * driver compiles. */
static kdl_status write_other_images(void **out_data, size_t *out_size) {
#ifdef __aarch64__
  const char *triple = "aarch64-unknown-linux-gnu", *arch = "armv8-a";
#else
  const char *triple = "x86_64-unknown-linux-gnu", *arch = "x86-64";
#endif
  static const char source[] = "kernel void nothing(global uchar *unused) {}\n";
  kdl_pair key = {KDL_TEXT("kdl.kernel.nothing"), KDL_TEXT("sig=ptr<u8>; block=1x1x1")};
  kdl_pair working = {KDL_TEXT("kdl.kernel.accumulate"),
                      KDL_TEXT("sig=f32 ptr<f32> ptr<f32> u32; block=256x1x1")};
  kdl_pair host_pairs[] = {{KDL_TEXT("triple"), kdl_text_of(triple)},
                           {KDL_TEXT("arch"), kdl_text_of(arch)},
                           key,
                           working};
  kdl_pair cl_pairs[] = {{KDL_TEXT("triple"), KDL_TEXT("spir64-unknown-unknown")},
                         {KDL_TEXT("kdl.kind"), KDL_TEXT("cl")},
                         {KDL_TEXT("kdl.cl_std"), KDL_TEXT("CL1.2")},
                         key};
  kdl_writer_image images[] = {{.size = sizeof images[0],
                                .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_OBJECT),
                                .offload_kind = KDL_OFFLOAD_OPENMP,
                                .pairs = host_pairs,
                                .pair_count = 4,
                                .data = bench_host_image,
                                .data_size = bench_host_image_size},
                               {.size = sizeof images[0],
                                .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_CL),
                                .pairs = cl_pairs,
                                .pair_count = 4,
                                .data = source,
                                .data_size = sizeof source - 1}};
  kdl_writer *writer;
  kdl_status status = KDL_OK;
  KDL_TRY(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = 0; i < sizeof images / sizeof *images && status == KDL_OK; ++i)
    status = kdl_writer_add(writer, &images[i]);
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, out_data, out_size);
  kdl_writer_destroy(writer);
  return status;
}

/* OffloadBinaries one behind the other are one library. */
kdl_status cli_bench_built_in(void **out_data, size_t *out_size) {
  size_t gpu_size = bench_gpu_images_size, other_size;
  void *others;
  KDL_TRY(write_other_images(&others, &other_size));
  char *both = xmalloc(gpu_size + other_size);
  memcpy(both, bench_gpu_images, gpu_size);
  memcpy(both + gpu_size, others, other_size);
  free(others);
  *out_data = both;
  *out_size = gpu_size + other_size;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The device and the image                                                                     */

static kdl_status find_subject_device(const cli_args *args, cli_bench_subject *subject) {
  const char *wanted = cli_args_value(args, "device");
  kdl_device_info *about = &subject->about;
  *about = (kdl_device_info){.size = sizeof *about};
  KDL_TRY(wanted ? kdl_device_find(wanted, &subject->device)
                 : kdl_device_for(subject->lib, subject->job.kernel, NULL, &subject->device));
  KDL_TRY(kdl_device_get(subject->device, about));
  snprintf(subject->device_name, sizeof subject->device_name, "%s:%d", about->backend,
           about->ordinal < 0 ? 0 : about->ordinal);
  if (about->is_host)
    snprintf(subject->device_name, sizeof subject->device_name, "host");
  subject->job.device = subject->device_name;
  return KDL_OK;
}

/* What the image's metadata says of the kernel; false where it says nothing. */
static bool read_kernel_key(const cli_bench_subject *subject, size_t image,
                            kdl_kernel_key *out_key) {
  kdl_image_info info = {.size = sizeof info};
  char name[600];
  snprintf(name, sizeof name, "kdl.kernel.%s", subject->job.kernel);
  kdl_parse_error error;
  if (kdl_image_get(subject->lib, image, &info) != KDL_OK)
    return false;
  for (size_t i = 0; i < info.pair_count; ++i) {
    const kdl_pair *pair = &info.pairs[i];
    if (kdl_text_is(pair->key, name))
      return kdl_kernel_parse(pair->value, out_key, &error);
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Shape and arguments                                                                          */

static kdl_status parse_launch_shape(const cli_args *args, const kdl_kernel_key *key,
                                     cli_bench_subject *subject) {
  static const uint32_t one[3] = {1, 1, 1};
  peer_job *job = &subject->job;
  memcpy(job->grid, one, sizeof job->grid);
  if (cli_args_has(args, "grid"))
    KDL_TRY(cli_extent_small("grid", cli_args_value(args, "grid"), job->grid));
  if (cli_args_has(args, "block"))
    return cli_extent_small("block", cli_args_value(args, "block"), job->block);
  if (!(key && kdl_kernel_has(key, KDL_KERNEL_BLOCK)))
    return kdl_fail(KDL_BAD_CALL,
                    "%s: missing block: use --block=X, XxY or XxYxZ: the image's metadata has none "
                    "for the kernel",
                    job->kernel);
  memcpy(job->block, key->block, sizeof job->block);
  return KDL_OK;
}

static void add_arg(cli_bench_subject *subject, const cli_run_arg *arg) {
  peer_job *job = &subject->job;
  uint32_t size = arg->is_buffer ? sizeof(uint64_t) : (uint32_t)cli_run_arg_size(arg);
  size_t offset = (job->args_size + size - 1) / size * size;
  uint32_t index = job->arg_count++;
  subject->arg_sizes[index] = size;
  subject->arg_offsets[index] = (uint32_t)offset;
  subject->arg_is_buffer[index] = arg->is_buffer;
  job->args_size = offset + size;
  if (!arg->is_buffer) {
    memcpy(subject->args + offset, arg->host, size);
    return;
  }
  /* Aligned for any type; a buffer of nothing still has a place. */
  size_t bytes = (cli_run_arg_size(arg) + 256) / 256 * 256;
  char *larger = xrealloc(subject->buffer_data, job->buffer_size + bytes);
  uint64_t place = job->buffer_size;
  memset(larger + place, 0, bytes);
  memcpy(larger + place, arg->host, cli_run_arg_size(arg));
  memcpy(subject->args + offset, &place, sizeof place);
  subject->buffer_data = larger;
  job->buffer_size += bytes;
  job->buffer_data = larger;
}

/* As far as the metadata tells: a launch with other arguments would read beyond them. */
static kdl_status check_args(const cli_bench_subject *subject, const kdl_kernel_key *key) {
  const peer_job *job = &subject->job;
  if (!key || !kdl_kernel_has(key, KDL_KERNEL_SIG))
    return KDL_OK;
  kdl_param param;
  kdl_parse_error error;
  size_t at = 0;
  uint32_t count = 0;
  for (; kdl_signature_next(key->sig, &at, &param, &error); ++count) {
    uint32_t size = param.kind == KDL_PARAM_PTR ? sizeof(uint64_t) : param.size;
    if (count < job->arg_count && size != subject->arg_sizes[count])
      return kdl_fail(KDL_BAD_CALL, "--arg: bad size of %u bytes for parameter %u of %s: use %.*s",
                      subject->arg_sizes[count], count, job->kernel, (int)param.text.length,
                      param.text.data);
  }
  if (count != job->arg_count)
    return kdl_fail(KDL_BAD_CALL, "--arg: bad number of arguments %u: use %u for %s: %.*s",
                    job->arg_count, count, job->kernel, (int)key->sig.length, key->sig.data);
  return KDL_OK;
}

static kdl_status parse_arg(const char *words, cli_bench_subject *subject) {
  cli_run_arg arg;
  kdl_status status = cli_run_arg_parse(words, &arg);
  if (status == KDL_OK)
    add_arg(subject, &arg);
  cli_run_arg_free(&arg);
  return status;
}

static kdl_status parse_args(const cli_args *args, cli_bench_subject *subject) {
  size_t cursor = 0;
  for (const char *words; (words = cli_args_next(args, "arg", &cursor));) {
    if (subject->job.arg_count == PEER_ARGS_LIMIT)
      return kdl_fail(KDL_BAD_CALL, "--arg: too many values: use at most %d", PEER_ARGS_LIMIT);
    KDL_TRY(parse_arg(words, subject));
  }
  /* The kernel that does nothing takes a pointer. */
  return subject->built_in && !subject->job.arg_count ? parse_arg("buf:u8[8]", subject) : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

static kdl_status open_subject_file(const cli_args *args, cli_bench_subject *subject) {
  if (args->operand_count == 1) {
    subject->job.kernel = cli_bench_built_in_kernel;
    KDL_TRY(cli_bench_built_in(&subject->built_in, &subject->job.data_size));
    subject->job.data = subject->built_in;
    kdl_open_opts opts = {.size = sizeof opts, .name = "built in"};
    return kdl_open_memory(subject->job.data, subject->job.data_size, &opts, &subject->lib);
  }
  if (args->operand_count == 2)
    return kdl_fail(KDL_BAD_CALL, "missing kernel for '%s': use FILE KERNEL", args->operands[1]);
  subject->job.library = args->operands[1];
  subject->job.kernel = args->operands[2];
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE};
  return kdl_open(subject->job.library, &opts, &subject->lib);
}

static void note_subject(const cli_bench_subject *subject, const kdl_selection *choice,
                         bench_results *results) {
  const peer_job *job = &subject->job;
  const kdl_device_info *about = &subject->about;
  bool is_named = *about->name;
  bench_note_add(results, "device", "%s%s%s%s", about->label, is_named ? " (" : "", about->name,
                 is_named ? ")" : "");
  bench_note_add(results, "spec", "%s", kdl_device_spec_text(subject->device));
  bench_note_add(results, "library", "%s", job->library ? job->library : "built in");
  bench_note_add(results, "kernel", "%s", job->kernel);
  bench_note_add(results, "image", "%zu, %s, %s, %zu bytes", choice->image,
                 kdl_image_kind_name(choice->kind), choice->fit, choice->data_size);
  bench_note_add(results, "launch", "grid %ux%ux%u, block %ux%ux%u", job->grid[0], job->grid[1],
                 job->grid[2], job->block[0], job->block[1], job->block[2]);
}

kdl_status cli_bench_subject_open(const cli_args *args, cli_bench_subject *out_subject,
                                  bench_results *results) {
  cli_bench_subject *subject = out_subject;
  memset(subject, 0, sizeof *subject);
  peer_job *job = &subject->job;
  job->arg_sizes = subject->arg_sizes;
  job->arg_offsets = subject->arg_offsets;
  job->arg_is_buffer = subject->arg_is_buffer;
  job->args = subject->args;
  kdl_selection choice = {.size = sizeof choice};
  kdl_kernel_key key;
  KDL_TRY(open_subject_file(args, subject));
  KDL_TRY(find_subject_device(args, subject));
  KDL_TRY(kdl_select(subject->lib, subject->device, job->kernel, NULL, &choice));
  KDL_TRY(parse_args(args, subject));
  bool has_key = read_kernel_key(subject, choice.image, &key);
  job->image = choice.data;
  job->image_size = choice.data_size;
  KDL_TRY(parse_launch_shape(args, has_key ? &key : NULL, subject));
  KDL_TRY(check_args(subject, has_key ? &key : NULL));
  note_subject(subject, &choice, results);
  return KDL_OK;
}

void cli_bench_subject_free(cli_bench_subject *subject) {
  if (subject->lib)
    kdl_close(subject->lib);
  free(subject->built_in);
  free(subject->buffer_data);
}
