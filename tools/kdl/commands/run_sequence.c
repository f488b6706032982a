/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/commands/run.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/sequences.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"
#include "tools/common/run_args.h"
#include "tools/common/run_times.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a slot; device memory is in arg.buffer, host memory in arg.host. */
typedef struct {
  kdl_slot_desc desc;
  bool is_given;
  bool has_type; /* the command line names the type */
  cli_run_arg arg;
  kdl_extent items;
  /* A launch that uses it, the type that the launch expects, and whether one accepts the value. */
  const char *kernel;
  kdl_string expected;
  bool fits;
} slot_value;

typedef struct {
  const cli_args *args;
  cli_input input;
  cli_input *libraries;
  kdl_library **handles;
  size_t library_count;
  kdl_sequence *sequence;
  kdl_device *device;
  kdl_queue *queue;
  slot_value *slots;
  kdl_binding *bindings;
  size_t slot_count;
  const cli_tolerance *tolerance; /* NULL: the types' defaults */
} job;

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static kdl_status open_libraries(job *asked) {
  size_t cursor = 0;
  asked->libraries = xcalloc(asked->args->setting_count, sizeof *asked->libraries);
  asked->handles = xcalloc(asked->args->setting_count, sizeof *asked->handles);
  for (const char *path; (path = cli_args_next(asked->args, "library", &cursor));) {
    KDL_TRY(cli_input_open(path, &asked->libraries[asked->library_count]));
    asked->handles[asked->library_count] = asked->libraries[asked->library_count].lib;
    ++asked->library_count;
  }
  return KDL_OK;
}

static kdl_status read_slots(job *asked) {
  kdl_sequence_info info = {.size = sizeof info};
  KDL_TRY(kdl_sequence_get(asked->sequence, &info));
  asked->slots = xcalloc(info.slot_count, sizeof *asked->slots);
  asked->bindings = xcalloc(info.slot_count, sizeof *asked->bindings);
  asked->slot_count = info.slot_count;
  for (size_t i = 0; i < info.slot_count; ++i) {
    asked->slots[i].desc.size = sizeof asked->slots[i].desc;
    KDL_TRY(kdl_sequence_slot_get(asked->sequence, (kdl_slot)(i + 1), &asked->slots[i].desc));
  }
  return KDL_OK;
}

static kdl_status open_sequence(job *asked, const kdl_select_opts *select) {
  kdl_sequence_open_opts opts = {.size = sizeof opts,
                                 .name =
                                     asked->args->operand_count ? asked->args->operands[0] : NULL,
                                 .select = select};
  const char *device = cli_args_value(asked->args, "device");
  KDL_TRY(cli_input_open(cli_args_value(asked->args, "sequence"), &asked->input));
  KDL_TRY(open_libraries(asked));
  if (device)
    KDL_TRY(kdl_device_find(device, &asked->device));
  opts.libraries = asked->handles;
  opts.library_count = asked->library_count;
  KDL_TRY(kdl_sequence_open(asked->input.lib, asked->device, &opts, &asked->sequence));
  KDL_TRY(kdl_sequence_device(asked->sequence, &asked->device));
  KDL_TRY(cli_run_queue(asked->args, asked->device, &asked->queue));
  return read_slots(asked);
}

static void close_job(job *asked) {
  for (size_t i = 0; i < asked->slot_count; ++i)
    cli_run_arg_free(&asked->slots[i].arg);
  free(asked->slots);
  free(asked->bindings);
  kdl_queue_destroy(asked->queue);
  kdl_sequence_destroy(asked->sequence);
  for (size_t i = 0; i < asked->library_count; ++i)
    cli_input_close(&asked->libraries[i]);
  free(asked->libraries);
  free(asked->handles);
  cli_input_close(&asked->input);
}

/* ------------------------------------------------------------------------------------------ */
/* Slots                                                                                        */

/* The slot at the start of `words`, by name or as "#3", and the text after the separator. The
 * longest matching name wins. */
static slot_value *find_named_slot(const job *asked, const char *words, const char *separator,
                                   const char **out_rest) {
  slot_value *found = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < asked->slot_count; ++i) {
    char number[24];
    const char *name = asked->slots[i].desc.name;
    if (!*name) {
      snprintf(number, sizeof number, "#%zu", i + 1);
      name = number;
    }
    size_t length = strlen(name);
    if (strncmp(words, name, length) != 0 || length < longest ||
        (*separator ? !kdl_starts_with(words + length, separator) : words[length] != '\0'))
      continue;
    found = &asked->slots[i];
    longest = length;
    *out_rest = words + length + strlen(separator);
  }
  return found;
}

static kdl_status no_slot(const job *asked, const char *option, const char *words,
                          const char *grammar) {
  char names[512] = "";
  kdl_out out = {names, sizeof names, 0};
  for (size_t i = 0; i < asked->slot_count; ++i) {
    const char *name = asked->slots[i].desc.name;
    kdl_out_format(&out, i ? ", " : "");
    if (*name)
      kdl_out_format(&out, "%.64s", name);
    else
      kdl_out_format(&out, "#%zu", i + 1);
  }
  return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use %s with one of the slots %s", option,
                  words, grammar, names);
}

