/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bitcode/link_run.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/size.h"
#include "base/text.h"
#include "bitcode/link_report.h"
#include "system/environment.h"
#include "system/file.h"
#include "system/subprocess.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Since Linux 6.3 a system can refuse memory files that do not say whether they are code. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { default_seconds = 60, limit_seconds = 24 * 60 * 60 };

#define LIMIT_OUTPUT ((uint64_t)256 << 20)
#define LIMIT_REPORT ((uint64_t)16 << 20)

/* A sanitizer's shadow memory alone is larger than any limit, and kdl-ld is built as we are. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEFAULT_MEMORY 0
#endif
#endif
#ifndef DEFAULT_MEMORY
#define DEFAULT_MEMORY ((uint64_t)4 << 30)
#endif

/* ------------------------------------------------------------------------------------------ */
/* Limits                                                                                       */

kdl_status kdl_link_limits_read(kdl_link_limits *out_limits) {
  const char *seconds = kdl_environment("KDL_LD_TIMEOUT");
  const char *memory = kdl_environment("KDL_LD_MEMORY");
  uint32_t number = default_seconds;
  size_t at = 0;
  *out_limits = (kdl_link_limits){.memory = DEFAULT_MEMORY};
  if (seconds && (!kdl_text_number(kdl_text_of(seconds), &at, &number) || seconds[at] || !number ||
                  number > limit_seconds))
    return kdl_fail(KDL_BAD_CALL, "KDL_LD_TIMEOUT: found \"%s\", expected seconds, 1 to %d",
                    seconds, limit_seconds);
  out_limits->milliseconds = (int64_t)number * 1000;
  if (memory && kdl_size_parse(memory, &out_limits->memory) != KDL_OK) {
    kdl_error_prefix("KDL_LD_MEMORY");
    return KDL_BAD_CALL;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

typedef enum { file_caller, file_output, file_report, file_library, file_count } file_role;

static const char *const file_paths[file_count] = {"/proc/self/fd/3", "/proc/self/fd/4",
                                                   "/proc/self/fd/5", "/proc/self/fd/6"};

typedef struct {
  int fds[file_count]; /* in the order of kdl-ld's descriptors; -1: not open */
  bool has_library;
} run_files;

static kdl_status make_file(const char *name, const void *data, size_t size, int *out_fd) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL)
    fd = memfd_create(name, MFD_CLOEXEC);
  *out_fd = fd;
  if (fd < 0 || !kdl_fd_write(fd, data, size))
    return kdl_fail_code(KDL_IO, errno, "cannot make a file of %zu bytes in memory: %s", size,
                         strerror(errno));
  return KDL_OK;
}

/* The images of the caller's library that may hold microkernels, and no others, as a library. */
static kdl_status pack_library(const kdl_link_task *task, void **out_data, size_t *out_size) {
  kdl_writer *writer;
  kdl_catalog *catalog;
  kdl_container *container = task->lib->container;
  size_t count = 0;
  *out_data = NULL;
  kdl_status status = kdl_library_catalog(task->lib, &catalog);
  if (status == KDL_OK)
    status = kdl_writer_create(KDL_FORMAT_V1, &writer);
  if (status != KDL_OK)
    return status;
  for (uint32_t i = 0; i < container->count && status == KDL_OK; ++i) {
    if (!kdl_question_includes(task, catalog, i))
      continue;
    const kdl_image *image = &container->images[i];
    kdl_writer_image packed = {.size = sizeof packed,
                               .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_BITCODE),
                               .offload_kind = image->offload_kind,
                               .flags = image->flags,
                               .pairs = image->pairs,
                               .pair_count = image->pair_count};
    status = kdl_container_bytes(container, i, &packed.data, &packed.data_size);
    if (status == KDL_OK)
      status = kdl_writer_add(writer, &packed);
    ++count;
  }
  if (status == KDL_OK && count)
    status = kdl_writer_finish(writer, out_data, out_size);
  kdl_writer_destroy(writer);
  return status;
}

