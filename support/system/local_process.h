/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which of a job's processes on this machine this one is. */
#ifndef KDL_SYSTEM_LOCAL_PROCESS_H
#define KDL_SYSTEM_LOCAL_PROCESS_H

#include <stdint.h>

typedef struct kdl_local_process {
  uint32_t rank;
  uint32_t count; /* 0: the launcher does not say */
} kdl_local_process;

/* As the launcher has put it into the environment; the first of one where there is none. */
kdl_local_process kdl_local_process_get(void);

#endif
