/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bitcode/link_run.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/text.h"
#include "link/link.h"
#include "system/environment.h"
#include "system/linker_path.h"
#include "system/subprocess.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What kdl-ld is given; each is the descriptor of its number there, from 3 on. */
enum { file_caller, file_output, file_report, file_library, file_count };
static const char *const file_paths[file_count] = {"/proc/self/fd/3", "/proc/self/fd/4",
                                                   "/proc/self/fd/5", "/proc/self/fd/6"};

enum { largest_output = 1 << 30 };

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static kdl_status make_file(const void *data, size_t size, int *out_fd) {
  int fd = memfd_create("kdl-link", MFD_CLOEXEC);
  size_t written = 0;
  while (fd >= 0 && written < size) {
    ssize_t more = write(fd, (const char *)data + written, size - written);
    if (more < 0 && errno == EINTR)
      continue;
    if (more <= 0)
      break;
    written += (size_t)more;
  }
  *out_fd = fd;
  return fd >= 0 && written == size
             ? KDL_OK
             : kdl_fail(KDL_IO, "cannot make a file in memory: %s", strerror(errno));
}

static kdl_status read_file(int fd, void **out_data, size_t *out_size) {
  struct stat info;
  size_t have = 0;
  if (fstat(fd, &info) != 0)
    return kdl_fail(KDL_IO, "cannot read what kdl-ld wrote: %s", strerror(errno));
  size_t size = (size_t)info.st_size;
  char *data = malloc(size + 1);
  while (data && have < size) {
    ssize_t more = pread(fd, data + have, size - have, (off_t)have);
    if (more < 0 && errno == EINTR)
      continue;
    if (more <= 0)
      break;
    have += (size_t)more;
  }
  if (!data || have < size) {
    free(data);
    return kdl_fail(KDL_IO, "cannot read the %zu bytes that kdl-ld wrote", size);
  }
  data[size] = '\0';
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

static kdl_status make_files(const cli_link_job *job, size_t image, int *files) {
  const void *data;
  size_t size;
  kdl_status status =
      kdl_container_bytes_to_run(job->input->lib->container, (uint32_t)image, &data, &size);
  if (status == KDL_BAD_FILE)
    kdl_error_prefix("%s: image %zu", job->input->name, image);
  if (status == KDL_OK)
    status = make_file(data, size, &files[file_caller]);
  if (status == KDL_OK)
    status = make_file("", 0, &files[file_output]);
  if (status == KDL_OK)
    status = make_file("", 0, &files[file_report]);
  if (status == KDL_OK) /* only a library that came through a pipe has no name to go by */
    status = make_file(job->input->bytes.data, job->input->bytes.size, &files[file_library]);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments                                                                                    */

typedef struct {
  kdl_arena arena;
  const char **words;
  size_t count;
  size_t room;
} command_line;

static void add(command_line *line, const char *option, const char *value) {
  const char *word =
      kdl_arena_format(&line->arena, "--%s%s%s", option, value ? "=" : "", value ? value : "");
  if (word && line->count + 1 < line->room)
    line->words[line->count++] = word;
  else
    line->room = 0;
}

static void add_all(command_line *line, const cli_args *args, const char *option) {
  size_t cursor = 0;
  for (const char *value; (value = cli_args_next(args, option, &cursor));)
    add(line, option, value);
}

/* KDL_UKERNEL_PATH, whose empty parts mean nothing. */
static void add_path(command_line *line, const char *list) {
  for (const char *at = list; at && *at;) {
    size_t length = strcspn(at, ":");
    const char *place = kdl_arena_format(&line->arena, "%.*s", (int)length, at);
    if (length)
      add(line, "ukernels", place ? place : "");
    at += length + (at[length] == ':');
  }
}

static size_t count_colons(const char *list) {
  size_t count = 1;
  for (; list && *list; ++list)
    count += *list == ':';
  return count;
}

static kdl_status write_command(const cli_link_job *job, size_t image, const char *linker,
                                const char *device, command_line *line) {
  char name[512], parent[16];
  snprintf(name, sizeof name, "%.400s: image %zu", job->input->name, image);
  snprintf(parent, sizeof parent, "%d", (int)getpid());
  const char *path = kdl_environment("KDL_UKERNEL_PATH");
  line->room = job->args->setting_count + count_colons(path) + 17;
  line->words = calloc(line->room, sizeof *line->words);
  if (!line->words)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's command line");
  line->words[line->count++] = linker;
  add(line, "protocol", "1");
  add(line, "caller", file_paths[file_caller]);
  add(line, "name", name);
  add(line, "output", file_paths[file_output]);
  add(line, "report", file_paths[file_report]);
  add(line, "parent", parent);
  add(line, "for", device);
  add(line, "emit", job->emit);
  add(line, "unused-constants", "ignore");
  add(line, "ukernels", job->input->bytes.data ? file_paths[file_library] : job->input->name);
  add_all(line, job->args, "ukernels");
  add_path(line, path);
  add_all(line, job->args, "const");
  if (cli_args_has(job->args, "no-builtin"))
    add(line, "no-builtin", NULL);
  return line->room ? KDL_OK
                    : kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's command line");
}

/* ------------------------------------------------------------------------------------------ */
/* The call                                                                                     */

static void pass_on(const char *line, size_t length) {
  char *printable = cli_text_printable((kdl_string){line, length});
  if (printable)
    fprintf(stderr, "%s\n", printable);
  free(printable);
}

/* What kdl-ld says beside its errors, KDL_DEBUG's lines above all, is passed on; its errors become
 * ours. */
static void tell_rest(char *words, kdl_out *errors) {
  static const char mark[] = "kdl-ld: error: ";
  bool is_error = false;
  for (char *line = words; *line;) {
    size_t length = strcspn(line, "\n");
    bool starts = strncmp(line, mark, sizeof mark - 1) == 0;
    is_error = starts || (is_error && line[0] == ' ');
    if (is_error)
      kdl_out_format(errors, "%s%.*s", errors->used ? starts ? "\n  " : "\n" : "",
                     (int)(length - (starts ? sizeof mark - 1 : 0)),
                     line + (starts ? sizeof mark - 1 : 0));
    else
      pass_on(line, length);
    line += length + (line[length] == '\n');
  }
}

static kdl_status judge(kdl_helper_outcome *outcome, const char *linker, int64_t milliseconds) {
  char story[1800] = "";
  kdl_out errors = {story, sizeof story, 0};
  tell_rest(outcome->words, &errors);
  if (outcome->end == KDL_HELPER_EXITED && outcome->code == 0)
    return KDL_OK;
  if (outcome->end == KDL_HELPER_EXITED && outcome->code == 1 && story[0])
    return kdl_fail(KDL_BAD_FILE, "%s", story);
  if (outcome->end == KDL_HELPER_OVERRAN)
    return kdl_fail(KDL_BAD_FILE,
                    "%s took longer than %" PRId64
                    " s (KDL_LD_TIMEOUT): the bitcode may be damaged",
                    linker, milliseconds / 1000);
  return kdl_fail(KDL_BAD_FILE, "%s died of %s %d: the bitcode may be damaged%s%s", linker,
                  outcome->end == KDL_HELPER_KILLED ? "signal" : "status", outcome->code,
                  story[0] ? ": " : "", story);
}

static kdl_status call(const cli_link_job *job, size_t image, const char *linker,
                       const char *device, const int *files) {
  command_line line = {.count = 0};
  kdl_helper_outcome *outcome = malloc(sizeof *outcome);
  kdl_link_limits limits;
  kdl_status status = kdl_link_limits_read(&limits);
  if (status == KDL_OK)
    status = write_command(job, image, linker, device, &line);
  if (status == KDL_OK && !outcome)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status == KDL_OK) {
    kdl_helper helper = {.path = linker,
                         .arguments = line.words,
                         .environment = (const char *const *)environ,
                         .files = files,
                         .file_count = file_count,
                         .milliseconds = limits.milliseconds,
                         .memory = limits.memory,
                         .largest_file = largest_output};
    status = kdl_helper_run(&helper, outcome);
    if (status == KDL_OK)
      status = judge(outcome, linker, limits.milliseconds);
  }
  free(outcome);
  free(line.words);
  kdl_arena_free(&line.arena);
  return status;
}

/* A report is there after a refusal too, where kdl-ld came far enough; the story then is the
 * failure's. */
static kdl_status read_report(int fd, kdl_status called, cli_link_report *report) {
  void *text;
  size_t size;
  char story[2048];
  snprintf(story, sizeof story, "%s", called == KDL_OK ? "" : kdl_error_message());
  kdl_status status = read_file(fd, &text, &size);
  if (status == KDL_OK) {
    status = size || called == KDL_OK ? cli_link_report_read(text, size, report) : KDL_OK;
    free(text);
  }
  return called == KDL_OK ? status : kdl_fail(called, "%s", story);
}

/* A library that came through a pipe is called what it is called on this side. */
static void rename_library(const cli_link_job *job, cli_link_report *report) {
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    cli_link_ukernel *ukernel = &report->ukernels[i];
    for (size_t c = 0; c < ukernel->count; ++c) {
      if (strcmp(ukernel->candidates[c].library, file_paths[file_library]) == 0)
        ukernel->candidates[c].library = job->input->name;
    }
  }
}

kdl_status cli_link_run(const cli_link_job *job, size_t image, const char *device,
                        cli_link_result *out_result) {
  char linker[PATH_MAX];
  int files[file_count] = {-1, -1, -1, -1};
  *out_result = (cli_link_result){.report = {.error = ""}};
  if (!kdl_linker_find(linker))
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl-ld not found, expected it beside this program or in KDL_LD: it links "
                    "bitcode, and is built where LLVM 22 is (Debian: llvm-22-dev)");
  kdl_status status = make_files(job, image, files);
  if (status == KDL_OK) {
    status = call(job, image, linker, device, files);
    status = read_report(files[file_report], status, &out_result->report);
    rename_library(job, &out_result->report);
  }
  if (status == KDL_OK && strcmp(job->emit, "choice") != 0)
    status = read_file(files[file_output], &out_result->data, &out_result->size);
  for (size_t i = 0; i < file_count; ++i) {
    if (files[i] >= 0)
      close(files[i]);
  }
  return status;
}

void cli_link_result_free(cli_link_result *result) {
  cli_link_report_free(&result->report);
  free(result->data);
}
