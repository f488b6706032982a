/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `kdl bench kernels`: what was asked, and the tables that it prints. */
#include "bench.h"

#include "suites/kernels/kernels.h"
#include "support/base/error.h"
#include "tools/common/memory.h"
#include "tools/common/program_folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { table_parts = 3 }; /* of kernels/1 thread/large/saxpy/kdl */

/* Bits of those of `names` that the list has; all of `all` where there is no list. */
static kdl_status parse_names(const char *option, const char *list, const char *const names[],
                              size_t count, unsigned all, unsigned *out_bits) {
  char word[32], known[512] = "";
  size_t used = 0;
  bool given = list != NULL;
  *out_bits = list ? 0 : all;
  for (size_t i = 0; i < count && used < sizeof known; ++i)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
  while (cli_bench_next_word(&list, word, sizeof word)) {
    size_t i = 0;
    while (i < count && strcmp(names[i], word) != 0)
      ++i;
    if (i == count)
      return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use some of %s", option, word, known);
    *out_bits |= 1u << i;
  }
  return *out_bits || !given || strcmp(option, "peers") == 0
             ? KDL_OK
             : kdl_fail(KDL_BAD_CALL, "--%s: missing value: use some of %s", option, known);
}

static kdl_status parse_device(const cli_args *args, kernels_request *request) {
  const char *device = cli_args_value(args, "device");
  request->device = device ? device : "host";
  request->on_gpu = strncmp(request->device, "cuda", 4) == 0;
  if (!request->on_gpu && strcmp(request->device, "host") != 0)
    return kdl_fail(KDL_BAD_CALL, "--device: bad value '%s': use host or cuda:N", request->device);
  if (request->on_gpu && cli_args_value(args, "threads"))
    return kdl_fail(KDL_BAD_CALL, "--threads is for the host alone");
  return KDL_OK;
}

/* Those of the device; of those that were named, one that runs elsewhere is a mistake. */
static kdl_status parse_kernel_peers(const char *list, bool with_products,
                                     kernels_request *request) {
  const char *names[KERNELS_PEERS];
  unsigned here = 0;
  for (size_t i = 0; i < KERNELS_PEERS; ++i) {
    names[i] = kernels_peers[i].name;
    if (kernels_peers[i].on_gpu == request->on_gpu &&
        (with_products || !kernels_peers[i].of_products))
      here |= 1u << i;
  }
  request->required = list != NULL;
  KDL_TRY(parse_names("peers", list, names, KERNELS_PEERS, here, &request->peers));
  for (size_t i = 0; i < KERNELS_PEERS; ++i) {
    if (request->peers & ~here & 1u << i)
      return kdl_fail(KDL_BAD_CALL, "--peers: '%s' runs on %s, not on %s", names[i],
                      kernels_peers[i].on_gpu ? "CUDA devices" : "the host", request->device);
  }
  return KDL_OK;
}

static kdl_status parse_kernels(const char *list, unsigned usual, kernels_request *request) {
  const char *names[32];
  for (size_t i = 0; i < kernels_case_count; ++i)
    names[i] = kernels_cases[i].name;
  return parse_names("kernels", list, names, kernels_case_count, usual, &request->kernels);
}

static kdl_status find_folder(const cli_args *args, char program[PATH_MAX], char path[PATH_MAX],
                              kernels_request *request) {
  char file[PATH_MAX];
  if (!cli_program_folder(program))
    return kdl_fail(KDL_IO, "cannot tell where kdl is");
  request->program = program;
  snprintf(path, PATH_MAX, "%.*s/../bench/kernels", PATH_MAX - 32, program);
  request->folder = args->operand_count > 1 ? args->operands[1] : path;
  int used = snprintf(file, sizeof file, "%s/saxpy.offload", request->folder);
  if (used < 0 || used >= PATH_MAX || access(file, R_OK) != 0)
    return kdl_fail(KDL_IO, "%s: not there; expected a folder as bench/kernels/make.sh makes it",
                    file);
  return KDL_OK;
}

