/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the image from the code, in one way per family of targets. */
#include "cc/ir/ir_text.h"
#include "cc/job/examine.h"
#include "cc/job/job_steps.h"
#include "cc/source/wrapper.h"
#include "compiler/text/ir_text.h"
#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"

static void write_renames(FILE *out, const cc_job *job) {
  cc_wrapper_rename(out, &job->kernels);
}

static void write_wrapper(FILE *out, const cc_job *job) {
  cc_wrapper_write(out, job->source->language, &job->kernels);
  cc_wrapper_write_memory(out, job->source->language);
}

/* The bitcode linker leaves the functions that compilers call to the program that loads the
 * image. */
static void write_bitcode_wrapper(FILE *out, const cc_job *job) {
  cc_wrapper_write(out, job->source->language, &job->kernels);
}

static kdl_status read_image(cc_job *job, const char *path, kdl_image_kind kind) {
  job->kind = kind;
  return cc_read_file(job, path, &job->image);
}

/* LLVM names a module after its file: removes the folder, so that it does not matter where that
 * is. */
static kdl_string without_folder(cc_job *job, kdl_string ir) {
  kdl_string name;
  if (!cli_text_after(ir, "source_filename = \"", &name))
    return ir;
  size_t cut = 0;
  for (size_t i = 0; i < name.length && name.data[i] != '"'; ++i)
    cut = name.data[i] == '/' ? i + 1 : cut;
  size_t before = (size_t)(name.data - ir.data);
  char *text = xarena_alloc(&job->arena, ir.length + 1);
  memcpy(text, ir.data, before);
  memcpy(text + before, name.data + cut, name.length - cut);
  text[ir.length - cut] = '\0';
  return (kdl_string){text, ir.length - cut};
}

/* The linker optimises, because it knows the device and the callees (docs/linking.md). */
static kdl_status make_bitcode(cc_job *job) {
  const char *code = cc_temp_path(job, "bitcode.ll"), *image = cc_temp_path(job, "bc");
  kdl_string ir;
  KDL_TRY(cc_compile_with_math(
      job, job->code, CC_WORDS("-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"), code));
  KDL_TRY(cc_read_file(job, code, &ir));
  KDL_TRY(cc_write_text(code, without_folder(job, ir)));
  KDL_TRY(cc_compile_ir(job, code, CC_WORDS("-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm"),
                        image));
  return read_image(job, image, KDL_IMAGE_BITCODE);
}

static kdl_status make_cubin(cc_job *job, const char *ptx) {
  const char *image = cc_temp_path(job, "cubin");
  kdl_string_list words = {.arena = &job->arena};
  kdl_string_list_append(&words, job->plan->tools.ptxas);
  kdl_string_list_append_format(&words, "-arch=%s", job->target->cpu);
  cc_add_words(&words, CC_WORDS(ptx, "-o", image));
  KDL_TRY(cc_run_step(job, &words, NULL));
  return read_image(job, image, KDL_IMAGE_CUBIN);
}

static kdl_status make_nvidia(cc_job *job) {
  const char *ptx = cc_temp_path(job, "ptx");
  KDL_TRY(cc_compile_with_math(job, job->source->path, CC_WORDS("-S"), ptx));
  KDL_TRY(read_image(job, ptx, KDL_IMAGE_PTX));
  if (!job->plan->tools.ptxas || job->target->is_virtual)
    return KDL_OK;
  kdl_status status = make_cubin(job, ptx);
  job->is_unknown_to_ptxas =
      status != KDL_OK && job->is_explained &&
      kdl_text_contains(cc_last_message(job), "is not defined for option 'gpu-name'");
  if (!job->is_unknown_to_ptxas)
    return status;
  cc_remove_last_message(job);
  return KDL_OK;
}

static kdl_status make_amd(cc_job *job) {
  const char *image = cc_temp_path(job, "hsaco");
  KDL_TRY(cc_compile_with_math(job, job->source->path,
                               CC_WORDS(cc_is_vendor_language(job) ? "-fno-gpu-rdc" : "-nostdlib"),
                               image));
  KDL_TRY(read_image(job, image, KDL_IMAGE_HSACO));
  kdl_status status = kdl_amdgpu_check_symbols(job->image.data, job->image.length);
  if (status != KDL_OK) /* the user's flags stripped it */
    kdl_error_prefix("%s", job->source->path);
  return status;
}

/* Validates OpenCL's rules up to version 1.2; newer ones add none. Half precision and 64-bit
 * atomics are OpenCL extensions, which the validator has no option for. */