/* Zeroed memory of the size that the slot needs. */
static kdl_status set_slot_zeros(slot_value *slot) {
  char words[64];
  snprintf(words, sizeof words, "buf:u8[%" PRIu64 "]", slot->desc.bytes);
  return cli_run_arg_parse(words, &slot->arg);
}

static kdl_status set_slot_value(slot_value *slot, const char *words) {
  bool is_memory = slot->desc.kind == KDL_SLOT_BUFFER || slot->desc.kind == KDL_SLOT_HOST;
  uint64_t extent[3];
  slot->is_given = true;
  if (slot->desc.kind == KDL_SLOT_ITEMS) {
    KDL_TRY(cli_extent_parse("slot", words, extent));
    slot->items = kdl_extent3(extent[0], extent[1], extent[2]);
    return KDL_OK;
  }
  slot->has_type = strcmp(words, "zero") != 0;
  KDL_TRY(is_memory && !slot->has_type ? set_slot_zeros(slot)
                                       : cli_run_arg_parse(words, &slot->arg));
  if (slot->arg.is_buffer != is_memory)
    return kdl_fail(KDL_BAD_CALL, "--slot: %s: bad value '%s': use %s", slot->desc.name, words,
                    is_memory ? "zero or buf:TYPE[COUNT]=INIT" : "TYPE:VALUE");
  return KDL_OK;
}

static kdl_status read_values(job *asked) {
  size_t cursor = 0;
  for (const char *words; (words = cli_args_next(asked->args, "slot", &cursor));) {
    const char *rest;
    slot_value *slot = find_named_slot(asked, words, "=", &rest);
    if (!slot)
      return no_slot(asked, "slot", words, "NAME=VALUE");
    if (slot->is_given)
      return kdl_fail(KDL_BAD_CALL, "--slot: '%s' is given twice: give each slot once", words);
    KDL_TRY(set_slot_value(slot, rest));
  }
  return KDL_OK;
}

static void compare_launch(const job *asked, const kdl_seqfile *saved,
                           const kdl_seqfile_launch *launch) {
  const kdl_seqfile_kernel *kernel = &saved->kernels[launch->kernel];
  kdl_param param;
  size_t at = 0;
  for (uint32_t i = 0; i < launch->arg_count && kdl_signature_next(kernel->sig, &at, &param, NULL);
       ++i) {
    const kdl_operand *operand = &launch->args[i];
    if (operand->kind != KDL_OPERAND_SLOT || operand->offset)
      continue;
    slot_value *slot = &asked->slots[operand->slot - 1];
    if (!slot->has_type || slot->fits)
      continue;
    slot->kernel = kernel->name.data;
    slot->expected = param.text;
    slot->fits = cli_run_type_fits(&param, &slot->arg);
  }
}

/* Memory may be used by kernels with different types in turn: one of them must accept the given
 * type. */
static kdl_status compare_types(const job *asked, const kdl_seqfile *saved) {
  char found[CLI_RUN_TYPE_ROOM];
  for (uint32_t i = 0; i < saved->step_count; ++i) {
    if (saved->steps[i].kind == KDL_STEP_LAUNCH)
      compare_launch(asked, saved, saved->steps[i].of.launch);
  }
  for (size_t i = 0; i < asked->slot_count; ++i) {
    const slot_value *slot = &asked->slots[i];
    if (slot->kernel && !slot->fits)
      return kdl_fail(KDL_BAD_CALL, "--slot: %s: bad type '%s': use %.*s, as %s takes it",
                      slot->desc.name, cli_run_type_words(&slot->arg, found),
                      (int)slot->expected.length, slot->expected.data, slot->kernel);
  }
  return KDL_OK;
}

/* Finds the opened sequence in its file, by name or as the only one. */
static kdl_status check_types(const job *asked) {
  const char *name = asked->args->operand_count ? asked->args->operands[0] : NULL;
  kdl_status status = KDL_OK;
  bool is_found = false;
  for (size_t image = 0;
       status == KDL_OK && !is_found && cli_sequence_next(asked->input.lib, &image); ++image) {
    cli_sequence sequence;
    if (cli_sequence_read(asked->input.lib, image, &sequence) != KDL_OK)
      continue; /* another sequence */
    is_found = !name || kdl_text_is(sequence.name, name);
    if (is_found && sequence.saved.slot_count == asked->slot_count)
      status = compare_types(asked, &sequence.saved);
    cli_sequence_free(&sequence);
  }
  return status;
}

