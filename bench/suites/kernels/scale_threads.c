/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Curves over the number of threads, with the roofline of the machine: what its multiply-and-add
 * instruction does back to back on so many threads at once, at the clock that they really have, and
 * how fast a triad reads and writes memory that fits no cache.
 */
#include "measure/harness.h"
#include "measure/progress.h"
#include "suites/kernels/kernels_product.h"
#include "suites/matmul/matmul_peak.h"
#include "support/base/error.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { samples = 5, most_workers = 1024, triad_floats = 16 << 20, triad_rounds = 3 };
static const double sample_ns = 5e6,
                    least_bytes = (double)triad_floats * 6.0; /* half of the triad's */

/* ------------------------------------------------------------------------------------------ */
/* Work                                                                                         */

/* By n, n squared, or n cubed. A triad reads two and writes one number. */
static const struct {
  const char *name;
  double operations, operations_power, bytes, bytes_power;
} works[] = {{"triad", 2, 1, 12, 1},        {"stencil", 4, 1, 8, 1}, {"compute", 128, 1, 8, 1},
             {"group_stencil", 5, 2, 8, 2}, {"gemm", 2, 3, 12, 2},   {"gemm_bf16", 2, 3, 8, 2}};

static size_t find_work(const kernels_case *what) {
  size_t i = 0;
  while (i < sizeof works / sizeof *works && strcmp(works[i].name, what->name) != 0)
    ++i;
  return i;
}

double kernels_operations(const kernels_case *what, uint32_t n) {
  size_t i = find_work(what);
  return i < sizeof works / sizeof *works ? works[i].operations * pow(n, works[i].operations_power)
                                          : 0;
}

double kernels_bytes(const kernels_case *what, uint32_t n) {
  size_t i = find_work(what);
  return i < sizeof works / sizeof *works ? works[i].bytes * pow(n, works[i].bytes_power) : 0;
}

bool kernels_computes(const kernels_case *what, uint32_t n) {
  enum { operations_per_byte = 8 };
  return kernels_operations(what, n) > (double)operations_per_byte * kernels_bytes(what, n);
}

/* ------------------------------------------------------------------------------------------ */
/* All threads at once                                                                          */

typedef struct crew crew;
typedef struct {
  crew *of;
  int cpu; /* below 0: any */
  size_t first, end;
  double rate; /* per ns */
  pthread_t thread;
} worker;

struct crew {
  double (*work)(const worker *self); /* how much was done, in about the time of a sample */
  void (*prepare)(const worker *self);
  const matmul_peak *peak;
  float *x, *y, *z;
  pthread_barrier_t start;
  size_t count;
  worker workers[most_workers];
};

static double run_peak(const worker *self) {
  double done = 0, end = bench_now_ns() + sample_ns;
  do {
    self->of->peak->run(NULL);
    done += self->of->peak->operations;
  } while (bench_now_ns() < end);
  return done;
}

/* Rotations that wait for each other, one a cycle. Additions of constants would not do: some CPUs
 * add several up before they run. */
static double run_cycles(const worker *self) {
  enum { unrolled = 16, rounds = 1000 };
  double done = 0, end = bench_now_ns() + sample_ns;
  unsigned long sum = (unsigned long)self->cpu + 1;
  do {
    for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
      for (int k = 0; k < unrolled; ++k) {
        sum = sum << 7 | sum >> (8 * sizeof sum - 7);
        __asm__ volatile("" : "+r"(sum));
      }
    }
    done += unrolled * rounds;
  } while (bench_now_ns() < end);
  return done;
}

static void touch_triad(const worker *self) {
  for (size_t i = self->first; i < self->end; ++i)
    self->of->x[i] = self->of->y[i] = self->of->z[i] = 1;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("default", "avx2", "avx512f"), optimize("O3")))
#endif
static void triad(const float *restrict x, const float *restrict y, float *restrict z,
                  size_t count) {
  for (size_t i = 0; i < count; ++i)
    z[i] = x[i] + 2.0f * y[i];
}

static double run_triad(const worker *self) {
  const crew *of = self->of;
  for (int i = 0; i < triad_rounds; ++i) {
    triad(of->x + self->first, of->y + self->first, of->z + self->first, self->end - self->first);
    bench_do_not_optimize(of->z + self->first);
  }
  return 12.0 * (double)(self->end - self->first) * (double)triad_rounds;
}

static void *run_worker(void *context) {
  worker *self = context;
  cpu_set_t own;
  CPU_ZERO(&own);
  if (self->cpu >= 0) {
    CPU_SET((size_t)self->cpu, &own);
    (void)sched_setaffinity(0, sizeof own, &own);
  }
  if (self->of->prepare)
    self->of->prepare(self);
  pthread_barrier_wait(&self->of->start);
  double start = bench_now_ns(), done = self->of->work(self);
  self->rate = done / (bench_now_ns() - start);
  return NULL;
}