static kdl_status validate_spirv(cc_job *job, const char *module) {
  char minor = strlen(job->target->triple) > 10 ? job->target->triple[10] : '2';
  kdl_string_list words = {.arena = &job->arena};
  if (!job->plan->tools.spirv_val)
    return KDL_OK;
  kdl_string_list_append(&words, job->plan->tools.spirv_val);
  kdl_string_list_append(&words, "--target-env");
  bool has_extension = kdl_feature_has(job->needs, KDL_GPU_FP16) ||
                       kdl_feature_has(job->needs, KDL_GPU_INT64_ATOMICS);
  if (minor <= '2' && !has_extension)
    kdl_string_list_append(&words, minor == '0' ? "opencl2.1" : "opencl2.2");
  else
    kdl_string_list_append_format(&words, "spv1.%c", minor);
  kdl_string_list_append(&words, module);
  return cc_run_step(job, &words, NULL);
}

/* LLVM does not name what the version lacks. */
static kdl_status hint_at_version(cc_job *job, kdl_status status) {
  if (!job->is_explained ||
      !kdl_text_contains(cc_last_message(job), "Unable to meet SPIR-V requirements"))
    return status;
  cc_remove_last_message(job);
  return cc_error_at(
      job, job->kernels.count == 1 ? job->kernels.items[0].location : (cc_location){.line = 0},
      "it needs a later version of SPIR-V: subgroup functions need spirv64v1.3");
}

static kdl_status compile_spirv(cc_job *job, const char *image) {
  const char *lowered = NULL, *places = cc_temp_path(job, "places.ll");
  kdl_string ir;
  if (job->has_bf16) { /* before the passes, which then see types that they know */
    lowered = cc_temp_path(job, "ll");
    KDL_TRY(cc_compile_text(job, job->code,
                            CC_WORDS("-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"),
                            cc_temp_path(job, "plain.ll"), &ir));
    KDL_TRY(cc_write_text(lowered, ir_text_lower_bf16(&job->arena, ir, IR_BF16_INTEGERS)));
  }
  kdl_status (*compile)(cc_job *, const char *, const char *const *, const char *) =
      lowered ? cc_compile_ir : cc_compile;
  const char *code = lowered ? lowered : job->code;
  if (!job->has_group_atomics)
    return compile(job, code, CC_WORDS("-c"), image);
  /* Addresses are lowered after the passes, which would undo it. */
  const char *optimised = cc_temp_path(job, "optimised.ll");
  KDL_TRY(compile(job, code, CC_WORDS("-S", "-emit-llvm"), optimised));
  KDL_TRY(cc_read_file(job, optimised, &ir));
  KDL_TRY(cc_write_text(places, ir_text_lower_atomic_addresses(&job->arena, ir)));
  return cc_compile_ir(job, places, CC_WORDS("-c", "-Xclang", "-disable-llvm-passes"), image);
}

static kdl_status make_spirv(cc_job *job) {
  const char *image = cc_temp_path(job, "spv");
  kdl_status status = compile_spirv(job, image);
  if (status != KDL_OK)
    return hint_at_version(job, status);
  KDL_TRY(read_image(job, image, KDL_IMAGE_SPIRV));
  KDL_TRY(cc_examine_capabilities(job->image, &job->needs));
  return validate_spirv(job, image);
}

/* The image's requirements, for readers that have the image without its metadata. */
static void write_host_note(FILE *out, const cc_job *job) {
  const cc_target *target = job->target;
  char features[KDL_HOST_NOTE_TEXT - CC_TARGET_NAME_SIZE] = "", text[KDL_HOST_NOTE_ROOM];
  kdl_out_features(&(kdl_out){features, sizeof features, 0}, target->features, job->needs);
  kdl_out_host_note(&(kdl_out){text, sizeof text, 0}, target->arch, features);
  for (const char *c = text; *c; ++c) {
    if (c == text || c[-1] == '\n')
      fputs("module asm \"", out);
    if (*c == '\n' || *c == '"')
      fputs(*c == '"' ? "\\22" : "\"\n", out);
    else
      fputc(*c, out);
  }
}

static kdl_status write_ir(cc_job *job, kdl_string ir, const char *path) {
  kdl_string cause = {"", 0};
  char *text;
  size_t length;
  FILE *out = xtext_stream(&text, &length);
  kdl_status status = cc_ir_write_group_variables(&job->arena, ir, &job->kernels, out, &cause);
  if (!job->plan->bitcode) /* there the linker writes it */
    write_host_note(out, job);
  kdl_string written = cli_text_close(&job->arena, out, &text, &length);
  if (status == KDL_BAD_FILE)
    return cc_error_at(job, cc_ir_location_of_symbol(ir, cause), "%s",
                       xarena_format(&job->arena, "%s", kdl_error_message()));
  return cc_write_text(path, written);
}

/* __builtin_exp is @llvm.exp.f64 here, and a call of exp in the image. */
static kdl_status check_calls(cc_job *job, kdl_string ir) {
  for (size_t i = 0; i < job->kernels.count; ++i) {
    const char *name = job->kernels.items[i].name;
    const char *mark = xarena_format(&job->arena, "@llvm.%s.", name);
    if (memmem(ir.data, ir.length, mark, strlen(mark)))
      return cc_error_reserved_name(job, &job->kernels.items[i]);
  }
  return KDL_OK;
}

