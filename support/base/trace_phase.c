/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/trace_phase.h"

const kdl_trace_listener *_Atomic kdl_trace_active_listener;

static const char *const names[] = {
#define KDL_TRACE_PHASE(constant, name) name,
#include "support/base/trace_phases.def"
#undef KDL_TRACE_PHASE
};

const char *kdl_trace_phase_name(kdl_trace_phase phase) {
  return (size_t)phase < KDL_TRACE_PHASE_COUNT ? names[phase] : "?";
}
