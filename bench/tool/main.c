/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl bench: what each layer of a dispatch costs, here and next to others. */
#include "bench.h"
#include "measure/progress.h"
#include "suites/kernels/kernels.h"
#include "suites/process.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

#include <stdlib.h>
#include <string.h>

enum { default_cold = 100, default_warm = 10000, default_blocks = 60, default_beside_blocks = 31 };
enum { most_cold = 10000, most_warm = 1000000, most_blocks = 1000, most_processes = 20 };
enum { exit_interrupted = 130 };

typedef struct {
  const char *name;
  unsigned modes;      /* of a dispatch; 0: not one */
  suite_function *run; /* where it is not */
} suite;

static const suite suites[] = {
    {"layers", SUITE_COLD | SUITE_LOAD | SUITE_HOT | SUITE_QUEUED, NULL},
    {"cold", SUITE_COLD, NULL},
    {"launch", SUITE_HOT | SUITE_QUEUED, NULL},
    {"open", 0, suite_open},
    {"select", 0, suite_select},
    {"scale", 0, suite_scale},
    {"sequence", 0, suite_sequence},
};
/* Those that are measured next to other libraries, with options of their own. */
static const suite matmul = {"matmul", 0, NULL};
static const suite kernels = {"kernels", 0, NULL};
static const suite scale_threads = {"scale-threads", 0, NULL}; /* scale with --threads */
#define SUITE_NAMES                                                                                \
  "layers, cold, launch, open, select, scale, sequence, matmul, kernels, compare or page"

static const suite *find_suite(const char *name) {
  for (size_t i = 0; i < sizeof suites / sizeof *suites; ++i) {
    if (strcmp(suites[i].name, name) == 0)
      return &suites[i];
  }
  return strcmp(matmul.name, name) == 0    ? &matmul
         : strcmp(kernels.name, name) == 0 ? &kernels
                                           : NULL;
}

static kdl_status unknown_suite(const char *name) {
  kdl_nearest nearest = kdl_nearest_to((kdl_string){name, strlen(name)});
  for (size_t i = 0; i < sizeof suites / sizeof *suites; ++i)
    kdl_nearest_add(&nearest, suites[i].name);
  kdl_nearest_add(&nearest, matmul.name);
  kdl_nearest_add(&nearest, kernels.name);
  kdl_nearest_add(&nearest, "compare");
  kdl_nearest_add(&nearest, "page");
  return kdl_fail(KDL_BAD_CALL, "unknown suite '%s': use " SUITE_NAMES "%s%s%s", name,
                  nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                  nearest.best ? "'?" : "");
}

/* ------------------------------------------------------------------------------------------ */
/* What was asked                                                                               */

static kdl_status parse_number_option(const cli_args *args, const char *option, size_t most,
                                      size_t default_value, size_t *out_number) {
  const char *words = cli_args_value(args, option);
  *out_number = default_value;
  if (!words)
    return KDL_OK;
  char *end;
  unsigned long value = strtoul(words, &end, 10);
  if (*words < '0' || *words > '9' || *end || !value || value > most)
    return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use 1 to %zu", option, words, most);
  *out_number = value;
  return KDL_OK;
}

static kdl_status parse_pin(const cli_args *args, int *out_pin) {
  const char *words = cli_args_value(args, "pin");
  *out_pin = BENCH_PIN_ANY;
  if (!words)
    return KDL_OK;
  char *end;
  unsigned long cpu = strtoul(words, &end, 10);
  if (strcmp(words, "none") == 0)
    *out_pin = BENCH_PIN_NONE;
  else if (*words >= '0' && *words <= '9' && !*end && cpu < 4096)
    *out_pin = (int)cpu;
  else
    return kdl_fail(KDL_BAD_CALL, "--pin: bad value '%s': use the number of a CPU or none", words);
  return KDL_OK;
}

static bool runs_on(const peer *what, const char *device) {
  size_t length = what->backend ? strlen(what->backend) : 0;
  return !length || (strncmp(what->backend, device, length) == 0 &&
                     (device[length] == '\0' || device[length] == ':'));
}