static bool asks_for_debugging(const cc_plan *plan) {
  for (size_t i = 0; i < plan->flag_count; ++i) {
    if (strncmp(plan->flags[i], "-g", 2) == 0)
      return true;
  }
  return false;
}

/* AArch64's backend needs no library function for it, and a CPU may have an instruction. */
static bool rounds_bf16_itself(const cc_job *job) {
  static const char *const there[] = {"avx512_bf16", "avx_ne_convert"};
  if (!job->has_bf16 || strncmp(job->target->triple, "aarch64", 7) == 0)
    return false;
  for (size_t i = 0; i < sizeof there / sizeof *there; ++i) {
    int bit = kdl_feature_bit(job->target->features, kdl_text_of(there[i]));
    if (bit >= 0 && kdl_feature_has(job->target->available_features, (unsigned)bit))
      return false;
  }
  return true;
}

/* Unoptimised IR of the source and of what `write` adds, with group variables lowered. An image's
 * IR has line tables, for messages of the passes; linking drops them. */
static kdl_status make_host_ir(cc_job *job, const char *source,
                               void (*write)(FILE *out, const cc_job *job), const char *out_path) {
  bool waits = cc_kernels_need_group_lowering(&job->kernels);
  bool has_lines = (!job->plan->bitcode || waits) && !asks_for_debugging(job->plan);
  const char *items = waits ? cc_temp_path(job, "items.ll") : out_path;
  kdl_string ir;
  KDL_TRY(cc_write_file(job, source, true, write));
  KDL_TRY(cc_compile_text(job, source,
                          CC_WORDS("-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes",
                                   has_lines ? "-gline-tables-only" : NULL,
                                   "-fdebug-compilation-dir=."),
                          cc_temp_path(job, "plain.ll"), &ir));
  ir = without_folder(job, ir);
  if (rounds_bf16_itself(job))
    ir = ir_text_lower_bf16(&job->arena, ir, IR_BF16_ROUNDING);
  KDL_TRY(check_calls(job, ir));
  cc_examine_functions(ir, job->target, &job->needs); /* the features that they may use */
  KDL_TRY(write_ir(job, ir, items));
  return waits ? cc_lower_groups(job, items, out_path) : KDL_OK;
}

/* Binds references to the image's own symbols at link time. 32-bit indices stay 32 bits: widened,
 * the check `i < n` would take two vectors of 64 bits for each vector of floats. */
static kdl_status make_host(cc_job *job) {
  bool is_bitcode = job->plan->bitcode;
  const char *code = cc_temp_path(job, is_bitcode ? "bitcode.ll" : "ll");
  const char *image = cc_temp_path(job, is_bitcode ? "bc" : "so");
  job->names = cc_temp_path(job, "names.h");
  KDL_TRY(cc_write_file(job, job->names, false, write_renames));
  KDL_TRY(make_host_ir(job, cc_temp_path(job, is_bitcode ? "bitcode.src" : "host.src"),
                       is_bitcode ? write_bitcode_wrapper : write_wrapper, code));
  if (is_bitcode) {
    KDL_TRY(cc_compile_ir(job, code,
                          CC_WORDS("-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm"), image));
    return read_image(job, image, KDL_IMAGE_BITCODE);
  }
  KDL_TRY(cc_compile_ir(job, code,
                        CC_WORDS("-mllvm", "-indvars-widen-indvars=false", "-ffunction-sections",
                                 "-shared", "-nostdlib", "-fuse-ld=lld",
                                 job->calls_libm ? "-Wl,-z,undefs" : "-Wl,-z,defs",
                                 "-Wl,--gc-sections", "-Wl,-Bsymbolic",
                                 asks_for_debugging(job->plan) ? NULL : "-Wl,--strip-debug"),
                        image));
  KDL_TRY(read_image(job, image, KDL_IMAGE_OBJECT));
  return kdl_host_image_check(job->image.data, job->image.length);
}

kdl_status cc_make_image(cc_job *job) {
  if (job->plan->bitcode && job->target->family == CC_OPENCL)
    return cc_error(job, "opencl-c has no bitcode: leave out the target, or --emit=bitcode");
  if (job->plan->bitcode && job->target->family != CC_HOST && job->target->family != CC_PORTABLE)
    return make_bitcode(job);
  switch (job->target->family) {
  case CC_NVIDIA:
    return make_nvidia(job);
  case CC_AMD:
    return make_amd(job);
  case CC_SPIRV:
    return make_spirv(job);
  case CC_OPENCL:
    return cc_make_opencl(job);
  case CC_PORTABLE:
    return cc_make_portable(job);
  case CC_HOST:
    break;
  }
  return make_host(job);
}
