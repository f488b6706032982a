/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl run: launches a kernel from the shell. */
#include "lib/inspect/images.h"
#include "lib/inspect/launches.h"
#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/select.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/run_args.h"
#include "tools/common/run_times.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/commands/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { limit_args = 64, limit_repeat = 1000000 };

typedef struct {
  const cli_args *args;
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *kernel;
  cli_run_arg values[limit_args];
  size_t value_count;
  bool has_grid;
  kdl_launch_desc desc;
  kdl_extent items;
  size_t repeat;
  cli_tolerance tolerance;
  bool *images; /* one flag per image that may run */
  cli_sanitizer sanitizer;
} job;

/* ------------------------------------------------------------------------------------------ */
/* The request                                                                                  */

static kdl_status parse_shared(const cli_args *args, uint32_t *out_bytes) {
  kdl_string words =
      kdl_text_of(cli_args_has(args, "shared") ? cli_args_value(args, "shared") : "0");
  size_t at = 0;
  if (!kdl_text_parse_number(words, &at, out_bytes) || at != words.length)
    return kdl_fail(KDL_BAD_CALL, "--shared: bad value '%s': use a number of bytes below 2^32",
                    words.data);
  return KDL_OK;
}

static kdl_status parse_shape(const cli_args *args, job *asked) {
  bool has_items = cli_args_has(args, "items");
  asked->has_grid = cli_args_has(args, "grid");
  if (has_items == asked->has_grid)
    return kdl_fail(KDL_BAD_CALL, has_items
                                      ? "--items and --grid exclude each other: use one of them"
                                      : "missing size of the launch: use --items=N or --grid=N");
  if (has_items && cli_args_has(args, "block"))
    return kdl_fail(KDL_BAD_CALL,
                    "--block and --items exclude each other: --items takes the image's own block");
  asked->desc.size = sizeof asked->desc;
  KDL_TRY(parse_shared(args, &asked->desc.shared));
  if (has_items) {
    uint64_t extent[3];
    KDL_TRY(cli_extent_parse("items", cli_args_value(args, "items"), extent));
    asked->items = kdl_extent3(extent[0], extent[1], extent[2]);
    return KDL_OK;
  }
  KDL_TRY(cli_extent_small("grid", cli_args_value(args, "grid"), asked->desc.grid));
  return cli_args_has(args, "block")
             ? cli_extent_small("block", cli_args_value(args, "block"), asked->desc.block)
             : KDL_OK;
}

static kdl_status parse_repeat(const cli_args *args, job *asked) {
  const char *words = cli_args_value(args, "repeat");
  char *end = NULL;
  asked->repeat = 1;
  if (!words)
    return KDL_OK;
  unsigned long value = strtoul(words, &end, 10);
  if (*words < '0' || *words > '9' || *end || value == 0 || value > limit_repeat)
    return kdl_fail(KDL_BAD_CALL, "--repeat: bad value '%s': use 1 to %d", words, limit_repeat);
  asked->repeat = value;
  return KDL_OK;
}

enum { limit_threads = 1024 }; /* as of KDL_HOST_THREADS */

static kdl_status parse_threads(const cli_args *args, uint32_t *out_threads) {
  const char *words = cli_args_value(args, "threads");
  size_t at = 0;
  *out_threads = 0;
  if (!words)
    return KDL_OK;
  kdl_string text = kdl_text_of(words);
  if (!kdl_text_parse_number(text, &at, out_threads) || at != text.length || *out_threads == 0 ||
      *out_threads > limit_threads)
    return kdl_fail(KDL_BAD_CALL, "--threads: bad value '%s': use 1 to %d", words, limit_threads);
  return KDL_OK;
}

kdl_status cli_run_queue(const cli_args *args, kdl_device *device, kdl_queue **out_queue) {
  kdl_queue_opts opts = {.size = sizeof opts};
  KDL_TRY(parse_threads(args, &opts.threads));
  return kdl_queue_create(device, &opts, out_queue);
}

static kdl_status parse_tolerance(const cli_args *args, cli_tolerance *out_tolerance) {
  const char *words = cli_args_value(args, "tolerance");
  return words ? cli_tolerance_parse(words, out_tolerance) : KDL_OK;
}

static kdl_status parse_values(const cli_args *args, job *asked) {
  size_t cursor = 0;
  for (const char *words; (words = cli_args_next(args, "arg", &cursor));) {
    if (asked->value_count == limit_args)
      return kdl_fail(KDL_BAD_CALL, "--arg: too many values: use at most %d", limit_args);
    KDL_TRY(cli_run_arg_parse_bytes(words, &asked->values[asked->value_count++]));
  }
  return KDL_OK;
}

