/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/device.h"

#include "lib/hooks.h"
#include "lib/inspect/targets.h"
#include "lib/target/families/cpu.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool request_amx_of_linux(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  const int request_state = 0x1023; /* ARCH_REQ_XCOMP_PERM */
  const int tile_data = 18;
  return syscall(SYS_arch_prctl, request_state, tile_data) == 0;
#else
  return false;
#endif
}

bool (*kdl_request_amx)(void) = request_amx_of_linux;

/* All feature tokens that use tiles. */
static const char amx_tokens[] =
    "amx_tile+amx_int8+amx_bf16+amx_fp16+amx_complex+amx_fp8+amx_tf32+amx_avx512";

/* If the spec compiled, it also compiles without AMX. If that ever fails, a device that admits
 * nothing is safe. */
static void deny_amx(kdl_device *device, size_t route) {
  kdl_device_spec spec = device->routes[route]->spec;
  _Static_assert(sizeof amx_tokens <= sizeof spec.refused, "the tokens do not fit");
  memcpy(spec.refused, amx_tokens, sizeof amx_tokens);
  if (kdl_device_route_init(&spec, &device->without_amx) != KDL_OK)
    device->without_amx = (kdl_select_device){.spec = spec};
  atomic_store_explicit(&device->amx_denied, true, memory_order_release);
}

static bool request_amx_once(kdl_device *device, size_t route) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  kdl_lock(&lock);
  if (device->amx == KDL_AMX_NOT_REQUESTED) {
    device->amx = kdl_request_amx() ? KDL_AMX_GRANTED : KDL_AMX_REFUSED;
    kdl_debug(KDL_DEBUG_DEVICES, "asked for permission to use AMX: %s",
              device->amx == KDL_AMX_GRANTED ? "granted" : "refused");
    if (device->amx == KDL_AMX_REFUSED)
      deny_amx(device, route);
  }
  bool granted = device->amx == KDL_AMX_GRANTED;
  kdl_unlock(&lock);
  return granted;
}

static bool is_this_cpu(const kdl_device *device, size_t route) {
  return device->is_here && device->routes[route]->spec.backend == KDL_BACKEND_HOST;
}

bool kdl_device_permit(kdl_device *device, size_t route, const kdl_candidate *candidate) {
  return !candidate->needs_amx || !is_this_cpu(device, route) || request_amx_once(device, route);
}

void kdl_device_permit_all(kdl_device *device, size_t route) {
  const kdl_device_rule *rule = &device->routes[route]->rule;
  kdl_feature_set has = {{~rule->lacks.word[0], ~rule->lacks.word[1]}};
  if (is_this_cpu(device, route) && rule->family == KDL_FAMILY_X86_64 && kdl_x86_needs_amx(has))
    request_amx_once(device, route);
}
