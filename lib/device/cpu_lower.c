/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_CPU: treats this CPU as one with fewer features, to reproduce what runs there. */
#include "lib/device/host_cpu.h"
#include "lib/device/named_devices.h"
#include "lib/device/spec.h"
#include "lib/target/features/feature.h"
#include "support/base/error.h"

static kdl_status compile_pair(const kdl_device_spec *lesser, const kdl_device_spec *cpu,
                               kdl_device_rule *out_lesser, kdl_device_rule *out_cpu) {
  kdl_status status = kdl_device_spec_compile(lesser, out_lesser);
  return status == KDL_OK ? kdl_device_spec_compile(cpu, out_cpu) : status;
}

kdl_status kdl_cpu_lower(const char *setting, kdl_device_spec *spec) {
  kdl_device_spec lesser;
  kdl_device_rule wanted;
  kdl_device_rule has;
  kdl_status status = kdl_device_spec_resolve(setting, &lesser);
  if (status == KDL_OK)
    status = compile_pair(&lesser, spec, &wanted, &has);
  if (status != KDL_OK) {
    kdl_error_prefix("KDL_CPU");
    return status;
  }
  if (wanted.family != has.family)
    return kdl_fail(KDL_BAD_CALL, "KDL_CPU: found \"%.100s\", expected an %s, as this one is",
                    setting, kdl_families[has.family].name);
  kdl_feature_set missing =
      kdl_feature_tokens(kdl_families[has.family].features,
                         (kdl_feature_set){{has.lacks.word[0] & ~wanted.lacks.word[0],
                                            has.lacks.word[1] & ~wanted.lacks.word[1]}});
  if (kdl_feature_any(missing)) {
    char tokens[KDL_SPEC_TOKENS];
    kdl_out out = {tokens, sizeof tokens, 0};
    kdl_out_features(&out, kdl_families[has.family].features, missing);
    return kdl_fail(KDL_BAD_CALL,
                    "KDL_CPU: found \"%.100s\", expected no more than this CPU has: it lacks %s",
                    setting, tokens);
  }
  memcpy(spec->arch, lesser.arch, sizeof spec->arch);
  memcpy(spec->features, lesser.features, sizeof spec->features);
  return KDL_OK;
}