/* "arg3", and ':' where `path` follows. */
static kdl_status parse_which(const char *option, const char *words, const job *asked,
                              size_t *out_index, const char **out_path) {
  char *end = NULL;
  bool fine = strncmp(words, "arg", 3) == 0 && words[3] >= '0' && words[3] <= '9';
  unsigned long index = fine ? strtoul(words + 3, &end, 10) : 0;
  bool takes_path = out_path != NULL;
  if (!fine || (takes_path ? strncmp(end, ":@", 2) != 0 : *end != '\0'))
    return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use %s", option, words,
                    takes_path ? "argN:@FILE" : "argN");
  if (index >= asked->value_count || !asked->values[index].is_buffer)
    return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use an argument that is a buffer", option,
                    words);
  *out_index = index;
  if (takes_path)
    *out_path = end + 2;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

static kdl_status send_buffers(job *asked) {
  for (size_t i = 0; i < asked->value_count; ++i) {
    cli_run_arg *value = &asked->values[i];
    if (!value->is_buffer)
      continue;
    KDL_TRY(kdl_alloc(asked->device, cli_run_arg_size(value), &value->buffer));
    KDL_TRY(kdl_write(asked->queue, &value->buffer, 0, value->host, cli_run_arg_size(value)));
  }
  return KDL_OK;
}

static kdl_status fetch_buffers(job *asked) {
  for (size_t i = 0; i < asked->value_count; ++i) {
    cli_run_arg *value = &asked->values[i];
    if (value->is_buffer)
      KDL_TRY(kdl_read(asked->queue, value->host, &value->buffer, 0, cli_run_arg_size(value)));
  }
  return kdl_sync(asked->queue);
}

typedef struct {
  const void *pointers[limit_args];
  size_t sizes[limit_args];
} argument_room;

static kdl_args make_args(const job *asked, argument_room *room) {
  for (size_t i = 0; i < asked->value_count; ++i) {
    const cli_run_arg *value = &asked->values[i];
    room->pointers[i] = value->is_buffer ? &value->buffer : value->host;
    room->sizes[i] = value->is_buffer ? sizeof value->buffer : cli_run_arg_size(value);
  }
  return (kdl_args){asked->value_count, room->pointers, room->sizes};
}

/* Where images have conditions, or the policy is adaptive: the one for this launch. */
static kdl_status select_variant(const job *asked, kdl_kernel **out_variant) {
  argument_room room;
  kdl_args args = make_args(asked, &room);
  return kdl_kernel_variant(asked->kernel, asked->has_grid ? NULL : &asked->items, &args,
                            out_variant);
}

static kdl_status launch_kernel(void *user) {
  const job *asked = user;
  argument_room room;
  kdl_args args = make_args(asked, &room);
  if (asked->has_grid)
    return kdl_launch_checked(asked->kernel, asked->queue, &asked->desc, &args);
  return !asked->desc.shared
             ? kdl_launch_items_call(asked->kernel, asked->queue, &asked->items, &args)
             : kdl_launch_items_shared(asked->kernel, asked->queue, &asked->items,
                                       asked->desc.shared, &args);
}

/* ------------------------------------------------------------------------------------------ */
/* Reporting                                                                                    */

/* Prints which image ran and why, after a note for each image that failed before it. */
static kdl_status print_image(const job *asked) {
  kdl_kernel_info info = {.size = sizeof info};
  kdl_device_info device = {.size = sizeof device};
  kdl_kernel *variant;
  KDL_TRY(select_variant(asked, &variant));
  KDL_TRY(kdl_kernel_get(variant, &info));
  KDL_TRY(kdl_device_route_get(asked->device, info.route, &device));
  for (size_t i = 0; i < info.failure_count; ++i)
    cli_note("%s: %s failed: %s; trying the next", info.name, info.failures[i].name,
             info.failures[i].message);
  bool is_named = *device.name;
  cli_text_printf(stdout, "%s: image %zu of %s, %s, on %s%s%s%s: fits as %s, choice %zu of %zu%s\n",
                  info.name, info.image, info.library, kdl_image_kind_name(info.kind), device.label,
                  is_named ? " (" : "", device.name, is_named ? ")" : "", info.fit,
                  info.position + 1, info.image_count,
                  info.failure_count ? ", better ones did not load" : "");
  return KDL_OK;
}

