/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/emit/program.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "support/system/subprocess.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

kdl_status ir_file_create(const void *data, size_t size, ir_file *out_file) {
  int fd = kdl_memory_file_create("kdl-ld", KDL_MEMORY_FILE_INHERITED, data, size);
  if (fd < 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot make a file in memory: %s",
                    strerror(errno));
  out_file->fd = fd;
  snprintf(out_file->path, sizeof out_file->path, "/proc/self/fd/%d", fd);
  return KDL_OK;
}

kdl_status ir_file_read(const ir_file *file, void **out_data, size_t *out_size) {
  return kdl_memory_file_read(file->fd, "a program", UINT64_MAX, out_data, out_size);
}

void ir_file_close(const ir_file *file) {
  if (file->fd >= 0)
    close(file->fd);
}

/* ------------------------------------------------------------------------------------------ */
/* Programs                                                                                     */

_Static_assert(sizeof((ir_program *)0)->path == PATH_MAX, "a path does not fit");

/* A tool that appears in an earlier place would be the one that is found. */
static void add_dependence(void *user, const char *path) {
  ir_linker *linker = user;
  xstring_list_append(&linker->depends, path);
}

bool ir_program_find(ir_linker *linker, kdl_tool tool, ir_program *out_program) {
  kdl_tool_watch watch = {.tried = add_dependence, .user = linker};
  return kdl_tool_find_watched(kdl_toolchain_search(tool), &watch, out_program->path);
}

/* The first lines of its standard error, as further lines of our message. */
static void quote_lines(const char *text, kdl_out *out) {
  for (const char *at = text; *at && out->used < 1024;) {
    size_t length = strcspn(at, "\n");
    if (length)
      kdl_out_format(out, "\n  %.*s", (int)length, at);
    at += length + (at[length] == '\n');
  }
}

static kdl_status fail_program(const ir_program *program, int state, const ir_file *words) {
  char how[64];
  if (WIFSIGNALED(state))
    snprintf(how, sizeof how, "died of signal %d", WTERMSIG(state));
  else
    snprintf(how, sizeof how, "failed with status %d", WEXITSTATUS(state));
  void *text = NULL;
  size_t size;
  char quoted[1536] = "";
  if (ir_file_read(words, &text, &size) == KDL_OK)
    quote_lines(text, &(kdl_out){quoted, sizeof quoted, 0});
  kdl_status status =
      kdl_fail(KDL_BAD_FILE, "%s %s%s%s", program->path, how, quoted[0] ? ":" : "", quoted);
  free(text);
  return status;
}

kdl_status ir_program_run(const ir_program *program, const char *const *arguments,
                          const ir_file *stdout_file) {
  ir_file words;
  KDL_TRY(ir_file_create("", 0, &words));
  kdl_status status = KDL_OK;
  pid_t child;
  int state;
  kdl_process process = {.path = program->path,
                         .arguments = arguments,
                         .standard = {-1, stdout_file ? stdout_file->fd : words.fd, words.fd}};
  int problem = kdl_process_start(&process, &child);
  if (problem)
    status = kdl_fail(KDL_IO, "%s: cannot run: %s", program->path, strerror(problem));
  else if (kdl_process_wait(child, &state) == 0 && state != 0)
    status = fail_program(program, state, &words);
  ir_file_close(&words);
  return status;
}
