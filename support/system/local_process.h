/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The index of this process among a job's processes on this machine. */
#ifndef KDL_SUPPORT_SYSTEM_LOCAL_PROCESS_H
#define KDL_SUPPORT_SYSTEM_LOCAL_PROCESS_H

#include <stdint.h>

typedef struct kdl_local_process {
  uint32_t rank;
  uint32_t count; /* 0: unknown */
} kdl_local_process;

/* As the launcher set it in the environment; 0 of 1 without a launcher. */
kdl_local_process kdl_local_process_get(void);

#endif
