/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/host/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* ------------------------------------------------------------------------------------------ */
/* Memory of groups                                                                             */

/*
 * Group memory. Each thread keeps the last that it had, so that launching again allocates nothing;
 * what was taken is not there to be taken twice, should a kernel launch another. A thread that ends
 * gives back what it kept.
 */

/* More than `max_cached` is given back: by the time that it is filled, allocating it is nothing.
 * Much of it is in huge pages: in small ones, the same product took up to 1.7 times as long in one
 * process as in another (docs/matmul.md). */
enum { alignment = 64, max_cached = 4 << 20, huge_page = 2 << 20 };

/* In front of the memory, which is aligned as this is. */
typedef struct {
  _Alignas(alignment) size_t size;
} block;

static pthread_once_t host_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t host_block_key;
static int host_key_error;

static void host_create_key(void) {
  host_key_error = pthread_key_create(&host_block_key, free);
}

static block *host_cached_block(void) {
  pthread_once(&host_key_once, host_create_key);
  return host_key_error ? NULL : pthread_getspecific(host_block_key);
}

void *kdl_host_group_memory_acquire(size_t size) {
  void *memory = NULL;
  block *found = host_cached_block();
  if (found && found->size >= size) {
    (void)pthread_setspecific(host_block_key, NULL);
    return found + 1;
  }
  size_t needed = sizeof *found + size;
  if (needed > huge_page / 4)
    needed = (needed + huge_page - 1) / huge_page * huge_page;
  if (posix_memalign(&memory, needed % huge_page ? alignment : huge_page, needed) != 0)
    return NULL;
  if (needed % huge_page == 0)
    (void)madvise(memory, needed, MADV_HUGEPAGE);
  block *made = memory;
  made->size = size;
  return made + 1;
}

void kdl_host_group_memory_release(void *memory) {
  if (!memory)
    return;
  block *released = (block *)memory - 1;
  block *found = host_cached_block();
  bool is_better = released->size <= max_cached && (!found || found->size < released->size);
  if (!host_key_error && is_better && pthread_setspecific(host_block_key, released) == 0)
    released = found;
  free(released);
}
