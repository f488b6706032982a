/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/spec_label.h"

void kdl_device_spec_place(const kdl_device_spec *spec, kdl_out *out) {
  kdl_string arch = kdl_text_of(spec->arch);
  size_t length = spec->backend == KDL_BACKEND_HOST ? kdl_text_find(arch, 0, "+") : arch.length;
  bool is_ip = spec->backend == KDL_BACKEND_LEVEL_ZERO && kdl_is_digit(arch.data[0]);
  kdl_out_format(out, "%s:%s%.*s", kdl_backend_name(spec->backend), is_ip ? "ip=" : "", (int)length,
                 arch.data);
}

void kdl_device_spec_label(const kdl_device_spec *spec, kdl_out *out) {
  kdl_device_spec_place(spec, out);
  if (spec->name[0])
    kdl_out_format(out, " (%s)", spec->name);
}
