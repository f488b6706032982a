/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Iterations of the caller's own function, as the groups of a launch. */
#include "lib/backends/host/host.h"
#include "support/base/cancel.h"

#include <kdl/extension.h>
#include <kdl/launch.h>

typedef struct {
  void (*run)(void *context, uint64_t index);
  void *context;
} iteration;

static void host_run_iteration(const kdl_host_group *group, const void *const *args) {
  const iteration *of = args[0];
  of->run(of->context, group->group[0]);
}

kdl_status kdl_host_parallel(uint64_t count, void (*run)(void *context, uint64_t index),
                             void *context) {
  KDL_NOT_CANCELLED;
  if (!run)
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "kdl_host_parallel: found NULL for run, expected a function");
  if (count > UINT32_MAX)
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "kdl_host_parallel: found %llu iterations, expected at most %u",
                                  (unsigned long long)count, (unsigned)UINT32_MAX);
  if (count == 0)
    return KDL_OK;
  iteration of = {run, context};
  const void *args[] = {&of};
  kdl_host_work work = {.run = host_run_iteration,
                        .args = args,
                        .shape = {.size = sizeof(kdl_host_group),
                                  .group_count = {(uint32_t)count, 1, 1},
                                  .block = {1, 1, 1},
                                  .tile = {1, 1, 1}},
                        .group_count = count,
                        .end = count,
                        .origin = (uintptr_t)run};
  return kdl_host_run(&work, count, 0);
}
