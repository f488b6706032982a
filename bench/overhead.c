/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What libkdl adds to a kernel that works for some milliseconds: a matrix product, launched and
 * waited for through libkdl, through the CUDA driver, and through the driver once more, in turns.
 * The difference of the last two is what measuring cannot tell from nothing. Prints JSON.
 *
 *     bench_overhead LIBRARY IMAGE [BLOCKS [MILLISECONDS [PEER [DEVICE]]]]
 *
 * LIBRARY is made of examples/kernels/matmul_tiled.c by kdl cc, IMAGE is its image for the device.
 */
#include "measure/harness.h"
#include "measure/must.h"
#include "peers/peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { tile = 16, first_side = 1024, instances = 3 };

typedef struct {
  const peer *what;
  _Alignas(16) char state[PEER_STATE_LIMIT];
} instance;

static void require(bool ok) {
  if (!ok)
    bench_die(peer_error());
}

/* c = a b, all of them of `side` rows and columns, one behind the other in the buffer. */
typedef struct {
  uint64_t a, b, c;
  uint32_t m, n, k;
} matmul_args;

static const uint32_t arg_sizes[] = {8, 8, 8, 4, 4, 4}, arg_offsets[] = {0, 8, 16, 24, 28, 32};
static const bool arg_is_buffer[] = {true, true, true, false, false, false};
static matmul_args args;

static void set_side(peer_job *job, uint32_t side) {
  uint64_t size = (uint64_t)side * side * sizeof(float);
  args = (matmul_args){0, size, 2 * size, side, side, side};
  job->grid[0] = job->grid[1] = side / tile;
  job->grid[2] = 1;
  job->buffer_size = 3 * size;
}

static void start(instance *at, const char *name, const peer_job *job) {
  *at = (instance){.what = peer_find(name)};
  require(at->what && at->what->open(at->state, job) &&
          peer_run_steps(at->what->start, at->state) && peer_run_steps(at->what->load, at->state) &&
          at->what->arguments(at->state));
}

static void launch_and_wait(void *context) {
  instance *at = context;
  require(at->what->launch(at->state) && at->what->sync(at->state));
}

static double time_once(instance *at) {
  double best = INFINITY;
  for (int i = 0; i < 20; ++i) {
    double begin = bench_now_ns();
    launch_and_wait(at);
    best = fmin(best, bench_now_ns() - begin);
  }
  return best;
}

static void print_summary(const bench_run *run, size_t i, const char *name) {
  bench_summary each = bench_summarise(run, i);
  printf("    {\"name\": \"%s\", \"median\": %.1f, \"p5\": %.1f, \"p95\": %.1f},\n", name,
         each.median, each.p5, each.p95);
}

static void print_difference(const bench_run *run, size_t of, size_t to, const char *name,
                             const char *behind) {
  bench_interval difference = bench_difference(run, of, to);
  printf("    {\"name\": \"%s\", \"median\": %.1f, \"low\": %.1f, \"high\": %.1f}%s\n", name,
         difference.median, difference.low, difference.high, behind);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fputs("usage: bench_overhead LIBRARY IMAGE [BLOCKS [MILLISECONDS [PEER [DEVICE]]]]\n", stderr);
    return 2;
  }
  static bench_run run;
  static instance all[instances];
  size_t blocks = argc > 3 ? strtoul(argv[3], NULL, 10) : 400;
  double wanted = argc > 4 ? strtod(argv[4], NULL) * 1e6 : 10e6;
  const char *peer_name = argc > 5 ? argv[5] : "driver";
  peer_job job = {.device = argc > 6 ? argv[6] : "cuda:0",
                  .library = argv[1],
                  .kernel = "matmul",
                  .image_path = argv[2],
                  .block = {tile, tile, 1},
                  .arg_count = 6,
                  .arg_sizes = arg_sizes,
                  .arg_offsets = arg_offsets,
                  .arg_is_buffer = arg_is_buffer,
                  .args = &args,
                  .args_size = sizeof args};
  job.image = bench_read_file(argv[2], &job.image_size);
  set_side(&job, first_side);
  start(&all[0], "kdl", &job);
  double whole = time_once(&all[0]);
  uint32_t side = (uint32_t)((double)first_side * cbrt(wanted / whole)) / (4 * tile) * (4 * tile);
  set_side(&job, side);
  start(&all[0], "kdl", &job);
  start(&all[1], peer_name, &job);
  start(&all[2], peer_name, &job);
  const bench_case cases[instances] = {{"libkdl", launch_and_wait, &all[0]},
                                       {"driver", launch_and_wait, &all[1]},
                                       {"driver, again", launch_and_wait, &all[2]}};
  bench_measure(cases, instances, blocks, whole > wanted ? 0.1 : wanted / 4e6, &run);
  printf("{\n  \"schema\": \"kdl-overhead-1\",\n  \"side\": %u,\n  \"blocks\": %zu,\n  "
         "\"figures\": [\n",
         side, blocks);
  for (size_t i = 0; i + 1 < instances; ++i)
    print_summary(&run, i, cases[i].name);
  bench_summary last = bench_summarise(&run, 2);
  printf("    {\"name\": \"%s\", \"median\": %.1f, \"p5\": %.1f, \"p95\": %.1f}\n  ],\n  "
         "\"differences\": [\n",
         cases[2].name, last.median, last.p5, last.p95);
  print_difference(&run, 0, 1, "libkdl less driver", ",");
  print_difference(&run, 2, 1, "driver, again, less driver", "");
  printf("  ]\n}\n");
  return 0;
}
