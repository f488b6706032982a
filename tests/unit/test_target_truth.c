/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which image runs on which device: a table of pairs written from the vendors' documentation, not
 * from the code. A row is an image, a backend, the devices, and what must come of each pair. Its
 * sources are named above each block; docs/targets.md has the full references.
 */
#include "target_case.h"

typedef struct {
  const char *image;
  const char *backend;
  const char *devices; /* separated by " | " */
  const char *expected;
} row;

/* CUDA C++ Programming Guide, "Binary Compatibility": a cubin for X.y runs on X.z with z >= y, on
 * the desktop only. */
static const row nvidia_cubin[] = {
    {"cubin sm_50", "cuda", "sm_50 | sm_52", "runs"},
    {"cubin sm_50", "cuda", "sm_53", "tegra_exact"},
    {"cubin sm_50", "cuda", "sm_60 | sm_70 | sm_75 | sm_80 | sm_90 | sm_120", "other_major"},
    {"cubin sm_53", "cuda", "sm_53", "runs"},
    {"cubin sm_53", "cuda", "sm_50 | sm_52", "newer_minor"},
    {"cubin sm_53", "cuda", "sm_62 | sm_72 | sm_87", "other_major"},
    {"cubin sm_60", "cuda", "sm_60 | sm_61", "runs"},
    {"cubin sm_60", "cuda", "sm_62", "tegra_exact"},
    {"cubin sm_61", "cuda", "sm_61", "runs"},
    {"cubin sm_61", "cuda", "sm_60", "newer_minor"},
    {"cubin sm_62", "cuda", "sm_62", "runs"},
    {"cubin sm_62", "cuda", "sm_60 | sm_61", "newer_minor"},
    {"cubin sm_70", "cuda", "sm_70 | sm_75", "runs"},
    {"cubin sm_70", "cuda", "sm_72", "tegra_exact"},
    {"cubin sm_70", "cuda", "sm_61 | sm_80 | sm_86 | sm_89 | sm_90 | sm_100 | sm_120",
     "other_major"},
    {"cubin sm_72", "cuda", "sm_72", "runs"},
    {"cubin sm_72", "cuda", "sm_70", "newer_minor"},
    {"cubin sm_72", "cuda", "sm_75", "tegra_exact"},
    {"cubin sm_75", "cuda", "sm_75", "runs"},
    {"cubin sm_75", "cuda", "sm_70 | sm_72", "newer_minor"},
    {"cubin sm_75", "cuda", "sm_80 | sm_86 | sm_90 | sm_100", "other_major"},
    {"cubin sm_80", "cuda", "sm_80 | sm_86 | sm_89", "runs"},
    {"cubin sm_80", "cuda", "sm_87", "tegra_exact"},
    {"cubin sm_80", "cuda", "sm_75 | sm_90 | sm_100 | sm_103 | sm_110 | sm_120 | sm_121",
     "other_major"},
    {"cubin sm_86", "cuda", "sm_86 | sm_89", "runs"},
    {"cubin sm_86", "cuda", "sm_80", "newer_minor"},
    {"cubin sm_86", "cuda", "sm_87", "tegra_exact"},
    {"cubin sm_86", "cuda", "sm_75 | sm_90 | sm_100 | sm_120", "other_major"},
    {"cubin sm_87", "cuda", "sm_87", "runs"},
    {"cubin sm_87", "cuda", "sm_80 | sm_86", "newer_minor"},
    {"cubin sm_87", "cuda", "sm_89", "tegra_exact"},
    {"cubin sm_87", "cuda", "sm_72 | sm_90 | sm_110", "other_major"},
    {"cubin sm_89", "cuda", "sm_89", "runs"},
    {"cubin sm_89", "cuda", "sm_80 | sm_86 | sm_87", "newer_minor"},
    {"cubin sm_89", "cuda", "sm_90 | sm_100 | sm_120", "other_major"},
    {"cubin sm_90", "cuda", "sm_90", "runs"},
    {"cubin sm_90", "cuda", "sm_80 | sm_89 | sm_100 | sm_103 | sm_110 | sm_120 | sm_121",
     "other_major"},
    {"cubin sm_100", "cuda", "sm_100 | sm_103", "runs"},
    {"cubin sm_100", "cuda", "sm_90 | sm_110 | sm_101 | sm_120 | sm_121", "other_major"},
    {"cubin sm_103", "cuda", "sm_103", "runs"},
    {"cubin sm_103", "cuda", "sm_100", "newer_minor"},
    {"cubin sm_103", "cuda", "sm_90 | sm_110 | sm_120", "other_major"},
    {"cubin sm_120", "cuda", "sm_120 | sm_121", "runs"},
    {"cubin sm_120", "cuda", "sm_89 | sm_90 | sm_100 | sm_103 | sm_110", "other_major"},
    {"cubin sm_121", "cuda", "sm_121", "runs"},
    {"cubin sm_121", "cuda", "sm_120", "newer_minor"},
    /* PTX ISA 9.0: sm_101 is renamed to sm_110; a Tegra part under either name. */
    {"cubin sm_110", "cuda", "sm_110 | sm_101", "runs"},
    {"cubin sm_101", "cuda", "sm_110 | sm_101", "runs"},
    {"cubin sm_110", "cuda", "sm_100 | sm_103 | sm_120 | sm_121 | sm_87", "other_major"},
    {"cubin sm_101", "cuda", "sm_100 | sm_103", "other_major"},
    /* The kind a container declares for a cubin may be "object" or nothing. */
    {"object sm_80 triple=nvptx64-nvidia-cuda", "cuda", "sm_80 | sm_86", "runs"},
    {"unknown sm_80 triple=nvptx64-nvidia-cuda", "cuda", "sm_80 | sm_86", "runs"},
    {"unknown sm_80", "cuda", "sm_90", "other_major"},
};

/* NVIDIA, "Blackwell Compatibility Guide" and "Family-Specific Architecture Features": 'a' runs on
 * its own compute capability only, 'f' within its family from its own minor on. */
