/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kdl tune. A subprocess launches; this process watches it, because a variant may hang or end its
 * process. The table then has a mark that its trial began and did not end, so that the next
 * subprocess excludes it and goes on.
 */
#include "ext/adaptive/commands/commands.h"
#include "ext/adaptive/commands/tune_shape.h"
#include "ext/adaptive/table.h"
#include "lib/inspect/launches.h"
#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"
#include "tools/common/run_args.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { limit_args = 64, most_shapes = 4096, most_restarts = 64, most_launches = 2000000 };

typedef struct {
  const cli_args *args;
  kdl_library *lib;
  const char *kernel_name;
  kdl_string shape_names;
  kdl_string shapes[most_shapes];
  size_t shape_count;
  unsigned timeout;         /* seconds */
  _Atomic(uint64_t) *beats; /* launches that have ended; shared with the subprocess */
} job;

/* ------------------------------------------------------------------------------------------ */
/* The subprocess                                                                               */

typedef struct {
  kdl_device *device;
  kdl_queue *queue;
  kdl_kernel *kernel;
  cli_run_arg values[limit_args];
  const void *pointers[limit_args];
  size_t count;
  kdl_extent items;
} launch;

static kdl_status make_arguments(const job *asked, const tune_shape *shape, launch *made) {
  size_t cursor = 0;
  for (const char *words; (words = cli_args_next(asked->args, "arg", &cursor));) {
    char *text;
    if (made->count == limit_args)
      return kdl_fail(KDL_BAD_CALL, "--arg: too many values: use at most %d", limit_args);
    KDL_TRY(tune_argument(shape, words, &text));
    cli_run_arg *value = &made->values[made->count];
    *value = (cli_run_arg){.type = NULL};
    kdl_status status = cli_run_arg_parse(text, value);
    free(text);
    ++made->count;
    KDL_TRY(status);
    made->pointers[made->count - 1] = value->is_buffer ? (void *)&value->buffer : value->host;
    if (!value->is_buffer)
      continue;
    KDL_TRY(kdl_alloc(made->device, cli_run_arg_size(value), &value->buffer));
    KDL_TRY(kdl_write(made->queue, &value->buffer, 0, value->host, cli_run_arg_size(value)));
  }
  return kdl_sync(made->queue);
}

static void free_arguments(launch *made) {
  for (size_t i = 0; i < made->count; ++i) {
    if (made->values[i].is_buffer && made->values[i].buffer.device)
      kdl_free(&made->values[i].buffer);
    cli_run_arg_free(&made->values[i]);
  }
  made->count = 0;
}

static kdl_status tune_shape_of(const job *asked, size_t number, launch *made) {
  tune_shape shape;
  KDL_TRY(tune_shape_parse(asked->shapes[number], asked->shape_names, &shape));
  KDL_TRY(tune_extent(&shape, cli_args_value(asked->args, "items"), &made->items));
  KDL_TRY(make_arguments(asked, &shape, made));
  const kdl_args args = {made->count, made->pointers, NULL};
  size_t launches = 0;
  do {
    KDL_TRY(kdl_launch_items_call(made->kernel, made->queue, &made->items, &args));
    KDL_TRY(kdl_sync(made->queue));
    atomic_fetch_add(asked->beats, 1);
    if (launches++ % 16 == 0)
      cli_progress_step((double)number / (double)asked->shape_count,
                        "shape %zu of %zu, %.*s, launch %zu", number + 1, asked->shape_count,
                        (int)asked->shapes[number].length, asked->shapes[number].data, launches);
  } while (launches < most_launches && !kdl_kernel_is_decided(made->kernel, &made->items, &args));
  return KDL_OK;
}

