/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the system could give without swapping, which is more than what lies idle. */
kdl_status kdl_host_memory_info(void *device, uint64_t *out_free, uint64_t *out_total) {
  static const char path[] = "/proc/meminfo";
  uint64_t available = 0, total = 0, value;
  char line[128], key[32];
  (void)device;
  FILE *file = fopen(path, "re");
  if (!file)
    return kdl_own_services.fail(KDL_IO, errno, "%s: cannot open", path);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%31[^:]: %" SCNu64 " kB", key, &value) != 2)
      continue;
    if (strcmp(key, "MemAvailable") == 0)
      available = value;
    else if (strcmp(key, "MemTotal") == 0)
      total = value;
  }
  fclose(file);
  if (!total)
    return kdl_own_services.fail(KDL_UNSUPPORTED, 0, "%s: found no MemTotal", path);
  *out_free = available * 1024;
  *out_total = total * 1024;
  return KDL_OK;
}
