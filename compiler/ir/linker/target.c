/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/target.h"

#include "compiler/ir/llvm_versions.h"
#include "lib/inspect/targets.h"
#include "support/base/error.h"

#include <llvm-c/Target.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* CPUs                                                                                         */

typedef struct {
  unsigned bit;
  const char *name;
} llvm_name;

static const llvm_name x86_names[] = {
#define IR_X86_NAME(id, name) {KDL_X86_##id, name},
#include "compiler/ir/linker/llvm_features.def"
};
static const llvm_name aarch64_names[] = {
#define IR_AARCH64_NAME(id, name) {KDL_AARCH64_##id, name},
#include "compiler/ir/linker/llvm_features.def"
};
static const llvm_name riscv_names[] = {
#define IR_RISCV_NAME(id, name) {KDL_RISCV_##id, name},
#include "compiler/ir/linker/llvm_features.def"
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* How LLVM describes a family of CPUs. */
static const struct {
  kdl_target_family family;
  const llvm_name *names;
  size_t name_count;
  const char *cpu;
  const char *features; /* features without a token, which every such CPU has */
  const char *levels;   /* prefix of architectures that are levels, not CPUs to tune for */
} cpus[] = {
    {KDL_FAMILY_X86_64, x86_names, COUNT(x86_names), "x86-64", "", "x86-64"},
    {KDL_FAMILY_AARCH64, aarch64_names, COUNT(aarch64_names), "generic", "", "armv"},
    {KDL_FAMILY_RISCV, riscv_names, COUNT(riscv_names), "generic-rv64", "+m,+a,+f,+d,+c,", "rv"},
};

static size_t cpu_table_row(kdl_target_family family) {
  size_t row = 0;
  while (row + 1 < COUNT(cpus) && cpus[row].family != family)
    ++row;
  return row;
}

/* "+avx512bf16,"; nothing for features that LLVM lacks. */
static void add_feature(kdl_out *out, size_t row, unsigned bit) {
  for (size_t i = 0; i < cpus[row].name_count; ++i) {
    const llvm_name *name = &cpus[row].names[i];
    if (name->bit == bit) {
      if (name->name[0])
        kdl_out_format(out, "+%s,", name->name);
      return;
    }
  }
  kdl_feature_class which = kdl_families[cpus[row].family].features;
  const char *token = kdl_feature_name(which, bit);
  if (!token)
    return;
  kdl_out_format(out, "+");
  for (; *token; ++token) {
    if (*token != '_')
      kdl_out_format(out, "%c", *token);
  }
  kdl_out_format(out, ",");
}

/* All features, without those that the device lacks. */
static kdl_feature_set device_features(const ir_request *request) {
  return (kdl_feature_set){{~request->traits.lacks[0], ~request->traits.lacks[1]}};
}

/* The least length of vectors that the device has, by which LLVM takes SVE for vectors of a fixed
 * number of elements; 0 where no token says one. */
static uint32_t least_sve_bits(kdl_feature_set set) {
  return kdl_feature_has(set, KDL_AARCH64_SVE_VL_2048)   ? 2048
         : kdl_feature_has(set, KDL_AARCH64_SVE_VL_1024) ? 1024
         : kdl_feature_has(set, KDL_AARCH64_SVE_VL_512)  ? 512
         : kdl_feature_has(set, KDL_AARCH64_SVE_VL_256)  ? 256
                                                         : 0;
}

static void describe_cpu(ir_target *target, const ir_request *request) {
  kdl_feature_class which = kdl_families[target->family].features;
  kdl_feature_set set = device_features(request);
  size_t row = cpu_table_row(target->family);
  kdl_out out = {target->features, sizeof target->features, 0};
  kdl_out_format(&out, "%s", cpus[row].features);
  for (unsigned bit = 0; bit < 128; ++bit) {
    if (kdl_feature_has(set, bit))
      add_feature(&out, row, bit);
  }
  if (out.used)
    target->features[out.used - 1] = '\0';
  if (target->family == KDL_FAMILY_AARCH64)
    target->sve_bits = least_sve_bits(set);
  bool is_x86 = target->family == KDL_FAMILY_X86_64;
  snprintf(target->cpu, sizeof target->cpu, "%s", cpus[row].cpu);
  kdl_out arch = {target->arch, sizeof target->arch, 0};
  if (is_x86)
    kdl_out_cpu(&arch, which, set);
  else
    kdl_out_format(&arch, "%s%s%s", request->spec.arch, *request->spec.features ? "+" : "",
                   request->spec.features);
  /* Where the spec names a CPU, LLVM can tune for it. */
  const char *name = request->spec.arch;
  size_t length = strcspn(name, "+");
  bool is_named = strncmp(name, cpus[row].levels, strlen(cpus[row].levels)) != 0;
  if (is_named && length < sizeof target->tune)
    snprintf(target->tune, sizeof target->tune, "%.*s", (int)length, name);
}

/* Adds to `lacking` the features of "+avx2,-fma,+avx512f" that the device lacks. LLVM's other names
 * are about code generation, not about what runs the code. */
static void list_lacking(const ir_request *request, kdl_feature_class which, kdl_string features,
                         kdl_feature_set *lacking) {
  kdl_feature_set has = device_features(request);
  for (size_t at = 0; at < features.length;) {
    size_t end = kdl_text_find(features, at, ",");
    int bit = features.data[at] == '+'
                  ? kdl_feature_bit(which, (kdl_string){features.data + at + 1, end - at - 1})
                  : -1;
    if (bit >= 0 && !kdl_feature_has(has, (unsigned)bit))
      kdl_feature_add(lacking, (unsigned)bit);
    at = end + 1;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* GPUs                                                                                         */

static void describe_amd(ir_target *target, const ir_request *request) {
  kdl_amdgcn_id id;
  if (!kdl_amdgcn_parse(kdl_text_of(request->spec.arch), &id, NULL))
    return;
  snprintf(target->cpu, sizeof target->cpu, "%s", id.processor->name);
  kdl_out out = {target->features, sizeof target->features, 0};
  const char *comma = "";
  if (id.sramecc != KDL_AMDGCN_ANY && !ir_amd_settings_are_flags) {
    kdl_out_format(&out, "%csramecc", id.sramecc == KDL_AMDGCN_ON ? '+' : '-');
    comma = ",";
  }
  if (id.xnack != KDL_AMDGCN_ANY && !ir_amd_settings_are_flags) {
    kdl_out_format(&out, "%s%cxnack", comma, id.xnack == KDL_AMDGCN_ON ? '+' : '-');
    comma = ",";
  }
  if (target->wavefront)
    kdl_out_format(&out, "%s+wavefrontsize%u", comma, target->wavefront);
  kdl_out arch = {target->arch, sizeof target->arch, 0};
  kdl_out_amdgcn(&arch, &id);
}

/* A PTX version that is too new excludes older drivers. So this takes the newest that a module was
 * compiled for, at most the driver's, and at least the one that the target needs. */
static void describe_nvidia(ir_target *target, const ir_request *request) {
  kdl_nvptx_arch arch;
  if (!kdl_nvptx_parse(kdl_text_of(request->spec.arch), &arch, NULL))
    return;
  arch.suffix = target->suffix;
  int length = snprintf(target->cpu, sizeof target->cpu, "sm_%u", arch.number);
  if (target->suffix)
    snprintf(target->cpu + length, sizeof target->cpu - (size_t)length, "%c", target->suffix);
  snprintf(target->arch, sizeof target->arch, "%s", target->cpu);
  uint32_t ptx = target->ptx;
  uint32_t newest =
      request->traits.ptx || request->traits.driver ? request->traits.ptx : UINT32_MAX;
  if (ptx > newest)
    ptx = newest;
  if (ptx < kdl_nvptx_first_ptx(&arch))
    ptx = kdl_nvptx_first_ptx(&arch);
  if (ptx)
    snprintf(target->features, sizeof target->features, "+ptx%u%u", ptx >> 16, ptx & 0xffff);
}

/* ------------------------------------------------------------------------------------------ */
/* Targets of modules                                                                           */

static kdl_string function_attribute(LLVMValueRef function, const char *key) {
  LLVMAttributeRef found =
      LLVMGetStringAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, key, (unsigned)strlen(key));
  if (!found)
    return (kdl_string){"", 0};
  unsigned length;
  const char *value = LLVMGetStringAttributeValue(found, &length);
  return (kdl_string){value, length};
}

static kdl_status admit_cpu(const ir_target *target, const ir_request *request, const char *name,
                            LLVMValueRef function) {
  kdl_feature_class which = kdl_families[target->family].features;
  kdl_feature_set lacking = {{0, 0}};
  list_lacking(request, which, function_attribute(function, "target-features"), &lacking);
  if (!(lacking.word[0] | lacking.word[1]))
    return KDL_OK;
  char tokens[256];
  kdl_out out = {tokens, sizeof tokens, 0};
  kdl_out_features(&out, which, lacking);
  return kdl_fail(KDL_NO_MATCH,
                  "%s: '%.128s' was compiled with %s, which %s lacks: its image should say so, as "
                  "requires_features=%s, or be compiled without",
                  name, ir_value_name(function).data, tokens, request->device_label, tokens);
}

static kdl_status admit_nvidia(ir_target *target, const ir_request *request, const char *name,
                               LLVMValueRef function) {
  kdl_string cpu = function_attribute(function, "target-cpu");
  kdl_nvptx_arch device, arch;
  if (!kdl_nvptx_parse(cpu, &arch, NULL) ||
      !kdl_nvptx_parse(kdl_text_of(request->spec.arch), &device, NULL))
    return KDL_OK;
  bool runs = arch.suffix == 'a'   ? arch.major == device.major && arch.minor == device.minor
              : arch.suffix == 'f' ? arch.major == device.major && arch.minor <= device.minor
                                   : arch.major < device.major ||
                                         (arch.major == device.major && arch.minor <= device.minor);
  if (!runs)
    return kdl_fail(KDL_NO_MATCH, "%s: '%.128s' was compiled for %.16s; the device is %s", name,
                    ir_value_name(function).data, cpu.data, request->device_label);
  if (arch.suffix && target->suffix != 'a')
    target->suffix = arch.suffix;
  kdl_string features = function_attribute(function, "target-features");
  for (size_t at = 0; at < features.length; at = kdl_text_find(features, at, ",") + 1) {
    kdl_string rest = kdl_text_substr(features, at);
    size_t digits = 4;
    uint32_t number;
    if (!kdl_text_starts(rest, "+ptx") || !kdl_text_parse_number(rest, &digits, &number))
      continue;
    uint32_t ptx = KDL_VERSION_OF(number / 10, number % 10);
    if (ptx > target->ptx)
      target->ptx = ptx;
  }
  return KDL_OK;
}

static kdl_status admit_amd(ir_target *target, const ir_request *request, const char *name,
                            LLVMValueRef function) {
  kdl_string features = function_attribute(function, "target-features");
  uint32_t wavefront = kdl_text_contains(features, "+wavefrontsize32")   ? 32
                       : kdl_text_contains(features, "+wavefrontsize64") ? 64
                                                                         : 0;
  if (!wavefront && ir_amd_wavefront_is_implied)
    wavefront = kdl_text_starts(kdl_text_of(request->spec.arch), "gfx1") ? 32 : 64;
  if (wavefront && target->wavefront && wavefront != target->wavefront)
    return kdl_fail(KDL_NO_MATCH,
                    "%s: '%.128s' was compiled for wavefronts of %u, what it is linked with for "
                    "those of %u (%s)",
                    name, ir_value_name(function).data, wavefront, target->wavefront,
                    request->device_label);
  if (wavefront)
    target->wavefront = wavefront;
  return KDL_OK;
}

/* Systems with other calling conventions or object files than the images made by kdl-ld. */
static bool is_foreign_system(kdl_string triple) {
  static const char *const systems[] = {"windows", "darwin", "macos", "ios", "cygwin", "uefi"};
  for (size_t i = 0; i < COUNT(systems); ++i) {
    if (kdl_text_contains(triple, systems[i]))
      return true;
  }
  return false;
}

static kdl_status admit_triple(const ir_target *target, const ir_request *request,
                               LLVMModuleRef module, const char *name) {
  kdl_string triple = kdl_text_of(LLVMGetTarget(module));
  kdl_target_family family = kdl_family_of_triple(triple);
  if (family != target->family)
    return kdl_fail(KDL_NO_MATCH, "%s: found bitcode for %s (triple '%.64s'), expected some for %s",
                    name, family == KDL_FAMILY_NONE ? "no known device" : kdl_families[family].name,
                    triple.data, request->device_label);
  if (is_foreign_system(triple) || LLVMPointerSize(LLVMGetModuleDataLayout(module)) != 8)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found bitcode for '%.64s', expected the 64-bit conventions of '%s'", name,
                    triple.data, target->triple);
  return KDL_OK;
}

kdl_status ir_target_admit(ir_target *target, const ir_request *request, LLVMModuleRef module,
                           const char *name) {
  KDL_TRY(admit_triple(target, request, module, name));
  for (LLVMValueRef function = LLVMGetFirstFunction(module); function;
       function = LLVMGetNextFunction(function)) {
    if (LLVMIsDeclaration(function))
      continue;
    KDL_TRY(target->family == KDL_FAMILY_NVPTX    ? admit_nvidia(target, request, name, function)
            : target->family == KDL_FAMILY_AMDGCN ? admit_amd(target, request, name, function)
            : target->family == KDL_FAMILY_SPIRV  ? KDL_OK
                                                  : admit_cpu(target, request, name, function));
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Targets                                                                                      */

static const struct {
  kdl_target_family family;
  const char *triple;
} triples[] = {
    {KDL_FAMILY_X86_64, "x86_64-unknown-linux-gnu"},
    {KDL_FAMILY_AARCH64, "aarch64-unknown-linux-gnu"},
    {KDL_FAMILY_RISCV, "riscv64-unknown-linux-gnu"},
    {KDL_FAMILY_NVPTX, "nvptx64-nvidia-cuda"},
    {KDL_FAMILY_AMDGCN, "amdgcn-amd-amdhsa"},
    {KDL_FAMILY_SPIRV, "spirv64v1.2-unknown-unknown"},
    {KDL_FAMILY_INTEL, "spirv64v1.2-unknown-unknown"},
};

kdl_status ir_target_init(const ir_request *request, ir_target *out_target) {
  kdl_target_family family = (kdl_target_family)request->traits.family;
  for (size_t i = 0; i < COUNT(triples); ++i) {
    if (triples[i].family != family)
      continue;
    *out_target = (ir_target){.family = family, .triple = triples[i].triple};
    if (family == KDL_FAMILY_INTEL) /* its driver takes SPIR-V too */
      out_target->family = KDL_FAMILY_SPIRV;
    return KDL_OK;
  }
  return kdl_fail(
      KDL_UNSUPPORTED,
      "--for: bad value '%s': use a CPU, a GPU of NVIDIA or AMD, or a driver for SPIR-V: "
      "kdl-ld makes no images for others",
      request->device_label);
}

void ir_target_free(ir_target *target) {
  if (target->machine)
    LLVMDisposeTargetMachine(target->machine);
}

#define INITIALIZE(name)                                                                           \
  LLVMInitialize##name##TargetInfo(), LLVMInitialize##name##Target(),                              \
      LLVMInitialize##name##TargetMC(), LLVMInitialize##name##AsmPrinter()

static void initialize_llvm_target(kdl_target_family family) {
  switch (family) {
  case KDL_FAMILY_X86_64:
    INITIALIZE(X86), LLVMInitializeX86AsmParser();
    return;
  case KDL_FAMILY_AARCH64:
    INITIALIZE(AArch64), LLVMInitializeAArch64AsmParser();
    return;
  case KDL_FAMILY_RISCV:
    INITIALIZE(RISCV), LLVMInitializeRISCVAsmParser();
    return;
  case KDL_FAMILY_NVPTX:
    INITIALIZE(NVPTX); /* LLVM has no assembler for PTX */
    return;
  case KDL_FAMILY_SPIRV:
    INITIALIZE(SPIRV);
    return;
  case KDL_FAMILY_AMDGCN:
    INITIALIZE(AMDGPU), LLVMInitializeAMDGPUAsmParser();
    return;
  default:
    return;
  }
}

static kdl_status find_llvm_target(const ir_target *target, LLVMTargetRef *out_llvm) {
  char *problem = NULL;
  initialize_llvm_target(target->family);
  if (!LLVMGetTargetFromTriple(target->triple, out_llvm, &problem))
    return KDL_OK;
  kdl_status status =
      kdl_fail(KDL_UNSUPPORTED, "%s: this LLVM makes no code for it: %s", target->triple, problem);
  LLVMDisposeMessage(problem);
  return status;
}

static void set_layout(const ir_target *target, LLVMTargetMachineRef machine,
                       LLVMModuleRef module) {
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetTarget(module, target->triple);
  LLVMSetModuleDataLayout(module, layout);
  LLVMDisposeTargetData(layout);
}

kdl_status ir_target_set_layout(const ir_target *target, LLVMModuleRef module) {
  LLVMTargetRef llvm;
  KDL_TRY(find_llvm_target(target, &llvm));
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
      llvm, target->triple, "", "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  if (!machine)
    return kdl_fail(KDL_UNSUPPORTED, "%s: LLVM makes no code for it", target->triple);
  set_layout(target, machine, module);
  LLVMDisposeTargetMachine(machine);
  return KDL_OK;
}

kdl_status ir_target_finish(ir_target *target, const ir_request *request) {
  if (target->family == KDL_FAMILY_NVPTX)
    describe_nvidia(target, request);
  else if (target->family == KDL_FAMILY_AMDGCN)
    describe_amd(target, request);
  else if (target->family == KDL_FAMILY_SPIRV)
    snprintf(target->arch, sizeof target->arch, "generic");
  else
    describe_cpu(target, request);
  LLVMTargetRef llvm;
  KDL_TRY(find_llvm_target(target, &llvm));
  target->machine =
      LLVMCreateTargetMachine(llvm, target->triple, target->cpu, target->features,
                              LLVMCodeGenLevelAggressive, LLVMRelocPIC, LLVMCodeModelDefault);
  return target->machine ? KDL_OK
                         : kdl_fail(KDL_UNSUPPORTED, "%s: LLVM makes no code for %s",
                                    target->triple, target->cpu);
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

static void set_function_attribute(LLVMContextRef context, LLVMValueRef function, const char *key,
                                   const char *value) {
  LLVMRemoveStringAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, key, (unsigned)strlen(key));
  if (!value || !*value)
    return;
  LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateStringAttribute(context, key, (unsigned)strlen(key), value,
                                                    (unsigned)strlen(value)));
}

static void set_amd_flag(LLVMModuleRef module, const char *name, kdl_amdgcn_setting setting) {
  LLVMTypeRef type = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
  if (setting != KDL_AMDGCN_ANY && !LLVMGetModuleFlag(module, name, strlen(name)))
    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorError, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(type, setting == KDL_AMDGCN_ON, 0)));
}

