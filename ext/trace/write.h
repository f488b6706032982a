/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the records as trace events in JSON: docs/tracing.md. */
#ifndef KDL_EXT_TRACE_WRITE_H
#define KDL_EXT_TRACE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#define KDL_TRACE_SCHEMA "kdl-trace-1"

/* The file's description of the trace. */
typedef struct kdl_trace_header {
  int64_t started; /* seconds since 1970 */
  uint64_t bytes;
  bool device_time;
} kdl_trace_header;

/* Writes every record that exists now. False with errno. */
bool kdl_trace_write(const kdl_trace_header *header, int fd);

#endif
