/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/linker.h"

#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/system/environment.h"
#include "tools/common/memory.h"

#include <kdl/ukernel.h>

#include <llvm-c/Comdat.h>
#include <llvm-c/Linker.h>

/* ------------------------------------------------------------------------------------------ */
/* Extraction                                                                                   */

/* Choices of one image, which are linked together: it is read once for all of them. */
typedef struct {
  const ir_choice *choices; /* some are of other images */
  size_t count;
  const ir_candidate *image;
} image_choices;

static const ir_candidate *chosen_candidate(const ir_choice *choice) {
  for (size_t i = 0; i < choice->count; ++i) {
    if (choice->candidates[i].is_chosen)
      return &choice->candidates[i];
  }
  return NULL;
}

static bool is_of_image(const image_choices *group, const ir_choice *choice) {
  const ir_candidate *chosen = chosen_candidate(choice);
  return chosen && chosen->library == group->image->library && chosen->image == group->image->image;
}

static bool group_has_symbol(const image_choices *group, kdl_string symbol) {
  for (size_t i = 0; i < group->count; ++i) {
    if (is_of_image(group, &group->choices[i]) && kdl_text_equal(group->choices[i].symbol, symbol))
      return true;
  }
  return false;
}

static void internalize_unless_wanted(LLVMValueRef value, void *user) {
  const image_choices *group = user;
  kdl_string name = ir_value_name(value);
  bool keeps_alive = kdl_text_is(name, "llvm.used") || kdl_text_is(name, "llvm.compiler.used");
  if (keeps_alive)
    LLVMDeleteGlobal(value);
  else if (!group_has_symbol(group, name) && !ir_constant_is(value))
    ir_internalize(value);
}

/* The function or variable of that name. */
static LLVMValueRef find_global(LLVMModuleRef module, kdl_string symbol) {
  LLVMValueRef function = LLVMGetNamedFunction(module, symbol.data);
  return function ? function : LLVMGetNamedGlobal(module, symbol.data);
}

static kdl_status export_symbol(LLVMModuleRef module, kdl_string symbol, const char *name) {
  LLVMValueRef wanted = find_global(module, symbol);
  if (!wanted || !ir_value_is_exported(wanted))
    return kdl_fail(KDL_BAD_FILE, "%s: found no function '%.128s', expected what its key promises",
                    name, symbol.data);
  LLVMSetLinkage(wanted, LLVMExternalLinkage);
  LLVMSetComdat(wanted, NULL);
  if (!LLVMIsAFunction(wanted))
    LLVMSetVisibility(wanted, LLVMHiddenVisibility); /* not exported by the image */
  return KDL_OK;
}

/* Strips a module down to some functions and constants and their dependencies. */
static kdl_status extract_symbols(LLVMModuleRef module, image_choices *group, const char *name) {
  ir_module_each_global(module, internalize_unless_wanted, group);
  for (size_t i = 0; i < group->count; ++i) {
    if (is_of_image(group, &group->choices[i]))
      KDL_TRY(export_symbol(module, group->choices[i].symbol, name));
  }
  /* globalopt turns variables without a store into constants; libdevice has such variables. */
  return ir_module_run_passes(module, NULL, "globaldce,globalopt,globaldce", NULL);
}

/* ------------------------------------------------------------------------------------------ */
/* Linking                                                                                      */

static kdl_status read_chosen(ir_linker *linker, const ir_candidate *chosen, const char *name,
                              LLVMModuleRef *out_module) {
  const void *data;
  size_t size;
  kdl_status status =
      kdl_library_bytes(chosen->library->lib, chosen->image, KDL_BYTES_VERIFIED, &data, &size);
  if (status == KDL_BAD_FILE)
    kdl_error_prefix("%s", name);
  if (status == KDL_OK)
    status = ir_module_read(linker->context, data, size, name, out_module);
  ir_stages_end(&linker->stages, IR_STAGE_PARSE);
  return status;
}

