/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A fixed amount of work for bench/turns.py: prints the time and the CPU time of one loop or
 * launch, in microseconds. Linked with the libkdl.a of each build.
 *
 *     turns loop COUNT TIMES PAUSE_US          kdl_host_parallel, of 64 iterations that count so
 * far turns IMAGE GROUPS TIMES PAUSE_US        launches of its kernel `nothing`
 */
#include <kdl/extension.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  long count;         /* of a loop, or groups of a launch */
  kdl_kernel *kernel; /* NULL: a loop */
} turn;

static double now_us(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void count_up(void *limit, uint64_t index) {
  (void)index;
  for (volatile long i = 0; i < *(const long *)limit; ++i)
    ;
}

static kdl_status do_turn(turn *what) {
  void *nothing = NULL;
  if (!what->kernel)
    return kdl_host_parallel(64, count_up, &what->count);
  kdl_launch_desc desc = kdl_grid((uint32_t)what->count, 1, 1);
  return kdl_launch(what->kernel, NULL, &desc, KDL_ARGS(&nothing));
}

static kdl_status open_kernel(const char *path, kdl_kernel **out_kernel) {
  kdl_library *lib;
  kdl_device *host;
  kdl_status status = kdl_open(path, NULL, &lib);
  if (status == KDL_OK)
    status = kdl_device_find("host", &host);
  return status == KDL_OK ? kdl_sym(lib, host, "nothing", NULL, out_kernel) : status;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  turn what = {.count = strtol(argv[2], NULL, 10)};
  long times = strtol(argv[3], NULL, 10), pause = strtol(argv[4], NULL, 10) * 1000;
  kdl_status status = strcmp(argv[1], "loop") == 0 ? KDL_OK : open_kernel(argv[1], &what.kernel);
  for (int i = 0; i < 20 && status == KDL_OK; ++i)
    status = do_turn(&what);
  double taken = 0, cpu = now_us(CLOCK_PROCESS_CPUTIME_ID);
  for (long i = 0; i < times && status == KDL_OK; ++i) {
    if (pause)
      nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    double start = now_us(CLOCK_MONOTONIC);
    status = do_turn(&what);
    taken += now_us(CLOCK_MONOTONIC) - start;
  }
  if (status != KDL_OK) {
    fprintf(stderr, "turns: %s\n", kdl_error_message());
    return 1;
  }
  printf("%.3f %.3f\n", taken / (double)times,
         (now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)times);
  return 0;
}
