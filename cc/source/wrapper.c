/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/source/wrapper.h"

#include "support/base/error.h"
#include "tools/common/input.h"

/* ------------------------------------------------------------------------------------------ */
/* The source                                                                                   */

kdl_status cc_source_copy(FILE *out, const char *path) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  fputs("#line 1 \"", out);
  for (const char *c = path; *c; ++c)
    fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  fputs("\"\n", out);
  /* A byte order mark is valid only at the start of a file. */
  size_t mark = bytes.size >= 3 && memcmp(bytes.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  fwrite((const char *)bytes.data + mark, 1, bytes.size - mark, out);
  fputs("\n#line 1 \"<kdl cc>\"\n", out);
  cli_bytes_free(&bytes);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The CPU                                                                                      */

/* Weak, because a source may define its own. */
static const char memory_functions[] =
    "#include <kdl/kernel/runtime.h>\n"
    "#define KDL_CC_OWN __attribute__((weak, visibility(\"hidden\")))\n"
    "KDL_CC_OWN void *memcpy(void *to, const void *from, size_t size) {\n"
    "  for (size_t i = 0; i < size; ++i)\n"
    "    ((char *)to)[i] = ((const char *)from)[i];\n"
    "  return to;\n"
    "}\n"
    "KDL_CC_OWN void *memmove(void *to, const void *from, size_t size) {\n"
    "  if ((uintptr_t)to - (uintptr_t)from >= size)\n"
    "    return memcpy(to, from, size);\n"
    "  for (size_t i = size; i-- > 0;)\n"
    "    ((char *)to)[i] = ((const char *)from)[i];\n"
    "  return to;\n"
    "}\n"
    "KDL_CC_OWN void *memset(void *to, int value, size_t size) {\n"
    "  for (size_t i = 0; i < size; ++i)\n"
    "    ((char *)to)[i] = (char)value;\n"
    "  return to;\n"
    "}\n";

void cc_wrapper_rename(FILE *out, const cc_kernels *kernels) {
  for (size_t i = 0; i < kernels->count; ++i) {
    if (!kernels->items[i].is_group_function)
      fprintf(out, "#pragma redefine_extname %s kdl_cc_item_%s\n", kernels->items[i].name,
              kernels->items[i].name);
  }
}

static void write_extent(FILE *out, const cc_kernel *kernel, cc_field field) {
  const uint32_t *extent = kernel->values[field];
  fprintf(out, "{%u, %u, %u}", extent[0], extent[1], extent[2]);
}

/* The loop over one dimension of the block, whose size is a constant if the kernel declares it. A
 * kernel with barriers gets its loops later (kdl-ld --groups); this is one work-item. */
static void write_loop(FILE *out, const cc_kernel *kernel, int d) {
  static const char *const indents[] = {"      ", "    ", "  "};
  char length[32];
  if (cc_kernel_has(kernel, CC_BLOCK))
    snprintf(length, sizeof length, "%u", kernel->values[CC_BLOCK][d]);
  else
    snprintf(length, sizeof length, "kdl_cc_group->block[%d]", d);
  fprintf(out, "%skdl_item.block[%d] = %s;\n", indents[d], d, length);
  if (cc_kernel_has_barrier(kernel))
    fprintf(out, "%s{\n%s  kdl_item.thread[%d] = kdl_cc_thread(%d);\n", indents[d], indents[d], d,
            d);
  else
    fprintf(out,
            "%sfor (uint32_t kdl_cc_i%d = 0; kdl_cc_i%d < %s; ++kdl_cc_i%d) {\n"
            "%s  kdl_item.thread[%d] = kdl_cc_i%d;\n",
            indents[d], d, d, length, d, indents[d], d, d);
}

/* Without group memory from the launch, the kernel would write through a null pointer. */
static void write_dynamic_check(FILE *out, const char *name) {
  fprintf(out,
          "  if (kdl_cc_group->shared_size == 0) {\n"
          "    if (kdl_cc_group->size < sizeof *kdl_cc_group || !kdl_cc_group->error)\n"
          "      __builtin_trap();\n"
          "    __atomic_store_n(kdl_cc_group->error, \"kernel %s has dynamic group memory "
          "(KDL_LOCAL_DYNAMIC): found a launch without any, expected KDL_DYNAMIC, "
          "kdl_launch_desc.shared or kdl run --shared=BYTES\", __ATOMIC_RELAXED);\n"
          "    return;\n"
          "  }\n",
          name);
}

int cc_wrapper_bound_parameter(const cc_kernel *kernel) {
  int found = -1, count = 0;
  const uint32_t *block = kernel->values[CC_BLOCK];
  for (size_t i = 0; i < kernel->param_count; ++i) {
    if (kernel->params[i].is_pointer ||
        strcmp(kernel->params[i].canonical_type, "unsigned int") != 0)
      continue;
    found = (int)i;
    ++count;
  }
  bool is_line = cc_kernel_has(kernel, CC_BLOCK) && block[1] == 1 && block[2] == 1;
  return is_line && count == 1 && !cc_kernel_has_barrier(kernel) ? found : -1;
}

/* All groups but the last are below the bound as a whole. Compiled for that case too, the check of
 * each work-item is gone: as a mask, it makes loads and stores slower. */
static void write_whole_groups(FILE *out, const cc_kernel *kernel, int bound) {
  const char *name = kernel->name;
  fprintf(
      out,
      "void kdl_cc_run_%s(const kdl_host_group *kdl_cc_group, const void *const *kdl_cc_args) {\n"
      "  if (((uint64_t)kdl_cc_group->group[0] + 1) * %u <= *(const uint32_t *)kdl_cc_args[%d])\n"
      "    kdl_cc_items_%s(kdl_cc_group, kdl_cc_args, 1);\n"
      "  else\n"
      "    kdl_cc_items_%s(kdl_cc_group, kdl_cc_args, 0);\n"
      "}\n",
      name, kernel->values[CC_BLOCK][0], bound, name, name);
}

/* What it declares has a prefix, because a kernel and the types of its parameters may have any
 * name. */
static void write_group_function(FILE *out, const cc_kernel *kernel) {
  const char *name = kernel->name;
  int bound = cc_wrapper_bound_parameter(kernel);
  fprintf(out,
          "KDL_KERNEL_EXPORT void kdl_cc_run_%s(const kdl_host_group *, const void *const *)"
          " __asm__(\"%s\");\n",
          name, name);
  if (bound < 0)
    fprintf(out,
            "void kdl_cc_run_%s(const kdl_host_group *kdl_cc_group, const void *const "
            "*kdl_cc_args) {\n",
            name);
  else
    fprintf(out,
            "static void kdl_cc_items_%s(const kdl_host_group *kdl_cc_group, const void *const "
            "*kdl_cc_args, "
            "const int kdl_cc_is_whole) {\n",
            name);
  if (kernel->has_dynamic_local)
    write_dynamic_check(out, name);
  for (size_t i = 0; i < kernel->param_count; ++i)
    fprintf(out,
            "  const __typeof__(%s) kdl_cc_p%zu = *(const __typeof__(%s) *)kdl_cc_args[%zu];\n",
            kernel->params[i].type, i, kernel->params[i].type, i);
  for (int d = 0; d < 3; ++d)
    fprintf(out,
            "  kdl_item.group[%d] = kdl_cc_group->group[%d];\n"
            "  kdl_item.group_count[%d] = kdl_cc_group->group_count[%d];\n",
            d, d, d, d);
  fputs("  kdl_item.dynamic = kdl_cc_group->shared;\n"
        "  (void)kdl_cc_args;\n",
        out);
  for (int direction = 2; direction >= 0; --direction)
    write_loop(out, kernel, direction);
  if (bound >= 0)
    fprintf(
        out,
        "        if (kdl_cc_is_whole)\n"
        "          __builtin_assume(kdl_item.group[0] * kdl_item.block[0] + kdl_item.thread[0] < "
        "kdl_cc_p%d);\n",
        bound);
  fprintf(out, "        %s(", name);
  for (size_t i = 0; i < kernel->param_count; ++i)
    fprintf(out, "%skdl_cc_p%zu", i ? ", " : "", i);
  fputs(");\n      }\n    }\n  }\n}\n", out);
  if (bound >= 0)
    write_whole_groups(out, kernel, bound);
}

static void write_description(FILE *out, const cc_kernel *kernel) {
  const char *name = kernel->name;
  fprintf(out, "static const kdl_host_param kdl_cc_params_%s[] = {", name);
  for (size_t i = 0; i < kernel->param_count; ++i)
    fprintf(out, "{sizeof(%s), _Alignof(%s)}, ", kernel->params[i].type, kernel->params[i].type);
  fprintf(out,
          "{0, 0}};\n"
          "extern const kdl_host_kernel kdl_host_kernel_%s;\n"
          "KDL_KERNEL_EXPORT const kdl_host_kernel kdl_host_kernel_%s = {\n"
          "    KDL_HOST_ABI, sizeof(kdl_host_kernel), kdl_cc_run_%s, ",
          name, name, name);
  write_extent(out, kernel, CC_BLOCK);
  fputs(", ", out);
  write_extent(out, kernel, cc_kernel_has(kernel, CC_TILE) ? CC_TILE : CC_BLOCK);
  fprintf(out, ", 0, %zu, kdl_cc_params_%s};\n", kernel->param_count, name);
}

/* In C++ names are looked up in the kernel's namespace. */
static void open_extern_c(FILE *out, cc_language language, const cc_kernels *kernels) {
  for (size_t i = 0; language == CC_CXX && i < kernels->count; ++i) {
    if (*kernels->items[i].namespace_name)
      fprintf(out, "using namespace %s;\n", kernels->items[i].namespace_name);
  }
  if (language == CC_CXX)
    fputs("extern \"C\" {\n", out);
}

static void close_extern_c(FILE *out, cc_language language) {
  if (language == CC_CXX)
    fputs("}\n", out);
}

void cc_wrapper_write(FILE *out, cc_language language, const cc_kernels *kernels) {
  fputs("#include <kdl/kernel.h>\n", out);
  open_extern_c(out, language, kernels);
  fputs(cc_kernels_need_group_lowering(kernels)
            ? "__attribute__((visibility(\"hidden\"))) uint32_t kdl_cc_thread(uint32_t);\n"
            : "__attribute__((always_inline)) void kdl_cc_barrier(void) {}\n",
        out);
  for (size_t i = 0; i < kernels->count; ++i) {
    if (kernels->items[i].is_group_function)
      continue;
    write_group_function(out, &kernels->items[i]);
    write_description(out, &kernels->items[i]);
  }
  close_extern_c(out, language);
}

void cc_wrapper_write_memory(FILE *out, cc_language language) {
  fputs("#include <stddef.h>\n#include <stdint.h>\n", out);
  open_extern_c(out, language, &(cc_kernels){.count = 0});
  fputs(memory_functions, out);
  close_extern_c(out, language);
}