static kdl_status check_buffer(const job *asked, size_t index, const char *path) {
  char name[32];
  snprintf(name, sizeof name, "arg%zu", index);
  bool has_tolerance = cli_args_has(asked->args, "tolerance");
  KDL_TRY(cli_run_arg_check(&asked->values[index], name, path,
                            has_tolerance ? &asked->tolerance : NULL));
  cli_text_printf(stdout, "%s is as in %s\n", name, path);
  return KDL_OK;
}

/* The same function checks --dump and --check before the run, and carries them out after it. */
static kdl_status report_results(const job *asked, bool has_run) {
  size_t cursor = 0, index = 0;
  const char *path = NULL;
  for (const char *words; (words = cli_args_next(asked->args, "dump", &cursor));) {
    KDL_TRY(parse_which("dump", words, asked, &index, NULL));
    if (has_run)
      cli_run_arg_print(&asked->values[index], words);
  }
  cursor = 0;
  for (const char *words; (words = cli_args_next(asked->args, "check", &cursor));) {
    KDL_TRY(parse_which("check", words, asked, &index, &path));
    if (has_run)
      KDL_TRY(check_buffer(asked, index, path));
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

/* Splits NAME=VALUE in a copy. */
static kdl_status parse_constants(const cli_args *args, kdl_arena *arena, kdl_select_opts *opts) {
  size_t cursor = 0;
  kdl_constant *constants = xarena_alloc(arena, (args->setting_count + 1) * sizeof *constants);
  for (const char *word; (word = cli_args_next(args, "const", &cursor));) {
    size_t length = strcspn(word, "=");
    if (!word[length])
      return kdl_fail(KDL_BAD_CALL, "--const: bad value '%s': use NAME=VALUE", word);
    constants[opts->constant_count++] =
        (kdl_constant){xarena_string(arena, word, length).data, word + length + 1};
  }
  opts->constants = constants;
  return KDL_OK;
}

static kdl_status find_run_kernel(job *asked, kdl_library *lib, const kdl_select_opts *opts) {
  const char *name = asked->args->operands[1];
  const char *device =
      asked->sanitizer.is_child ? CLI_SANITIZER_DEVICE : cli_args_value(asked->args, "device");
  KDL_TRY(device ? kdl_device_find(device, &asked->device)
                 : kdl_device_for(lib, name, opts, &asked->device));
  KDL_TRY(kdl_sym(lib, asked->device, name, opts, &asked->kernel));
  return cli_run_queue(asked->args, asked->device, &asked->queue);
}

/* Only the images of --image take part. */
static kdl_status restrict_images(job *asked, const cli_input *input) {
  if (!cli_args_has(asked->args, "image"))
    return KDL_OK;
  KDL_TRY(cli_select_images(asked->args, "image", input->lib, input->name, &asked->images));
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(input->lib, &catalog));
  kdl_catalog_restrict(catalog, asked->images);
  return KDL_OK;
}

static kdl_status load_kernel(job *asked, const cli_input *input, const kdl_select_opts *opts) {
  KDL_TRY(restrict_images(asked, input));
  kdl_status status = find_run_kernel(asked, input->lib, opts);
  if (status == KDL_NO_MATCH && asked->sanitizer.is_child)
    return kdl_fail(
        KDL_NO_MATCH,
        "%s: found no OpenCL C of %s, which Oclgrind would interpret, expected opencl-c "
        "among the --targets of kdl cc",
        input->name, asked->args->operands[1]);
  if (status == KDL_NO_MATCH && asked->images)
    kdl_error_prefix("among the images of --image");
  if (status == KDL_NO_MATCH)
    kdl_error_prefix("%s", input->name);
  return status;
}

static kdl_status run_job(job *asked, const cli_input *input, const kdl_select_opts *opts) {
  KDL_TRY(load_kernel(asked, input, opts));
  KDL_TRY(cli_run_check_args(input->lib, asked->device, asked->args->operands[1], opts,
                             asked->has_grid ? &asked->desc : NULL, asked->values,
                             asked->value_count));
  KDL_TRY(print_image(asked));
  KDL_TRY(cli_output_flush()); /* output survives a kernel that ends the process */
  cli_run_explain_crashes(asked->device, asked->args->operands[1]);
  KDL_TRY(send_buffers(asked));
  if (cli_args_has(asked->args, "time"))
    KDL_TRY(
        cli_run_timed(asked->device, asked->queue, asked->repeat, "launch", launch_kernel, asked));
  for (size_t i = 0; i < asked->repeat && !cli_args_has(asked->args, "time"); ++i)
    KDL_TRY(launch_kernel(asked));
  KDL_TRY(fetch_buffers(asked));
  return report_results(asked, true);
}

static kdl_status read_call(const cli_args *args, kdl_arena *arena, job *asked,
                            kdl_select_opts *opts) {
  if (cli_args_has(args, "sanitize") && cli_args_has(args, "device"))
    return kdl_fail(
        KDL_BAD_CALL,
        "--device and --sanitize exclude each other: --sanitize runs on Oclgrind's device");
  KDL_TRY(parse_shape(args, asked));
  KDL_TRY(parse_repeat(args, asked));
  KDL_TRY(parse_tolerance(args, &asked->tolerance));
  KDL_TRY(parse_values(args, asked));
  KDL_TRY(report_results(asked, false));
  KDL_TRY(cli_selection_options(args, opts));
  return parse_constants(args, arena, opts);
}

/* After a launch in the sanitizer's process: prints its findings. */
static kdl_status report_sanitizer(job *asked) {
  size_t count = 0;
  KDL_TRY(cli_sanitizer_report(&asked->sanitizer, &count));
  if (count)
    return kdl_fail(KDL_BAD_FILE, "Oclgrind found %zu error%s in %s", count, count == 1 ? "" : "s",
                    asked->args->operands[1]);
  if (asked->sanitizer.code > 128)
    return kdl_fail(KDL_DEVICE, "Oclgrind ended with signal %d", asked->sanitizer.code - 128);
  if (asked->sanitizer.code == 0)
    printf("Oclgrind found nothing\n");
  return KDL_OK;
}

static kdl_status run_sequence(const cli_args *args) {
  job asked = {.args = args};
  bool has_tolerance = cli_args_has(args, "tolerance");
  KDL_TRY(parse_repeat(args, &asked));
  KDL_TRY(parse_tolerance(args, &asked.tolerance));
  return cli_run_sequence(args, asked.repeat, has_tolerance ? &asked.tolerance : NULL);
}

/* Refuses options of one form with the operands of the other. */
static kdl_status check_operands(const cli_args *args) {
  const char *stray = cli_args_has(args, "slot") ? "slot" : "library";
  if (cli_args_has(args, stray))
    return kdl_fail(KDL_BAD_CALL, "--%s needs a sequence: use --sequence=FILE", stray);
  if (args->operand_count < 2)
    return kdl_fail(KDL_BAD_CALL, "missing operand: use FILE KERNEL, or --sequence=FILE");
  return KDL_OK;
}

/* A tag is a preference, which a misspelt one would lose silently. */
static void warn_of_unknown_tag(const cli_input *input, const char *tag) {
  for (size_t i = 0; i < kdl_image_count(input->lib); ++i) {
    const kdl_string *value = kdl_image_value(input->lib, i, "variant_tag");
    if (value && kdl_text_is(*value, tag))
      return;
  }
  cli_warning("--variant-tag: no image of %s has the variant_tag '%s'", input->name, tag);
}

static kdl_status run_kernel(const cli_args *args, kdl_arena *arena, job *asked, cli_input *input) {
  kdl_select_opts opts;
  KDL_TRY(check_operands(args));
  KDL_TRY(read_call(args, arena, asked, &opts));
  if (cli_args_has(args, "sanitize")) {
    KDL_TRY(cli_sanitizer_begin(&asked->sanitizer));
    if (!asked->sanitizer.is_child)
      return report_sanitizer(asked);
  }
  KDL_TRY(cli_input_open(args->operands[0], input));
  if (cli_args_has(args, "variant-tag"))
    warn_of_unknown_tag(input, cli_args_value(args, "variant-tag"));
  return run_job(asked, input, &opts);
}

int cli_run_run(const cli_args *args) {
  if (cli_args_has(args, "sequence"))
    return cli_report_status(run_sequence(args));
  job asked = {.args = args};
  cli_input input = {.lib = NULL};
  kdl_arena arena = {0};
  kdl_status status = run_kernel(args, &arena, &asked, &input);
  int code = cli_report_status(status);
  if (asked.sanitizer.is_child)
    cli_sanitizer_leave(code);
  if (code == 0)
    code = asked.sanitizer.code;
  for (size_t i = 0; i < asked.value_count; ++i)
    cli_run_arg_free(&asked.values[i]);
  kdl_queue_destroy(asked.queue);
  cli_sanitizer_end(&asked.sanitizer);
  cli_input_close(&input);
  free(asked.images);
  kdl_arena_free(&arena);
  return code;
}
