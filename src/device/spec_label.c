/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/spec_label.h"

static void print_arch(const kdl_device_spec *spec, kdl_out *out) {
  kdl_string arch = kdl_text_of(spec->arch);
  size_t length = spec->backend == KDL_BACKEND_HOST ? kdl_text_find(arch, 0, "+") : arch.length;
  bool is_ip = spec->backend == KDL_BACKEND_LEVEL_ZERO && kdl_is_digit(arch.data[0]);
  kdl_out_format(out, "%s%.*s", is_ip ? "ip=" : "", (int)length, arch.data);
}

void kdl_device_spec_place(const kdl_device_spec *spec, kdl_out *out) {
  kdl_out_format(out, "%s:", kdl_backend_name(spec->backend));
  print_arch(spec, out);
}

void kdl_device_spec_label(const kdl_device_spec *spec, kdl_out *out) {
  kdl_device_spec_place(spec, out);
  if (spec->name[0])
    kdl_out_format(out, " (%s)", spec->name);
}

void kdl_device_spec_name(const kdl_device_spec *spec, kdl_out *out) {
  if (spec->backend == KDL_BACKEND_HOST || !spec->ordinal.known) {
    kdl_device_spec_label(spec, out);
    return;
  }
  kdl_out_format(out, "%s:%u ", kdl_backend_name(spec->backend), (unsigned)spec->ordinal.value);
  print_arch(spec, out);
  if (spec->name[0])
    kdl_out_format(out, " (%s)", spec->name);
}