/* A module's own range of vector lengths may be that of another device: every function gets this
 * one's, which is a minimum. On RISC-V it follows from the features. */
static void set_vector_lengths(const ir_target *target, LLVMContextRef context,
                               LLVMValueRef function, bool is_made) {
  enum { granule = 128, longest = 2048 };
  unsigned range = LLVMGetEnumAttributeKindForName("vscale_range", 12);
  LLVMRemoveEnumAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, range);
  if (!target->sve_bits || !is_made)
    return;
  uint64_t value = (uint64_t)(target->sve_bits / granule) << 32 | longest / granule;
  LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateEnumAttribute(context, range, value));
}

void ir_target_apply(const ir_target *target, LLVMModuleRef module) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    bool is_made = !LLVMIsDeclaration(f);
    set_function_attribute(context, f, "target-cpu", is_made ? target->cpu : NULL);
    set_function_attribute(context, f, "target-features", is_made ? target->features : NULL);
    set_function_attribute(context, f, "tune-cpu", is_made ? target->tune : NULL);
    set_vector_lengths(target, context, f, is_made);
  }
  kdl_amdgcn_id id;
  if (ir_amd_settings_are_flags && target->family == KDL_FAMILY_AMDGCN &&
      kdl_amdgcn_parse(kdl_text_of(target->arch), &id, NULL)) {
    set_amd_flag(module, "amdgpu.sramecc", id.sramecc);
    set_amd_flag(module, "amdgpu.xnack", id.xnack);
  }
  set_layout(target, target->machine, module);
}