/* The sum of their rates; 0 where there are no threads. */
static double run_crew(crew *of) {
  double rate = 0;
  size_t started = 0;
  if (pthread_barrier_init(&of->start, NULL, (unsigned)of->count) != 0)
    return 0;
  while (started < of->count &&
         pthread_create(&of->workers[started].thread, NULL, run_worker, &of->workers[started]) == 0)
    ++started;
  if (started < of->count) /* the others wait for ever */
    return 0;
  for (size_t i = 0; i < of->count; ++i) {
    pthread_join(of->workers[i].thread, NULL);
    rate += of->workers[i].rate;
  }
  pthread_barrier_destroy(&of->start);
  return rate;
}

/* The best of some samples: others may have had CPUs meanwhile. */
static double measure_crew(crew *of, double (*work)(const worker *),
                           void (*prepare)(const worker *)) {
  double best = 0;
  of->work = work;
  of->prepare = prepare;
  for (size_t i = 0; i < samples; ++i)
    best = fmax(best, run_crew(of));
  return best;
}

/* 0 where none is known. */
static double measure_peak(crew *of, const matmul_peak *peak) {
  of->peak = peak;
  return peak ? measure_crew(of, run_peak, NULL) : 0;
}

/* ------------------------------------------------------------------------------------------ */
/* The machine                                                                                  */

typedef struct {
  uint32_t threads;
  double f32, bf16, bytes, cycles; /* per ns */
} roof;

typedef struct {
  roof roofs[KERNELS_THREADS];
  size_t count;
} roofs;

/* Linux wants to be asked before a process uses tiles. */
static void request_tiles(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  enum { request_state = 0x1023, tile_data = 18 };
  (void)syscall(SYS_arch_prctl, request_state, tile_data);
#endif
}

static crew *make_crew(uint32_t threads) {
  crew *made = calloc(1, sizeof *made);
  cpu_set_t set;
  bool has_set = sched_getaffinity(0, sizeof set, &set) == 0;
  int cpu = -1;
  if (!made)
    return NULL;
  made->count = threads < most_workers ? threads : most_workers;
  for (size_t i = 0; i < made->count; ++i) {
    for (++cpu; has_set && cpu < CPU_SETSIZE && !CPU_ISSET((size_t)cpu, &set);)
      ++cpu;
    made->workers[i] = (worker){.of = made,
                                .cpu = has_set && cpu < CPU_SETSIZE ? cpu : -1,
                                .first = triad_floats / made->count * i,
                                .end = triad_floats / made->count * (i + 1)};
  }
  return made;
}

static kdl_status measure_roof(const kdl_device_info *device, uint32_t threads, roof *out_roof) {
  crew *of = make_crew(threads);
  *out_roof = (roof){.threads = threads};
  float *memory = of ? aligned_alloc(64, 3 * sizeof(float) * (size_t)triad_floats) : NULL;
  if (!memory) {
    free(of);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the roofline");
  }
  of->x = memory;
  of->y = memory + triad_floats;
  of->z = memory + 2 * (size_t)triad_floats;
  out_roof->cycles = measure_crew(of, run_cycles, NULL) / (double)of->count;
  out_roof->f32 = measure_peak(of, matmul_peak_find(KDL_MATMUL_F32_F32, device));
  out_roof->bf16 = measure_peak(of, matmul_peak_find(KDL_MATMUL_F32_BF16, device));
  out_roof->bytes = measure_crew(of, run_triad, touch_triad);
  free(memory);
  free(of);
  return KDL_OK;
}

/* What is much smaller than the triad that was measured, and does not compute, has no limit that
 * was measured. */
static double roofline_ns(const void *machine, uint32_t threads, const kernels_case *what,
                          uint32_t n) {
  const roofs *all = machine;
  size_t i = 0;
  while (i < all->count && all->roofs[i].threads != threads)
    ++i;
  if (i == all->count)
    return 0;
  bool is_bf16 = !what->library && kernels_product_type(what) == KDL_MATMUL_F32_BF16;
  const roof *at = &all->roofs[i];
  double peak = is_bf16 ? at->bf16 : at->f32;
  double bytes = kernels_bytes(what, n);
  double computing = kernels_computes(what, n) && peak > 0 ? kernels_operations(what, n) / peak : 0;
  double moving = bytes > least_bytes && at->bytes > 0 ? bytes / at->bytes : 0;
  return fmax(computing, moving);
}

kdl_status suite_scale_threads(kernels_request *request, bench_results *results) {
  static roofs all;
  kdl_device *host;
  kdl_device_info info = {.size = sizeof info};
  KDL_TRY(kdl_device_find("host", &host));
  KDL_TRY(kdl_device_get(host, &info));
  bench_machine_unpin();
  request_tiles();
  for (size_t i = 0; i < request->thread_count && !bench_was_interrupted(); ++i) {
    char key[32];
    roof *at = &all.roofs[all.count];
    KDL_TRY(measure_roof(&info, request->threads[i], at));
    ++all.count;
    snprintf(key, sizeof key, "roofline %u", at->threads);
    bench_note_add(results, key,
                   "f32 %.1f GFLOP/s, bf16 %.1f GFLOP/s, memory %.1f GB/s, clock %.2f GHz", at->f32,
                   at->bf16, at->bytes, at->cycles);
  }
  request->roofline_ns = roofline_ns;
  request->machine = &all;
  return suite_kernels(request, results);
}