static kdl_status check_constant_type(const ir_linker *linker, LLVMValueRef declared,
                                      LLVMValueRef defined, const char *name) {
  const char *symbol = ir_value_name(defined).data;
  if (LLVMIsAFunction(declared) || LLVMIsAFunction(defined))
    return kdl_fail(KDL_BAD_FILE, "%s: '%.128s' is a %s, expected a %s, as %s declares it", name,
                    symbol, LLVMIsAFunction(defined) ? "function" : "variable",
                    LLVMIsAFunction(declared) ? "function" : "variable", linker->request->caller);
  if (LLVMGlobalGetValueType(declared) != LLVMGlobalGetValueType(defined) ||
      LLVMTypeOf(declared) != LLVMTypeOf(defined))
    return kdl_fail(KDL_BAD_FILE, "%s: the constant '%.128s' is of another type than %s declares",
                    name, symbol, linker->request->caller);
  return KDL_OK;
}

/* Whether a definition is what the caller declares. */
static kdl_status check_definition(const ir_linker *linker, LLVMModuleRef module, kdl_string symbol,
                                   const char *name) {
  LLVMValueRef declared = find_global(linker->module, symbol);
  LLVMValueRef defined = find_global(module, symbol);
  if (!LLVMIsAFunction(declared) || !LLVMIsAFunction(defined))
    return check_constant_type(linker, declared, defined, name);
  ir_reason why;
  bool matches = ir_ukernel_has_signature(declared, defined, linker->request->caller, &why) &&
                 ir_ukernel_has_layout(declared, defined, &why);
  return matches ? KDL_OK : kdl_fail(KDL_BAD_FILE, "%s: %s", name, why.text);
}

static kdl_status prepare_ukernels(ir_linker *linker, LLVMModuleRef module, image_choices *group,
                                   const char *name) {
  kdl_string first = group->choices[0].symbol;
  KDL_TRY(extract_symbols(module, group, name));
  KDL_TRY(ir_target_admit(&linker->target, linker->request, module, name));
  for (size_t i = 0; i < group->count; ++i) {
    if (is_of_image(group, &group->choices[i]))
      KDL_TRY(check_definition(linker, module, group->choices[i].symbol, name));
  }
  KDL_TRY(ir_constants_agree(linker->module, module, name));
  bool is_own = linker->portable && strcmp(group->image->library->name, linker->portable) == 0;
  ir_reason why;
  bool is_ready = ir_ukernel_is_stateless(module, first.data, &why) &&
                  ir_inline_mark(module, first, is_own, &why);
  return is_ready ? KDL_OK : kdl_fail(KDL_UNSUPPORTED, "%s: %s", name, why.text);
}

static kdl_status link_image(ir_linker *linker, image_choices *group) {
  char name[512], label[192];
  ir_candidate_label(group->image, label, sizeof label);
  snprintf(name, sizeof name, "%.300s, %s", group->image->library->name, label);
  LLVMModuleRef module;
  KDL_TRY(read_chosen(linker, group->image, name, &module));
  kdl_status status = prepare_ukernels(linker, module, group, name);
  if (status != KDL_OK) {
    LLVMDisposeModule(module);
    return status;
  }
  LLVMSetTarget(module, LLVMGetTarget(linker->module));
  LLVMSetDataLayout(module, LLVMGetDataLayoutStr(linker->module));
  bool failed = LLVMLinkModules2(linker->module, module); /* consumes the module */
  status = ir_context_check(linker->context, name);
  if (status == KDL_OK && failed)
    status = kdl_fail(KDL_BAD_FILE, "%s: LLVM cannot link it", name);
  ir_stages_end(&linker->stages, IR_STAGE_LINK);
  return status;
}

static bool list_contains(const kdl_string_list *words, const char *word) {
  return kdl_text_is_one_of(kdl_text_of(word), words->items, words->count);
}

/* Adds a choice, or the symbol to those that stay undefined. */
static kdl_status choose_symbol(ir_linker *linker, kdl_string symbol) {
  linker->choices = xgrow(linker->choices, linker->choice_count, &linker->choice_capacity, 16,
                          sizeof *linker->choices);
  ir_choice *choice = &linker->choices[linker->choice_count];
  const ir_candidate *chosen =
      ir_choose_ukernel(&linker->libraries, symbol, linker->context, choice);
  ir_stages_end(&linker->stages, IR_STAGE_CHOOSE);
  if (!choice->count && ir_runtime_of(linker->target.family, symbol) != IR_RUNTIME_NONE) {
    xstring_list_append(&linker->undefined, symbol.data);
    return KDL_OK;
  }
  ++linker->choice_count;
  return chosen ? KDL_OK : ir_fail_no_ukernel(&linker->libraries, linker->request, choice);
}

