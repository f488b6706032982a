/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * RISC-V. The minimum is rv64gc, which Linux distributions are built for. An image may run where
 * the kernel reports all further extensions that it was built with. Sources: docs/targets.md,
 * section RISC-V.
 */
#include "lib/inspect/targets.h"

#include "lib/target/families/cpu.h"
#include "lib/target/requirements.h"

#define A(id) ((uint64_t)1 << KDL_RISCV_##id)

#define RVA22 (A(ZBA) | A(ZBB) | A(ZBS) | A(ZFHMIN))
#define RVA23 (RVA22 | A(V) | A(ZVFHMIN) | A(ZVBB) | A(ZICOND) | A(ZFA))

/* RISC-V Profiles: the mandatory extensions of each, of those that have a token. */
static const kdl_cpu_base bases[] = {
    {"rv64gc", {{0, 0}}},
    {"rv64gcv", {{A(V), 0}}},
    {"rv64gcb", {{A(ZBA) | A(ZBB) | A(ZBS), 0}}},
    {"rva20u64", {{0, 0}}},
    {"rva22u64", {{RVA22, 0}}},
    {"rva23u64", {{RVA23, 0}}},
    {"rv64imafdc", {{0, 0}}},
    {"riscv64", {{0, 0}}},
    {"rv64imafdcv", {{A(V), 0}}},
    {"generic-rv64", {{0, 0}}},
    {"generic", {{0, 0}}},
    {"", {{0, 0}}},
};

/* Extensions that every rv64gc CPU has, or that are part of those above; compilers list them. */
static bool is_implied(kdl_string name, kdl_feature_set *set) {
  (void)set;
  static const char *const names[] = {"zicsr",  "zifencei", "zicntr", "zihpm",  "zmmul",   "zaamo",
                                      "zalrsc", "zca",      "zcd",    "zve32x", "zve32f",  "zve64x",
                                      "zve64f", "zve64d",   "zvl32b", "zvl64b", "zvl128b", "zvkb"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (kdl_text_is(name, names[i]))
      return true;
  }
  return false;
}

bool kdl_riscv_parse(kdl_string text, kdl_feature_set *out_set, kdl_parse_error *out_error) {
  static const kdl_cpu_syntax syntax = {
      .features = KDL_CLASS_RISCV,
      .bases = bases,
      .base_count = sizeof bases / sizeof *bases,
      .marks = "+_",
      .add_other = is_implied,
      .expected_base = "rv64gc, rv64gcv or a profile as rva22u64, then _extensions",
      .expected_feature = "an extension of RISC-V, as in _zbb",
  };
  return kdl_cpu_read(&syntax, text, out_set, out_error);
}

void kdl_out_riscv(kdl_out *out, kdl_feature_set set) {
  kdl_out_format(out, kdl_feature_has(set, KDL_RISCV_V) ? "rv64gcv" : "rv64gc");
  for (unsigned bit = 0; bit < 64; ++bit) {
    const char *name = kdl_feature_name(KDL_CLASS_RISCV, bit);
    if (name && bit != KDL_RISCV_V && kdl_feature_has(set, bit))
      kdl_out_format(out, "_%s", name);
  }
}

void kdl_riscv_image(const kdl_image_desc *desc, kdl_image_rule *rule) {
  kdl_cpu_image(desc, KDL_FAMILY_RISCV, kdl_riscv_parse, rule);
}

bool kdl_riscv_device(const kdl_device_desc *desc, kdl_device_rule *rule, kdl_feature_set *has,
                      kdl_parse_error *out_error) {
  return kdl_cpu_device(desc, KDL_FAMILY_RISCV, kdl_riscv_parse, rule, has, out_error);
}
