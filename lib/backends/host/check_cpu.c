/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The object's own word on the CPU it needs, which counts where the metadata promises less: code
 * for another would end the process at an instruction that this one does not have. */
#include "lib/backends/host/host.h"
#include "lib/device/host_cpu.h"
#include "lib/inspect/images.h"
#include "lib/target/features/feature.h"
#include "lib/target/target.h"

#include <pthread.h>

static pthread_once_t host_cpu_once = PTHREAD_ONCE_INIT;
static kdl_device_rule host_cpu;
static bool host_cpu_is_known;

static void host_describe_cpu(void) {
  kdl_device_spec spec = {.backend = KDL_BACKEND_HOST};
  host_cpu_is_known =
      kdl_cpu_describe(&spec) == KDL_OK && kdl_device_spec_compile(&spec, &host_cpu) == KDL_OK;
}

kdl_status kdl_host_check_cpu(const kdl_backend_image *source) {
  kdl_image_target target;
  if (kdl_image_read_target(KDL_IMAGE_OBJECT, source->data, source->data_size, &target) != KDL_OK ||
      !target.arch[0])
    return KDL_OK;
  pthread_once(&host_cpu_once, host_describe_cpu);
  kdl_image_desc desc = {.kind = KDL_IMAGE_OBJECT,
                         .triple = kdl_text_of(target.triple),
                         .arch = kdl_text_of(target.arch)};
  kdl_image_rule rule;
  kdl_image_compile(&desc, &rule);
  if (!host_cpu_is_known || kdl_match_admits(&rule, &host_cpu))
    return KDL_OK;
  kdl_feature_class which = kdl_families[host_cpu.family].features;
  kdl_feature_set missing =
      kdl_feature_tokens(which, kdl_feature_common(rule.needs, host_cpu.lacks));
  char tokens[256] = "";
  kdl_out_features(&(kdl_out){tokens, sizeof tokens, 0}, which, missing);
  return kdl_core_services.fail(
      KDL_NO_MATCH, 0,
      "the object was compiled for %.128s, which needs more than its metadata states: "
      "this CPU lacks %s",
      target.arch, *tokens ? tokens : "features that are not known");
}
