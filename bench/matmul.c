/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication of kdl-matmul.offload beside oneDNN and OpenBLAS, in one process, in
 * interleaved blocks, as ratios to each and to the peak of the core, which is measured in the same
 * blocks by the microkernel on operands that stay in L1.
 *
 *     bench_matmul LIBRARY [--threads=N] [--type=bf16|s8|f32|f16] [--shapes=MxNxK,...]
 * [--end-to-end] [--blocks=N]
 */
#include "measure/harness.h"
#include "matmul_peers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"bf16", "s8", "f32", "f16"};
static const size_t type_sizes[] = {2, 1, 4, 2};

static const char default_shapes[] =
    "64x64x64,96x96x96,128x128x128,192x192x192,256x256x256,384x384x384,512x512x512,768x768x768,"
    "1024x1024x1024,1536x1536x1536,2048x2048x2048,1x4096x4096,2x4096x4096,4x4096x4096,8x4096x4096,"
    "16x4096x4096,81x19x41,127x129x131,457x330x512,1000x4x512,4x1000x512";

typedef struct options {
  const char *library;
  const char *shapes;
  int type; /* -1: all */
  uint32_t threads;
  size_t blocks;
  bool end_to_end;
} options;

static void die(const char *what) {
  fprintf(stderr, "bench_matmul: %s\n", what);
  exit(1);
}
static void check(kdl_status status) {
  if (status)
    die(kdl_error_message());
}

static kdl_library *library;
static kdl_device *host;

/* -------------------------------------------------------------------------------------------- */
/* Ours                                                                                         */

typedef struct ours {
  kdl_matmul matmul;
  const bench_matmul *problem;
  void *packed;
  bool end_to_end;
} ours;

static void run_ours(void *context) {
  const ours *o = context;
  const bench_matmul *p = o->problem;
  if (o->end_to_end)
    check(kdl_matmul_pack(&o->matmul, NULL, kdl_matmul_rows(p->b, p->n), o->packed, p->n, p->k));
  check(kdl_matmul_run(&o->matmul, NULL, kdl_matmul_rows(p->a, p->k), o->packed,
                       kdl_matmul_rows(p->c, p->n), p->m, p->n, p->k, KDL_MATMUL_SET));
}

static ours prepare_ours(const bench_matmul *problem, const options *opts) {
  ours o = {.problem = problem, .end_to_end = opts->end_to_end};
  check(kdl_matmul_find(library, host, problem->type, opts->threads, &o.matmul));
  size_t size = kdl_matmul_packed_size(problem->type, problem->n, problem->k);
  if (posix_memalign(&o.packed, 64, size + 64))
    die("out of memory");
  check(kdl_matmul_pack(&o.matmul, NULL, kdl_matmul_rows(problem->b, problem->n), o.packed,
                        problem->n, problem->k));
  return o;
}

/* -------------------------------------------------------------------------------------------- */
/* Problems                                                                                     */

static void *matrix(size_t elements, size_t size) {
  void *memory;
  if (posix_memalign(&memory, 64, elements * size + 64))
    die("out of memory");
  return memory;
}

/* Small integers, of which every sum is exact in every type: libraries can be compared bit by bit.
 */
static void fill(void *memory, size_t elements, kdl_matmul_type type, unsigned seed) {
  for (size_t i = 0; i < elements; ++i) {
    seed = seed * 1103515245u + 12345u;
    int value = (int)(seed >> 16) % 7 - 3;
    float number = (float)value;
    static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    uint16_t half = halves[value + 3];
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint16_t bf16 = (uint16_t)(bits >> 16);
    int8_t byte = (int8_t)value;
    const void *from[] = {&bf16, &byte, &number, &half};
    memcpy((char *)memory + i * type_sizes[type], from[type], type_sizes[type]);
  }
}

static double peak_flops; /* of one core, for the type at hand */

/* L1 holds both operands: what is lost to memory and to packing is not lost here. */
static void measure_peak(kdl_matmul_type type, size_t blocks) {
  enum { m = 14 * 4, n = 32 * 4 };
  uint32_t k = 32 * (uint32_t)(4 / type_sizes[type] ? 4 / type_sizes[type] : 1);
  bench_matmul p = {type, m, n, k * 8, NULL, NULL, NULL};
  void *a = matrix((size_t)p.m * p.k, type_sizes[type]);
  void *b = matrix((size_t)p.n * p.k, type_sizes[type]);
  p.c = matrix((size_t)p.m * p.n, 4);
  fill(a, (size_t)p.m * p.k, type, 1);
  fill(b, (size_t)p.n * p.k, type, 2);
  p.a = a;
  p.b = b;
  options opts = {.threads = 1};
  ours o = prepare_ours(&p, &opts);
  bench_case one = {"peak", run_ours, &o};
  static bench_run run;
  bench_measure(&one, 1, blocks, 5, &run);
  double best = run.ns[0][0];
  for (size_t i = 1; i < run.blocks; ++i)
    best = fmin(best, run.ns[0][i]);
  peak_flops = 2.0 * p.m * p.n * p.k / best;
  free(a);
  free(b);
  free(p.c);
  free(o.packed);
}

