/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl extract: writes images to files. */
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/system/file.h"
#include "tools/common/images/keep_for_devices.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/select.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_directory(const char *path) {
  struct stat info;
  size_t length = strlen(path);
  return (length && path[length - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* The architecture comes from the file: only characters that are harmless to file systems and
 * shells are kept. */
static void sanitise(const char *name, char *out, size_t room) {
  size_t length = 0;
  for (; name[length] && length + 1 < room; ++length) {
    char c = name[length];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '_' || c == '-' || c == '+';
    out[length] = plain ? c : '_';
  }
  out[length] = '\0';
}

static kdl_status save_image(kdl_library *lib, size_t index, const char *path) {
  const void *data;
  size_t size;
  KDL_TRY(kdl_library_acquire_bytes(lib, index, &data, &size));
  kdl_status status = cli_output_save(path, data, size);
  kdl_library_release_bytes(lib, index);
  return status;
}

static kdl_status save_into(const char *directory, kdl_library *lib, size_t index) {
  kdl_image_info image = cli_image_at(lib, index);
  char name[80];
  sanitise(image.arch.length ? image.arch.data : kdl_image_kind_name(image.kind), name,
           sizeof name);
  char *path =
      xasprintf("%s/%zu-%s.%s", directory, index, name, cli_image_kind_extension(image.kind));
  kdl_status status = save_image(lib, index, path);
  free(path);
  return status;
}

/* An image that only its vendor's tools can unpack does not stop the others. */
static kdl_status extract_to_directory(const char *directory, kdl_library *lib,
                                       const bool *chosen) {
  char end[PATH_MAX];
  KDL_TRY(kdl_folder_resolve(directory, "make the directory", end));
  if (mkdir(end, 0777) != 0 && errno != EEXIST)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot make the directory: %s", directory,
                    strerror(errno));
  size_t skipped = 0;
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_status status = chosen[i] ? save_into(directory, lib, i) : KDL_OK;
    if (status == KDL_UNSUPPORTED) {
      cli_warning("%s", kdl_error_message());
      ++skipped;
    } else if (status != KDL_OK) {
      return status;
    }
  }
  if (skipped)
    return kdl_fail(KDL_UNSUPPORTED, "%zu image%s could not be extracted", skipped,
                    skipped == 1 ? "" : "s");
  return KDL_OK;
}

static kdl_status extract_to_file(const char *path, const cli_input *input, const bool *chosen) {
  size_t found = 0, first = 0, second = 0;
  for (size_t i = 0; i < kdl_image_count(input->lib); ++i) {
    if (!chosen[i])
      continue;
    if (found < 2)
      *(found ? &second : &first) = i;
    ++found;
  }
  if (found == 0)
    return kdl_fail(KDL_NO_MATCH, "%s: it holds no image", input->name);
  if (found > 1)
    return kdl_fail(KDL_BAD_CALL,
                    "%s: %zu images fit (%zu, %zu%s) and '%s' is one file; choose one with "
                    "--image=INDEX, or give a directory: '%s/'",
                    input->name, found, first, second, found > 2 ? ", ..." : "", path,
                    strcmp(path, "-") == 0 ? "images" : path);
  return save_image(input->lib, first, path);
}

static kdl_status check_call(const cli_args *args) {
  if (!cli_args_has(args, "output"))
    return kdl_fail(KDL_BAD_CALL, "missing output: use -o DIR or -o FILE");
  if (cli_args_has(args, "for") && cli_args_has(args, "image"))
    return kdl_fail(KDL_BAD_CALL, "--for and --image exclude each other: use one of them");
  if (args->operand_count > 1 && !cli_args_has(args, "for"))
    return kdl_fail(KDL_BAD_CALL, "the kernel '%s' needs a device: use --for=DEVICE",
                    args->operands[1]);
  return KDL_OK;
}

static kdl_status choose_images(const cli_args *args, const cli_input *input, bool **out_chosen) {
  if (!cli_args_has(args, "for"))
    return cli_select_images(args, "image", input->lib, input->name, out_chosen);
  size_t index;
  KDL_TRY(cli_choose_image_for_device(args, input,
                                      args->operand_count > 1 ? args->operands[1] : NULL, &index));
  *out_chosen = xcalloc(kdl_image_count(input->lib), sizeof **out_chosen);
  (*out_chosen)[index] = true;
  return KDL_OK;
}

static kdl_status extract_images(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  cli_input input;
  bool *chosen = NULL;
  KDL_TRY(check_call(args));
  cli_output_protect(args->operands, 1);
  KDL_TRY(cli_input_open(args->operands[0], &input));
  kdl_status status = choose_images(args, &input, &chosen);
  if (status == KDL_OK)
    status = is_directory(output) ? extract_to_directory(output, input.lib, chosen)
                                  : extract_to_file(output, &input, chosen);
  free(chosen);
  cli_input_close(&input);
  return status;
}

int cli_run_extract(const cli_args *args) {
  return cli_report_status(extract_images(args));
}