/* One that runs on other devices is left out, and named; it is a mistake where no other is left. */
static kdl_status add_peer(const char *name, size_t length, dispatch_request *request,
                           bench_results *results) {
  char copy[64];
  snprintf(copy, sizeof copy, "%.*s", (int)length, name);
  if (strcmp(copy, "kdl") == 0)
    return KDL_OK; /* is there already */
  const peer *what = suite_peer_find(copy);
  if (!what)
    return kdl_fail(KDL_BAD_CALL, "--peers: %s", peer_error());
  if (!runs_on(what, request->job.device)) {
    kdl_fail(KDL_BAD_CALL, "--peers: '%s' runs on %s devices, not on %s", copy, what->backend,
             request->job.device);
    bench_skip_add(results, copy, kdl_error_message() + strlen("--peers: "));
    return KDL_OK;
  }
  for (size_t i = 0; i < request->peer_count; ++i) {
    if (request->peers[i] == what)
      return KDL_OK;
  }
  if (request->peer_count == SUITE_PEER_LIMIT)
    return kdl_fail(KDL_BAD_CALL, "--peers: too many values: use at most %d", SUITE_PEER_LIMIT);
  request->peers[request->peer_count++] = what;
  return KDL_OK;
}

/* Those that were named, or all that run on the device; of the latter, what is missing is noted. */
static kdl_status parse_dispatch_peers(const cli_args *args, dispatch_request *request,
                                       bench_results *results) {
  static const char *const all[] = {"driver", "driver-library", "liboffload", "cudart",
                                    "opencl", "plain",          "omp"};
  const char *words = cli_args_value(args, "peers");
  request->peers[request->peer_count++] = &peer_kdl;
  request->required = words != NULL;
  while (words && *words) {
    size_t length = strcspn(words, ",");
    KDL_TRY(add_peer(words, length, request, results));
    words += length + (words[length] == ',');
  }
  if (request->peer_count == 1 && results->skip_count)
    return kdl_fail(KDL_BAD_CALL, "--peers: %s", results->skips[results->skip_count - 1].why);
  for (size_t i = 0; i < sizeof all / sizeof *all && !request->required; ++i) {
    const peer *what = suite_peer_find(all[i]);
    if (runs_on(what, request->job.device))
      request->peers[request->peer_count++] = what;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* What is written                                                                              */

/* Other forms, each into a file or "-". `command` is the line that was typed. */
static const struct form {
  const char *option; /* "json" */
  bool is_page;       /* what is written goes into a page */
  void (*write)(const bench_results *results, const char *command, FILE *file);
} forms[] = {{"json", false, cli_bench_write_json},     {"html", true, cli_bench_write_json},
             {"folded", false, cli_bench_write_folded}, {"trace", false, cli_bench_write_trace},
             {"lnt", false, cli_bench_write_lnt},       {NULL, false, NULL}};

/* Found out before minutes are spent on measuring. *out_on_stdout: the text stays away. */
static kdl_status check_outputs(const cli_args *args, const char **out_on_stdout) {
  static const char *const options[] = {"json", "html", "folded", "trace", "lnt", NULL};
  KDL_TRY(cli_output_on_stdout(args, options, out_on_stdout));
  cli_output_protect(args->operands + 1, args->operand_count > 1);
  for (const struct form *form = forms; form->option; ++form) {
    const char *path = cli_args_value(args, form->option);
    if (path && strcmp(path, "-") != 0)
      KDL_TRY(cli_output_check(path));
  }
  return KDL_OK;
}

static kdl_status write_forms(const cli_args *args, const bench_results *results) {
  char *command = cli_check_alloc(cli_args_line(args));
  kdl_status status = KDL_OK;
  for (const struct form *form = forms; form->option && status == KDL_OK; ++form) {
    const char *path = cli_args_value(args, form->option);
    char *data = NULL;
    size_t size = 0;
    if (!path)
      continue;
    FILE *file = xtext_stream(&data, &size);
    form->write(results, command, file);
    xtext_close(file);
    status =
        form->is_page ? cli_bench_save_page(path, data, size) : cli_output_save(path, data, size);
    free(data);
  }
  free(command);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

/* `others` ends with NULL. */
static kdl_status reject_options(const cli_args *args, const suite *what,
                                 const char *const others[], size_t operands) {
  for (; *others; ++others) {
    if (cli_args_has(args, *others))
      return kdl_fail(KDL_BAD_CALL, "unexpected --%s: bench %s does not take it", *others,
                      what->name);
  }
  if (args->operand_count > operands)
    return kdl_fail(KDL_BAD_CALL, "unexpected '%s': bench %s does not take it",
                    args->operands[operands], what->name);
  return KDL_OK;
}

static kdl_status run_dispatch(const cli_args *args, const suite *what, bench_results *results) {
  cli_bench_subject subject;
  dispatch_request request = {.suite = what->name, .modes = what->modes};
  static const char *const others[] = {"blocks",  "types", "weights", "shapes",
                                       "threads", "sizes", "kernels", NULL};
  KDL_TRY(reject_options(args, what, others, 3));
  KDL_TRY(parse_number_option(args, "cold", most_cold, default_cold, &request.cold));
  KDL_TRY(parse_number_option(args, "warm", most_warm, default_warm, &request.warm));
  KDL_TRY(parse_pin(args, &request.pin));
  kdl_status status = cli_bench_subject_open(args, &subject, results);
  request.job = subject.job;
  if (status == KDL_OK)
    status = parse_dispatch_peers(args, &request, results);
  if (status == KDL_OK)
    status = suite_dispatch(&request, results);
  cli_bench_subject_free(&subject);
  return status;
}

static kdl_status run_with_peers(const cli_args *args, const suite *what, bench_results *results) {
  static const char *const others[] = {"cold", "warm", "grid", "block", "arg", NULL};
  static const char *const not_matmul[] = {"device", "sizes", "kernels", NULL};
  static const char *const not_kernels[] = {"types", "weights", "shapes", NULL};
  size_t blocks = 0;
  int pin = BENCH_PIN_ANY;
  KDL_TRY(reject_options(args, what, others, 2));
  KDL_TRY(reject_options(args, what, what == &matmul ? not_matmul : not_kernels, 2));
  typedef kdl_status run_function(const cli_args *args, size_t blocks, int pin, bench_results *to);
  run_function *run = what == &matmul    ? cli_bench_matmul
                      : what == &kernels ? cli_bench_kernels
                                         : cli_bench_scale_threads;
  KDL_TRY(parse_number_option(args, "blocks", most_blocks, default_beside_blocks, &blocks));
  KDL_TRY(parse_pin(args, &pin));
  kdl_status status = run(args, blocks, pin, results);
  bench_progress_end();
  results->interrupted = bench_was_interrupted();
  return status;
}

static kdl_status run_plain_suite(const cli_args *args, const suite *what, bench_results *results) {
  static const char *const others[] = {"device",  "peers", "cold",    "warm",    "grid",
                                       "block",   "arg",   "types",   "weights", "shapes",
                                       "threads", "sizes", "kernels", NULL};
  size_t blocks = 0;
  int pin = BENCH_PIN_ANY;
  kdl_status status = KDL_OK;
  KDL_TRY(reject_options(args, what, others, 1));
  KDL_TRY(parse_number_option(args, "blocks", most_blocks, default_blocks, &blocks));
  KDL_TRY(parse_pin(args, &pin));
  size_t processes = blocks / 3 > most_processes ? most_processes : (blocks + 2) / 3;
  for (size_t i = 0; i < processes && status == KDL_OK && !bench_was_interrupted(); ++i) {
    char count[24], cpu[16];
    snprintf(count, sizeof count, "%zu", (i + 1) * blocks / processes - i * blocks / processes);
    snprintf(cpu, sizeof cpu, "%d", pin);
    bench_progress(what->name, i, processes);
    status =
        process_collect_results((const char *[]){"suite", what->name, count, cpu, NULL}, results);
  }
  bench_progress_end();
  results->interrupted = bench_was_interrupted();
  return status;
}

static kdl_status run_here(const suite *what, size_t blocks, int pin, bench_results *results) {
  void *library = NULL;
  suite_built_in built_in = {.kernel = cli_bench_built_in_kernel};
  if (!bench_machine_pin(pin, &results->machine))
    bench_skip_add(results, "pinning", "the system does not allow it");
  KDL_TRY(cli_bench_built_in(&library, &built_in.size));
  built_in.data = library;
  kdl_status status = what->run(&built_in, blocks, results);
  free(library);
  return status;
}

/* suite NAME BLOCKS PIN: a few blocks in a process of their own, since where things lie in memory
 * decides more than a block does. */
static int run_child(const cli_args *args) {
  const char *const *words = (const char *const *)args->operands + 1;
  size_t count = args->operand_count - 1;
  if (count == 5 && strcmp(words[0], kernels.name) == 0)
    return kernels_child(words[1], words[2], words[3], words[4]);
  const suite *what = count == 4 && strcmp(words[0], "suite") == 0 ? find_suite(words[1]) : NULL;
  if (!what || !what->run)
    return suite_child(words, count);
  int channel = process_result_fd();
  bench_results results = {.machine = {.pinned = -1}};
  bench_catch_interrupts();
  bench_progress_hide();
  kdl_status status =
      run_here(what, strtoul(words[2], NULL, 10), (int)strtol(words[3], NULL, 10), &results);
  bool told = status == KDL_OK ? bench_results_send(&results, channel)
                               : bench_error_send(kdl_error_message(), channel);
  bench_results_free(&results);
  return told ? CLI_EXIT_SUCCESS : 1;
}

static kdl_status measure_suite(const cli_args *args, const suite *what, bench_results *results) {
  const char *on_stdout = NULL;
  KDL_TRY(check_outputs(args, &on_stdout));
  bench_catch_interrupts();
  process_save_environment();
  results->machine.pinned = -1;
  bench_machine_describe(&results->machine);
  KDL_TRY((what->modes ? run_dispatch
           : what->run ? run_plain_suite
                       : run_with_peers)(args, what, results));
  bench_machine_finish(&results->machine);
  bench_results_finish(results);
  if (results->no_memory)
    cli_out_of_memory();
  if (!on_stdout)
    KDL_TRY(cli_bench_print(results));
  return write_forms(args, results);
}

static int run_suite(const cli_args *args, const suite *what) {
  bench_results results = {.note_count = 0};
  snprintf(results.suite, sizeof results.suite, "%s", what->name);
  kdl_status status = measure_suite(args, what, &results);
  bool interrupted = results.interrupted;
  bench_results_free(&results);
  return status == KDL_OK && interrupted ? exit_interrupted : cli_report_status(status);
}

static int run_bench(const cli_args *args) {
  const char *name = args->operands[0];
  if (strcmp(name, "child") == 0)
    return run_child(args);
  if (strcmp(name, "compare") == 0) {
    if (args->operand_count != 3)
      return cli_report_status(kdl_fail(KDL_BAD_CALL, "%zu files are given: use OLD.json NEW.json",
                                        args->operand_count - 1));
    return cli_bench_compare(args, args->operands[1], args->operands[2]);
  }
  if (strcmp(name, "page") == 0) {
    if (args->operand_count < 2)
      return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing operand: use RESULTS.json..."));
    return cli_bench_make_page(args, (const char *const *)args->operands + 1,
                               args->operand_count - 1);
  }
  const suite *what = find_suite(name);
  if (what && what->run == suite_scale && cli_args_has(args, "threads"))
    what = &scale_threads;
  return what ? run_suite(args, what) : cli_report_status(unknown_suite(name));
}

int main(int argc, char **argv) {
  cli_command bench = cli_command_bench;
  bench.run = run_bench;
  cli_program_begin();
  cli_report_set_name("kdl", bench.name);
  return cli_program_end(cli_program_run(&bench, argc ? argc - 1 : 0, argv + 1));
}