static kdl_status open_files(const kdl_link_task *task, const kdl_question *question,
                             run_files *out_files) {
  void *library;
  size_t size;
  for (size_t i = 0; i < file_count; ++i)
    out_files->fds[i] = -1;
  kdl_status status = make_file("kdl-caller", question->caller, question->caller_size,
                                &out_files->fds[file_caller]);
  if (status == KDL_OK)
    status = make_file("kdl-output", "", 0, &out_files->fds[file_output]);
  if (status == KDL_OK)
    status = make_file("kdl-report", "", 0, &out_files->fds[file_report]);
  if (status == KDL_OK)
    status = pack_library(task, &library, &size);
  if (status != KDL_OK)
    return status;
  out_files->has_library = library != NULL;
  if (library)
    status = make_file("kdl-library", library, size, &out_files->fds[file_library]);
  free(library);
  return status;
}

static void close_files(const run_files *files) {
  for (size_t i = 0; i < file_count; ++i) {
    if (files->fds[i] >= 0)
      close(files->fds[i]);
  }
}

static kdl_status read_file(int fd, uint64_t most, char **out_data, size_t *out_size) {
  struct stat info;
  if (fstat(fd, &info) != 0 || (uint64_t)info.st_size > most || lseek(fd, 0, SEEK_SET) != 0)
    return kdl_fail(KDL_NO_MEMORY, "kdl-ld wrote more than %" PRIu64 " bytes", most);
  size_t size = (size_t)info.st_size;
  char *data = malloc(size + 1);
  if (!data || !kdl_fd_read(fd, data, size, out_size)) {
    free(data);
    return kdl_fail(KDL_NO_MEMORY, "cannot read %zu bytes that kdl-ld wrote", size);
  }
  data[*out_size] = '\0';
  *out_data = data;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The command line                                                                             */

typedef struct {
  kdl_arena arena;
  const char **items;
  size_t count, capacity;
  bool is_whole;
} words;

static void add_word(words *line, const char *word) {
  if (line->count + 1 >= line->capacity) {
    size_t capacity = line->capacity ? line->capacity * 2 : 32;
    const char **items = realloc(line->items, capacity * sizeof *items);
    line->is_whole &= items != NULL;
    if (!items)
      return;
    line->items = items;
    line->capacity = capacity;
  }
  line->is_whole &= word != NULL;
  line->items[line->count++] = word;
  line->items[line->count] = NULL;
}

static void add_option(words *line, const char *option, const char *value) {
  add_word(line, kdl_arena_format(&line->arena, "--%s=%s", option, value));
}

static void add_constants(words *line, const char *constants) {
  while (constants && *constants) {
    size_t length = strcspn(constants, "\n");
    size_t word = strlen("const ");
    add_word(line, kdl_arena_format(&line->arena, "--const=%.*s", (int)(length - word),
                                    constants + word));
    constants += length + 1;
  }
}

static void make_line(const kdl_link_task *task, const kdl_question *question, bool has_library,
                      words *line) {
  char path[PATH_MAX];
  const char *list = kdl_environment("KDL_UKERNEL_PATH");
  *line = (words){.is_whole = true};
  add_word(line, "kdl-ld");
  add_option(line, "protocol", "1");
  add_option(line, "caller", file_paths[file_caller]);
  add_option(line, "output", file_paths[file_output]);
  add_option(line, "report", file_paths[file_report]);
  add_option(line, "for", question->device);
  add_word(line, kdl_arena_format(&line->arena, "--parent=%d", (int)getpid()));
  if (task->kernel)
    add_option(line, "kernel", task->kernel);
  if (has_library)
    add_option(line, "ukernels", file_paths[file_library]);
  while (kdl_ukernel_path_next(&list, path))
    add_option(line, "ukernels", path);
  add_constants(line, task->constants);
}

/* Ours, but that what it says comes back to us, where somebody listens, and that it has no trace of
 * its own: in ours it is a layer. */
static void make_environment(words *list) {
  *list = (words){.is_whole = true};
  for (char **at = environ; at && *at; ++at) {
    if (!kdl_starts_with(*at, "KDL_DEBUG") && !kdl_starts_with(*at, "KDL_TRACE"))
      add_word(list, *at);
  }
  add_word(list, kdl_debug_on(KDL_DEBUG_LINK) ? "KDL_DEBUG=link" : "KDL_DEBUG=");
}

static void free_words(words *list) {
  free(list->items);
  kdl_arena_free(&list->arena);
}

/* ------------------------------------------------------------------------------------------ */
/* Its story                                                                                    */

/* One line of what it said, with the files' numbers put as what they are. */
static void tell_line(kdl_out *out, kdl_string line, const char *library) {
  for (size_t at = 0; at < line.length;) {
    kdl_string rest = kdl_text_from(line, at);
    bool is_caller = kdl_text_starts(rest, file_paths[file_caller]);
    bool is_library = kdl_text_starts(rest, file_paths[file_library]);
    if (is_caller || is_library) {
      kdl_out_format(out, is_caller ? "the image" : "the bitcode of %s", library);
      at += strlen(file_paths[file_caller]);
    } else {
      kdl_out_format(out, "%c", line.data[at++]);
    }
  }
}

/* Its errors, or where it called nothing by that name, all it said. */
static void tell_words(kdl_out *out, const char *said, const char *library) {
  static const char mark[] = "error: ";
  bool has_errors = strstr(said, mark) != NULL;
  const char *join = ": ";
  for (const char *at = said; *at;) {
    kdl_string line = {at, strcspn(at, "\n")};
    at += line.length + (at[line.length] == '\n');
    const char *error = has_errors ? memmem(line.data, line.length, mark, sizeof mark - 1) : NULL;
    if (has_errors && !error)
      continue;
    if (error)
      line = kdl_text_from(line, (size_t)(error - line.data) + sizeof mark - 1);
    if (!line.length)
      continue;
    kdl_out_format(out, "%s", join);
    tell_line(out, line, library);
    join = "; ";
  }
}

static void say_words(const char *said, const char *library) {
  static const char mark[] = "kdl: link: ";
  for (const char *at = said; *at && kdl_debug_on(KDL_DEBUG_LINK);) {
    char text[1024];
    kdl_out out = {text, sizeof text, 0};
    kdl_string line = {at, strcspn(at, "\n")};
    at += line.length + (at[line.length] == '\n');
    tell_line(&out, kdl_text_starts(line, mark) ? kdl_text_from(line, sizeof mark - 1) : line,
              library);
    kdl_debug(KDL_DEBUG_LINK, "  kdl-ld: %s", text);
  }
}

static kdl_status fail_run(const kdl_link_task *task, const kdl_helper *helper,
                           const kdl_helper_outcome *outcome) {
  char how[128], said[1024] = "";
  kdl_status status = KDL_BAD_FILE;
  kdl_out out = {said, sizeof said, 0};
  tell_words(&out, outcome->words, task->lib->container->name);
  if (outcome->end == KDL_HELPER_OVERRAN) {
    status = KDL_NO_MEMORY;
    snprintf(how, sizeof how, "was stopped after %" PRId64 " s (KDL_LD_TIMEOUT)",
             helper->milliseconds / 1000);
  } else if (outcome->end == KDL_HELPER_KILLED) {
    snprintf(how, sizeof how, "died of signal %d (%s)", outcome->code, strsignal(outcome->code));
  } else if (outcome->end == KDL_HELPER_UNKNOWN) {
    snprintf(how, sizeof how, "ended nobody knows how, and without a whole report");
  } else if (outcome->code == 1) {
    snprintf(how, sizeof how, "refused it");
  } else {
    snprintf(how, sizeof how, "died with status %d", outcome->code);
  }
  return kdl_fail(status, "kdl-ld %s%s", how, said);
}

/* ------------------------------------------------------------------------------------------ */

/* A report that cannot be read leaves the image as good as it is. */
static kdl_link_report read_report(int fd, FILE *notes, kdl_link_result *result) {
  kdl_link_report report = {.is_whole = false};
  char *text = NULL;
  size_t size = 0;
  bool is_young = false;
  kdl_status status = read_file(fd, LIMIT_REPORT, &text, &size);
  if (status == KDL_OK)
    status = kdl_link_report_read(text, size, notes, &is_young, &report);
  if (status != KDL_OK)
    snprintf(result->doubt, sizeof result->doubt, "nobody knows what it depends on: %s",
             kdl_error_message());
  else if (is_young)
    snprintf(result->doubt, sizeof result->doubt, "what it depends on was just changed");
  free(text);
  return report;
}

/* Where nobody can know its exit status, a report that agrees with the output was written last. */
static bool is_done(const kdl_helper_outcome *outcome, const kdl_link_report *report, int output) {
  struct stat info;
  if (outcome->end == KDL_HELPER_EXITED)
    return outcome->code == 0;
  return outcome->end == KDL_HELPER_UNKNOWN && report->is_whole && fstat(output, &info) == 0 &&
         (uint64_t)info.st_size == report->output_size;
}

static kdl_status collect(const kdl_link_task *task, const kdl_helper *helper,
                          const run_files *files, const kdl_helper_outcome *outcome,
                          const char *name, kdl_link_result *result) {
  size_t notes_size;
  FILE *notes = open_memstream(&result->notes, &notes_size);
  if (!notes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  fprintf(notes, "source %s\n", name);
  kdl_link_report report = read_report(files->fds[file_report], notes, result);
  if (fclose(notes) != 0)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (!is_done(outcome, &report, files->fds[file_output]))
    return fail_run(task, helper, outcome);
  char *image;
  kdl_status status = read_file(files->fds[file_output], LIMIT_OUTPUT, &image, &result->size);
  if (status == KDL_OK)
    result->image = image;
  return status;
}

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static kdl_status run(const kdl_link_task *task, const kdl_helper *helper, const run_files *files,
                      const char *name, kdl_link_result *result) {
  kdl_helper_outcome outcome;
  int64_t start = now_us();
  kdl_status status = kdl_helper_run(helper, &outcome);
  if (status != KDL_OK)
    return status;
  say_words(outcome.words, task->lib->container->name);
  status = collect(task, helper, files, &outcome, name, result);
  if (status == KDL_OK && !result->size)
    status = kdl_fail(KDL_BAD_FILE, "kdl-ld wrote nothing");
  if (status == KDL_OK)
    kdl_debug(KDL_DEBUG_LINK, "%s: linked in %.1f ms: %zu bytes", name,
              (double)(now_us() - start) / 1000, result->size);
  return status;
}

kdl_status kdl_link_run(const kdl_link_task *task, const kdl_question *question,
                        const kdl_link_limits *limits, const char *name,
                        kdl_link_result *out_result) {
  run_files files;
  words line, environment;
  kdl_link_result result = {.image = NULL};
  kdl_status status = open_files(task, question, &files);
  if (status == KDL_OK) {
    make_line(task, question, files.has_library, &line);
    make_environment(&environment);
    kdl_helper helper = {
        .path = question->linker,
        .arguments = line.items,
        .environment = environment.items,
        .files = files.fds,
        .file_count = files.has_library ? file_count : file_library,
        .milliseconds = limits->milliseconds,
        .memory = limits->memory,
        .largest_file = LIMIT_OUTPUT,
    };
    status = line.is_whole && environment.is_whole ? run(task, &helper, &files, name, &result)
                                                   : kdl_fail(KDL_NO_MEMORY, "out of memory");
    free_words(&line);
    free_words(&environment);
  }
  close_files(&files);
  if (status == KDL_OK) {
    *out_result = result;
  } else {
    free(result.image);
    free(result.notes);
  }
  return status;
}
