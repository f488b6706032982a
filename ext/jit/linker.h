/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One run of kdl-ld. Everything goes in and out through files in memory: nothing is written to a
 * disk, and nothing is left behind however either process ends. */
#ifndef KDL_BITCODE_LINKER_H
#define KDL_BITCODE_LINKER_H

#include "ext/jit/link_report.h"
#include "support/base/string_list.h"
#include "support/base/text.h"
#include "support/system/subprocess.h"

typedef struct kdl_link_limits {
  int64_t milliseconds;
  uint64_t memory; /* bytes; 0: no limit */
} kdl_link_limits;

/* From KDL_LD_TIMEOUT and KDL_LD_MEMORY. */
kdl_status kdl_link_limits_read(kdl_link_limits *out_limits);

/* A library of microkernels as bytes. */
typedef struct kdl_linker_library {
  const char *name; /* for people */
  const void *data;
  size_t size;
} kdl_linker_library;

enum { KDL_LINKER_LIBRARIES = 64 };

typedef struct kdl_linker_call {
  const char *path; /* of kdl-ld */
  kdl_link_limits limits;
  uint64_t largest_output;
  const char *device; /* its spec */
  const void *caller; /* the bitcode */
  size_t caller_size;
  const kdl_linker_library *libraries; /* the first to look into, in their order */
  size_t library_count;                /* KDL_LINKER_LIBRARIES at most */
  const kdl_string_list *options;      /* further ones, "--option=value" each */
  const char *const *environment;      /* NULL: ours */
} kdl_linker_call;

enum { KDL_LINKER_FILES = 3 + KDL_LINKER_LIBRARIES };

typedef struct kdl_linker_run {
  kdl_subprocess_outcome outcome;
  uint64_t largest_output;
  int files[KDL_LINKER_FILES];
} kdl_linker_run;

/* Adds the places of KDL_UKERNEL_PATH as options. */
void kdl_linker_add_search_path(kdl_string_list *options);

/* What people call the file that kdl-ld calls "/proc/self/fd/N": NULL where the text begins with no
 * such name. *out_length is that name's. */
const char *kdl_linker_file_name(const kdl_linker_call *call, kdl_string text, size_t *out_length);

/* Prints one line of what kdl-ld said, with the files by what people call them. */
void kdl_linker_format_message(const kdl_linker_call *call, kdl_string line, kdl_out *out);

/* Returns when it has ended, however that was. The caller closes *out_run, also after a failure. */
kdl_status kdl_linker_call_run(const kdl_linker_call *call, kdl_linker_run *out_run);
void kdl_linker_close(kdl_linker_run *run);

/* What it reported, as from kdl_link_report_read, also after a refusal. The caller frees it, also
 * after a failure. */
kdl_status kdl_linker_report(const kdl_linker_run *run, kdl_link_report *out_report);

/* What it wrote: malloc'ed, a NUL follows. */
kdl_status kdl_linker_output(const kdl_linker_run *run, void **out_data, size_t *out_size);

#endif