/* Group memory whose size the launch gives (KDL_LOCAL_DYNAMIC) has no definition. */
static bool is_dynamic_memory(LLVMValueRef variable) {
  enum { group_memory = 3 };
  return LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == group_memory;
}

/* Chooses for every function that is declared, used and not defined; where there is none, for
 * variables: the modules that define functions may use these too. */
static kdl_status choose_undefined(ir_linker *linker) {
  size_t before = linker->choice_count;
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    if (ir_value_is_needed(f) && !list_contains(&linker->undefined, ir_value_name(f).data))
      KDL_TRY(choose_symbol(linker, ir_value_name(f)));
  }
  if (linker->choice_count > before)
    return KDL_OK;
  for (LLVMValueRef v = LLVMGetFirstGlobal(linker->module); v; v = LLVMGetNextGlobal(v)) {
    if (ir_value_is_needed(v) && !ir_constant_is(v) && !is_dynamic_memory(v))
      KDL_TRY(choose_symbol(linker, ir_value_name(v)));
  }
  return KDL_OK;
}

/* Links the images of the choices from `first` on, each once. */
static kdl_status link_choices(ir_linker *linker, size_t first) {
  for (size_t i = first; i < linker->choice_count; ++i) {
    image_choices group = {.choices = &linker->choices[i],
                           .count = linker->choice_count - i,
                           .image = chosen_candidate(&linker->choices[i])};
    image_choices before = {&linker->choices[first], i - first, group.image};
    bool is_linked = false;
    for (size_t j = 0; j < before.count; ++j)
      is_linked |= is_of_image(&before, &before.choices[j]);
    if (!is_linked)
      KDL_TRY(link_image(linker, &group));
  }
  return KDL_OK;
}

/* The length of the microkernel's name in that of a function that describes it; 0 for others. */
static size_t described_length(kdl_string symbol) {
  static const char *const suffixes[] = {"_tile", "_group_bytes", "_role"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; ++i) {
    size_t length = strlen(suffixes[i]);
    if (symbol.length > length && strcmp(symbol.data + symbol.length - length, suffixes[i]) == 0)
      return symbol.length - length;
  }
  return 0;
}

/* What describes a microkernel of a built-in interface must be of its image: another one's tile
 * would be multiplied wrongly. */
static kdl_status check_same_image(const ir_linker *linker, const ir_choice *choice) {
  size_t length = described_length(choice->symbol);
  if (!length || (!kdl_text_starts(choice->symbol, "kdl_uk_mma_") &&
                  !kdl_text_starts(choice->symbol, "kdl_uk_gpu_mma_")))
    return KDL_OK;
  const ir_candidate *own = chosen_candidate(choice);
  for (size_t i = 0; i < linker->choice_count; ++i) {
    const ir_choice *other = &linker->choices[i];
    const ir_candidate *with = chosen_candidate(other);
    bool is_described = other->symbol.length == length &&
                        memcmp(other->symbol.data, choice->symbol.data, length) == 0;
    if (!is_described || (with->library == own->library && with->image == own->image))
      continue;
    char here[192], there[192];
    ir_candidate_label(own, here, sizeof here);
    ir_candidate_label(with, there, sizeof there);
    return kdl_fail(
        KDL_BAD_FILE,
        "%s: found '%.128s' in %.200s, %s, and '%.128s' in %.200s, %s, expected both in "
        "one image",
        linker->request->caller, choice->symbol.data, own->library->name, here, other->symbol.data,
        with->library->name, there);
  }
  return KDL_OK;
}

