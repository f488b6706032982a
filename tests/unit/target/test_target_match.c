/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which image runs on which device by libkdl's own rules: vendors, kinds of images, metadata. */
#include "target_truth.h"

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
    {"sequence -", "cuda", "sm_90", "sequence"},
    {"sequence x86-64-v3 triple=x86_64-linux", "host", "x86-64-v4", "sequence"},
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
    {"unknown - triple=riscv64-unknown-linux-gnu", "host", "x86-64", "wrong_arch"},
    {"unknown - triple=loongarch64-unknown-linux-gnu", "host", "x86-64", "unknown_arch"},
    {"unknown -", "cuda", "sm_90", "unknown_arch"},
};

TRUTH(across)
TRUTH(keys)
TRUTH(kinds)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(truth_of_across),
      cmocka_unit_test(truth_of_keys),
      cmocka_unit_test(truth_of_kinds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