static const row nvidia_suffix[] = {
    {"cubin sm_90a", "cuda", "sm_90", "runs"},
    {"cubin sm_90a", "cuda", "sm_80 | sm_89 | sm_100 | sm_103 | sm_110 | sm_120 | sm_121",
     "arch_specific_exact"},
    {"cubin sm_100a", "cuda", "sm_100", "runs"},
    {"cubin sm_100a", "cuda", "sm_90 | sm_103 | sm_110 | sm_120 | sm_121", "arch_specific_exact"},
    {"cubin sm_103a", "cuda", "sm_103", "runs"},
    {"cubin sm_103a", "cuda", "sm_100 | sm_110 | sm_120", "arch_specific_exact"},
    {"cubin sm_110a", "cuda", "sm_110 | sm_101", "runs"},
    {"cubin sm_101a", "cuda", "sm_110 | sm_101", "runs"},
    {"cubin sm_110a", "cuda", "sm_100 | sm_120", "arch_specific_exact"},
    {"cubin sm_120a", "cuda", "sm_120", "runs"},
    {"cubin sm_120a", "cuda", "sm_121 | sm_100 | sm_90", "arch_specific_exact"},
    {"cubin sm_121a", "cuda", "sm_121", "runs"},
    {"cubin sm_121a", "cuda", "sm_120", "arch_specific_exact"},
    {"cubin sm_100f", "cuda", "sm_100 | sm_103", "runs"},
    {"cubin sm_100f", "cuda", "sm_90 | sm_110 | sm_120 | sm_121", "family_mismatch"},
    {"cubin sm_103f", "cuda", "sm_103", "runs"},
    {"cubin sm_103f", "cuda", "sm_100", "newer_minor"},
    {"cubin sm_103f", "cuda", "sm_110 | sm_120", "family_mismatch"},
    {"cubin sm_110f", "cuda", "sm_110 | sm_101", "runs"},
    {"cubin sm_110f", "cuda", "sm_100 | sm_103 | sm_120", "family_mismatch"},
    {"cubin sm_120f", "cuda", "sm_120 | sm_121", "runs"},
    {"cubin sm_120f", "cuda", "sm_100 | sm_103 | sm_110 | sm_90", "family_mismatch"},
    {"cubin sm_121f", "cuda", "sm_121", "runs"},
    {"cubin sm_121f", "cuda", "sm_120", "newer_minor"},
};

/* CUDA C++ Programming Guide, "PTX Compatibility"; checked against ptxas 13.0, which compiles
 * exactly these targets for exactly these parts. */
static const row nvidia_ptx[] = {
    {"ptx sm_75", "cuda",
     "sm_75 | sm_80 | sm_86 | sm_87 | sm_89 | sm_90 | sm_100 | sm_103 | sm_110 | sm_120 | sm_121",
     "runs"},
    {"ptx sm_75", "cuda", "sm_50 | sm_61 | sm_70 | sm_72", "ptx_too_new_arch"},
    {"ptx sm_80", "cuda",
     "sm_80 | sm_86 | sm_87 | sm_89 | sm_90 | sm_100 | sm_103 | sm_110 | sm_120 | sm_121", "runs"},
    {"ptx sm_80", "cuda", "sm_70 | sm_75", "ptx_too_new_arch"},
    {"ptx sm_87", "cuda", "sm_87 | sm_89 | sm_90 | sm_120", "runs"},
    {"ptx sm_87", "cuda", "sm_80 | sm_86", "ptx_too_new_arch"},
    {"ptx sm_89", "cuda", "sm_89 | sm_90 | sm_100 | sm_120", "runs"},
    {"ptx sm_89", "cuda", "sm_80 | sm_86 | sm_87", "ptx_too_new_arch"},
    {"ptx sm_90", "cuda", "sm_90 | sm_100 | sm_103 | sm_110 | sm_120 | sm_121", "runs"},
    {"ptx sm_90", "cuda", "sm_75 | sm_80 | sm_86 | sm_89", "ptx_too_new_arch"},
    {"ptx sm_100", "cuda", "sm_100 | sm_103 | sm_110 | sm_120 | sm_121", "runs"},
    {"ptx sm_100", "cuda", "sm_90", "ptx_too_new_arch"},
    {"ptx sm_103", "cuda", "sm_103 | sm_110 | sm_120 | sm_121", "runs"},
    {"ptx sm_103", "cuda", "sm_100 | sm_90", "ptx_too_new_arch"},
    {"ptx sm_110", "cuda", "sm_110 | sm_120 | sm_121", "runs"},
    {"ptx sm_110", "cuda", "sm_100 | sm_103", "ptx_too_new_arch"},
    {"ptx sm_120", "cuda", "sm_120 | sm_121", "runs"},
    {"ptx sm_120", "cuda", "sm_90 | sm_100 | sm_103 | sm_110", "ptx_too_new_arch"},
    {"ptx sm_121", "cuda", "sm_121", "runs"},
    {"ptx sm_121", "cuda", "sm_120", "ptx_too_new_arch"},
    {"ptx sm_90a", "cuda", "sm_90", "runs"},
    {"ptx sm_90a", "cuda", "sm_89 | sm_100 | sm_103 | sm_120 | sm_121", "arch_specific_exact"},
    {"ptx sm_100a", "cuda", "sm_100", "runs"},
    {"ptx sm_100a", "cuda", "sm_103 | sm_120", "arch_specific_exact"},
    {"ptx sm_120a", "cuda", "sm_120", "runs"},
    {"ptx sm_120a", "cuda", "sm_121", "arch_specific_exact"},
    {"ptx sm_100f", "cuda", "sm_100 | sm_103", "runs"},
    {"ptx sm_100f", "cuda", "sm_90 | sm_110 | sm_120", "family_mismatch"},
    {"ptx sm_103f", "cuda", "sm_103", "runs"},
    {"ptx sm_103f", "cuda", "sm_100", "newer_minor"},
    {"ptx sm_110f", "cuda", "sm_110", "runs"},
    {"ptx sm_110f", "cuda", "sm_120", "family_mismatch"},
    {"ptx sm_120f", "cuda", "sm_120 | sm_121", "runs"},
    {"ptx sm_121f", "cuda", "sm_120", "newer_minor"},
    {"unknown compute_80 triple=nvptx64-nvidia-cuda", "cuda", "sm_80 | sm_90 | sm_120", "runs"},
    {"unknown compute_80 triple=nvptx64-nvidia-cuda", "cuda", "sm_75", "ptx_too_new_arch"},
};

/* PTX ISA, "Release Notes": the CUDA release each version came with. A driver refuses a later one
 * with CUDA_ERROR_UNSUPPORTED_PTX_VERSION. */