static kdl_status parse_request(const cli_args *args, unsigned usual_kernels, bool with_products,
                                const char *usual_threads, bench_results *results,
                                kernels_request *request) {
  const unsigned usual = 1u << 1 | 1u << 2; /* small and large */
  const char *threads = cli_args_value(args, "threads");
  KDL_TRY(parse_device(args, request));
  KDL_TRY(parse_names("sizes", cli_args_value(args, "sizes"), kernels_sizes, KERNELS_SIZES, usual,
                      &request->sizes));
  KDL_TRY(parse_kernels(cli_args_value(args, "kernels"), usual_kernels, request));
  KDL_TRY(parse_kernel_peers(cli_args_value(args, "peers"), with_products, request));
  KDL_TRY(cli_bench_parse_threads(request->on_gpu ? "1"
                                  : threads       ? threads
                                                  : usual_threads,
                                  results->machine.cpus, request->threads, KERNELS_THREADS,
                                  &request->thread_count));
  if (request->sizes == 1u) /* tiny: whether it works, and not how long it takes */
    request->milliseconds = 1;
  bench_note_add(results, "kernels", "%s", request->folder);
  return KDL_OK;
}

kdl_status cli_bench_kernels(const cli_args *args, size_t blocks, int pin, bench_results *results) {
  kernels_request request = {.blocks = blocks, .milliseconds = 20, .pin = pin};
  char program[PATH_MAX], path[PATH_MAX];
  KDL_TRY(find_folder(args, program, path, &request));
  KDL_TRY(parse_request(args, (1u << KERNELS_USUAL) - 1, false, NULL, results, &request));
  return suite_kernels(&request, results);
}

/* Those after the usual ones, and one with barriers. */
kdl_status cli_bench_scale_threads(const cli_args *args, size_t blocks, int pin,
                                   bench_results *results) {
  kernels_request request = {.blocks = blocks, .milliseconds = 20, .pin = pin};
  char program[PATH_MAX], path[PATH_MAX];
  unsigned kernels = ((1u << kernels_case_count) - 1) & ~((1u << (KERNELS_USUAL - 1)) - 1);
  KDL_TRY(find_folder(args, program, path, &request));
  KDL_TRY(parse_request(args, kernels, true, "powers", results, &request));
  if (request.on_gpu)
    return kdl_fail(KDL_BAD_CALL, "--device: bad value '%s': use host", request.device);
  return suite_scale_threads(&request, results);
}

static void add_spread(cli_table *table, const bench_results *results, const bench_figure *ours,
                       const char *row) {
  (void)results, (void)row;
  cli_bench_add_time_cell(table, ours->p5);
  cli_bench_add_time_cell(table, ours->p95);
}

static size_t list_peers(const char *names[KERNELS_PEERS + 1]) {
  for (size_t i = 0; i < KERNELS_PEERS; ++i)
    names[i] = kernels_peers[i].name;
  names[KERNELS_PEERS] = "roofline";
  return KERNELS_PEERS;
}

kdl_status cli_bench_print_kernels(const bench_results *results) {
  static const cli_column own[] = {{.title = "P5", .right = true}, {.title = "P95", .right = true}};
  const char *names[KERNELS_PEERS + 1];
  return cli_bench_print_ratios(results, &(cli_bench_ratios){.row = "KERNEL",
                                                             .table_parts = table_parts,
                                                             .own = own,
                                                             .own_count = 2,
                                                             .add_own = add_spread,
                                                             .peers = names,
                                                             .peer_count = list_peers(names)});
}

/* ------------------------------------------------------------------------------------------ */
/* Curves over threads                                                                          */