static void measure(kdl_matmul_type type, uint32_t m, uint32_t n, uint32_t k, const options *opts) {
  const bench_peer *peers[] = {&bench_onednn, &bench_openblas};
  void *prepared[2];
  static bench_run run;
  bench_matmul p = {type, m, n, k, NULL, NULL, NULL};
  void *a = matrix((size_t)m * k, type_sizes[type]), *b = matrix((size_t)n * k, type_sizes[type]);
  fill(a, (size_t)m * k, type, 1);
  fill(b, (size_t)n * k, type, 2);
  p.a = a;
  p.b = b;
  p.c = matrix((size_t)m * n, 4);
  memset(p.c, 0xee, (size_t)m * n * 4);
  ours o = prepare_ours(&p, opts);
  bench_case cases[3] = {{"libkdl", run_ours, &o}};
  size_t count = 1;
  bench_matmul theirs = p;
  theirs.c = matrix((size_t)m * n, 4);
  run_ours(&o);
  for (size_t i = 0; i < 2; ++i) {
    prepared[i] =
        peers[i]->name ? peers[i]->prepare(&theirs, opts->threads, !opts->end_to_end) : NULL;
    if (!prepared[i])
      continue;
    memset(theirs.c, 0xdd, (size_t)m * n * 4);
    peers[i]->run(prepared[i]);
    if (memcmp(theirs.c, p.c, (size_t)m * n * 4) != 0)
      die("the results differ");
    cases[count++] = (bench_case){peers[i]->name, peers[i]->run, prepared[i]};
  }
  double flops = 2.0 * m * n * k;
  bench_measure(cases, count, flops > 2e9 ? opts->blocks / 2 + 1 : opts->blocks,
                fmin(20, fmax(1, flops / peak_flops / 1e6 * 2)), &run);
  printf("%-4s %5ux%-5ux%-5u %8.1f us %5.1f%%", type_names[type], m, n, k,
         bench_summarise(&run, 0).median / 1e3,
         100 * flops / bench_summarise(&run, 0).median / (peak_flops * opts->threads));
  for (size_t i = 1; i < count; ++i) {
    bench_interval ratio = bench_ratio(&run, i, 0);
    printf("  %s %5.1f%% ratio %.3f [%.3f %.3f]", cases[i].name,
           100 * flops / bench_summarise(&run, i).median / (peak_flops * opts->threads),
           ratio.median, ratio.low, ratio.high);
  }
  printf("\n");
  fflush(stdout);
  for (size_t i = 0; i < 2; ++i)
    if (prepared[i])
      peers[i]->release(prepared[i]);
  free(a);
  free(b);
  free(p.c);
  free(theirs.c);
  free(o.packed);
}

static bool starts(const char *text, const char *with, const char **out_rest) {
  size_t length = strlen(with);
  *out_rest = text + length;
  return strncmp(text, with, length) == 0;
}

static options read_options(int argc, char **argv) {
  options opts = {.shapes = default_shapes, .type = -1, .threads = 1, .blocks = 31};
  for (int i = 1; i < argc; ++i) {
    const char *value;
    if (starts(argv[i], "--threads=", &value))
      opts.threads = (uint32_t)strtoul(value, NULL, 10);
    else if (starts(argv[i], "--shapes=", &value))
      opts.shapes = value;
    else if (starts(argv[i], "--blocks=", &value))
      opts.blocks = strtoul(value, NULL, 10);
    else if (!strcmp(argv[i], "--end-to-end"))
      opts.end_to_end = true;
    else if (starts(argv[i], "--type=", &value)) {
      for (int type = 0; type < 4; ++type)
        if (!strcmp(value, type_names[type]))
          opts.type = type;
      if (opts.type < 0)
        die("unknown type; there are bf16, s8, f32 and f16");
    } else if (argv[i][0] == '-' || opts.library)
      die("unknown option; see the head of bench/matmul.c");
    else
      opts.library = argv[i];
  }
  if (!opts.library || !opts.threads || opts.blocks < 3 || opts.blocks > KDL_BENCH_LIMIT_BLOCKS)
    die("usage: bench_matmul LIBRARY [--threads=N] [--type=T] [--shapes=MxNxK,...] [--end-to-end] "
        "[--blocks=3..1000]");
  return opts;
}

int main(int argc, char **argv) {
  options opts = read_options(argc, argv);
  check(kdl_open(opts.library, NULL, &library));
  check(kdl_device_find("host", &host));
  for (int type = 0; type < 4; ++type) {
    if (opts.type >= 0 ? opts.type != type : type == KDL_MATMUL_F32_F16)
      continue;
    measure_peak((kdl_matmul_type)type, 51);
    printf("%s: peak of one core %.1f GFLOP/s; %u thread%s; ratio: time of the peer over ours\n",
           type_names[type], peak_flops, opts.threads, opts.threads > 1 ? "s" : "");
    unsigned m, n, k;
    int length;
    for (const char *shape = opts.shapes; sscanf(shape, "%ux%ux%u%n", &m, &n, &k, &length) == 3;
         shape += length + (shape[length] == ','))
      measure((kdl_matmul_type)type, m, n, k, &opts);
  }
  kdl_close(library);
  return 0;
}
