/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `kdl bench kernels`: what was asked, and the tables that it prints. */
#include "bench.h"

#include "suites/kernels/kernels.h"
#include "support/base/error.h"
#include "tools/common/program_folder.h"

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
static kdl_status parse_kernel_peers(const char *list, kernels_request *request) {
  const char *names[KERNELS_PEERS];
  unsigned here = 0;
  for (size_t i = 0; i < KERNELS_PEERS; ++i) {
    names[i] = kernels_peers[i].name;
    if (kernels_peers[i].on_gpu == request->on_gpu)
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

static kdl_status parse_kernels(const char *list, kernels_request *request) {
  const char *names[32];
  for (size_t i = 0; i < kernels_case_count; ++i)
    names[i] = kernels_cases[i].name;
  return parse_names("kernels", list, names, kernels_case_count, ~0u, &request->kernels);
}

kdl_status cli_bench_kernels(const cli_args *args, size_t blocks, int pin, bench_results *results) {
  kernels_request request = {.blocks = blocks, .milliseconds = 20, .pin = pin};
  char program[PATH_MAX], path[PATH_MAX], file[PATH_MAX];
  const unsigned usual = 1u << 1 | 1u << 2; /* small and large */
  if (!cli_program_folder(program))
    return kdl_fail(KDL_IO, "cannot tell where kdl is");
  request.program = program;
  snprintf(path, sizeof path, "%.*s/../bench/kernels", PATH_MAX - 32, program);
  request.folder = args->operand_count > 1 ? args->operands[1] : path;
  KDL_TRY(parse_device(args, &request));
  KDL_TRY(parse_names("sizes", cli_args_value(args, "sizes"), kernels_sizes, KERNELS_SIZES, usual,
                      &request.sizes));
  KDL_TRY(parse_kernels(cli_args_value(args, "kernels"), &request));
  KDL_TRY(parse_kernel_peers(cli_args_value(args, "peers"), &request));
  KDL_TRY(cli_bench_parse_threads(request.on_gpu ? "1" : cli_args_value(args, "threads"),
                                  results->machine.cpus, request.threads, KERNELS_THREADS,
                                  &request.thread_count));
  if (request.sizes == 1u) /* tiny: whether it works, and not how long it takes */
    request.milliseconds = 1;
  int used = snprintf(file, sizeof file, "%s/saxpy.offload", request.folder);
  if (used < 0 || used >= PATH_MAX || access(file, R_OK) != 0)
    return kdl_fail(KDL_IO, "%s: not there; expected a folder as bench/kernels/make.sh makes it",
                    file);
  bench_note_add(results, "kernels", "%s", request.folder);
  return suite_kernels(&request, results);
}

static void add_spread(cli_table *table, const bench_results *results, const bench_figure *ours,
                       const char *row) {
  (void)results, (void)row;
  cli_bench_add_time_cell(table, ours->p5);
  cli_bench_add_time_cell(table, ours->p95);
}

kdl_status cli_bench_print_kernels(const bench_results *results) {
  static const cli_column own[] = {{.title = "P5", .right = true}, {.title = "P95", .right = true}};
  const char *names[KERNELS_PEERS];
  for (size_t i = 0; i < KERNELS_PEERS; ++i)
    names[i] = kernels_peers[i].name;
  return cli_bench_print_ratios(results, &(cli_bench_ratios){.row = "KERNEL",
                                                             .table_parts = table_parts,
                                                             .own = own,
                                                             .own_count = 2,
                                                             .add_own = add_spread,
                                                             .peers = names,
                                                             .peer_count = KERNELS_PEERS});
}
