/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/recording.h"
#include "support/base/hash.h"
#include "support/base/text.h"
#include "tools/common/report.h"
#include "tools/kdl/trace/modules.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Lines                                                                                        */

enum { most_fields = 10 };

/* The fields of a line; those that are missing are "". */
typedef struct {
  const char *at[most_fields];
} fields;

static uint64_t number_at(const fields *line, size_t index) {
  return strtoull(line->at[index], NULL, 10);
}

static const char *text_at(cli_recordings *recordings, const fields *line, size_t index) {
  return xarena_string(&recordings->arena, line->at[index], strlen(line->at[index])).data;
}

#define ADD(recorded, list, one)                                                                   \
  ((recorded)->list = xgrow((recorded)->list, (recorded)->one##_count, &(recorded)->one##_room, 8, \
                            sizeof *(recorded)->list),                                             \
   &(recorded)->list[(recorded)->one##_count++])

static uint64_t hash_number(uint64_t number) {
  return kdl_hash_mix(kdl_hash_seed(), number);
}

static uint64_t hash_name(const char *name) {
  return kdl_hash_text(kdl_text_of(name));
}

static void list_module(cli_recordings *all, cli_recorded *to, cli_module *module) {
  if (module->is_listed)
    return;
  module->is_listed = true;
  cli_module_match(all, to, module);
  cli_module_print(to, module);
}

/* Modules that were loaded within the call come before it, and are listed in their order. Those
 * before one that is listed are too. */
static void list_modules_of(cli_recordings *all, cli_recorded *to, cli_load *load) {
  const uint64_t hash = hash_number(load->number);
  size_t *found = NULL, count = 0, room = 0;
  for (size_t i = cli_index_newest(&to->modules_by_load, hash); i != CLI_INDEX_NONE;
       i = cli_index_older(&to->modules_by_load, i)) {
    if (to->modules[i].load != load->number)
      continue;
    if (to->modules[i].is_listed)
      break;
    found = xgrow(found, count, &room, 8, sizeof *found);
    found[count++] = i;
  }
  while (count-- > 0) {
    cli_module *module = &to->modules[found[count]];
    module->ns = load->is_counted ? module->ns : load->ns;
    load->is_counted = true;
    list_module(all, to, module);
  }
  free(found);
}

static void read_load(cli_recordings *all, cli_recorded *to, const fields *line) {
  cli_load *load = ADD(to, loads, load);
  *load = (cli_load){.number = (uint32_t)number_at(line, 1),
                     .function = text_at(all, line, 2),
                     .result = (int)number_at(line, 3),
                     .ns = number_at(line, 4),
                     .device = (uint32_t)number_at(line, 5),
                     .offset = number_at(line, 6),
                     .path = text_at(all, line, 7)};
  cli_index_add(&to->loads_by_number, hash_number(load->number));
  list_modules_of(all, to, load);
}

static void read_module(cli_recordings *all, cli_recorded *to, const fields *line) {
  cli_module *module = ADD(to, modules, module);
  *module = (cli_module){.number = (uint32_t)number_at(line, 1),
                         .load = (uint32_t)number_at(line, 2),
                         .bytes = number_at(line, 3),
                         .hash = strtoull(line->at[4], NULL, 16),
                         .arch = text_at(all, line, 5),
                         .ns = number_at(line, 6),
                         .device = (uint32_t)number_at(line, 7),
                         .function = text_at(all, line, 8),
                         .path = ""};
  cli_index_add(&to->modules_by_number, hash_number(module->number));
  cli_index_add(&to->modules_by_load, hash_number(module->load));
  cli_load *load = (cli_load *)(uintptr_t)cli_find_load(to, module->load);
  if (load && !load->is_counted) {
    load->is_counted = true;
    module->ns += load->ns;
  }
  if (load || !module->load)
    list_module(all, to, module);
}

/* A program may try again and again. */
static bool is_known_failure(const cli_recorded *to, const cli_failure *failure, uint64_t hash) {
  for (size_t i = cli_index_newest(&to->failures_by_key, hash); i != CLI_INDEX_NONE;
       i = cli_index_older(&to->failures_by_key, i)) {
    const cli_failure *known = &to->failures[i];
    if (known->load == failure->load && known->result == failure->result &&
        strcmp(known->kernel, failure->kernel) == 0)
      return true;
  }
  return false;
}

static void read_failure(cli_recordings *all, cli_recorded *to, const fields *line) {
  const cli_failure failure = {.result = (int)number_at(line, 1),
                               .load = (uint32_t)number_at(line, 2),
                               .device = (uint32_t)number_at(line, 3),
                               .function = text_at(all, line, 4),
                               .kernel = text_at(all, line, 5),
                               .path = text_at(all, line, 6)};
  const uint64_t hash =
      kdl_hash_mix(kdl_hash_mix(hash_name(failure.kernel), failure.load), (uint64_t)failure.result);
  if (is_known_failure(to, &failure, hash))
    return;
  *ADD(to, failures, failure) = failure;
  cli_index_add(&to->failures_by_key, hash);
  cli_failure_print(to, &failure);
}

static void read_kernel(cli_recordings *all, cli_recorded *to, const fields *line) {
  const cli_launched kernel = {.name = text_at(all, line, 2), .slot = (uint32_t)number_at(line, 1)};
  *ADD(to, kernels, kernel) = kernel;
  cli_index_add(&to->kernels_by_name, hash_name(kernel.name));
}

static void read_launched(cli_recorded *to, const fields *line) {
  for (size_t i = cli_index_newest(&to->kernels_by_name, hash_name(line->at[2]));
       i != CLI_INDEX_NONE; i = cli_index_older(&to->kernels_by_name, i)) {
    if (strcmp(to->kernels[i].name, line->at[2]) == 0) {
      to->kernels[i].load = (uint32_t)number_at(line, 1);
      return;
    }
  }
}

static void read_unload(cli_recorded *to, const fields *line) {
  const uint64_t number = number_at(line, 1);
  for (size_t i = cli_index_newest(&to->modules_by_number, hash_number(number));
       i != CLI_INDEX_NONE; i = cli_index_older(&to->modules_by_number, i)) {
    if (to->modules[i].number != number)
      continue;
    if (to->modules[i].is_unloaded) /* and so are those before it */
      break;
    to->modules[i].is_unloaded = true;
  }
}

static void read_line(cli_recordings *all, cli_recorded *to, const fields *line) {
  const char *what = line->at[0];
  if (strcmp(what, "process") == 0) {
    to->process = (int)number_at(line, 1);
    to->program = text_at(all, line, 2);
  } else if (strcmp(what, "load") == 0) {
    read_load(all, to, line);
  } else if (strcmp(what, "module") == 0) {
    read_module(all, to, line);
  } else if (strcmp(what, "unload") == 0) {
    read_unload(to, line);
  } else if (strcmp(what, "kernel") == 0) {
    read_kernel(all, to, line);
  } else if (strcmp(what, "launched") == 0) {
    read_launched(to, line);
  } else if (strcmp(what, "fail") == 0) {
    read_failure(all, to, line);
  } else if (strcmp(what, "device") == 0) {
    *ADD(to, devices, device) =
        (cli_traced_device){.number = (uint32_t)number_at(line, 1), .spec = text_at(all, line, 2)};
  } else if (strcmp(what, "cupti") == 0) {
    to->cupti = text_at(all, line, 2);
  } else if (strcmp(what, "note") == 0) {
    const char *note = text_at(all, line, 1);
    *ADD(to, notes, note) = note;
    cli_trace_note_print(to, note);
  }
}

/* Splits the line in place; control characters would reach the terminal. */
static void read_text(cli_recordings *all, cli_recorded *to, char *text) {
  fields line;
  for (size_t i = 0; i < most_fields; ++i)
    line.at[i] = "";
  for (size_t i = 0; i < most_fields && text; ++i) {
    line.at[i] = text;
    text = strchr(text, '\t');
    if (text)
      *text++ = '\0';
  }
  for (size_t i = 0; i < most_fields; ++i) {
    char *at = (char *)(uintptr_t)line.at[i];
    for (size_t length; *at; at += length) {
      uint32_t code =
          (unsigned char)*at; /* of a byte that is no UTF-8, for a terminal without it */
      length = kdl_utf8_decode(at, strnlen(at, 4), &code);
      length = length ? length : 1;
      if (kdl_utf8_is_control(code))
        memset(at, '?', length);
    }
  }
  read_line(all, to, &line);
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

/* -1 where there is none. The program can write into the folder: what is not a file, as a pipe,
 * could let this wait for ever. */
static int open_recorded(const cli_recorded *of, const char *suffix) {
  char *path = xasprintf("%s.%s", of->stem, suffix);
  struct stat info;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  free(path);
  if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* A line that is not complete is read with the next call. One that is longer than those of a
 * recording, or has a NUL, is of something else, as is what follows. */
static void follow_log(cli_recordings *all, cli_recorded *to) {
  enum { most_line = 16 * 1024 };
  char text[most_line];
  int fd = to->is_damaged ? -1 : open_recorded(to, "log");
  FILE *file = fd >= 0 ? fdopen(fd, "re") : NULL;
  if (!file) {
    if (fd >= 0)
      close(fd);
    return;
  }
  fseek(file, to->position, SEEK_SET);
  while (fgets(text, sizeof text, file)) {
    size_t length = strlen(text);
    if (!length || text[length - 1] != '\n') {
      to->is_damaged = !feof(file);
      break;
    }
    to->position = ftell(file);
    text[length - 1] = '\0';
    read_text(all, to, text);
  }
  fclose(file);
}

static void add_recorded(cli_recordings *all, const char *name, size_t length) {
  char *stem = xasprintf("%s/%.*s", all->folder, (int)length, name);
  uint64_t hash = hash_name(stem);
  for (size_t i = cli_index_newest(&all->by_stem, hash); i != CLI_INDEX_NONE;
       i = cli_index_older(&all->by_stem, i)) {
    if (strcmp(all->items[i]->stem, stem) == 0) {
      free(stem);
      return;
    }
  }
  cli_recorded *recorded = xcalloc(1, sizeof *recorded);
  *recorded = (cli_recorded){.stem = stem, .program = ""};
  all->items = xgrow(all->items, all->count, &all->room, 4, sizeof *all->items);
  all->items[all->count++] = recorded;
  cli_index_add(&all->by_stem, hash);
}

void cli_recordings_follow(cli_recordings *all) {
  DIR *folder = opendir(all->folder);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    size_t length = strlen(entry->d_name);
    if (length > 4 && strcmp(entry->d_name + length - 4, ".log") == 0)
      add_recorded(all, entry->d_name, length - 4);
  }
  if (folder)
    closedir(folder);
  for (size_t i = 0; i < all->count; ++i)
    follow_log(all, all->items[i]);
}

static uint64_t read_count(int fd, uint32_t slot) {
  uint64_t count = 0;
  return pread(fd, &count, sizeof count, (off_t)(slot * sizeof count)) == sizeof count ? count : 0;
}

void cli_recordings_count(cli_recordings *all) {
  for (size_t i = 0; i < all->count; ++i) {
    cli_recorded *to = all->items[i];
    for (size_t m = 0; m < to->module_count; ++m)
      list_module(all, to, &to->modules[m]);
    int fd = open_recorded(to, "counts");
    for (size_t k = 0; fd >= 0 && k < to->kernel_count; ++k)
      to->kernels[k].count = read_count(fd, to->kernels[k].slot);
    to->graph_launches = fd >= 0 ? read_count(fd, KDL_RECORDING_GRAPHS) : 0;
    to->other_launches = fd >= 0 ? read_count(fd, KDL_RECORDING_OTHERS) : 0;
    to->lost_lines = fd >= 0 ? read_count(fd, KDL_RECORDING_LOST) : 0;
    if (to->lost_lines)
      cli_warning("process %u: %" PRIu64
                  " lines of the recording could not be written: modules and "
                  "kernels are missing below; use a TMPDIR with more room",
                  (unsigned)to->process, to->lost_lines);
    if (fd >= 0)
      close(fd);
  }
}

void cli_recordings_free(cli_recordings *all) {
  cli_module_fits_free(all);
  cli_modules_close_files(all);
  for (size_t i = 0; i < all->count; ++i) {
    cli_recorded *one = all->items[i];
    free(one->stem);
    free(one->loads);
    free(one->modules);
    free(one->kernels);
    free(one->failures);
    free(one->devices);
    free(one->notes);
    cli_index *indexes[] = {&one->loads_by_number, &one->modules_by_number, &one->modules_by_load,
                            &one->kernels_by_name, &one->failures_by_key,   &one->loads_by_code};
    for (size_t k = 0; k < sizeof indexes / sizeof *indexes; ++k)
      cli_index_free(indexes[k]);
    free(one);
  }
  cli_index_free(&all->by_stem);
  free(all->items);
  kdl_arena_free(&all->arena);
}

const cli_load *cli_find_load(const cli_recorded *recorded, uint32_t number) {
  const cli_index *index = &recorded->loads_by_number;
  for (size_t i = number ? cli_index_newest(index, hash_number(number)) : CLI_INDEX_NONE;
       i != CLI_INDEX_NONE; i = cli_index_older(index, i)) {
    if (recorded->loads[i].number == number)
      return &recorded->loads[i];
  }
  return NULL;
}

const char *cli_traced_device_spec(const cli_recorded *recorded, uint32_t device) {
  for (size_t i = 0; i < recorded->device_count; ++i) {
    if (recorded->devices[i].number == device)
      return recorded->devices[i].spec;
  }
  return recorded->device_count ? recorded->devices[0].spec : "";
}
