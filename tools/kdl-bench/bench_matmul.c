/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `kdl bench matmul`: what was asked, and the tables that it prints. */
#include "bench.h"

#include "base/error.h"
#include "cli/text.h"
#include "suites/matmul/matmul.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_shapes[] =
    "64x64x64,96x96x96,128x128x128,192x192x192,256x256x256,384x384x384,512x512x512,768x768x768,"
    "1024x1024x1024,1536x1536x1536,2048x2048x2048,1x4096x4096,2x4096x4096,4x4096x4096,8x4096x4096,"
    "16x4096x4096,81x19x41,127x129x131,457x330x512,1000x4x512,4x1000x512";

enum { most_threads = 1024, most_extent = 1 << 20 };

/* ------------------------------------------------------------------------------------------ */
/* What was asked                                                                               */

/* The next word of a list; false after the last. */
static bool next_word(const char **list, char *word, size_t size) {
  if (!*list || !**list)
    return false;
  size_t length = strcspn(*list, ",");
  snprintf(word, size, "%.*s", (int)length, *list);
  *list += length + ((*list)[length] == ',');
  return true;
}

static kdl_status take_types(const char *list, unsigned *out_types) {
  char word[32];
  *out_types = list ? 0 : (1u << MATMUL_TYPES) - 1;
  while (next_word(&list, word, sizeof word)) {
    int type = 0;
    while (type < MATMUL_TYPES && strcmp(matmul_type_names[type], word) != 0)
      ++type;
    if (type == MATMUL_TYPES)
      return kdl_fail(KDL_BAD_CALL, "--types: found '%s', expected some of bf16, s8, f32, f16",
                      word);
    *out_types |= 1u << type;
  }
  return *out_types
             ? KDL_OK
             : kdl_fail(KDL_BAD_CALL, "--types: found none, expected some of bf16, s8, f32, f16");
}

