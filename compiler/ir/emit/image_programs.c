/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/emit/emit.h"

#include "compiler/ir/emit/program.h"
#include "lib/inspect/host_objects.h"
#include "support/base/elf_file.h"
#include "support/base/error.h"
#include "support/system/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the output by a file that a program made. */
static kdl_status set_output_file(const ir_file *file, const ir_program *program, const char *kind,
                                  ir_output *output) {
  void *data;
  size_t size;
  KDL_TRY(ir_file_read(file, &data, &size));
  free(output->data);
  output->kind = kind;
  output->data = data;
  output->size = size;
  snprintf(output->program, sizeof output->program, "%s", program->path);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Shared objects                                                                               */

/* Checks the undefined symbols of the object: code generation adds calls that the module does not
 * show. */
static kdl_status check_undefined(const ir_linker *linker, const ir_output *object,
                                  bool *out_needs_libm) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  *out_needs_libm = false;
  KDL_TRY(kdl_elf_open(object->data, object->size, &elf));
  KDL_TRY(kdl_elf_open_symbols(&elf, SHT_SYMTAB, &symbols));
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    kdl_string name;
    if (symbol.is_defined)
      continue;
    KDL_TRY(kdl_elf_symbol_name(&elf, &symbols, &symbol, &name.data, &name.length));
    if (name.length == 0 || kdl_text_is(name, "_GLOBAL_OFFSET_TABLE_"))
      continue;
    ir_runtime runtime = ir_runtime_of(linker->target.family, name);
    *out_needs_libm |= runtime == IR_RUNTIME_LIBM;
    if (runtime == IR_RUNTIME_NONE)
      return kdl_fail(KDL_NO_MATCH,
                      "%s: the compiled code needs '%.128s', which an image cannot count on",
                      linker->request->caller, name.data);
  }
  return KDL_OK;
}

/* An empty shared object named as libm, so that the image depends on libm where it is loaded: this
 * machine's libm may not be installed where its linker looks. */
static kdl_status make_libm(const ir_linker *linker, const ir_program *lld, ir_file *out_libm) {
  KDL_TRY(ir_file_create("", 0, out_libm));
  const char *emulation = linker->target.family == KDL_FAMILY_X86_64    ? "elf_x86_64"
                          : linker->target.family == KDL_FAMILY_AARCH64 ? "aarch64linux"
                                                                        : "elf64lriscv";
  const char *arguments[] = {lld->path,           "-shared",         "-m", emulation,
                             "-soname=libm.so.6", "--build-id=none", "-o", "-",
                             "--format=binary",   "/dev/null",       NULL};
  return ir_program_run(lld, arguments, out_libm);
}

static kdl_status run_lld(const ir_linker *linker, const ir_program *lld, const ir_file *object,
                          const ir_file *libm, const ir_file *image) {
  bool is_amd = linker->target.family == KDL_FAMILY_AMDGCN;
  /* --no-dependent-libraries: ignores libraries that the bitcode names. */
  const char *arguments[] = {lld->path,
                             "-shared",
                             "-Bsymbolic",
                             "--gc-sections",
                             "--build-id=none",
                             "--hash-style=gnu",
                             "-znow",
                             "-znoexecstack",
                             "--no-dependent-libraries",
                             "-o",
                             "-",
                             object->path,
                             is_amd ? "--no-undefined" : "--as-needed",
                             libm ? "--no-as-needed" : NULL,
                             libm ? libm->path : NULL,
                             NULL};
  return ir_program_run(lld, arguments, image);
}

/* Checks the image as its loader will: bitcode may contain what host images cannot. */
static kdl_status check_loadable(const ir_linker *linker, const ir_output *output) {
  kdl_status status = kdl_host_image_check(output->data, output->size);
  if (status == KDL_OK)
    return KDL_OK;
  char why[1024];
  snprintf(why, sizeof why, "%s", kdl_error_message());
  return kdl_fail(status, "%s: the linked image cannot be loaded: %s", linker->request->caller,
                  why);
}

