/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mlir/tool/cpu_target.h"

#include "compiler/ir/linker/target.h"
#include "support/base/error.h"

#include <stdlib.h>

struct cpu_target {
  ir_request request;
  ir_target target;
  kdl_device_routes routes;
};

static kdl_status init(cpu_target *made, const char *name) {
  KDL_TRY(kdl_device_routes_resolve(name, &made->routes));
  made->request.spec = made->routes.specs[0];
  KDL_TRY(
      kdl_select_device_create(&made->request.spec, &made->request.device, &made->request.traits));
  KDL_TRY(ir_target_init(&made->request, &made->target));
  return ir_target_finish(&made->target, &made->request);
}

cpu_target *cpu_target_create(const char *name) {
  cpu_target *made = calloc(1, sizeof *made);
  if (!made) {
    (void)kdl_fail(KDL_NO_MEMORY, "out of memory");
    return NULL;
  }
  if (init(made, name) == KDL_OK)
    return made;
  cpu_target_free(made);
  return NULL;
}

void cpu_target_free(cpu_target *target) {
  if (!target)
    return;
  ir_target_free(&target->target);
  free(target->request.device);
  free(target);
}

const char *cpu_target_arch(const cpu_target *target) {
  return target->target.arch;
}

LLVMTargetMachineRef cpu_target_machine(const cpu_target *target) {
  return target->target.machine;
}

void cpu_target_apply(const cpu_target *target, LLVMModuleRef module) {
  ir_target_apply(&target->target, module);
}