/* Of "scale/gemm large/kdl". */
static const kernels_case *case_of_curve(const char *name, uint32_t *out_n) {
  const char *kernel = strchr(name, '/') + 1;
  for (size_t i = 0; i < kernels_case_count; ++i) {
    size_t length = strlen(kernels_cases[i].name);
    if (strncmp(kernel, kernels_cases[i].name, length) != 0 || kernel[length] != ' ')
      continue;
    for (size_t size = 0; size < KERNELS_SIZES; ++size) {
      if (strncmp(kernel + length + 1, kernels_sizes[size], strlen(kernels_sizes[size])) == 0)
        *out_n = kernels_cases[i].on_cpu[size];
    }
    return &kernels_cases[i];
  }
  return NULL;
}

/* GFLOP/s where it computes, else GB/s. */
static double rate_of(const kernels_case *what, uint32_t n, double ns, const char **out_unit) {
  bool computes = kernels_computes(what, n);
  *out_unit = computes ? "GFLOP/s" : "GB/s";
  return (computes ? kernels_operations(what, n) : kernels_bytes(what, n)) / ns;
}

static void add_curve_row(cli_table *table, const bench_results *results, const bench_curve *curve,
                          const bench_curve *widest) {
  uint32_t n = 0;
  const char *unit = "", *who = strrchr(curve->name, '/') + 1, *row = strchr(curve->name, '/') + 1;
  const kernels_case *what = case_of_curve(curve->name, &n);
  if (what)
    (void)rate_of(what, n, 1, &unit);
  cli_bench_add_cell(table, "%.*s", (int)(who - row - 1), row);
  cli_bench_add_cell(table, "%s", who);
  cli_bench_add_cell(table, "%s", unit);
  for (size_t i = 0, k = 0; i < widest->count; ++i) {
    bool has_point = k < curve->count && curve->at[k] == widest->at[i];
    if (has_point && what)
      cli_bench_add_cell(table, "%.1f",
                         rate_of(what, n, results->figures[curve->figures[k]].median, &unit));
    else
      cli_bench_add_cell(table, "%s", "");
    k += has_point;
  }
}

static kdl_status print_curves(const bench_results *results) {
  static const char *const words[] = {"KERNEL", "WHO", "UNIT"};
  enum { word_count = sizeof words / sizeof *words };
  char titles[BENCH_CURVE_POINTS][16];
  const bench_curve *widest = NULL;
  for (size_t i = 0; i < results->curve_count; ++i) {
    if (!widest || results->curves[i].count > widest->count)
      widest = &results->curves[i];
  }
  if (!widest)
    return KDL_OK;
  cli_column *columns = cli_check_alloc(calloc(word_count + BENCH_CURVE_POINTS, sizeof *columns));
  for (size_t i = 0; i < word_count; ++i)
    columns[i].title = words[i];
  for (size_t i = 0; i < widest->count; ++i) {
    snprintf(titles[i], sizeof titles[i], "%.0f", widest->at[i]);
    columns[word_count + i] = (cli_column){.title = titles[i], .right = true};
  }
  cli_table *table = cli_table_create(columns, word_count + widest->count);
  for (size_t i = 0; i < results->curve_count; ++i)
    add_curve_row(table, results, &results->curves[i], widest);
  printf("\nby threads\n");
  kdl_status status = cli_table_finish(table);
  free(columns);
  return status;
}

kdl_status cli_bench_print_scale_threads(const bench_results *results) {
  static const cli_column own[] = {{.title = "P5", .right = true}, {.title = "P95", .right = true}};
  const char *names[KERNELS_PEERS + 1];
  kdl_status status = cli_bench_print_ratios(
      results, &(cli_bench_ratios){.row = "KERNEL",
                                   .table_parts = 2, /* of scale/1 thread/triad large/kdl */
                                   .own = own,
                                   .own_count = 2,
                                   .add_own = add_spread,
                                   .peers = names,
                                   .peer_count = list_peers(names) + 1});
  return status == KDL_OK ? print_curves(results) : status;
}
