/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/toolchain.h"

#include "cc/job/math.h"
#include "cc/job/process.h"
#include "compiler/toolchain/toolchain.h"
#include "support/base/error.h"
#include "tools/common/memory.h"
#include "tools/common/program_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  min_clang_version = 22
}; /* has device_kernel, <gpuintrin.h> for SPIR-V, generic AMD processors */

/* ------------------------------------------------------------------------------------------ */
/* Clang                                                                                        */

/* The output of the program with one option. */
static kdl_status query_program(kdl_arena *arena, const char *program, const char *option,
                                kdl_string *out_answer) {
  kdl_string_list words = {.arena = arena};
  cc_process_result ended;
  char end[CC_EXIT_TEXT_SIZE];
  kdl_string_list_append(&words, program);
  kdl_string_list_append(&words, option);
  KDL_TRY(cc_run_process(arena, &words, NULL, &ended));
  *out_answer = ended.output;
  if (ended.code == 0)
    return KDL_OK;
  const char *line = cc_last_line(arena, ended.messages);
  return kdl_fail(KDL_UNSUPPORTED, "%s %s ended with %s%s%s", program, option,
                  cc_format_exit(ended.code, end), *line ? ": " : "", line);
}

static kdl_status check_version(kdl_arena *arena, const char *clang) {
  static const char mark[] = "clang version ";
  kdl_string answer = {"", 0};
  KDL_TRY(query_program(arena, clang, "--version", &answer));
  const char *version = strstr(answer.data, mark);
  long major = version ? strtol(version + sizeof mark - 1, NULL, 10) : 0;
  if (major < min_clang_version)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found %.*s, expected Clang %d or later (Debian: clang-22)", clang,
                    version ? (int)strcspn(version, "\n") : 8, version ? version : "no Clang",
                    min_clang_version);
  return KDL_OK;
}

/* The value of --clang, or what the search finds. */
static bool look_for_clang(const char *wanted, char out_path[PATH_MAX]) {
  return wanted ? kdl_program_find(wanted, out_path) : kdl_toolchain_find(KDL_TOOL_CLANG, out_path);
}

static kdl_status find_clang(kdl_arena *arena, const char *wanted, const char **out_clang) {
  const kdl_tool_search *tool = kdl_toolchain_search(KDL_TOOL_CLANG);
  const char *variable = kdl_environment(tool->variable);
  char path[PATH_MAX], why[512];
  if (look_for_clang(wanted, path)) {
    *out_clang = xarena_format(arena, "%s", path);
    return check_version(arena, *out_clang);
  }
  if (wanted || variable)
    return kdl_fail(KDL_BAD_CALL, "%s: bad value '%s': no such program: use Clang %d or later",
                    wanted ? "--clang" : kdl_variable_name(tool->variable),
                    wanted ? wanted : variable, min_clang_version);
  return kdl_fail(KDL_UNSUPPORTED, "%s; --clang names one",
                  kdl_tool_format_missing(tool, why, sizeof why));
}

/* Clang prints the bare name if it finds none. */
static kdl_status check_lld(kdl_arena *arena, const char *clang) {
  kdl_string answer = {"", 0};
  KDL_TRY(query_program(arena, clang, "-print-prog-name=ld.lld", &answer));
  if (answer.data[0] != '/')
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s finds no ld.lld, which links images for AMD's GPUs and for "
                    "CPUs (Debian: lld-22)",
                    clang);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Other tools and headers                                                                      */

/* In the arena; NULL where there is none. */
static const char *find_tool(kdl_arena *arena, kdl_tool tool) {
  char path[PATH_MAX];
  return kdl_toolchain_find(tool, path) ? xarena_format(arena, "%s", path) : NULL;
}

/* The headers are next to the program, in an installed tree and in a build. */
static kdl_status find_include(kdl_arena *arena, const char **out_folder) {
  char path[PATH_MAX];
  bool is_found = cli_program_file("../include", path);
  const char *header = is_found ? xarena_format(arena, "%s/kdl/kernel.h", path) : "kdl/kernel.h";
  if (!is_found || access(header, R_OK) != 0)
    return kdl_fail(
        KDL_IO, "%s: found no such file, expected libkdl's headers in the folder of the program",
        header);
  *out_folder = xarena_format(arena, "%s", path);
  return KDL_OK;
}

kdl_status cc_toolchain_find(kdl_arena *arena, const char *clang, bool needs_lld,
                             cc_toolchain *out_toolchain) {
  *out_toolchain = (cc_toolchain){.ptxas = find_tool(arena, KDL_TOOL_PTXAS),
                                  .spirv_val = find_tool(arena, KDL_TOOL_SPIRV_VAL),
                                  .math = {.folder = cc_math_folder(arena),
                                           .libdevice = find_tool(arena, KDL_TOOL_LIBDEVICE),
                                           .ocml = find_tool(arena, KDL_TOOL_OCML)}};
  KDL_TRY(find_include(arena, &out_toolchain->include));
  KDL_TRY(find_clang(arena, clang, &out_toolchain->clang));
  if (needs_lld)
    KDL_TRY(check_lld(arena, out_toolchain->clang));
  return KDL_OK;
}
