/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Math of NVIDIA's GPUs by libdevice, where portable.offload has it: its names, as in
 * <kdl/math/nvidia.h>. What it lacks is libclc's, which has the names of the form. */
#include "compiler/ir/portable/lower.h"

#include "support/base/text.h"

#include <stdio.h>
#include <string.h>

/* libdevice's name of a function, without "__nv_"; NULL if it has none. */
static const char *libdevice_name(kdl_string name, char *buffer, size_t size) {
  static const char *const missing[] = {"acospi",   "asinpi", "atanpi", "atan2pi", "tanpi",
                                        "maxmag",   "minmag", "powr",   "pown",    "rootn",
                                        "lgamma_r", "fract",  "sincos", "mad"};
  static const char *const other[][2] = {{"sqrtf", "fsqrt_rn"},
                                         {"native_sqrtf", "sqrtf"},
                                         {"native_exp2f", "exp2f"},
                                         {"native_rsqrtf", "rsqrtf"}};
  for (size_t i = 0; i < sizeof other / sizeof *other; ++i) {
    if (kdl_text_is(name, other[i][0]))
      return other[i][1];
  }
  bool is_float = name.length > 1 && name.data[name.length - 1] == 'f' &&
                  !kdl_text_is(name, "modf") && !kdl_text_is(name, "erf");
  if (KDL_TEXT_AMONG(name, missing) ||
      (is_float && KDL_TEXT_AMONG(((kdl_string){name.data, name.length - 1}), missing)))
    return NULL;
  bool is_native = kdl_text_starts(name, "native_");
  kdl_string base = is_native ? kdl_text_substr(name, sizeof "native_" - 1) : name;
  snprintf(buffer, size, "%s%.*s", is_native ? "fast_" : "", (int)base.length, base.data);
  return buffer;
}

void ir_nvidia_use_libdevice(LLVMModuleRef module) {
  static const char prefix[] = "kdl_math_";
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    char base[64], name[80];
    kdl_string symbol = ir_value_name(f);
    if (!LLVMIsDeclaration(f) || !kdl_text_starts(symbol, prefix) || symbol.length > 48)
      continue;
    const char *found =
        libdevice_name(kdl_text_substr(symbol, sizeof prefix - 1), base, sizeof base);
    if (!found)
      continue;
    snprintf(name, sizeof name, "__nv_%s", found);
    LLVMSetValueName2(f, name, strlen(name));
  }
}
