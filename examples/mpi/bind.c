/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _GNU_SOURCE
#include "bind.h"

#include <sched.h>
#include <stdio.h>

/* "0-15,32-47" */
static cpu_set_t processors_of(int node) {
  char path[64];
  int first, last;
  cpu_set_t set;
  CPU_ZERO(&set);
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
  FILE *file = fopen(path, "re");
  while (file && fscanf(file, "%d", &first) == 1) {
    if (fscanf(file, "-%d", &last) != 1)
      last = first;
    for (int i = first; i >= 0 && i <= last && i < CPU_SETSIZE; ++i)
      CPU_SET(i, &set);
    if (fgetc(file) != ',')
      break;
  }
  if (file)
    fclose(file);
  return set;
}

int bind_near(const kdl_device *device) {
  int node = kdl_device_numa_node(device);
  cpu_set_t left;
  if (node < 0 || sched_getaffinity(0, sizeof left, &left) != 0)
    return -1;
  cpu_set_t there = processors_of(node);
  CPU_AND(&there, &there, &left);
  return CPU_COUNT(&there) && sched_setaffinity(0, sizeof there, &there) == 0 ? node : -1;
}
