/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A job on disk, for processes of their own. */
#ifndef KDL_BENCH_SUITES_JOB_H
#define KDL_BENCH_SUITES_JOB_H

#include "suite.h"

typedef struct job_folder {
  char path[PEER_PATH];
} job_folder;

/* Writes what the processes need into a new folder. */
kdl_status job_save(const peer_job *job, job_folder *out_folder);
void job_remove(const job_folder *folder);

/* Where the process has the library from. */
typedef enum job_library_source { JOB_LIBRARY_IN_FILE, JOB_LIBRARY_AS_GIVEN } job_library_source;

/* In the process; one job at a time. The caller unloads it, also after a failure. */
bool job_load(const char *folder, job_library_source place, peer_job *out_job);
void job_unload(const peer_job *job);

#endif