static kdl_status tune_all(const job *asked) {
  kdl_select_opts opts = {.size = sizeof opts,
                          .policy = KDL_POLICY_ADAPTIVE,
                          .variant_tag = cli_args_value(asked->args, "variant-tag")};
  launch *made = xcalloc(1, sizeof *made);
  const char *device = cli_args_value(asked->args, "device");
  kdl_status status = device ? kdl_device_find(device, &made->device)
                             : kdl_device_for(asked->lib, asked->kernel_name, &opts, &made->device);
  if (status == KDL_OK)
    status = kdl_queue_create(made->device, NULL, &made->queue);
  if (status == KDL_OK)
    status = kdl_sym(asked->lib, made->device, asked->kernel_name, &opts, &made->kernel);
  cli_progress_begin("tuning", STDERR_FILENO);
  for (size_t i = 0; status == KDL_OK && i < asked->shape_count; ++i) {
    status = tune_shape_of(asked, i, made);
    free_arguments(made);
  }
  cli_progress_end();
  kdl_queue_destroy(made->queue);
  free(made);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The watching process                                                                         */

/* The exit status of the subprocess; -1: it was killed, because nothing ended for too long. */
static int watch(const job *asked, pid_t child) {
  uint64_t last = 0;
  time_t since = time(NULL);
  for (;;) {
    int status;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child)
      return status;
    uint64_t beats = atomic_load(asked->beats);
    if (beats != last)
      since = time(NULL);
    last = beats;
    if (time(NULL) - since > (time_t)asked->timeout) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
}

/* Only this process knows why. */
static kdl_status check_stored(const job *asked) {
  char reason[PATH_MAX + 256];
  if (!kdl_table_failed(reason, sizeof reason))
    return KDL_OK;
  return kdl_fail(KDL_IO, "%s: measured times were not stored: %s", asked->kernel_name, reason);
}

static kdl_status run_child(const job *asked, int *out_status) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0)
    return kdl_fail(KDL_IO, "cannot start a process: %s", strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kdl_status status = tune_all(asked);
    int code = cli_report_status(status);
    kdl_close(asked->lib); /* stores what was measured */
    if (status == KDL_OK)
      code = cli_report_status(check_stored(asked));
    fflush(NULL);
    _exit(code);
  }
  *out_status = watch(asked, child);
  return KDL_OK;
}

static kdl_status tune_watched(const job *asked, int *out_code) {
  for (unsigned restarts = 0; restarts < most_restarts; ++restarts) {
    int status;
    KDL_TRY(run_child(asked, &status));
    if (status != -1 && WIFEXITED(status)) {
      *out_code = WEXITSTATUS(status);
      return KDL_OK;
    }
    if (status == -1)
      cli_note("a launch did not end within %u s: its variant is excluded", asked->timeout);
    else
      cli_note("signal %d ended a launch: its variant is excluded", WTERMSIG(status));
  }
  return kdl_fail(KDL_DEVICE, "%s: %d subprocesses ended in launches; is KDL_CACHE off?",
                  asked->kernel_name, most_restarts);
}

/* ------------------------------------------------------------------------------------------ */
/* -o                                                                                           */

static kdl_status fail_unmeasured(const cli_input *input, const char *kernel) {
  return kdl_fail(KDL_NO_MATCH,
                  "%s: nothing was measured of %s: no second image of it for the device may be "
                  "tried; kdl cc --variant adds one, and --field=effects=idempotent or "
                  "--field=trial=safe allows trials",
                  input->name, kernel);
}

