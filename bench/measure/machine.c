/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "machine.h"

#include "harness.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static cpu_set_t allowed; /* before anything was pinned */
static bool known;

static void learn_allowed(void) {
  if (!known)
    known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
}

bool bench_machine_pin(int cpu, bench_machine *machine) {
  learn_allowed();
  machine->pinned = -1;
  if (cpu == BENCH_PIN_NONE || !known)
    return cpu == BENCH_PIN_NONE;
  for (int i = CPU_SETSIZE - 1; i >= 0 && cpu == BENCH_PIN_ANY; --i) {
    if (CPU_ISSET((size_t)i, &allowed))
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
  if (known)
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/* ------------------------------------------------------------------------------------------ */
/* What the system tells                                                                        */

/* The first line of a file; "" where there is none. */
static void read_line(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  if (!file || !fgets(text, (int)size, file))
    text[0] = '\0';
  text[strcspn(text, "\n")] = '\0';
  if (file)
    fclose(file);
}

/* The value of the first line of /proc/cpuinfo that begins with `key`. */
static void read_cpuinfo(const char *key, char *text, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "r");
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
  read_line(path, machine->governor, sizeof machine->governor);
}

/* ------------------------------------------------------------------------------------------ */
/* Clock and quiet                                                                              */

enum { readings = 10001, chunks = 200, chunk_length = 20000 };

/* What lies between two readings of the clock in a row. */
static double measure_timer(void) {
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

static double measure_noise(void) {
  static double times[chunks];
  uint64_t state = 1;
  for (size_t i = 0; i < chunks; ++i) {
    double start = bench_now_ns();
    for (size_t k = 0; k < chunk_length; ++k)
      state = state * 6364136223846793005 + 1442695040888963407;
    bench_keep(&state);
    times[i] = bench_now_ns() - start;
  }
  bench_sort(times, chunks);
  return bench_quantile(times, chunks, 0.95) / bench_quantile(times, chunks, 0.5) - 1;
}

void bench_machine_describe(bench_machine *machine) {
  learn_allowed();
  struct utsname system;
  if (uname(&system) == 0) {
    snprintf(machine->host, sizeof machine->host, "%.63s", system.nodename);
    snprintf(machine->kernel, sizeof machine->kernel, "%.20s %.48s %.20s", system.sysname,
             system.release, system.machine);
  }
  time_t now = time(NULL);
  struct tm utc;
  strftime(machine->date, sizeof machine->date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &utc));
  machine->cpus = known ? (unsigned)CPU_COUNT(&allowed) : 1;
  if (getloadavg(&machine->load, 1) != 1)
    machine->load = 0;
  describe_cpu(machine);
  machine->timer_ns = measure_timer();
  machine->noise = measure_noise();
}
