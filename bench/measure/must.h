/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What goes wrong ends the program: it would be measured as something fast. */
#ifndef KDL_BENCH_MEASURE_MUST_H
#define KDL_BENCH_MEASURE_MUST_H

#include <kdl/kdl.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* "bench_launch: kdl_open: ..." */
static inline _Noreturn void bench_die(const char *what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, kdl_error_message());
  exit(1);
}

static inline void bench_require(kdl_status status, const char *what) {
  if (status != KDL_OK)
    bench_die(what);
}

/* Of a driver that is called directly. */
static inline void bench_require_call(int error, const char *call) {
  if (error) {
    fprintf(stderr, "%s: %s: error %d\n", program_invocation_short_name, call, error);
    exit(1);
  }
}

/* All of a file; the caller frees it. */
static inline void *bench_read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rbe");
  long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
  void *data = size > 0 ? malloc((size_t)size) : NULL;
  if (!data || fseek(file, 0, SEEK_SET) || fread(data, 1, (size_t)size, file) != (size_t)size) {
    fprintf(stderr, "%s: %s: found no file to read\n", program_invocation_short_name, path);
    exit(1);
  }
  fclose(file);
  *out_size = (size_t)size;
  return data;
}

#endif