kdl_status ir_image_from_object(ir_linker *linker, ir_output *output) {
  bool is_amd = linker->target.family == KDL_FAMILY_AMDGCN, needs_libm = false;
  ir_program lld;
  if (!ir_program_find(linker, KDL_TOOL_LLD, &lld)) {
    char why[1024];
    return kdl_fail(KDL_UNSUPPORTED, "%s, to link the image",
                    kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_LLD), why, sizeof why));
  }
  if (!is_amd)
    KDL_TRY(check_undefined(linker, output, &needs_libm));
  ir_file object = {.fd = -1}, image = {.fd = -1}, libm = {.fd = -1};
  kdl_status status = ir_file_create(output->data, output->size, &object);
  if (status == KDL_OK && needs_libm)
    status = make_libm(linker, &lld, &libm);
  if (status == KDL_OK)
    status = ir_file_create("", 0, &image);
  if (status == KDL_OK)
    status = run_lld(linker, &lld, &object, needs_libm ? &libm : NULL, &image);
  if (status == KDL_OK)
    status = set_output_file(&image, &lld, is_amd ? "hsaco" : "object", output);
  ir_file_close(&image);
  ir_file_close(&libm);
  ir_file_close(&object);
  return status == KDL_OK && !is_amd ? check_loadable(linker, output) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Cubins                                                                                       */

/* "Cuda compilation tools, release 13.0, V13.0.88" */
static uint32_t ptxas_version(const ir_program *ptxas) {
  ir_file words;
  if (ir_file_create("", 0, &words) != KDL_OK)
    return 0;
  const char *arguments[] = {ptxas->path, "--version", NULL};
  void *text = NULL;
  size_t size;
  unsigned major = 0, minor = 0;
  if (ir_program_run(ptxas, arguments, &words) == KDL_OK &&
      ir_file_read(&words, &text, &size) == KDL_OK) {
    const char *release = strstr(text, "release ");
    char *dot;
    if (release) {
      major = (unsigned)strtoul(release + strlen("release "), &dot, 10);
      minor = *dot == '.' ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
    }
  }
  free(text);
  ir_file_close(&words);
  return KDL_VERSION_OF(major, minor);
}

/* A driver loads code of its own CUDA major version or an earlier one. */
static bool ptxas_is_usable(const ir_linker *linker, const ir_program *ptxas) {
  uint32_t driver = linker->request->traits.driver;
  if (!driver || ptxas_version(ptxas) >> 16 <= driver >> 16)
    return true;
  kdl_debug(KDL_DEBUG_LINK, "%s makes cubins for later drivers than the device's: PTX stays",
            ptxas->path);
  return false;
}

/* The error of a ptxas that is too old or too new for the device: the driver compiles PTX then. */
static bool is_unknown_to_ptxas(const ir_linker *linker, kdl_status status) {
  if (status == KDL_OK || !strstr(kdl_error_message(), "not defined for option 'gpu-name'"))
    return false;
  kdl_debug(KDL_DEBUG_LINK, "ptxas does not know %s: PTX stays", linker->target.cpu);
  return true;
}

kdl_status ir_image_from_ptx(ir_linker *linker, ir_output *output) {
  ir_program ptxas;
  if (!ir_program_find(linker, KDL_TOOL_PTXAS, &ptxas) || !ptxas_is_usable(linker, &ptxas))
    return KDL_OK;
  ir_file ptx = {.fd = -1}, cubin = {.fd = -1};
  kdl_status status = ir_file_create(output->data, output->size, &ptx);
  if (status == KDL_OK)
    status = ir_file_create("", 0, &cubin);
  const char *arguments[] = {ptxas.path, "-arch", linker->target.cpu, "-O3",
                             ptx.path,   "-o",    cubin.path,         NULL};
  if (status == KDL_OK)
    status = ir_program_run(&ptxas, arguments, NULL);
  bool is_unknown = is_unknown_to_ptxas(linker, status);
  if (is_unknown)
    status = KDL_OK;
  if (status == KDL_OK && !is_unknown)
    status = set_output_file(&cubin, &ptxas, "cubin", output);
  ir_file_close(&cubin);
  ir_file_close(&ptx);
  return status;
}
