/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The CPU that this process runs on. */
#ifndef KDL_LIB_DEVICE_HOST_CPU_H
#define KDL_LIB_DEVICE_HOST_CPU_H

#include "lib/device/spec.h"

/* Fails where KDL_CPU names features that this CPU lacks. */
kdl_status kdl_cpu_check_setting(void);

/* Lowers `spec`, a CPU, to the architecture and features of `setting`, which is a device as users
 * write it: "x86-64-v3", "host:x86-64-v4+avx512_bf16", "zen4". Fails with KDL_BAD_CALL, and leaves
 * the spec unchanged, where the setting has features that the CPU lacks. */
kdl_status kdl_cpu_lower(const char *setting, kdl_device_spec *spec);

/* How an x86-64 CPU is queried; tests replace it. */
typedef struct kdl_x86_cpuid_ops {
  void (*cpuid)(void *user, uint32_t leaf, uint32_t subleaf, uint32_t out[4]); /* a, b, c, d */
  uint64_t (*xcr0)(void *user); /* called only if CPUID has OSXSAVE */
  void *user;
} kdl_x86_cpuid_ops;

/* Fills arch, os_off and name. */
void kdl_cpu_describe_x86(const kdl_x86_cpuid_ops *source, kdl_device_spec *spec);

/* Fills arch from the auxiliary vector and the length of SVE vectors, 0 where there are none. */
void kdl_cpu_describe_aarch64(uint64_t hwcap, uint64_t hwcap2, unsigned vector_bits,
                              kdl_device_spec *spec);

/* Fills the name from MIDR_EL1, if the CPU is known. */
void kdl_cpu_name_aarch64(uint64_t midr, kdl_device_spec *spec);

/* Fills arch from the letters of the auxiliary vector and riscv_hwprobe's bits of extensions;
 * leaves it empty for a CPU with less than rv64gc. */
void kdl_cpu_describe_riscv(uint64_t hwcap, uint64_t extensions, kdl_device_spec *spec);

#endif