/* The same function checks --dump and --check before the run, and carries them out after it. */
static kdl_status report_results(const job *asked, bool has_run) {
  size_t cursor = 0;
  const char *rest;
  for (const char *words; (words = cli_args_next(asked->args, "dump", &cursor));) {
    const slot_value *slot = find_named_slot(asked, words, "", &rest);
    if (!slot || !slot->arg.is_buffer)
      return no_slot(asked, "dump", words, "NAME of memory that is given,");
    if (has_run)
      cli_run_arg_print(&slot->arg, words);
  }
  cursor = 0;
  for (const char *words; (words = cli_args_next(asked->args, "check", &cursor));) {
    const slot_value *slot = find_named_slot(asked, words, ":@", &rest);
    if (!slot || !slot->arg.is_buffer)
      return no_slot(asked, "check", words, "NAME:@FILE of memory that is given,");
    if (!has_run)
      continue;
    char name[CLI_SLOT_ROOM];
    snprintf(name, sizeof name, "%.*s", (int)(rest - 2 - words), words);
    KDL_TRY(cli_run_arg_check(&slot->arg, name, rest, asked->tolerance));
    cli_text_printf(stdout, "%s is as in %s\n", name, rest);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

static kdl_status bind_slot(const job *asked, size_t index, size_t *count) {
  slot_value *value = &asked->slots[index];
  kdl_slot slot = (kdl_slot)(index + 1);
  kdl_binding *binding = &asked->bindings[*count];
  if (!value->is_given)
    return KDL_OK; /* the run reports it */
  ++*count;
  size_t size = value->desc.kind == KDL_SLOT_ITEMS ? 0 : cli_run_arg_size(&value->arg);
  switch (value->desc.kind) {
  case KDL_SLOT_BUFFER:
    KDL_TRY(kdl_alloc(asked->device, size, &value->arg.buffer));
    KDL_TRY(kdl_write(asked->queue, &value->arg.buffer, 0, value->arg.host, size));
    *binding = kdl_bind_buffer(slot, value->arg.buffer);
    break;
  case KDL_SLOT_SCALAR:
    *binding = kdl_bind_scalar(slot, value->arg.host, size);
    break;
  case KDL_SLOT_ITEMS:
    *binding = kdl_bind_items(slot, value->items);
    break;
  case KDL_SLOT_HOST:
    *binding = kdl_bind_host(slot, value->arg.host, size);
    break;
  }
  return KDL_OK;
}

static kdl_status fetch(const job *asked) {
  for (size_t i = 0; i < asked->slot_count; ++i) {
    cli_run_arg *arg = &asked->slots[i].arg;
    if (asked->slots[i].is_given && asked->slots[i].desc.kind == KDL_SLOT_BUFFER)
      KDL_TRY(kdl_read(asked->queue, arg->host, &arg->buffer, 0, cli_run_arg_size(arg)));
  }
  return kdl_sync(asked->queue);
}

typedef struct {
  const job *asked;
  size_t count; /* of bindings */
} replay;

static kdl_status run_once(void *user) {
  const replay *what = user;
  return kdl_sequence_run(what->asked->sequence, what->asked->queue, what->asked->bindings,
                          what->count);
}

static kdl_status print_what_runs(const job *asked) {
  kdl_sequence_info info = {.size = sizeof info};
  kdl_device_info device = {.size = sizeof device};
  KDL_TRY(kdl_sequence_get(asked->sequence, &info));
  KDL_TRY(kdl_device_get(asked->device, &device));
  cli_text_printf(stdout, "%s: %zu launches, %zu nodes, on %s%s%s%s\n", asked->input.name,
                  info.launch_count, info.node_count, device.label, *device.name ? " (" : "",
                  device.name, *device.name ? ")" : "");
  return KDL_OK;
}

static kdl_status replay_sequence(job *asked, size_t repeat) {
  replay what = {asked, 0};
  bool is_timed = cli_args_has(asked->args, "time");
  KDL_TRY(read_values(asked));
  KDL_TRY(check_types(asked));
  KDL_TRY(report_results(asked, false));
  for (size_t i = 0; i < asked->slot_count; ++i)
    KDL_TRY(bind_slot(asked, i, &what.count));
  KDL_TRY(print_what_runs(asked));
  if (is_timed)
    KDL_TRY(cli_run_timed(asked->device, asked->queue, repeat, "run", run_once, &what));
  for (size_t i = 0; i < repeat && !is_timed; ++i)
    KDL_TRY(run_once(&what));
  KDL_TRY(fetch(asked));
  return report_results(asked, true);
}

static kdl_status check_options(const cli_args *args) {
  static const char *const others[] = {"items", "grid",  "block",    "shared",
                                       "arg",   "const", "sanitize", "image"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    if (cli_args_has(args, others[i]))
      return kdl_fail(
          KDL_BAD_CALL,
          "--%s and --sequence exclude each other: the slots of a sequence are given by --slot",
          others[i]);
  }
  if (args->operand_count > 1)
    return kdl_fail(KDL_BAD_CALL, "unexpected operand '%s': use at most the name of a sequence",
                    args->operands[1]);
  return KDL_OK;
}

kdl_status cli_run_sequence(const cli_args *args, size_t repeat, const cli_tolerance *tolerance) {
  job asked = {.args = args, .tolerance = tolerance};
  kdl_select_opts select;
  KDL_TRY(check_options(args));
  KDL_TRY(cli_selection_options(args, &select));
  kdl_status status = open_sequence(&asked, &select);
  if (status == KDL_OK)
    status = replay_sequence(&asked, repeat);
  close_job(&asked);
  return status;
}
