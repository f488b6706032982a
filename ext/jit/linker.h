/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One run of kdl-ld. Input and output are memory files: nothing is written to a disk or left
 * behind, however either process ends. */
#ifndef KDL_EXT_JIT_LINKER_H
#define KDL_EXT_JIT_LINKER_H

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
  const char *name; /* for messages */
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
  const kdl_linker_library *libraries; /* searched first, in this order */
  size_t library_count;                /* KDL_LINKER_LIBRARIES at most */
  const kdl_string_list *options;      /* further options, "--option=value" each */
  const char *const *environment;      /* NULL: ours */
} kdl_linker_call;

enum { KDL_LINKER_FILES = 3 + KDL_LINKER_LIBRARIES };

typedef struct kdl_linker_run {
  kdl_subprocess_outcome outcome;
  uint64_t largest_output;
  int files[KDL_LINKER_FILES];
} kdl_linker_run;

/* Adds the paths of KDL_UKERNEL_PATH as options. */
void kdl_linker_add_search_path(kdl_string_list *options);

/* The user's name for the file that kdl-ld calls "/proc/self/fd/N"; NULL where the text does not
 * begin with such a name. *out_length is the length of kdl-ld's name. */
const char *kdl_linker_file_name(const kdl_linker_call *call, kdl_string text, size_t *out_length);

/* Prints one line of kdl-ld's messages, with the user's names for files. */
void kdl_linker_format_message(const kdl_linker_call *call, kdl_string line, kdl_out *out);

/* Returns when kdl-ld has ended in any way. The caller closes *out_run, also after a failure. */
kdl_status kdl_linker_call_run(const kdl_linker_call *call, kdl_linker_run *out_run);
void kdl_linker_close(kdl_linker_run *run);

/* Its report, as from kdl_link_report_read, also after a refusal. The caller frees it, also after a
 * failure. */
kdl_status kdl_linker_report(const kdl_linker_run *run, kdl_link_report *out_report);

/* Its output: malloc'ed, a NUL follows. */
kdl_status kdl_linker_output(const kdl_linker_run *run, void **out_data, size_t *out_size);

#endif
