/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `kdl bench matmul`: what was asked, and the tables that it prints. */
#include "bench.h"

#include "suites/matmul/matmul.h"
#include "support/base/error.h"
#include "tools/common/program_folder.h"
#include "tools/common/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char default_shapes[] =
    "64x64x64,96x96x96,128x128x128,192x192x192,256x256x256,384x384x384,512x512x512,768x768x768,"
    "1024x1024x1024,1536x1536x1536,2048x2048x2048,1x4096x4096,2x4096x4096,4x4096x4096,8x4096x4096,"
    "16x4096x4096,81x19x41,127x129x131,457x330x512,1000x4x512,4x1000x512";

enum { most_extent = 1 << 20 };

/* ------------------------------------------------------------------------------------------ */
/* What was asked                                                                               */

/* Bits of those of `names` that the list has; all where there is no list. */
static kdl_status parse_bits(const char *option, const char *list, const char *const *names,
                             size_t count, const char *use, unsigned *out_bits) {
  char word[32];
  *out_bits = list ? 0 : (1u << count) - 1;
  while (cli_bench_next_word(&list, word, sizeof word)) {
    size_t i = 0;
    while (i < count && strcmp(names[i], word) != 0)
      ++i;
    if (i == count)
      return kdl_fail(KDL_BAD_CALL, "--%s: bad value '%s': use %s", option, word, use);
    *out_bits |= 1u << i;
  }
  return *out_bits ? KDL_OK : kdl_fail(KDL_BAD_CALL, "--%s: missing value: use %s", option, use);
}

/* "64", followed by `end`. */
static bool read_extent(const char **text, char end, uint32_t *out_extent) {
  char *after;
  unsigned long value = strtoul(*text, &after, 10);
  bool valid = **text >= '0' && **text <= '9' && value >= 1 && value <= most_extent;
  *text = after + (end != '\0');
  *out_extent = (uint32_t)value;
  return valid && *after == end;
}

static kdl_status parse_shapes(const char *list, matmul_request *request) {
  char word[64];
  list = list ? list : default_shapes;
  while (cli_bench_next_word(&list, word, sizeof word)) {
    matmul_shape shape;
    const char *at = word;
    if (!read_extent(&at, 'x', &shape.m) || !read_extent(&at, 'x', &shape.n) ||
        !read_extent(&at, '\0', &shape.k))
      return kdl_fail(KDL_BAD_CALL,
                      "--shapes: bad value '%s': use MxNxK, as 64x64x64, each of 1 to %d", word,
                      most_extent);
    if (request->shape_count == MATMUL_SHAPES)
      return kdl_fail(KDL_BAD_CALL, "--shapes: too many values: use at most %d", MATMUL_SHAPES);
    request->shapes[request->shape_count++] = shape;
  }
  return request->shape_count ? KDL_OK
                              : kdl_fail(KDL_BAD_CALL, "--shapes: missing value: use MxNxK,...");
}

/* Those that were named, which must be here; or all that are. */
static kdl_status parse_matmul_peers(const char *list, matmul_request *request,
                                     bench_results *results) {
  bool wanted[MATMUL_PEERS] = {false};
  char word[32];
  const char *rest = list;
  while (cli_bench_next_word(&rest, word, sizeof word)) {
    size_t i = 0;
    while (i < MATMUL_PEERS && strcmp(matmul_peers[i]->name, word) != 0)
      ++i;
    if (i == MATMUL_PEERS)
      return kdl_fail(KDL_BAD_CALL, "--peers: unknown peer '%s': use some of onednn, openblas",
                      word);
    wanted[i] = true;
  }
  for (size_t i = 0; i < MATMUL_PEERS; ++i) {
    const char *problem = list && !wanted[i] ? NULL : matmul_peers[i]->open();
    if (problem && list)
      return kdl_fail(KDL_UNSUPPORTED, "--peers: %s: %s", matmul_peers[i]->name, problem);
    if (problem)
      bench_skip_add(results, matmul_peers[i]->title, problem);
    else if (!list || wanted[i])
      request->peers[request->peer_count++] = matmul_peers[i];
  }
  return KDL_OK;
}

static kdl_status read_request(const cli_args *args, matmul_request *request,
                               bench_results *results) {
  static const char *const weights[] = {"packed", "plain"}; /* MATMUL_PACKED, MATMUL_PLAIN */
  KDL_TRY(parse_bits("types", cli_args_value(args, "types"), matmul_type_names, MATMUL_TYPES,
                     "some of bf16, s8, f32, f16", &request->types));
  KDL_TRY(parse_bits("weights", cli_args_value(args, "weights"), weights, 2,
                     "packed, plain or packed,plain", &request->weights));
  KDL_TRY(parse_shapes(cli_args_value(args, "shapes"), request));
  KDL_TRY(cli_bench_parse_threads(cli_args_value(args, "threads"), results->machine.cpus,
                                  request->threads, MATMUL_THREADS, &request->thread_count));
  return parse_matmul_peers(cli_args_value(args, "peers"), request, results);
}

kdl_status cli_bench_matmul(const cli_args *args, size_t blocks, int pin, bench_results *results) {
  matmul_request request = {.blocks = blocks, .pin = pin};
  char path[PATH_MAX];
  const char *library = args->operand_count > 1 ? args->operands[1] : path;
  const kdl_open_opts as_it_stands = {.size = sizeof as_it_stands, .flags = KDL_OPEN_FILE};
  KDL_TRY(read_request(args, &request, results));
  /* The library that comes with libkdl, from where the program is. */
  if (library == path && !cli_program_file(CLI_MATMUL_LIBRARY, path))
    return kdl_fail(KDL_IO, "cannot tell where kdl is: give kdl-matmul.offload as FILE");
  KDL_TRY(kdl_open(library, &as_it_stands, &request.library));
  kdl_status status = kdl_device_find("host", &request.host);
  if (status == KDL_OK) {
    bench_note_add(results, "device", "%s", kdl_device_spec_text(request.host));
    bench_note_add(results, "library", "%s", library);
    status = suite_matmul(&request, results);
  }
  kdl_close(request.library);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* What was found                                                                               */

static double operations_of(const char *shape) {
  uint32_t m, n, k;
  bool valid =
      read_extent(&shape, 'x', &m) && read_extent(&shape, 'x', &n) && read_extent(&shape, '/', &k);
  return valid ? 2.0 * m * n * k : 0;
}

static void add_throughput_cells(cli_table *table, const bench_results *results,
                                 const bench_figure *ours, const char *shape) {
  const bench_comparison *peak = cli_bench_ratio_to(results, ours, "peak");
  cli_bench_add_cell(table, "%.1f", operations_of(shape) / ours->median);
  if (peak)
    cli_bench_add_cell(table, "%.1f%%", 100 * peak->ratio.median);
  else
    cli_table_add(table, (kdl_string){"", 0});
}

kdl_status cli_bench_print_matmul(const bench_results *results) {
  static const cli_column own[] = {{.title = "GFLOP/S", .right = true},
                                   {.title = "OF PEAK", .right = true}};
  const char *titles[MATMUL_PEERS];
  for (size_t i = 0; i < MATMUL_PEERS; ++i)
    titles[i] = matmul_peers[i]->title;
  return cli_bench_print_ratios(results, &(cli_bench_ratios){.row = "SHAPE",
                                                             .table_parts = 4,
                                                             .own = own,
                                                             .own_count = 2,
                                                             .add_own = add_throughput_cells,
                                                             .peers = titles,
                                                             .peer_count = MATMUL_PEERS});
}
