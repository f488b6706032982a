/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/local_process.h"

#include <stdbool.h>
#include <stdlib.h>

/* The variables of each launcher: the rank and the number of processes on this machine. MPI comes
 * before batch systems, since MPI may run in one. */
static const struct {
  const char *rank;
  const char *count;
} launchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI, PRRTE */
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},                       /* MPICH's Hydra, Intel MPI */
    {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},   /* MVAPICH */
    {"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},                     /* HPE Cray */
    {"FLUX_TASK_LOCAL_ID", "FLUX_JOB_LOCAL_SIZE"},
    {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

/* An unsigned number and nothing after it. */
static bool read_rank_variable(const char *name, uint32_t *out_number) {
  const char *text = secure_getenv(name);
  char *end;
  if (!text || text[0] < '0' || text[0] > '9')
    return false;
  unsigned long number = strtoul(text, &end, 10);
  if (*end || number > INT32_MAX)
    return false;
  *out_number = (uint32_t)number;
  return true;
}

kdl_local_process kdl_local_process_get(void) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; ++i) {
    kdl_local_process self = {0, 0};
    if (!read_rank_variable(launchers[i].rank, &self.rank))
      continue;
    if (!read_rank_variable(launchers[i].count, &self.count) || self.count <= self.rank)
      self.count = 0;
    return self;
  }
  return (kdl_local_process){0, 1};
}
