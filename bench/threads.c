/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads of the host: which run where a launch has a limit, by the CPU time of each, and how long
 * loops take that are about as short as handing them to threads.
 *
 *     bench_threads [IMAGE [LIMIT]]      an image with a kernel `nothing`; one limit alone
 */
#include "measure/harness.h"
#include "measure/must.h"
#include "measure/statistics.h"

#include <kdl/extension.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { max_threads = 1024, max_samples = 5000, groups = 1 << 22, iterations = 64 };

static double now_s(void) {
  return bench_now_ns() * 1e-9;
}

static double median_us(double *samples, size_t count) {
  return bench_median_interval(samples, count).median * 1e6;
}

static void pause_us(long us) {
  nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

typedef struct {
  size_t count;
  int ids[max_threads];
  double cpu_s[max_threads];
} thread_times;

/* As CLOCK_THREAD_CPUTIME_ID of each thread. */
static void read_times(thread_times *out_times) {
  DIR *folder = opendir("/proc/self/task");
  out_times->count = 0;
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.' || out_times->count == max_threads)
      continue;
    struct timespec used = {0};
    int id = (int)strtol(entry->d_name, NULL, 10);
    (void)clock_gettime((clockid_t)(~(unsigned)id << 3 | 6), &used);
    out_times->ids[out_times->count] = id;
    out_times->cpu_s[out_times->count++] = (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
  }
  if (folder)
    closedir(folder);
}

static double used_since(const thread_times *before, int id, double cpu_s) {
  for (size_t i = 0; i < before->count; ++i)
    cpu_s -= before->ids[i] == id ? before->cpu_s[i] : 0;
  return cpu_s;
}

static void measure_limit(kdl_kernel *kernel, uint32_t limit, double seconds) {
  static thread_times before, after;
  static double samples[max_samples];
  void *nothing = NULL;
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  desc.threads = limit;
  for (int i = 0; i < 5; ++i)
    bench_require(kdl_launch(kernel, NULL, &desc, KDL_ARGS(&nothing)), "launch");
  pause_us(20000);
  read_times(&before);
  size_t count = 0;
  double start = now_s(), end = start;
  while (count < max_samples && end < start + seconds) {
    bench_require(kdl_launch(kernel, NULL, &desc, KDL_ARGS(&nothing)), "launch");
    double last = end;
    end = now_s();
    samples[count++] = end - last;
  }
  read_times(&after);
  double cpu_s = 0;
  unsigned ran = 0;
  for (size_t i = 0; i < after.count; ++i) {
    double used = used_since(&before, after.ids[i], after.cpu_s[i]);
    cpu_s += used;
    ran += used > 0;
  }
  char words[16] = "none";
  if (limit)
    snprintf(words, sizeof words, "%u", (unsigned)limit);
  printf("limit %4s: %9.1f us a launch; %u of %zu threads ran, %.2f CPUs\n", words,
         median_us(samples, count), ran, after.count, cpu_s / (end - start));
}

/* ------------------------------------------------------------------------------------------ */
/* Loops                                                                                        */

static void count_to(void *context, uint64_t index) {
  (void)index;
  for (volatile long i = 0; i < *(const long *)context; ++i)
    ;
}

/* The median of loops with a pause before each. */
static double loop_us(long counts, long pause) {
  static double samples[max_samples];
  size_t count = 0;
  for (double end = now_s() + 0.2; count < max_samples && now_s() < end;) {
    if (pause)
      pause_us(pause);
    double start = now_s();
    bench_require(kdl_host_parallel(iterations, count_to, &counts), "loop");
    samples[count++] = now_s() - start;
  }
  return median_us(samples, count);
}

static double alone_us(long counts) {
  double start = now_s();
  for (uint64_t i = 0; i < iterations; ++i)
    count_to(&counts, i);
  return (now_s() - start) * 1e6;
}

int main(int argc, char **argv) {
  static const uint32_t limits[] = {1, 2, 4, 8, 16, 32, 64, 128, 0};
  kdl_library *lib;
  kdl_device *device;
  kdl_kernel *kernel;
  bench_require(kdl_open(argc > 1 ? argv[1] : KDL_HOST_IMAGE, NULL, &lib), "open");
  bench_require(kdl_device_find("host", &device), "host");
  bench_require(kdl_sym(lib, device, "nothing", NULL, &kernel), "kernel");
  if (argc > 2) {
    measure_limit(kernel, (uint32_t)strtoul(argv[2], NULL, 10), 2);
    return 0;
  }
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    if (limits[i] <= kdl_host_thread_count())
      measure_limit(kernel, limits[i], 0.25);
  }
  for (long counts = 50; counts < 100000; counts *= 4)
    printf("a loop of %8.1f us: in turn %8.1f us, after a pause of 0.5 ms %8.1f us\n",
           alone_us(counts), loop_us(counts, 0), loop_us(counts, 500));
  return 0;
}
