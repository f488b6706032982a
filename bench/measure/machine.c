/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "machine.h"

#include "harness.h"

#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static cpu_set_t allowed_cpus; /* before anything was pinned */
static bool has_allowed_cpus;

static void save_allowed_cpus(void) {
  if (!has_allowed_cpus)
    has_allowed_cpus = sched_getaffinity(0, sizeof allowed_cpus, &allowed_cpus) == 0;
}

bool bench_machine_pin(int cpu, bench_machine *machine) {
  save_allowed_cpus();
  machine->pinned = -1;
  if (cpu == BENCH_PIN_NONE || !has_allowed_cpus)
    return cpu == BENCH_PIN_NONE;
  for (int i = CPU_SETSIZE - 1; i >= 0 && cpu == BENCH_PIN_ANY; --i) {
    if (CPU_ISSET((size_t)i, &allowed_cpus))
      cpu = i;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  if (cpu >= CPU_SETSIZE)
    return false;
  CPU_SET((size_t)cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0)
    return false;
  machine->pinned = cpu;
  return true;
}

void bench_machine_unpin(void) {
  if (has_allowed_cpus)
    sched_setaffinity(0, sizeof allowed_cpus, &allowed_cpus);
}

/* ------------------------------------------------------------------------------------------ */
/* What the system tells                                                                        */

/* The first line of a file; "" where there is none. */
static void read_first_line(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "re");
  if (!file || !fgets(text, (int)size, file))
    text[0] = '\0';
  text[strcspn(text, "\n")] = '\0';
  if (file)
    fclose(file);
}

/* The value of the first line of /proc/cpuinfo that begins with `key`. */
static void read_cpuinfo(const char *key, char *text, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[2048];
  text[0] = '\0';
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strncmp(line, key, strlen(key)) == 0 ? strchr(line, ':') : NULL;
    if (!colon)
      continue;
    snprintf(text, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    break;
  }
  if (file)
    fclose(file);
}

static void describe_cpu(bench_machine *machine) {
  char path[96], text[2048];
  read_cpuinfo("model name", machine->cpu, sizeof machine->cpu);
  read_cpuinfo("cpu MHz", text, sizeof text);
  machine->mhz = strtod(text, NULL);
  read_cpuinfo("flags", text, sizeof text);
  machine->is_virtual = strstr(text, " hypervisor") != NULL;
  int cpu = machine->pinned < 0 ? 0 : machine->pinned;
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
  read_first_line(path, machine->governor, sizeof machine->governor);
}

/* Seconds that the CPUs worked for any process, and seconds that went by on all of them; what the
 * hypervisor gave to other machines counts as work. False where the system does not tell. */
static bool read_cpu_time(double *out_work, double *out_all) {
  enum { user, nice_user, kernel, idle, wait, irq, softirq, steal, count };
  double ticks[count];
  char line[256];
  read_first_line("/proc/stat", line, sizeof line);
  char *at = line + strcspn(line, " ");
  for (size_t i = 0; i < count; ++i) {
    char *from = at;
    ticks[i] = strtod(from, &at) / (double)sysconf(_SC_CLK_TCK);
    if (at == from)
      return false;
  }
  *out_work =
      ticks[user] + ticks[nice_user] + ticks[kernel] + ticks[irq] + ticks[softirq] + ticks[steal];
  *out_all = *out_work + ticks[idle] + ticks[wait];
  return true;
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* This process and those it waited for. */
static double own_cpu_time(void) {
  struct rusage own, children;
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  return seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(children.ru_utime) +
         seconds(children.ru_stime);
}

static double work_before, all_before, own_before;
static bool has_cpu_time;

static void save_cpu_time(void) {
  has_cpu_time = read_cpu_time(&work_before, &all_before);
  own_before = own_cpu_time();
}

void bench_machine_finish(bench_machine *machine) {
  double work, all;
  machine->others = -1;
  if (!has_cpu_time || !read_cpu_time(&work, &all) || all <= all_before)
    return;
  double share = (work - work_before - (own_cpu_time() - own_before)) / (all - all_before);
  machine->others = share > 0 ? share : 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Clock and quiet                                                                              */

enum { readings = 10001, chunks = 200, chunk_length = 20000 };

/* What lies between two readings of the clock in a row. */
double bench_machine_timer(void) {
  static double gaps[readings];
  double last = bench_now_ns();
  for (size_t i = 0; i < readings; ++i) {
    double now = bench_now_ns();
    gaps[i] = now - last;
    last = now;
  }
  /* The mean of the middle half: single gaps are whole numbers of the clock's own steps. */
  bench_sort(gaps, readings);
  double sum = 0;
  for (size_t i = readings / 4; i < readings * 3 / 4; ++i)
    sum += gaps[i];
  return sum / (readings * 3 / 4 - readings / 4); // NOLINT(bugprone-integer-division)
}

/* Gaps that differ, differ by whole steps, or by 1 ns that rounding makes of a step's fraction. */
static double measure_step(void) {
  static const double rounding_ns = 1.5;
  double least = HUGE_VAL;
  for (size_t i = 0; i < readings; ++i) {
    double first = bench_now_ns(), second = bench_now_ns(), third = bench_now_ns();
    double apart = fabs((third - second) - (second - first));
    least = apart > rounding_ns && apart < least ? apart : least;
  }
  return least < HUGE_VAL ? least : rounding_ns;
}

void bench_machine_clock(bench_machine *machine) {
  machine->timer_ns = bench_machine_timer();
  machine->step_ns = measure_step();
}

static double measure_noise(void) {
  static double times[chunks];
  uint64_t state = 1;
  for (size_t i = 0; i < chunks; ++i) {
    double start = bench_now_ns();
    for (size_t k = 0; k < chunk_length; ++k)
      state = state * 6364136223846793005 + 1442695040888963407;
    bench_do_not_optimize(&state);
    times[i] = bench_now_ns() - start;
  }
  bench_sort(times, chunks);
  return bench_quantile(times, chunks, 0.95) / bench_quantile(times, chunks, 0.5) - 1;
}

void bench_machine_describe(bench_machine *machine) {
  save_allowed_cpus();
  struct utsname system;
  if (uname(&system) == 0) {
    snprintf(machine->host, sizeof machine->host, "%.63s", system.nodename);
    snprintf(machine->kernel, sizeof machine->kernel, "%.20s %.48s %.20s", system.sysname,
             system.release, system.machine);
  }
  time_t now = time(NULL);
  struct tm utc;
  strftime(machine->date, sizeof machine->date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &utc));
  machine->cpus = has_allowed_cpus ? (unsigned)CPU_COUNT(&allowed_cpus) : 1;
  if (getloadavg(&machine->load, 1) != 1)
    machine->load = 0;
  save_cpu_time();
  describe_cpu(machine);
  bench_machine_clock(machine);
  machine->noise = measure_noise();
}
