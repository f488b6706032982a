/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A selection that is remembered, compared with accesses to memory: dependent loads along a random
 * cycle of cache lines that fits each cache of this CPU, and the second cache of a GPU. Prints
 * JSON.
 *
 *     bench_latency [LIBRARY [DEVICE]]
 *
 * LIBRARY is bench/images/chase.c, compiled by kdl cc for the device; without it the CPU alone.
 */
#include "measure/harness.h"
#include "measure/machine.h"
#include "measure/must.h"
#include "suites/problem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  steps = 4096,
  blocks = 60,
  device_stride = 32,
  device_size = 8 << 20,
  device_steps = 200000
};

typedef struct {
  void **at;
} chain;

/* One cycle through all of `count` places, in an order that no prefetcher guesses. */
static size_t *make_cycle(size_t count) {
  size_t *order = calloc(count, sizeof *order);
  uint64_t random = 88172645463325252U;
  if (!order)
    bench_die("calloc");
  for (size_t i = 0; i < count; ++i)
    order[i] = i;
  for (size_t i = count - 1; i > 0; --i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    size_t other = random % i, kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  return order;
}

static chain make_chain(size_t size) {
  enum { line = 64, large_page = 2 << 20 };
  size_t count = size / line;
  size_t *next = make_cycle(count);
  size_t room = (size + large_page - 1) / large_page * large_page;
  char *lines = aligned_alloc(large_page, room);
  if (!lines)
    bench_die("aligned_alloc");
  madvise(lines, room, MADV_HUGEPAGE); /* else looking up pages is most of it */
  for (size_t i = 0; i < count; ++i)
    *(void **)(lines + i * line) = lines + next[i] * line;
  free(next);
  return (chain){(void **)lines};
}

static void follow(void *context) {
  chain *at = context;
  void **place = at->at;
  for (size_t i = 0; i < steps; ++i)
    place = *place;
  at->at = place;
}

typedef struct {
  select_problem problem;
  kdl_library *lib;
} choice;

static void select_again(void *context) {
  const choice *at = context;
  for (size_t i = 0; i < steps; ++i)
    select_problem_again(&at->problem, at->lib);
}

static size_t cache_size(int name, size_t otherwise) {
  long size = sysconf(name);
  return size > 0 ? (size_t)size : otherwise;
}

/* Brings back into the caches what the other cases drove out. */
static void settle(const bench_case *next) {
  for (size_t i = 0; i < 64; ++i)
    next->run(next->context);
}

static void print_case(const bench_run *run, size_t i, const char *name, size_t size) {
  double ns[KDL_BENCH_LIMIT_BLOCKS];
  for (size_t k = 0; k < run->blocks; ++k)
    ns[k] = run->ns[i][k] / (double)steps;
  bench_interval each = bench_median_interval(ns, run->blocks);
  printf(
      "%s    {\"name\": \"%s\", \"bytes\": %zu, \"median\": %.2f, \"low\": %.2f, \"high\": %.2f}",
      i ? ",\n" : "", name, size, each.median, each.low, each.high);
}

static void measure_cpu(void) {
  static bench_run run;
  static choice remembered;
  size_t first = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  size_t second = cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
  size_t sizes[] = {0, first / 2, second / 4, 4 * second, (size_t)256 << 20};
  chain chains[5];
  bench_require(select_problem_make(3, &remembered.problem), "select_problem_make");
  remembered.lib = select_problem_open(&remembered.problem);
  select_problem_first(&remembered.problem, remembered.lib);
  bench_case cases[] = {{"kdl_select, remembered", select_again, &remembered},
                        {"L1 cache", follow, &chains[1]},
                        {"L2 cache", follow, &chains[2]},
                        {"L3 cache", follow, &chains[3]},
                        {"memory", follow, &chains[4]}};
  for (size_t i = 1; i < 5; ++i)
    chains[i] = make_chain(sizes[i]);
  bench_measure_with_setup(cases, 5, blocks, 2, settle, &run);
  for (size_t i = 0; i < 5; ++i)
    print_case(&run, i, cases[i].name, sizes[i]);
}

/* ------------------------------------------------------------------------------------------ */
/* A GPU's second cache                                                                         */

typedef struct {
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_buffer buffer;
} device_chain;

static double time_steps(const device_chain *at, uint32_t count) {
  const void *args[] = {&at->buffer.address, &count};
  kdl_launch_desc one = kdl_grid(1, 1, 1);
  one.block[0] = one.block[1] = one.block[2] = 1;
  double start = bench_now_ns();
  bench_require(kdl_launch(at->kernel, at->queue, &one, (kdl_args){2, args, NULL}), "kdl_launch");
  bench_require(kdl_sync(at->queue), "kdl_sync");
  return bench_now_ns() - start;
}

/* What twice as many steps take more, so that the launch does not count. */
static void measure_device(const char *library, const char *name) {
  device_chain at = {0};
  kdl_device *device;
  kdl_library *lib;
  double ns[blocks];
  size_t places = device_size / sizeof(uint32_t) / device_stride;
  size_t *next = make_cycle(places);
  uint32_t *data = calloc(device_size, 1);
  for (size_t i = 0; data && i < places; ++i)
    data[i * device_stride] = (uint32_t)(next[i] * device_stride);
  bench_require(kdl_device_find(name, &device), "kdl_device_find");
  bench_require(kdl_open(library, NULL, &lib), "kdl_open");
  bench_require(kdl_sym(lib, device, "chase", NULL, &at.kernel), "kdl_sym");
  bench_require(kdl_queue_create(device, NULL, &at.queue), "kdl_queue_create");
  bench_require(kdl_alloc(device, device_size, &at.buffer), "kdl_alloc");
  bench_require(kdl_write(at.queue, &at.buffer, 0, data, device_size), "kdl_write");
  time_steps(&at, device_steps); /* brings the lines into the cache */
  for (size_t i = 0; i < blocks; ++i)
    ns[i] =
        (time_steps(&at, 2 * device_steps) - time_steps(&at, device_steps)) / (double)device_steps;
  bench_interval each = bench_median_interval(ns, blocks);
  printf(",\n    {\"name\": \"L2 cache of the GPU\", \"bytes\": %d, \"median\": %.2f, \"low\": "
         "%.2f, \"high\": "
         "%.2f}",
         device_size, each.median, each.low, each.high);
  kdl_free(&at.buffer);
  kdl_queue_destroy(at.queue);
  kdl_close(lib);
  free(data);
  free(next);
}

int main(int argc, char **argv) {
  bench_machine machine = {.pinned = -1};
  bench_machine_pin(BENCH_PIN_ANY, &machine);
  bench_machine_describe(&machine);
  printf("{\n  \"schema\": \"kdl-latency-1\",\n  \"cpu\": \"%s\",\n  \"figures\": [\n",
         machine.cpu);
  measure_cpu();
  if (argc > 1)
    measure_device(argv[1], argc > 2 ? argv[2] : "cuda:0");
  printf("\n  ]\n}\n");
  return 0;
}
