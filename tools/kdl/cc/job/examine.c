/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/examine.h"

#include "base/error.h"
#include "cc/job/math.h"
#include "image/image.h"
#include "image/spirv/spirv_module.h"
#include "images/names.h"
#include "images/signatures.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* SPIR-V                                                                                       */

kdl_status cc_examine_capabilities(kdl_string module, kdl_feature_set *needs) {
  kdl_image_target target;
  kdl_feature_set found;
  KDL_TRY(kdl_image_read_target(KDL_IMAGE_SPIRV, module.data, module.length, &target));
  if (kdl_feature_parse(KDL_CLASS_GPU, kdl_text_of(target.features), &found, NULL))
    kdl_feature_join(needs, found);
  return KDL_OK;
}

static void set_block(const kdl_spirv *m, kdl_string name, cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    cc_kernel *kernel = &kernels->items[i];
    if (kernel->said >> KDL_KERNEL_BLOCK & 1 || !kdl_text_is(name, kernel->name))
      continue;
    kernel->said |= 1u << KDL_KERNEL_BLOCK;
    for (uint32_t k = 0; k < 3; ++k)
      kernel->values[KDL_KERNEL_BLOCK][k] = kdl_spirv_operand(m, 3 + k);
  }
}

kdl_status cc_examine_blocks(kdl_string module, cc_kernels *kernels) {
  enum { op_execution_mode = 16, local_size = 17 };
  kdl_spirv entries;
  kdl_string name;
  kdl_status status = kdl_spirv_open((const uint8_t *)module.data, module.length, &entries);
  while (status == KDL_OK && (status = kdl_spirv_next_kernel(&entries, &name)) == KDL_OK &&
         name.data) {
    uint32_t id = kdl_spirv_operand(&entries, 2);
    kdl_spirv m = entries; /* modes follow the entry points */
    while (kdl_spirv_next_declaration(&m, &status)) {
      if (m.opcode == op_execution_mode && m.length >= 6 && kdl_spirv_operand(&m, 1) == id &&
          kdl_spirv_operand(&m, 2) == local_size)
        set_block(&m, name, kernels);
    }
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* LLVM IR                                                                                      */

/* Intrinsics are the backend's, mangled names OpenCL's own functions; the barrier is an instruction
 * of SPIR-V (<kdl/kernel/gpu.h>); those for the CPU are in the wrapper. */
static bool is_given(kdl_string name, const cc_target *target) {
  static const char *const memory[] = {"memcpy", "memmove", "memset"};
  if (kdl_text_starts(name, "llvm.") || cc_math_has(target, name))
    return true;
  if (kdl_text_is(name, target->family == CC_HOST ? "kdl_cc_barrier" : "kdl_local_dynamic"))
    return true;
  if (target->family == CC_OPENCL)
    return kdl_text_starts(name, "_Z");
  if (target->family == CC_SPIRV)
    return kdl_text_is(name, "_Z22__spirv_ControlBarrierjjj");
  for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i) {
    if (target->family == CC_HOST && kdl_text_is(name, memory[i]))
      return true;
  }
  return false;
}

/* The name of the next function that is declared and not defined; false behind the last. */
static bool next_declared(kdl_string *rest, kdl_string *out_name) {
  static const char mark[] = "\ndeclare ";
  const char *found = memmem(rest->data, rest->length, mark, sizeof mark - 1);
  if (!found)
    return false;
  *rest = kdl_text_from(*rest, (size_t)(found - rest->data) + 1);
  size_t name = kdl_text_find(*rest, 0, "@\n") + 1;
  if (name >= rest->length)
    return false;
  *out_name = (kdl_string){rest->data + name, kdl_text_find(*rest, name, "(\n") - name};
  return true;
}

kdl_string cc_examine_undefined(kdl_string ir, const cc_target *target) {
  kdl_string declared;
  for (kdl_string rest = ir; next_declared(&rest, &declared);) {
    if (!is_given(declared, target))
      return declared;
  }
  return (kdl_string){"", 0};
}

bool cc_examine_math(kdl_string ir, const cc_target *target, bool *out_calls_libm) {
  kdl_string declared;
  bool calls = false;
  *out_calls_libm = false;
  for (kdl_string rest = ir; next_declared(&rest, &declared);) {
    calls |= cc_math_has(target, declared);
    *out_calls_libm |= target->family == CC_HOST && cc_math_is_libm(declared);
  }
  return calls;
}

/* What follows "\n!12 = ", up to the end of its line; empty where there is no such node. */
static kdl_string node_of(kdl_string ir, kdl_string number) {
  char mark[32];
  snprintf(mark, sizeof mark, "\n%.*s = ", (int)number.length, number.data);
  const char *found = memmem(ir.data, ir.length, mark, strlen(mark));
  if (!found)
    return (kdl_string){"", 0};
  kdl_string rest = kdl_text_from(ir, (size_t)(found - ir.data) + strlen(mark));
  return (kdl_string){rest.data, kdl_text_find(rest, 0, "\n")};
}

/* The value behind `key` in a node, up to one of `ends`. */
static kdl_string field_of(kdl_string node, const char *key, const char *ends) {
  const char *found = memmem(node.data, node.length, key, strlen(key));
  if (!found)
    return (kdl_string){"", 0};
  kdl_string rest = kdl_text_from(node, (size_t)(found - node.data) + strlen(key));
  return (kdl_string){rest.data, kdl_text_find(rest, 0, ends)};
}

static cc_place place_of(kdl_string ir, kdl_string number) {
  kdl_string location = node_of(ir, number);
  kdl_string line = field_of(location, "line: ", ",)");
  kdl_string column = field_of(location, "column: ", ",)");
  kdl_string scope = node_of(ir, field_of(location, "scope: ", ",)"));
  kdl_string file = node_of(ir, field_of(scope, "file: ", ",)"));
  cc_place place = {.file = field_of(file, "filename: \"", "\"")};
  size_t at = 0;
  if (!kdl_text_number(line, &at, &place.line))
    return (cc_place){.line = 0};
  at = 0;
  kdl_text_number(column, &at, &place.column);
  return place;
}

/* Of the first line with `mark` in it, and `behind` next to it, that has a place. */
static cc_place place_of_mark(kdl_string ir, const char *mark, const char *behind) {
  for (kdl_string rest = ir;;) {
    const char *found = memmem(rest.data, rest.length, mark, strlen(mark));
    if (!found)
      return (cc_place){.line = 0};
    rest = kdl_text_from(rest, (size_t)(found - rest.data) + strlen(mark));
    kdl_string line = {rest.data, kdl_text_find(rest, 0, "\n")};
    cc_place place = place_of(ir, field_of(line, "!dbg ", ", "));
    if (place.line && (!behind || kdl_text_find(rest, 0, behind) == 0))
      return place;
  }
}

cc_place cc_examine_use(kdl_string ir, kdl_string function) {
  char mark[512];
  snprintf(mark, sizeof mark, "@%.*s", (int)function.length, function.data);
  return place_of_mark(ir, mark, "(,) ");
}

cc_place cc_examine_line(kdl_string ir, kdl_string line) {
  return place_of(ir, field_of(line, "!dbg ", ", "));
}

cc_place cc_examine_type(kdl_string ir, const char *type) {
  return place_of_mark(ir, type, NULL);
}

/* define internal i32 @index_of(i32 %0) #0 !dbg !12 { */
cc_place cc_examine_symbol(kdl_string ir, kdl_string name) {
  char mark[512];
  snprintf(mark, sizeof mark, " @%.*s(", (int)name.length, name.data);
  for (size_t at = 0, end; at < ir.length && name.length; at = end + 1) {
    end = kdl_text_find(ir, at, "\n");
    kdl_string line = {ir.data + at, end - at};
    if (!kdl_text_starts(line, "define ") || !memmem(line.data, line.length, mark, strlen(mark)))
      continue;
    kdl_string node = node_of(ir, field_of(line, "!dbg ", " "));
    kdl_string number = field_of(node, ", line: ", ",)");
    kdl_string file = node_of(ir, field_of(node, "file: ", ",)"));
    cc_place place = {.file = field_of(file, "filename: \"", "\"")};
    size_t digits = 0;
    return kdl_text_number(number, &digits, &place.line) ? place : (cc_place){.line = 0};
  }
  return name.length ? cc_examine_use(ir, name) : (cc_place){.line = 0};
}

/* "target-features"="+avx2,-avx512f,+cx8" */
static void add_listed(kdl_string list, kdl_feature_class which, kdl_feature_set *set) {
  for (size_t at = 0, end; at < list.length; at = end + 1) {
    end = kdl_text_find(list, at, ",");
    int bit = list.data[at] == '+'
                  ? kdl_feature_bit(which, (kdl_string){list.data + at + 1, end - at - 1})
                  : -1;
    if (bit >= 0)
      kdl_feature_add(set, (unsigned)bit);
  }
}

static kdl_feature_set features_in(kdl_string attributes, kdl_feature_class which) {
  static const char mark[] = "\"target-features\"=\"";
  kdl_feature_set set = {{0, 0}};
  for (kdl_string rest = attributes;;) {
    const char *found = memmem(rest.data, rest.length, mark, sizeof mark - 1);
    if (!found)
      return set;
    rest = kdl_text_from(rest, (size_t)(found - rest.data) + sizeof mark - 1);
    add_listed((kdl_string){rest.data, kdl_text_find(rest, 0, "\"")}, which, &set);
  }
}

void cc_examine_functions(kdl_string ir, const cc_target *target, kdl_feature_set *needs) {
  kdl_feature_set used = features_in(ir, target->features);
  if (target->features == KDL_CLASS_AARCH64) /* hints, which other CPUs pass over */
    kdl_feature_remove(&used, KDL_AARCH64_BTI);
  needs->word[0] |= used.word[0] & ~target->has.word[0];
  needs->word[1] |= used.word[1] & ~target->has.word[1];
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static kdl_status compare_names(const cli_names *shown, const cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    if (!cli_names_has(shown, kdl_text_of(kernels->items[i].name)))
      return kdl_fail(KDL_BAD_FILE, "the source defines the kernel %s, and the image lacks it",
                      kernels->items[i].name);
  }
  return KDL_OK;
}

kdl_status cc_examine_kernels(kdl_image_kind kind, kdl_string image, const cc_kernels *kernels) {
  cli_names shown = {.count = 0};
  kdl_status status = cli_names_read_kernels(kind, image.data, image.length, &shown);
  if (status == KDL_OK)
    status = compare_names(&shown, kernels);
  cli_names_free(&shown);
  char problem[192];
  for (size_t i = 0; i < kernels->count && status == KDL_OK; ++i) {
    const cc_kernel *kernel = &kernels->items[i];
    if (cli_signature_contradicts(kind, image, kdl_text_of(kernel->name), kdl_text_of(kernel->sig),
                                  0, problem, sizeof problem))
      status = kdl_fail(KDL_BAD_FILE, "the source says that %s is %s, and the image disagrees: %s",
                        kernel->name, kernel->sig, problem);
  }
  return status == KDL_UNSUPPORTED ? KDL_OK : status;
}