/* The first image that holds the kernel carries the lines. */
static kdl_status write_tuned(const cli_input *input, const char *kernel, const char *output) {
  size_t size = 0, count = 0;
  char key[512];
  char *lines = cli_choices_collect(input->lib, kernel, &size);
  kdl_writer *writer;
  snprintf(key, sizeof key, KDL_TUNED_PREFIX "%s", kernel);
  if (!lines)
    return fail_unmeasured(input, kernel);
  int format = cli_library_format(input->lib);
  bool is_written = false;
  kdl_status status = cli_library_check_rewritable(input);
  if (status == KDL_OK)
    status = kdl_writer_create(format, &writer);
  if (status != KDL_OK) {
    free(lines);
    return status;
  }
  kdl_pair *pairs = NULL;
  for (size_t i = 0; status == KDL_OK && cli_outer_next(input->lib, &i); ++i) {
    char name[512];
    snprintf(name, sizeof name, "kdl.kernel.%s", kernel);
    if (is_written || !kdl_image_value(input->lib, i, name)) {
      status = cli_image_copy(input, i, format, writer);
      continue;
    }
    kdl_writer_image image = cli_image_describe(input, i, format);
    pairs = xcalloc(image.pair_count + 1, sizeof *pairs);
    for (size_t k = 0; k < image.pair_count; ++k) {
      if (!kdl_text_is(image.pairs[k].key, key))
        pairs[count++] = image.pairs[k];
    }
    pairs[count++] = (kdl_pair){kdl_text_of(key), {lines, size}};
    cli_signature_drop(output, i, pairs, &count);
    image.pairs = pairs;
    image.pair_count = count;
    status = cli_image_add(input, i, &image, false, writer);
    is_written = true;
  }
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  if (status == KDL_OK)
    cli_signature_check_beside(output);
  kdl_writer_destroy(writer);
  free(pairs);
  free(lines);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status parse_number(const cli_args *args, const char *option, unsigned otherwise,
                               unsigned *out_number) {
  const char *words = cli_args_value(args, option);
  size_t at = 0;
  uint32_t number = otherwise;
  if (words && (!kdl_text_parse_number(kdl_text_of(words), &at, &number) || words[at] || !number ||
                number > 1000000))
    return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use 1 to 1000000", option, words);
  *out_number = number;
  return KDL_OK;
}

static int find_shape(void *user, size_t image) {
  job *asked = user;
  char name[512];
  kdl_kernel_key key;
  snprintf(name, sizeof name, "kdl.kernel.%s", asked->kernel_name);
  const kdl_string *value = kdl_image_value(asked->lib, image, name);
  if (!value || !kdl_kernel_parse(*value, &key, NULL) ||
      !kdl_kernel_field_text(&key, KDL_KERNEL_SHAPE).data)
    return 0;
  asked->shape_names = kdl_kernel_field_text(&key, KDL_KERNEL_SHAPE);
  return 1;
}

static kdl_status read_shapes(const cli_input *input, job *asked) {
  size_t cursor = 0;
  asked->shape_names = kdl_text_of("");
  KDL_TRY(cli_kernel_check(input, asked->kernel_name));
  KDL_TRY(kdl_variants(asked->lib, asked->kernel_name, find_shape, asked));
  for (const char *words; (words = cli_args_next(asked->args, "shapes", &cursor));) {
    kdl_string text = kdl_text_of(words);
    for (size_t at = 0; at <= text.length;) {
      size_t end = kdl_text_find(text, at, ",");
      tune_shape checked;
      kdl_string shape = {text.data + at, end - at};
      if (asked->shape_count == most_shapes)
        return kdl_fail(KDL_BAD_CALL, "--shapes: use at most %d", most_shapes);
      if (!asked->shape_names.length && kdl_text_find(shape, 0, "=") == shape.length)
        return kdl_fail(KDL_BAD_CALL,
                        "--shapes: bad value '%.*s': %s has no field shape; use kdl cc "
                        "--field=shape=NAME,... to name its sizes, or NAME=NUMBER joined by '+'",
                        (int)shape.length, shape.data, asked->kernel_name);
      KDL_TRY(tune_shape_parse(shape, asked->shape_names, &checked));
      asked->shapes[asked->shape_count++] = shape;
      at = end + 1;
    }
  }
  if (!asked->shape_count)
    return kdl_fail(KDL_BAD_CALL, "missing shapes: use --shapes=SHAPE,...");
  return cli_args_has(asked->args, "items")
             ? KDL_OK
             : kdl_fail(KDL_BAD_CALL, "missing size of the launch: use --items=XxYxZ");
}

static kdl_status tune(const cli_args *args, const cli_input *input, job *asked, int *out_code) {
  unsigned trials;
  char explore[64];
  size_t classes;
  KDL_TRY(parse_number(args, "timeout", 30, &asked->timeout));
  KDL_TRY(parse_number(args, "trials", 1000, &trials));
  KDL_TRY(read_shapes(input, asked));
  snprintf(explore, sizeof explore, "%u,100%%", trials);
  setenv("KDL_EXPLORE", explore, 1);
  KDL_TRY(tune_watched(asked, out_code));
  if (*out_code)
    return KDL_OK;
  KDL_TRY(cli_choices_print(asked->lib, asked->kernel_name, &classes));
  if (!classes)
    return fail_unmeasured(input, asked->kernel_name);
  const char *output = cli_args_value(args, "output");
  return output ? write_tuned(input, asked->kernel_name, output) : KDL_OK;
}

int cli_run_tune(const cli_args *args) {
  cli_input input;
  int code = 0;
  kdl_status status = cli_input_open(args->operands[0], &input);
  if (status != KDL_OK)
    return cli_report_status(status);
  job *asked = xcalloc(1, sizeof *asked);
  asked->args = args;
  asked->lib = input.lib;
  asked->kernel_name = args->operands[1];
  asked->beats =
      mmap(NULL, sizeof *asked->beats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (asked->beats == MAP_FAILED)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory");
  else
    status = tune(args, &input, asked, &code);
  if (status != KDL_OK)
    code = cli_report_status(status);
  free(asked);
  cli_input_close(&input);
  return code;
}
