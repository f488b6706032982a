/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/host/host.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "MemTotal:   16384 kB" in bytes; false where the line is of another key. */
static bool host_parse_meminfo_line(const char *line, const char *key, uint64_t *out_bytes) {
  size_t length = strlen(key);
  if (strncmp(line, key, length) != 0 || line[length] != ':')
    return false;
  *out_bytes = strtoull(line + length + 1, NULL, 10) * 1024;
  return true;
}

/* What the system could give without swapping, which is more than what lies idle. */
kdl_status kdl_host_memory_info(void *device, uint64_t *out_free, uint64_t *out_total) {
  static const char path[] = "/proc/meminfo";
  uint64_t available = 0, total = 0;
  char line[128];
  (void)device;
  FILE *file = fopen(path, "re");
  if (!file)
    return kdl_core_services.fail(KDL_IO, errno, "%s: cannot open", path);
  while (fgets(line, sizeof line, file)) {
    if (!host_parse_meminfo_line(line, "MemTotal", &total))
      host_parse_meminfo_line(line, "MemAvailable", &available);
  }
  fclose(file);
  if (!total)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "%s: found no MemTotal", path);
  *out_free = available;
  *out_total = total;
  return KDL_OK;
}

/* 0 where the system does not report it, as in most virtual machines. */
kdl_status kdl_host_clock_rate(void *device, uint64_t *out_khz) {
  unsigned long khz = 0;
  (void)device;
  FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
  if (file && fscanf(file, "%lu", &khz) != 1)
    khz = 0;
  if (file)
    fclose(file);
  *out_khz = khz;
  return KDL_OK;
}
