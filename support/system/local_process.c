/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/local_process.h"

#include "support/system/variables.h"

#include <stdbool.h>
#include <stdlib.h>

/* The variables of each launcher: the rank and the number of processes on this machine. MPI comes
 * before batch systems, since MPI may run in one. */
static const struct {
  kdl_variable rank, count;
} launchers[] = {
    {KDL_VARIABLE_OMPI_COMM_WORLD_LOCAL_RANK,
     KDL_VARIABLE_OMPI_COMM_WORLD_LOCAL_SIZE},                    /* Open MPI, PRRTE */
    {KDL_VARIABLE_MPI_LOCALRANKID, KDL_VARIABLE_MPI_LOCALNRANKS}, /* MPICH's Hydra, Intel MPI */
    {KDL_VARIABLE_MV2_COMM_WORLD_LOCAL_RANK, KDL_VARIABLE_MV2_COMM_WORLD_LOCAL_SIZE}, /* MVAPICH */
    {KDL_VARIABLE_PALS_LOCAL_RANKID, KDL_VARIABLE_PALS_LOCAL_SIZE},                   /* HPE Cray */
    {KDL_VARIABLE_FLUX_TASK_LOCAL_ID, KDL_VARIABLE_FLUX_JOB_LOCAL_SIZE},
    {KDL_VARIABLE_SLURM_LOCALID, KDL_VARIABLE_SLURM_NTASKS_PER_NODE},
};

/* An unsigned number and nothing after it. */
static bool read_rank_variable(kdl_variable which, uint32_t *out_number) {
  const char *text = kdl_environment(which);
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
