/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/backends.h"

/* Portable images are for every device, so that no row names their family. */
enum {
  KDL_FAMILIES_OF_CPUS =
      1u << KDL_FAMILY_X86_64 | 1u << KDL_FAMILY_AARCH64 | 1u << KDL_FAMILY_RISCV,
};

static const kdl_backend_row rows[KDL_BACKEND_COUNT] = {
#define KDL_BACKEND_ROW(id, spelling, ...) {.name = #spelling, __VA_ARGS__},
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW
};

const kdl_backend_row *kdl_backend_row_of(kdl_backend backend) {
  static const kdl_backend_row none = {.name = "?"};
  return (unsigned)backend < KDL_BACKEND_COUNT ? &rows[backend] : &none;
}

const char *kdl_backend_name(kdl_backend backend) {
  return kdl_backend_row_of(backend)->name;
}

kdl_backend_words kdl_backend_words_of(kdl_string name) {
  kdl_backend backend = KDL_BACKEND_HOST;
  (void)kdl_backend_parse(name, &backend);
  return rows[backend].words;
}

bool kdl_backend_parse(kdl_string name, kdl_backend *out_backend) {
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (kdl_text_is(name, rows[i].name)) {
      *out_backend = (kdl_backend)i;
      return true;
    }
  }
  return false;
}

bool kdl_backend_of_arch(kdl_string arch, kdl_backend *out_backend) {
  enum { most_starts = sizeof rows->arch_starts / sizeof *rows->arch_starts };
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    for (size_t k = 0; k < most_starts && rows[i].arch_starts[k]; ++k) {
      if (kdl_text_starts(arch, rows[i].arch_starts[k])) {
        *out_backend = (kdl_backend)i;
        return true;
      }
    }
  }
  return false;
}

unsigned kdl_family_backends(kdl_target_family family) {
  unsigned backends = 0;
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (family == KDL_FAMILY_PORTABLE || rows[i].families >> family & 1)
      backends |= 1u << i;
  }
  return backends;
}

void kdl_out_backends(kdl_out *out, const char *separator) {
  for (unsigned i = 0; i < KDL_BACKEND_COUNT; ++i)
    kdl_out_format(out, "%s%s", i ? separator : "", rows[i].name);
}