static const row nvidia_driver[] = {
    {"ptx sm_80 v7.0", "cuda", "sm_80 driver=11.0 | sm_80 driver=11.4 | sm_90 driver=12.0", "runs"},
    {"ptx sm_80 v7.1", "cuda", "sm_80 driver=11.0", "ptx_isa_unknown_to_driver"},
    {"ptx sm_80 v7.8", "cuda", "sm_80 driver=11.8 | sm_80 driver=12.0", "runs"},
    {"ptx sm_80 v7.8", "cuda", "sm_80 driver=11.7", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v8.0", "cuda", "sm_90 driver=12.0 | sm_90 driver=12.4 | sm_90 driver=13.0", "runs"},
    {"ptx sm_90 v8.0", "cuda", "sm_90 driver=11.8", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v8.4", "cuda", "sm_90 driver=12.4", "runs"},
    {"ptx sm_90 v8.4", "cuda", "sm_90 driver=12.3", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v8.5", "cuda", "sm_90 driver=12.5 | sm_90 driver=12.6", "runs"},
    {"ptx sm_90 v8.6", "cuda", "sm_90 driver=12.7 | sm_90 driver=12.8", "runs"},
    {"ptx sm_90 v8.6", "cuda", "sm_90 driver=12.6", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v8.7", "cuda", "sm_90 driver=12.8", "runs"},
    {"ptx sm_90 v8.8", "cuda", "sm_90 driver=12.9 | sm_90 driver=13.0", "runs"},
    {"ptx sm_90 v8.8", "cuda", "sm_90 driver=12.8", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v9.0", "cuda", "sm_90 driver=13.0 | sm_90 driver=13.1", "runs"},
    {"ptx sm_90 v9.0", "cuda", "sm_90 driver=12.9", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v9.1", "cuda", "sm_90 driver=13.0", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v9.1", "cuda", "sm_90 driver=13.1 | sm_90", "runs"},
    /* A version that nobody looked up is at least the first that knows the target. */
    {"ptx sm_120", "cuda", "sm_120 driver=12.8 | sm_120 driver=13.0", "runs"},
    {"ptx sm_120", "cuda", "sm_120 driver=12.7", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90a", "cuda", "sm_90 driver=12.0", "runs"},
    {"ptx sm_90a", "cuda", "sm_90 driver=11.8", "ptx_isa_unknown_to_driver"},
    {"ptx sm_120f", "cuda", "sm_120 driver=12.9", "runs"},
    {"ptx sm_120f", "cuda", "sm_120 driver=12.8", "ptx_isa_unknown_to_driver"},
    {"ptx sm_90 v9.1", "cuda", "sm_80 driver=12.0", "ptx_too_new_arch+ptx_isa_unknown_to_driver"},
    /* Cubins have no PTX version. */
    {"cubin sm_90", "cuda", "sm_90 driver=11.8 | sm_90 driver=12.0", "runs"},
};

/* AMDGPUUsage, "Target ID" and "Code Object Target"; ROCr, Isa::IsCompatible: a setting the target
 * ID names must be the device's, one it does not name may be either. */
static const row amd_processor[] = {
    {"hsaco gfx900", "hip", "gfx900:xnack- | gfx900:xnack+ | gfx900", "runs"},
    {"hsaco gfx900", "hip", "gfx902:xnack+ | gfx906 | gfx90a | gfx942 | gfx1100", "wrong_arch"},
    {"hsaco gfx906", "hip", "gfx906:sramecc+:xnack- | gfx906:sramecc-:xnack-", "runs"},
    {"hsaco gfx908", "hip", "gfx908:sramecc+:xnack-", "runs"},
    {"hsaco gfx908", "hip", "gfx90a:sramecc+:xnack- | gfx942", "wrong_arch"},
    {"hsaco gfx90a", "hip", "gfx90a:sramecc+:xnack- | gfx90a:sramecc+:xnack+", "runs"},
    {"hsaco gfx90a", "hip", "gfx908 | gfx90c | gfx942 | gfx950 | gfx1100", "wrong_arch"},
    {"hsaco gfx90a:xnack+", "hip", "gfx90a:sramecc+:xnack+ | gfx90a:sramecc-:xnack+", "runs"},
    {"hsaco gfx90a:xnack+", "hip", "gfx90a:sramecc+:xnack- | gfx90a:sramecc-:xnack-",
     "xnack_mismatch"},
    {"hsaco gfx90a:xnack-", "hip", "gfx90a:sramecc+:xnack- | gfx90a", "runs"},
    {"hsaco gfx90a:xnack-", "hip", "gfx90a:sramecc+:xnack+", "xnack_mismatch"},
    {"hsaco gfx90a:sramecc+", "hip", "gfx90a:sramecc+:xnack- | gfx90a:sramecc+:xnack+", "runs"},
    {"hsaco gfx90a:sramecc+", "hip", "gfx90a:sramecc-:xnack-", "sramecc_mismatch"},
    {"hsaco gfx90a:sramecc-", "hip", "gfx90a:sramecc-:xnack-", "runs"},
    {"hsaco gfx90a:sramecc-", "hip", "gfx90a:sramecc+:xnack-", "sramecc_mismatch"},
    {"hsaco gfx90a:sramecc+:xnack-", "hip", "gfx90a:sramecc+:xnack-", "runs"},
    {"hsaco gfx90a:sramecc+:xnack-", "hip", "gfx90a:sramecc+:xnack+", "xnack_mismatch"},
    {"hsaco gfx90a:sramecc+:xnack-", "hip", "gfx90a:sramecc-:xnack-", "sramecc_mismatch"},
    {"hsaco gfx90a:sramecc+:xnack-", "hip", "gfx90a:sramecc-:xnack+",
     "xnack_mismatch+sramecc_mismatch"},
    {"hsaco gfx90a:sramecc+:xnack-", "hip", "gfx942:sramecc+:xnack-", "wrong_arch"},
    /* The order of features does not matter when reading. */
    {"hsaco gfx90a:xnack-:sramecc+", "hip", "gfx90a:sramecc+:xnack-", "runs"},
    {"hsaco gfx942", "hip", "gfx942:sramecc+:xnack- | gfx942:sramecc+:xnack+", "runs"},
    {"hsaco gfx942", "hip", "gfx90a | gfx950", "wrong_arch"},
    {"hsaco gfx942:xnack+", "hip", "gfx942:sramecc+:xnack-", "xnack_mismatch"},
    {"hsaco gfx950", "hip", "gfx950:sramecc+:xnack-", "runs"},
    {"hsaco gfx950", "hip", "gfx942", "wrong_arch"},
    {"hsaco gfx1010:xnack-", "hip", "gfx1010:xnack- | gfx1010", "runs"},
    {"hsaco gfx1010:xnack-", "hip", "gfx1012:xnack-", "wrong_arch"},
    {"hsaco gfx1030", "hip", "gfx1030", "runs"},
    {"hsaco gfx1030", "hip", "gfx1031 | gfx1032 | gfx1034 | gfx1035 | gfx1036 | gfx1100",
     "wrong_arch"},
    {"hsaco gfx1100", "hip", "gfx1100", "runs"},
    {"hsaco gfx1100", "hip", "gfx1101 | gfx1102 | gfx1103 | gfx1150 | gfx1151 | gfx1200 | gfx90a",
     "wrong_arch"},
    {"hsaco gfx1201", "hip", "gfx1201", "runs"},
    {"hsaco gfx1201", "hip", "gfx1200 | gfx1250", "wrong_arch"},
    {"object gfx90a triple=amdgcn-amd-amdhsa", "hip", "gfx90a", "runs"},
    {"object gfx90a triple=amdgcn-amd-amdhsa", "hip", "gfx942", "wrong_arch"},
    /* A feature the processor does not have is no target ID. */
    {"hsaco gfx1100:xnack+", "hip", "gfx1100", "unknown_arch"},
    {"hsaco gfx900:sramecc+", "hip", "gfx900", "unknown_arch"},
};

/* AMDGPUUsage, "Generic Processors": the members; code object version 6; ROCm 6.4. */
static const row amd_generic[] = {
    {"hsaco gfx9-generic", "hip", "gfx900 | gfx902 | gfx904 | gfx906 | gfx909 | gfx90c", "runs"},
    {"hsaco gfx9-generic", "hip", "gfx908 | gfx90a | gfx942 | gfx950 | gfx1010 | gfx1100",
     "not_in_generic"},
    {"hsaco gfx9-generic:xnack+", "hip", "gfx900:xnack+ | gfx906:sramecc+:xnack+", "runs"},
    {"hsaco gfx9-generic:xnack+", "hip", "gfx900:xnack-", "xnack_mismatch"},
    {"hsaco gfx9-4-generic", "hip", "gfx942 | gfx950 | gfx940 | gfx941", "runs"},
    {"hsaco gfx9-4-generic", "hip", "gfx90a | gfx908 | gfx900", "not_in_generic"},
    {"hsaco gfx9-4-generic:sramecc+:xnack-", "hip", "gfx942:sramecc+:xnack-", "runs"},
    {"hsaco gfx9-4-generic:sramecc+:xnack-", "hip", "gfx950:sramecc+:xnack+", "xnack_mismatch"},
    {"hsaco gfx10-1-generic", "hip", "gfx1010 | gfx1011 | gfx1012 | gfx1013", "runs"},
    {"hsaco gfx10-1-generic", "hip", "gfx1030 | gfx1100", "not_in_generic"},
    {"hsaco gfx10-3-generic", "hip",
     "gfx1030 | gfx1031 | gfx1032 | gfx1033 | gfx1034 | gfx1035 | gfx1036", "runs"},
    {"hsaco gfx10-3-generic", "hip", "gfx1010 | gfx1100", "not_in_generic"},
    {"hsaco gfx11-generic", "hip",
     "gfx1100 | gfx1101 | gfx1102 | gfx1103 | gfx1150 | gfx1151 | gfx1152 | gfx1153", "runs"},
    {"hsaco gfx11-generic", "hip", "gfx1030 | gfx1200 | gfx1201 | gfx90a | gfx1170",
     "not_in_generic"},
    {"hsaco gfx11-7-generic", "hip", "gfx1170 | gfx1171 | gfx1172", "runs"},
    {"hsaco gfx11-7-generic", "hip", "gfx1100", "not_in_generic"},
    {"hsaco gfx12-generic", "hip", "gfx1200 | gfx1201", "runs"},
    {"hsaco gfx12-generic", "hip", "gfx1250 | gfx1251 | gfx1100", "not_in_generic"},
    {"hsaco gfx12-5-generic", "hip", "gfx1250 | gfx1251", "runs"},
    {"hsaco gfx12-5-generic", "hip", "gfx1200 | gfx1201", "not_in_generic"},
    {"hsaco gfx11-generic v6.0 g1", "hip", "gfx1103", "runs"},
    {"hsaco gfx11-generic v5.0", "hip", "gfx1103", "code_object_version"},
    {"hsaco gfx11-generic", "hip", "gfx1103 driver=6.4 | gfx1103 driver=7.0", "runs"},
    {"hsaco gfx11-generic", "hip", "gfx1103 driver=6.3 | gfx1100 driver=5.7", "driver_too_old"},
    {"hsaco gfx1103", "hip", "gfx1103 driver=5.7", "runs"},
    /* amdgcnspirv: compiled by the driver, ROCm 6.4 and later. */
    {"spirv amdgcnspirv triple=spirv64-amd-amdhsa", "hip",
     "gfx90a | gfx942 | gfx1100 | gfx1201 driver=6.4", "runs"},
    {"spirv amdgcnspirv triple=spirv64-amd-amdhsa", "hip", "gfx90a driver=6.3", "driver_too_old"},
    {"unknown amdgcnspirv triple=spirv64-amd-amdhsa", "hip", "gfx942", "runs"},
};

/* Level Zero and compute-runtime: native code is checked against the IP version of the device. */
static const row intel[] = {
    {"zebin 12.60.7", "level_zero", "12.60.7 | pvc | intel_gpu_pvc | 0x030f0007", "runs"},
    {"zebin pvc", "level_zero", "12.60.7", "runs"},
    {"zebin 12.60.7", "level_zero", "12.60.5 | 12.60.6 | 12.61.7 | 12.55.8 | 20.1.0 | 30.0.4",
     "ip_version"},
    {"zebin dg2-g10", "level_zero", "12.55.8 | acm-g10 | ats-m150", "runs"},
    {"zebin dg2-g10", "level_zero", "dg2-g11 | dg2-g12 | pvc | mtl-u", "ip_version"},
    {"zebin bmg-g21", "level_zero", "20.1.0 | bmg", "runs"},
    {"zebin bmg-g21", "level_zero", "bmg-g31 | lnl-m | dg2", "ip_version"},
    {"zebin lnl-m", "level_zero", "20.4.4", "runs"},
    {"zebin lnl-m", "level_zero", "20.4.0 | bmg-g21", "ip_version"},
    {"zebin ptl-h", "level_zero", "30.0.4", "runs"},
    {"zebin ptl-h", "level_zero", "ptl-u | lnl-m", "ip_version"},
    {"object pvc triple=spirv64-intel", "level_zero", "pvc", "runs"},
    {"object pvc triple=spir64_gen-unknown-unknown", "level_zero", "pvc", "runs"},
    {"object pvc triple=spir64_gen-unknown-unknown", "level_zero", "bmg-g21", "ip_version"},
};

/* SPIR-V specification, "Universal Limits" and versions; OpenCL, CL_DEVICE_ILS_WITH_VERSION; Level
 * Zero, ze_device_module_properties_t. */
static const row spirv[] = {
    {"spirv - triple=spirv64-unknown-unknown v1.0", "opencl",
     "spirv64 spirv=1.0 | spirv64 spirv=1.2 | spirv64 spirv=1.4 | spirv64 spirv=1.6", "runs"},
    {"spirv - triple=spirv64-unknown-unknown v1.4", "opencl",
     "spirv64 spirv=1.4 | spirv64 spirv=1.5 | spirv64 spirv=1.6", "runs"},
    {"spirv - triple=spirv64-unknown-unknown v1.4", "opencl",
     "spirv64 spirv=1.0 | spirv64 spirv=1.2 | spirv64 spirv=1.3", "spirv_version"},
    {"spirv - triple=spirv64-unknown-unknown v1.6", "opencl",
     "spirv64 spirv=1.5 | spirv64 spirv=1.4", "spirv_version"},
    {"spirv - triple=spirv64-unknown-unknown", "opencl", "spirv64", "spirv_version"},
    {"spirv spirv64", "opencl", "spirv64 spirv=1.2", "runs"},
    {"spirv spirv32 triple=spirv32-unknown-unknown v1.2", "opencl", "spirv64 spirv=1.2",
     "spirv_environment"},
    {"spirv spirv32 triple=spirv32-unknown-unknown v1.2", "opencl", "spirv32 spirv=1.2", "runs"},
    {"spirv - triple=spirv64-unknown-unknown v1.2", "opencl", "spirv32 spirv=1.2",
     "spirv_environment"},
    {"spirv - triple=spirv-unknown-vulkan1.3-compute v1.5", "opencl", "spirv64 spirv=1.6",
     "spirv_environment"},
    {"spirv - triple=spirv64-intel v1.4", "level_zero", "pvc | bmg-g21 | dg2-g10 spirv=1.4",
     "runs"},
    {"spirv - triple=spirv64-intel v1.4", "level_zero", "dg2-g10 spirv=1.3", "spirv_version"},
    {"spirv generic triple=spirv64 v1.0", "level_zero", "lnl-m | ptl-h", "runs"},
    {"spirv - triple=spirv64 v1.0 requires_features=fp64", "level_zero", "pvc | bmg-g21", "runs"},
    {"spirv - triple=spirv64 v1.0 requires_features=fp64", "level_zero", "dg2-g10 | tgllp",
     "missing_features"},
    {"spirv - triple=spirv64 v1.0 requires_features=fp64", "level_zero", "mtl-u features=fp64",
     "runs"},
    {"spirv - triple=spirv64 v1.0 requires_features=subgroup_size_16", "level_zero",
     "pvc | dg2-g10 | bmg-g21", "runs"},
    {"spirv - triple=spirv64 v1.0 requires_features=subgroup_size_8", "level_zero", "pvc | lnl-m",
     "missing_features"},
    {"spirv - triple=spirv64 v1.0 requires_features=subgroup_size_8", "level_zero",
     "dg2-g10 | mtl-h", "runs"},
    {"spirv - triple=spirv64 v1.0 requires_features=int64_atomics+fp64", "opencl",
     "spirv64 spirv=1.2 features=fp64+int64_atomics", "runs"},
    {"spirv - triple=spirv64 v1.0 requires_features=int64_atomics+fp64", "opencl",
     "spirv64 spirv=1.2 features=fp64 | spirv64 spirv=1.2", "missing_features"},
    /* OpenCL C: compiled by whatever driver has a compiler for it. */
    {"cl - triple=spir64-unknown-unknown", "opencl",
     "spirv64 loads=cl | spirv64 spirv=1.2 loads=cl | spirv32 loads=cl", "runs"},
    {"cl -", "opencl", "spirv64 loads=cl", "runs"},
    {"cl - triple=spir64-unknown-unknown", "level_zero", "pvc", "kind_not_loadable"},
    {"cl - triple=spir64-unknown-unknown", "cuda", "sm_90", "kind_not_loadable"},
    {"cl - triple=spir64-unknown-unknown", "hip", "gfx90a", "kind_not_loadable"},
    {"cl - triple=spir64-unknown-unknown", "host", "x86-64-v3", "kind_not_loadable"},
    {"cl - triple=spir64-unknown-unknown requires_features=fp64", "opencl",
     "spirv64 loads=cl features=fp64", "runs"},
    {"cl - triple=spir64-unknown-unknown requires_features=fp64", "opencl", "spirv64 loads=cl",
     "missing_features"},
    {"cl - triple=nvptx64-nvidia-cuda", "opencl", "spirv64 loads=cl", "kind_mismatch"},
};

/* x86-64 psABI, "Micro-Architecture Levels". */
static const row x86[] = {
    {"object x86-64", "host",
     "x86-64 | x86-64-v2 | x86-64-v3 | x86-64-v4 | haswell | znver4 | sapphirerapids", "runs"},
    {"object generic triple=x86_64-unknown-linux-gnu", "host", "x86-64 | znver1", "runs"},
    {"object x86-64-v2", "host", "x86-64-v2 | x86-64-v3 | x86-64-v4 | nehalem | silvermont",
     "runs"},
    {"object x86-64-v2", "host", "x86-64 | core2 | penryn | barcelona", "missing_features"},
    {"object x86-64-v3", "host",
     "x86-64-v3 | x86-64-v4 | haswell | skylake | alderlake | znver1 | znver3 | knl", "runs"},
    {"object x86-64-v3", "host",
     "x86-64 | x86-64-v2 | sandybridge | ivybridge | btver2 | bdver2 | tremont",
     "missing_features"},
    {"object x86-64-v4", "host",
     "x86-64-v4 | skylake-avx512 | icelake-server | sapphirerapids | znver4 | znver5", "runs"},
    {"object x86-64-v4", "host",
     "x86-64-v3 | haswell | skylake | alderlake | lunarlake | znver3 | knl | sierraforest",
     "missing_features"},
    /* Named features. */
    {"object x86-64-v3+avx_vnni", "host",
     "alderlake | sapphirerapids | znver5 | x86-64-v3+avx_vnni", "runs"},
    {"object x86-64-v3+avx_vnni", "host", "x86-64-v3 | x86-64-v4 | znver4 | icelake-server",
     "missing_features"},
    {"object x86-64-v4+avx512_vnni", "host", "cascadelake | icelake-client | znver4", "runs"},
    {"object x86-64-v4+avx512_vnni", "host", "skylake-avx512 | x86-64-v4", "missing_features"},
    {"object x86-64-v4+avx512_bf16", "host", "cooperlake | sapphirerapids | znver4 | znver5",
     "runs"},
    {"object x86-64-v4+avx512_bf16", "host", "cascadelake | icelake-server | tigerlake",
     "missing_features"},
    {"object x86-64-v4+avx512_fp16", "host", "sapphirerapids | graniterapids", "runs"},
    {"object x86-64-v4+avx512_fp16", "host", "znver4 | znver5 | icelake-server",
     "missing_features"},
    {"object x86-64-v4+amx_tile+amx_int8", "host", "sapphirerapids | emeraldrapids", "runs"},
    {"object x86-64-v4+amx_tile+amx_int8", "host", "znver5 | icelake-server", "missing_features"},
    {"object x86-64-v4+amx_bf16", "host", "sapphirerapids", "runs"},
    {"object x86-64-v4+amx_fp16", "host", "graniterapids", "runs"},
    {"object x86-64-v4+amx_fp16", "host", "sapphirerapids", "missing_features"},
    {"object x86-64-v4+avx10_1", "host", "diamondrapids | x86-64-v4+avx10_1", "runs"},
    {"object x86-64-v4+avx10_1", "host", "graniterapids | znver5", "missing_features"},
    {"object x86-64-v4+avx10_2", "host", "diamondrapids | novalake", "runs"},
    /* Level v3 needs all its members: a CPU with AVX2 and without BMI2 is not one. */
    {"object x86-64-v3", "host", "x86-64-v2+avx2+fma+f16c+bmi1+lzcnt+movbe", "missing_features"},
    {"object x86-64-v3", "host", "x86-64-v2+avx2+fma+f16c+bmi1+bmi2+lzcnt+movbe", "runs"},
    /* What the operating system does not enable is not there (XCR0). */
    {"object x86-64-v4", "host", "x86-64-v4 off=avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
     "os_disabled"},
    {"object x86-64-v3", "host", "x86-64-v4 off=avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
     "runs"},
    {"object x86-64-v4+avx512_bf16", "host",
     "x86-64-v4 off=avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "missing_features+os_disabled"},
    {"object x86-64-v3", "host", "x86-64-v3 off=avx+avx2+fma+f16c", "os_disabled"},
    /* AMX needs the kernel's permission; without it only AMX is lost. */
    {"object sapphirerapids", "host", "sapphirerapids refused=amx_tile+amx_int8+amx_bf16",
     "amx_permission"},
    {"object x86-64-v4+avx512_bf16", "host", "sapphirerapids refused=amx_tile+amx_int8+amx_bf16",
     "runs"},
    /* By CPU name. */
    {"object znver4", "host", "znver4 | znver5", "runs"},
    {"object znver4", "host", "znver3 | haswell | x86-64-v3 | icelake-server | sapphirerapids",
     "missing_features"},
    {"object haswell", "host", "haswell | broadwell | skylake | skylake-avx512", "runs"},
    {"object haswell", "host", "ivybridge | x86-64-v2", "missing_features"},
    {"object skylake-avx512", "host", "cascadelake | cooperlake | icelake-server", "runs"},
    {"object native", "host", "x86-64-v4", "unknown_arch"},
    {"object native triple=x86_64-unknown-linux-gnu", "host", "x86-64-v4", "unknown_arch"},
    {"object x86-64-v5", "host", "x86-64-v4", "unknown_arch"},
    {"bitcode x86-64-v3", "host", "x86-64-v3", "linker_missing"},
    {"bitcode x86-64-v3", "host", "x86-64-v3 loads=bitcode", "runs"},
};

/* Arm Architecture Reference Manual; ACLE; clang -mcpu. */
static const row aarch64[] = {
    {"object armv8-a", "host", "armv8-a | neoverse-n1 | neoverse-v1 | neoverse-v2 | a64fx", "runs"},
    {"object armv8.1-a", "host", "armv8.1-a | armv8.2-a | neoverse-n1", "runs"},
    {"object armv8.1-a", "host", "armv8-a", "missing_features"},
    {"object armv8.2-a", "host", "armv8.2-a | neoverse-n1 | neoverse-v1 | armv9-a", "runs"},
    {"object armv8.2-a+sve", "host", "neoverse-v1 | neoverse-v2 | a64fx | armv9-a", "runs"},
    {"object armv8.2-a+sve", "host", "neoverse-n1 | armv8.2-a | armv8.6-a", "missing_features"},
    {"object armv8.2-a+dotprod", "host", "neoverse-n1 | neoverse-v1 | armv8.4-a", "runs"},
    {"object armv8.2-a+dotprod", "host", "armv8.2-a | a64fx", "missing_features"},
    {"object armv8.2-a+bf16", "host", "neoverse-v1 | neoverse-v2 | armv8.6-a", "runs"},
    {"object armv8.2-a+bf16", "host", "neoverse-n1 | armv8.5-a", "missing_features"},
    {"object armv8.2-a+i8mm", "host", "neoverse-v1 | armv8.6-a", "runs"},
    {"object armv9-a", "host", "armv9-a | neoverse-v2", "runs"},
    {"object armv9-a", "host", "neoverse-v1 | neoverse-n1 | armv8.5-a", "missing_features"},
    {"object armv8.4-a", "host", "neoverse-v1 | neoverse-v2 | armv8.4-a", "runs"},
    {"object armv8.4-a", "host", "neoverse-n1 | a64fx", "missing_features"},
    {"object neoverse-v1 triple=aarch64-unknown-linux-gnu", "host", "neoverse-v1", "runs"},
    {"object neoverse-v1 triple=aarch64-unknown-linux-gnu", "host", "neoverse-n1",
     "missing_features"},
    {"object neoverse-v2 triple=aarch64-unknown-linux-gnu", "host", "neoverse-v2", "runs"},
    {"object neoverse-n1 triple=aarch64-unknown-linux-gnu", "host", "neoverse-n1 | neoverse-v1",
     "runs"},
    {"object armv8.2-a+sve+sve_vl_512", "host", "a64fx+sve_vl_512", "runs"},
    {"object armv8.2-a+sve+sve_vl_512", "host", "neoverse-v1+sve_vl_256 | neoverse-v2",
     "missing_features"},
    {"object armv9.5-a", "host", "armv9.4-a", "unknown_arch"},
};

/* One vendor's image on another's device. */
static const row across[] = {
    {"cubin sm_90", "hip", "gfx90a | gfx942 | gfx1100", "wrong_vendor"},
    {"cubin sm_90", "level_zero", "pvc", "wrong_vendor"},
    {"cubin sm_90", "opencl", "spirv64 spirv=1.4", "wrong_vendor"},
    {"cubin sm_90", "host", "x86-64-v4 | armv9-a", "wrong_vendor"},
    {"ptx sm_80", "hip", "gfx90a", "wrong_vendor"},
    {"ptx sm_80", "host", "x86-64-v4", "wrong_vendor"},
    {"hsaco gfx90a", "cuda", "sm_90 | sm_80", "wrong_vendor"},
    {"hsaco gfx90a", "host", "x86-64-v4", "wrong_vendor"},
    {"hsaco gfx1100", "level_zero", "bmg-g21", "wrong_vendor"},
    {"zebin pvc", "cuda", "sm_90", "wrong_vendor"},
    {"zebin pvc", "opencl", "spirv64 spirv=1.4", "wrong_vendor"},
    {"spirv - triple=spirv64 v1.0", "cuda", "sm_90", "wrong_vendor"},
    {"spirv - triple=spirv64 v1.0", "hip", "gfx90a", "wrong_vendor"},
    {"spirv amdgcnspirv triple=spirv64-amd-amdhsa", "opencl", "spirv64 spirv=1.6", "wrong_vendor"},
    {"spirv amdgcnspirv triple=spirv64-amd-amdhsa", "level_zero", "pvc", "wrong_vendor"},
    {"object x86-64-v3", "cuda", "sm_90", "wrong_vendor"},
    {"object x86-64-v3", "host", "armv8-a | neoverse-v2", "wrong_arch"},
    {"object armv8-a", "host", "x86-64-v4 | znver4", "wrong_arch"},
};

/* The metadata keys of docs/metadata.md. */
static const row keys[] = {
    {"ptx sm_80 min_sm=90", "cuda", "sm_90 | sm_100 | sm_120", "runs"},
    {"ptx sm_80 min_sm=90", "cuda", "sm_80 | sm_86 | sm_89", "min_sm"},
    {"cubin sm_80 min_sm=86", "cuda", "sm_86 | sm_89", "runs"},
    {"cubin sm_80 min_sm=86", "cuda", "sm_80", "min_sm"},
    {"cubin sm_80 min_sm=90", "cuda", "sm_80", "min_sm"},
    {"cubin sm_80 min_sm=90", "cuda", "sm_90", "other_major"},
    {"ptx sm_75 min_sm=101", "cuda", "sm_110 | sm_120", "runs"},
    {"ptx sm_75 min_sm=101", "cuda", "sm_103", "min_sm"},
    {"hsaco gfx90a min_sm=90", "hip", "gfx90a", "runs"},
    {"spirv amdgcnspirv min_gfx=gfx90a:cdna2", "hip", "gfx90a | gfx942 | gfx950", "runs"},
    {"spirv amdgcnspirv min_gfx=gfx90a:cdna2", "hip", "gfx908", "min_gfx_older"},
    {"spirv amdgcnspirv min_gfx=gfx90a:cdna2", "hip", "gfx1100 | gfx1201 | gfx906 | gfx90c",
     "min_gfx_family"},
    {"spirv amdgcnspirv min_gfx=gfx1100:rdna3", "hip", "gfx1100 | gfx1151 | gfx1201", "runs"},
    {"spirv amdgcnspirv min_gfx=gfx1100:rdna3", "hip", "gfx1030", "min_gfx_older"},
    {"spirv amdgcnspirv min_gfx=gfx1100:rdna3", "hip", "gfx942 | gfx90a", "min_gfx_family"},
    {"hsaco gfx11-generic min_gfx=gfx1150:rdna3", "hip", "gfx1150 | gfx1151", "runs"},
    {"hsaco gfx11-generic min_gfx=gfx1150:rdna3", "hip", "gfx1100 | gfx1103", "min_gfx_older"},
    {"spirv amdgcnspirv min_gfx=gfx90a", "hip", "gfx942", "runs"},
    {"ptx sm_75 min_gfx=gfx90a:cdna2", "cuda", "sm_75", "runs"},
    {"ptx sm_75 requires_features=tensor_core_nv", "cuda", "sm_75 | sm_90", "runs"},
    {"ptx sm_60 requires_features=tensor_core_nv", "cuda", "sm_61", "missing_features"},
    {"ptx sm_75 requires_features=bf16", "cuda", "sm_80 | sm_90 | sm_120", "runs"},
    {"ptx sm_75 requires_features=bf16", "cuda", "sm_75", "missing_features"},
    {"ptx sm_75 requires_features=fp8", "cuda", "sm_89 | sm_90 | sm_120", "runs"},
    {"ptx sm_75 requires_features=fp8", "cuda", "sm_80 | sm_86", "missing_features"},
    {"ptx sm_75 requires_features=clusters", "cuda", "sm_90", "runs"},
    {"ptx sm_75 requires_features=clusters", "cuda", "sm_89", "missing_features"},
    {"spirv amdgcnspirv requires_features=mfma_amd", "hip", "gfx908 | gfx90a | gfx942", "runs"},
    {"spirv amdgcnspirv requires_features=mfma_amd", "hip", "gfx906 | gfx1100", "missing_features"},
    {"spirv amdgcnspirv requires_features=wmma_amd", "hip", "gfx1100 | gfx1151 | gfx1200", "runs"},
    {"spirv amdgcnspirv requires_features=wmma_amd", "hip", "gfx1030 | gfx942", "missing_features"},
    {"spirv amdgcnspirv requires_features=subgroup_size_32", "hip", "gfx1030 | gfx1100", "runs"},
    {"spirv amdgcnspirv requires_features=subgroup_size_32", "hip", "gfx90a | gfx942",
     "missing_features"},
    {"object x86-64-v3 requires_features=avx512_bf16", "host", "znver4", "runs"},
    {"object x86-64-v3 requires_features=avx512_bf16", "host", "x86-64-v3 | x86-64-v4",
     "missing_features"},
    {"object x86-64-v3 requires_features=avx512_bf16,avx512_vnni", "host", "znver4", "runs"},
    {"object x86-64-v3 requires_features=bf16", "host", "znver4", "runs"},
    {"object armv8-a requires_features=bf16", "host", "neoverse-v1", "runs"},
    {"object armv8-a requires_features=int8_dot", "host", "neoverse-n1", "runs"},
    /* What cannot be read or is not known makes the image ineligible. */
    {"ptx sm_75 min_sm=9.0", "cuda", "sm_90", "malformed_key"},
    {"ptx sm_75 min_sm=", "cuda", "sm_90", "malformed_key"},
    {"ptx sm_75 min_sm=90a", "cuda", "sm_90", "malformed_key"},
    {"hsaco gfx90a min_sm=ninety", "hip", "gfx90a", "malformed_key"},
    {"hsaco gfx90a min_gfx=gfx90a:cdna3", "hip", "gfx90a", "malformed_key"},
    {"hsaco gfx90a min_gfx=gfx9", "hip", "gfx90a", "malformed_key"},
    {"hsaco gfx90a min_gfx=gfx90a:xnack+", "hip", "gfx90a", "malformed_key"},
    {"ptx sm_75 requires_features=bf16++fp8", "cuda", "sm_90", "malformed_key"},
    {"ptx sm_75 requires_features=+bf16", "cuda", "sm_90", "malformed_key"},
    {"ptx sm_75 requires_features=BF16", "cuda", "sm_90", "malformed_key"},
    {"ptx sm_75 requires_features=warp_drive", "cuda", "sm_90", "unknown_feature"},
    {"ptx sm_75 requires_features=avx2", "cuda", "sm_90", "unknown_feature"},
    {"object x86-64-v3 requires_features=tensor_core_nv", "host", "x86-64-v4", "unknown_feature"},
    {"object x86-64-v3 requires_features=int8_dot", "host", "x86-64-v4", "unknown_feature"},
    {"ptx sm_75 requires_features=warp_drive min_sm=x", "cuda", "sm_90",
     "malformed_key+unknown_feature"},
    /* May-use keys constrain nothing, readable or not. */
    {"ptx sm_75 variant_priority=7 variant_tag=debug", "cuda", "sm_90", "runs"},
    {"ptx sm_75 variant_priority=minus", "cuda", "sm_90", "runs"},
    {"ptx sm_75 some_other_key=whatever", "cuda", "sm_90", "runs"},
};

/* Kinds. */
static const row kinds[] = {
    {"fatbin sm_90 triple=nvptx64-nvidia-cuda", "cuda", "sm_90", "container"},
    {"bundle gfx90a triple=amdgcn-amd-amdhsa", "hip", "gfx90a", "container"},
    {"ltoir sm_90", "cuda", "sm_90", "kind_not_loadable"},
    {"ltoir sm_90", "cuda", "sm_90 loads=ltoir", "runs"},
    {"bitcode sm_90 triple=nvptx64-nvidia-cuda", "cuda", "sm_90", "linker_missing"},
    {"bitcode - triple=spirv64-unknown-unknown", "opencl", "spirv64", "kind_not_loadable"},
    {"bitcode gfx90a triple=amdgcn-amd-amdhsa", "hip", "gfx90a loads=bitcode", "runs"},
    {"cubin sm_90 triple=amdgcn-amd-amdhsa", "cuda", "sm_90", "kind_mismatch"},
    {"hsaco gfx90a triple=nvptx64-nvidia-cuda", "hip", "gfx90a", "kind_mismatch"},
    {"spirv - triple=nvptx64-nvidia-cuda", "opencl", "spirv64 spirv=1.4", "kind_mismatch"},
    {"spirv x86-64 triple=x86_64-unknown-linux-gnu", "opencl", "spirv64 spirv=1.4",
     "kind_mismatch"},
    {"cubin sm_9x", "cuda", "sm_90", "unknown_arch"},
    {"cubin - triple=nvptx64-nvidia-cuda", "cuda", "sm_90", "unknown_arch"},
    {"cubin sm_80a", "cuda", "sm_80", "unknown_arch"},
    {"cubin sm_90f", "cuda", "sm_90", "unknown_arch"},
    {"ptx generic triple=nvptx64-nvidia-cuda", "cuda", "sm_90", "unknown_arch"},
    {"hsaco gfx999", "hip", "gfx90a", "unknown_arch"},
    {"hsaco gfx90a:xnack", "hip", "gfx90a", "unknown_arch"},
    {"hsaco gfx90a:xnack+:xnack+", "hip", "gfx90a", "unknown_arch"},
    {"zebin pvc-2", "level_zero", "pvc", "unknown_arch"},
    {"unknown - triple=riscv64-unknown-linux-gnu", "host", "x86-64", "unknown_arch"},
    {"unknown -", "cuda", "sm_90", "unknown_arch"},
};

static size_t check_pair(const row *r, const char *device_name) {
  static image_case image;
  static device_case device;
  char line[640];
  char codes[256];
  snprintf(line, sizeof line, "%s %s", r->backend, device_name);
  case_image(&image, r->image);
  case_device(&device, line);
  const char *found = case_match(&image, &device, codes, sizeof codes);
  if (strcmp(found, r->expected) != 0)
    fail_msg("%s on %s: expected %s, found %s", r->image, line, r->expected, found);
  return 1;
}

static size_t check(const row *rows, size_t count) {
  size_t pairs = 0;
  for (size_t i = 0; i < count; ++i) {
    char devices[512];
    assert_true(strlen(rows[i].devices) < sizeof devices);
    strcpy(devices, rows[i].devices);
    for (char *at = devices; at;) {
      char *next = strstr(at, " | ");
      if (next)
        *next = '\0';
      pairs += check_pair(&rows[i], at);
      at = next ? next + 3 : NULL;
    }
  }
  return pairs;
}

static size_t total;

#define TRUTH(table)                                                                               \
  static void test_##table(void **state) {                                                         \
    (void)state;                                                                                   \
    total += check(table, sizeof table / sizeof *table);                                           \
  }
TRUTH(nvidia_cubin)
TRUTH(nvidia_suffix)
TRUTH(nvidia_ptx)
TRUTH(nvidia_driver)
TRUTH(amd_processor)
TRUTH(amd_generic)
TRUTH(intel)
TRUTH(spirv)
TRUTH(x86)
TRUTH(aarch64)
TRUTH(across)
TRUTH(keys)
TRUTH(kinds)

static void test_the_table_is_large_enough(void **state) {
  (void)state;
  print_message("%zu pairs\n", total);
  assert_true(total >= 400);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nvidia_cubin),  cmocka_unit_test(test_nvidia_suffix),
      cmocka_unit_test(test_nvidia_ptx),    cmocka_unit_test(test_nvidia_driver),
      cmocka_unit_test(test_amd_processor), cmocka_unit_test(test_amd_generic),
      cmocka_unit_test(test_intel),         cmocka_unit_test(test_spirv),
      cmocka_unit_test(test_x86),           cmocka_unit_test(test_aarch64),
      cmocka_unit_test(test_across),        cmocka_unit_test(test_keys),
      cmocka_unit_test(test_kinds),         cmocka_unit_test(test_the_table_is_large_enough),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
