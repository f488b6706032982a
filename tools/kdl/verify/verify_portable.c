/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The form of portable bitcode (docs/portable.md), which kdl-ld checks: it reads bitcode confined.
 */
#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/targets.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "support/system/loader.h"
#include "support/system/subprocess.h"
#include "tools/kdl/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of kdl-ld's messages, without its name. */
static kdl_string first_message(const char *words) {
  static const char error[] = "kdl-ld: error: ";
  kdl_string line = {words, strcspn(words, "\n")};
  return kdl_text_starts(line, error) ? kdl_text_substr(line, sizeof error - 1) : line;
}

static kdl_string metadata_value(const cli_verified_image *image, const char *key) {
  const kdl_string *value = kdl_find_value(image->info.pairs, image->info.pair_count, key);
  return value ? *value : (kdl_string){"", 0};
}

/* The metadata says what the bitcode is. */
static void check_metadata(cli_verification *verify, const cli_verified_image *image) {
  static const char prefix[] = "LLVM";
  char producer[64];
  kdl_string version = metadata_value(image, KDL_PORTABLE_KEY);
  kdl_string llvm = metadata_value(image, "kdl.llvm"), arch = image->info.arch;
  if (version.length && !kdl_text_is(version, KDL_PORTABLE_VERSION))
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index,
                      KDL_PORTABLE_KEY "=%.*s, and the bitcode has version " KDL_PORTABLE_VERSION
                                       " of the form",
                      (int)version.length, version.data);
  if (arch.length)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index,
                      "found arch=%.*s in a portable image, expected none", (int)arch.length,
                      arch.data);
  kdl_feature_set needs;
  kdl_parse_error error;
  kdl_string tokens = metadata_value(image, KDL_NEEDS_KEY);
  if (!kdl_feature_parse(KDL_CLASS_GPU, tokens, &needs, &error))
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index,
                      KDL_NEEDS_KEY "=%.*s, position %zu: expected %s", (int)tokens.length,
                      tokens.data, error.position, error.expected);
  kdl_bitcode_producer(image->data, image->size, producer, sizeof producer);
  if (llvm.length && kdl_starts_with(producer, prefix) &&
      !kdl_text_is(llvm, producer + sizeof prefix - 1))
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index,
                      "kdl.llvm=%.*s, and the bitcode is of LLVM %s", (int)llvm.length, llvm.data,
                      producer + sizeof prefix - 1);
}

static void run_check(cli_verification *verify, const cli_verified_image *image, const char *path,
                      int fd) {
  enum { milliseconds = 60000 }; /* kdl-ld limits its memory itself */
  char needs[256];
  kdl_string tokens = metadata_value(image, KDL_NEEDS_KEY);
  snprintf(needs, sizeof needs, "--needs=%.*s", (int)tokens.length, tokens.data);
  /* Images of other writers need not have the metadata. */
  bool has_metadata = metadata_value(image, KDL_PORTABLE_KEY).length > 0;
  const char *const arguments[] = {"kdl-ld",
                                   "--portable",
                                   "--caller=/proc/self/fd/3",
                                   "--name=the image",
                                   has_metadata ? needs : NULL,
                                   NULL};
  kdl_subprocess subprocess = {.path = path,
                               .arguments = arguments,
                               .environment = (const char *const *)environ,
                               .files = &fd,
                               .file_count = 1,
                               .milliseconds = milliseconds};
  kdl_subprocess_outcome outcome;
  if (cli_verify_read(kdl_subprocess_run(&subprocess, &outcome)) != KDL_OK)
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index, "its form was not checked: %s",
                      kdl_error_message());
  else if (outcome.end != KDL_SUBPROCESS_EXITED || outcome.code > 1)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "it makes kdl-ld fail");
  else if (outcome.code != 0) {
    kdl_string message = first_message(outcome.words);
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "%.*s", (int)message.length,
                      message.data);
  } else {
    check_metadata(verify, image);
  }
}

void cli_verify_portable(cli_verification *verify, const cli_verified_image *image) {
  char path[PATH_MAX];
  if (image->info.kind != KDL_IMAGE_BITCODE ||
      kdl_family_of_triple(image->info.triple) != KDL_FAMILY_PORTABLE)
    return;
  if (!kdl_linker_path(path)) {
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                      "its form was not checked: kdl-ld not found; " KDL_LINKER_HOW);
    return;
  }
  int fd = kdl_memory_file_create("kdl-image", KDL_MEMORY_FILE_DATA, image->data, image->size);
  if (fd < 0)
    cli_out_of_memory();
  run_check(verify, image, path, fd);
  close(fd);
}