kdl_status ir_link(ir_linker *linker) {
  for (size_t first = 0;; first = linker->choice_count) {
    KDL_TRY(choose_undefined(linker));
    if (linker->choice_count == first)
      break;
    KDL_TRY(link_choices(linker, first));
  }
  for (size_t i = 0; i < linker->choice_count; ++i)
    KDL_TRY(check_same_image(linker, &linker->choices[i]));
  ir_reason why;
  if (!ir_inline_check(linker->module, &why))
    return kdl_fail(KDL_UNSUPPORTED, "%s: %s", linker->request->caller, why.text);
  for (size_t i = 0; i < linker->choice_count; ++i) {
    ir_choice *choice = &linker->choices[i];
    choice->calls = ir_inline_count_calls(linker->module, choice->symbol.data);
    linker->calls_before += choice->calls;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* As libkdl lists the kernels of bitcode: by calling convention on GPUs, by visibility on CPUs. */
static bool is_kernel_function(const ir_linker *linker, LLVMValueRef function) {
  enum { ptx_kernel = 71, spir_kernel = 76, amdgpu_kernel = 91 };
  unsigned convention = LLVMGetFunctionCallConv(function);
  if (!ir_value_is_exported(function))
    return false;
  if (linker->target.family == KDL_FAMILY_NVPTX)
    return convention == ptx_kernel;
  if (linker->target.family == KDL_FAMILY_AMDGCN)
    return convention == amdgpu_kernel;
  if (linker->target.family == KDL_FAMILY_SPIRV)
    return convention == spir_kernel;
  return LLVMGetVisibility(function) != LLVMHiddenVisibility;
}

static void list_caller_kernels(ir_linker *linker) {
  const kdl_string_list *wanted = &linker->request->kernels;
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    const char *name = ir_value_name(f).data;
    if (is_kernel_function(linker, f) && (!wanted->count || list_contains(wanted, name)))
      xstring_list_append(&linker->kernels, name);
  }
}

static kdl_status check_requested_kernels(const ir_linker *linker) {
  const kdl_string_list *wanted = &linker->request->kernels;
  for (size_t i = 0; i < wanted->count; ++i) {
    if (list_contains(&linker->kernels, wanted->items[i]))
      continue;
    kdl_nearest nearest = kdl_nearest_to(kdl_text_of(wanted->items[i]));
    for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
      if (is_kernel_function(linker, f))
        kdl_nearest_add(&nearest, ir_value_name(f).data);
    }
    return kdl_fail(KDL_NO_MATCH, "%s: found no kernel '%.128s'%s%s%s", linker->request->caller,
                    wanted->items[i], nearest.best ? "; did you mean '" : "",
                    nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
  }
  if (!linker->kernels.count)
    return kdl_fail(KDL_NO_MATCH, "%s: found no kernel, expected at least one",
                    linker->request->caller);
  return KDL_OK;
}

/* Keeps variables that programs may look up by name. A host kernel's descriptor is dropped with its
 * kernel. */
static bool is_kept_symbol(const ir_linker *linker, LLVMValueRef value) {
  static const char record[] = "kdl_host_kernel_";
  kdl_string name = ir_value_name(value);
  if (kdl_text_starts(name, KDL_GROUP_ITEMS_PREFIX)) /* until ir_gpu_set_blocks */
    return list_contains(&linker->kernels, name.data + sizeof KDL_GROUP_ITEMS_PREFIX - 1);
  if (LLVMGetValueKind(value) != LLVMGlobalVariableValueKind)
    return list_contains(&linker->kernels, name.data);
  if (kdl_text_starts(name, record))
    return list_contains(&linker->kernels, name.data + sizeof record - 1);
  return LLVMGetVisibility(value) != LLVMHiddenVisibility;
}

static void internalize_unless_kept(LLVMValueRef value, void *user) {
  if (!is_kept_symbol(user, value) && !ir_constant_is(value))
    ir_internalize(value);
}

kdl_status ir_link_strip_caller(ir_linker *linker) {
  list_caller_kernels(linker);
  KDL_TRY(check_requested_kernels(linker));
  ir_module_each_global(linker->module, internalize_unless_kept, linker);
  return ir_module_run_passes(linker->module, NULL, "globaldce", NULL);
}

kdl_status ir_link_finalize(ir_linker *linker) {
  KDL_TRY(ir_constants_bind(linker->module, linker->request, &linker->constants));
  ir_gpu_mark_grid_constants(linker);
  ir_module_each_global(linker->module, internalize_unless_kept, linker);
  return KDL_OK;
}