static kdl_status take_weights(const char *list, unsigned *out_weights) {
  char word[32];
  *out_weights = list ? 0 : MATMUL_PACKED | MATMUL_PLAIN;
  while (next_word(&list, word, sizeof word)) {
    unsigned found = strcmp(word, "packed") == 0  ? MATMUL_PACKED
                     : strcmp(word, "plain") == 0 ? MATMUL_PLAIN
                                                  : 0;
    if (!found)
      return kdl_fail(KDL_BAD_CALL, "--weights: found '%s', expected packed, plain or packed,plain",
                      word);
    *out_weights |= found;
  }
  return *out_weights ? KDL_OK
                      : kdl_fail(KDL_BAD_CALL,
                                 "--weights: found none, expected packed, plain or packed,plain");
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

static kdl_status take_shapes(const char *list, matmul_request *request) {
  char word[64];
  list = list ? list : default_shapes;
  while (next_word(&list, word, sizeof word)) {
    matmul_shape shape;
    const char *at = word;
    if (!read_extent(&at, 'x', &shape.m) || !read_extent(&at, 'x', &shape.n) ||
        !read_extent(&at, '\0', &shape.k))
      return kdl_fail(KDL_BAD_CALL,
                      "--shapes: found '%s', expected MxNxK, as 64x64x64, each of 1 to %d", word,
                      most_extent);
    if (request->shape_count == MATMUL_SHAPES)
      return kdl_fail(KDL_BAD_CALL, "--shapes: found more than %d", MATMUL_SHAPES);
    request->shapes[request->shape_count++] = shape;
  }
  return request->shape_count ? KDL_OK
                              : kdl_fail(KDL_BAD_CALL, "--shapes: found none, expected MxNxK,...");
}

static kdl_status take_threads(const char *list, unsigned cpus, matmul_request *request) {
  char word[32];
  unsigned most = cpus < most_threads ? cpus : most_threads;
  list = list ? list : most > 1 ? "1,all" : "1";
  while (next_word(&list, word, sizeof word)) {
    char *end = word;
    bool all = strcmp(word, "all") == 0;
    unsigned long count = all ? most : strtoul(word, &end, 10);
    if (!all && (*word < '0' || *word > '9' || *end || !count || count > most))
      return kdl_fail(KDL_BAD_CALL, "--threads: found '%s', expected 1 to %u, or all", word, most);
    if (request->thread_count == MATMUL_THREADS)
      return kdl_fail(KDL_BAD_CALL, "--threads: found more than %d", MATMUL_THREADS);
    request->threads[request->thread_count++] = (uint32_t)count;
  }
  return request->thread_count
             ? KDL_OK
             : kdl_fail(KDL_BAD_CALL, "--threads: found none, expected 1 to %u, or all", most);
}

/* Those that were named, which must be here; or all that are. */
static kdl_status take_peers(const char *list, matmul_request *request, bench_results *results) {
  bool wanted[MATMUL_PEERS] = {false};
  char word[32];
  const char *rest = list;
  while (next_word(&rest, word, sizeof word)) {
    size_t i = 0;
    while (i < MATMUL_PEERS && strcmp(matmul_peers[i]->name, word) != 0)
      ++i;
    if (i == MATMUL_PEERS)
      return kdl_fail(KDL_BAD_CALL, "--peers: unknown peer '%s'; expected some of onednn, openblas",
                      word);
    wanted[i] = true;
  }
  for (size_t i = 0; i < MATMUL_PEERS; ++i) {
    const char *trouble = list && !wanted[i] ? NULL : matmul_peers[i]->open();
    if (trouble && list)
      return kdl_fail(KDL_UNSUPPORTED, "--peers: %s: %s", matmul_peers[i]->name, trouble);
    if (trouble)
      bench_skip_add(results, matmul_peers[i]->title, trouble);
    else if (!list || wanted[i])
      request->peers[request->peer_count++] = matmul_peers[i];
  }
  return KDL_OK;
}

/* Where the library is that comes with libkdl, from where the program is. */
static kdl_status find_library(char out_path[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", out_path, PATH_MAX - 1);
  char *slash = length > 0 ? memrchr(out_path, '/', (size_t)length) : NULL;
  size_t left = slash ? PATH_MAX - (size_t)(slash - out_path) : 0;
  int used = slash ? snprintf(slash, left, "/%s", CLI_MATMUL_LIBRARY) : -1;
  return used > 0 && (size_t)used < left
             ? KDL_OK
             : kdl_fail(KDL_IO, "cannot tell where kdl is: give kdl-matmul.offload as FILE");
}

kdl_status cli_bench_matmul(const cli_args *args, size_t blocks, int pin, bench_results *results) {
  matmul_request request = {.blocks = blocks, .pin = pin};
  char path[PATH_MAX];
  const char *library = args->operand_count > 1 ? args->operands[1] : path;
  const kdl_open_opts as_it_stands = {.size = sizeof as_it_stands, .flags = KDL_OPEN_FILE};
  kdl_status status = take_types(cli_args_value(args, "types"), &request.types);
  if (status == KDL_OK)
    status = take_weights(cli_args_value(args, "weights"), &request.weights);
  if (status == KDL_OK)
    status = take_shapes(cli_args_value(args, "shapes"), &request);
  if (status == KDL_OK)
    status = take_threads(cli_args_value(args, "threads"), results->machine.cpus, &request);
  if (status == KDL_OK)
    status = take_peers(cli_args_value(args, "peers"), &request, results);
  if (status == KDL_OK && library == path)
    status = find_library(path);
  if (status == KDL_OK)
    status = kdl_open(library, &as_it_stands, &request.library);
  if (status == KDL_OK)
    status = kdl_device_find("host", &request.host);
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

/* Of "matmul/f32/1 thread/packed/64x64x64/kdl": what tables share, what rows share, who. */
enum { table_parts = 4, row_parts = 5 };

static size_t parts_length(const char *name, size_t parts) {
  size_t length = 0;
  for (; parts; --parts)
    length += strcspn(name + length, "/") + (parts > 1);
  return length;
}

static const char *who_of(const char *name) {
  return name + parts_length(name, row_parts) + 1;
}

/* The comparison of `who` with what a figure of ours is of. */
static const bench_comparison *comparison_of(const bench_results *results, const bench_figure *ours,
                                             const char *who) {
  for (size_t i = 0; i < results->comparison_count; ++i) {
    const bench_comparison *found = &results->comparisons[i];
    if (strcmp(found->to, ours->name) == 0 && strcmp(who_of(found->of), who) == 0)
      return found;
  }
  return NULL;
}

static void add(cli_table *table, const char *format, double value) {
  char words[32];
  snprintf(words, sizeof words, format, value);
  cli_table_add(table, (kdl_string){words, strlen(words)});
}

static double operations_of(const char *shape) {
  uint32_t m, n, k;
  bool valid =
      read_extent(&shape, 'x', &m) && read_extent(&shape, 'x', &n) && read_extent(&shape, '/', &k);
  return valid ? 2.0 * m * n * k : 0;
}

/* The peers that a table has. */
typedef struct {
  const char *titles[MATMUL_PEERS];
  size_t count;
} peer_list;

static void add_row(cli_table *table, const bench_results *results, const peer_list *peers,
                    const bench_figure *ours) {
  const char *shape = ours->name + parts_length(ours->name, table_parts) + 1;
  const bench_comparison *peak = comparison_of(results, ours, "peak");
  char time[32];
  cli_bench_time(ours->median, time, sizeof time);
  cli_table_add(table, (kdl_string){shape, strcspn(shape, "/")});
  cli_table_add(table, (kdl_string){time, strlen(time)});
  add(table, "%.1f", operations_of(shape) / ours->median);
  add(table, peak ? "%.1f%%" : "", peak ? 100 * peak->ratio.median : 0);
  for (size_t i = 0; i < peers->count; ++i) {
    const bench_comparison *found = comparison_of(results, ours, peers->titles[i]);
    add(table, found ? "%.3f" : "", found ? found->ratio.median : 0);
    add(table, found ? "%.3f" : "", found ? found->ratio.low : 0);
    add(table, found ? "%.3f" : "", found ? found->ratio.high : 0);
  }
}

static bool is_of(const char *table, const char *name, const char *who) {
  size_t length = strlen(table);
  return strncmp(name, table, length) == 0 && name[length] == '/' && strcmp(who_of(name), who) == 0;
}

/* Of the ratios to one peer in a table. */
static void print_summary(const bench_results *results, const char *table, const char *who) {
  double logarithms = 0, least = INFINITY;
  const char *where = "";
  size_t count = 0;
  for (size_t i = 0; i < results->comparison_count; ++i) {
    const bench_comparison *found = &results->comparisons[i];
    if (!is_of(table, found->of, who))
      continue;
    logarithms += log(found->ratio.median);
    ++count;
    if (found->ratio.median < least) {
      least = found->ratio.median;
      where = found->of + strlen(table) + 1;
    }
  }
  if (count)
    printf("%s: geometric mean %.3f, least %.3f at %.*s\n", who, exp(logarithms / (double)count),
           least, (int)strcspn(where, "/"), where);
}

static peer_list peers_of(const bench_results *results, const char *table) {
  peer_list list = {.count = 0};
  for (size_t i = 0; i < MATMUL_PEERS; ++i) {
    size_t k = 0;
    while (k < results->comparison_count &&
           !is_of(table, results->comparisons[k].of, matmul_peers[i]->title))
      ++k;
    if (k < results->comparison_count)
      list.titles[list.count++] = matmul_peers[i]->title;
  }
  return list;
}

static kdl_status print_table(const bench_results *results, const char *name) {
  cli_column columns[4 + 3 * MATMUL_PEERS] = {{"SHAPE", false, 0, NULL},
                                              {"KDL", true, 0, NULL},
                                              {"GFLOP/S", true, 0, NULL},
                                              {"OF PEAK", true, 0, NULL}};
  size_t count = 4;
  peer_list peers = peers_of(results, name);
  for (size_t i = 0; i < peers.count; ++i) {
    columns[count++] = (cli_column){peers.titles[i], true, 0, NULL};
    columns[count++] = (cli_column){"LOW", true, 0, NULL};
    columns[count++] = (cli_column){"HIGH", true, 0, NULL};
  }
  cli_table *table = cli_table_create(columns, count);
  for (size_t i = 0; i < results->figure_count; ++i) {
    const bench_figure *figure = &results->figures[i];
    if (is_of(name, figure->name, "kdl"))
      add_row(table, results, &peers, figure);
  }
  printf("\n%s\n", strchr(name, '/') + 1);
  kdl_status status = cli_table_finish(table);
  for (size_t i = 0; i < peers.count; ++i)
    print_summary(results, name, peers.titles[i]);
  return status;
}

kdl_status cli_bench_print_matmul(const bench_results *results) {
  kdl_status status = KDL_OK;
  char last[BENCH_NAME] = "";
  printf("\na peer's column: its time over ours, with the 95%% interval; above 1, kdl is faster\n");
  for (size_t i = 0; i < results->figure_count && status == KDL_OK; ++i) {
    const char *name = results->figures[i].name;
    size_t length = parts_length(name, table_parts);
    if (strncmp(last, name, length) == 0 && !last[length])
      continue;
    snprintf(last, sizeof last, "%.*s", (int)length, name);
    status = print_table(results, last);
  }
  return status;
}
