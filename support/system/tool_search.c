/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/tool_search.h"

#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { oldest_version = 14 };

const kdl_tool_search kdl_tool_llvm_spirv = {.name = "llvm-spirv",
                                             .package = "llvm-spirv-15 or later",
                                             .variable = KDL_VARIABLE_LLVM_SPIRV,
                                             .newest = 24,
                                             .places = {"llvm-spirv", "/usr/bin/llvm-spirv-*"}};

/* ------------------------------------------------------------------------------------------ */
/* Trying a path                                                                                */

typedef struct tool_finder {
  const kdl_tool_search *tool;
  const kdl_tool_watch *watch;
  char *path; /* of PATH_MAX bytes: the path that is tried */
} tool_finder;

static bool is_regular(const char *path, int access_mode) {
  struct stat info;
  return access(path, access_mode) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The two parts together. */
static bool try_path(const tool_finder *finder, kdl_string folder, const char *rest) {
  int used = snprintf(finder->path, PATH_MAX, "%.*s%s", (int)folder.length, folder.data, rest);
  if (used <= 0 || used >= PATH_MAX)
    return false;
  if (finder->watch->tried)
    finder->watch->tried(finder->watch->user, finder->path);
  return is_regular(finder->path, finder->tool->is_file ? R_OK : X_OK);
}

static bool try_on_path(const tool_finder *finder, const char *name) {
  char below[NAME_MAX + 2];
  if (snprintf(below, sizeof below, "/%s", name) >= (int)sizeof below)
    return false;
  for (const char *at = kdl_environment(KDL_VARIABLE_PATH); at && *at;) {
    size_t length = strcspn(at, ":");
    if (length && try_path(finder, (kdl_string){at, length}, below))
      return true;
    at += length + (at[length] == ':');
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Trying a place                                                                               */

/* "$CUDA_HOME/bin/ptxas" */
static bool try_variable(const tool_finder *finder, const char *place) {
  const char *rest = strchr(place, '/');
  kdl_variable variable = kdl_variable_find(place + 1, (size_t)(rest - place - 1));
  const char *folder = variable < KDL_VARIABLE_COUNT ? kdl_environment(variable) : NULL;
  return folder && try_path(finder, kdl_text_of(folder), rest);
}

/* "../nvvm/libdevice/libdevice.10.bc" */
static bool try_neighbour(const tool_finder *finder, const char *place) {
  char neighbour[PATH_MAX];
  kdl_tool_watch watch = *finder->watch;
  watch.tried = NULL;
  if (!kdl_tool_find_watched(finder->tool->neighbour, &watch, neighbour))
    return false;
  size_t folder = (size_t)(strrchr(neighbour, '/') - neighbour) + 1;
  return try_path(finder, (kdl_string){neighbour, folder}, place);
}

/* Every "*" is the version. */
static void expand_version(const char *place, int version, char out_path[PATH_MAX]) {
  kdl_out out = {out_path, PATH_MAX, 0};
  for (; *place; ++place) {
    if (*place == '*')
      kdl_out_format(&out, "%d", version);
    else
      kdl_out_format(&out, "%c", *place);
  }
}

static bool try_absolute(const tool_finder *finder, const char *place) {
  kdl_string root = kdl_text_of(finder->watch->root ? finder->watch->root : "");
  if (!strchr(place, '*'))
    return try_path(finder, root, place);
  for (int version = finder->tool->newest; version >= oldest_version; --version) {
    char path[PATH_MAX];
    expand_version(place, version, path);
    if (try_path(finder, root, path))
      return true;
  }
  return false;
}

static bool try_place(const tool_finder *finder, const char *place) {
  if (*place == '$')
    return try_variable(finder, place);
  if (strncmp(place, "../", 3) == 0)
    return try_neighbour(finder, place);
  return *place == '/' ? try_absolute(finder, place) : try_on_path(finder, place);
}

/* The name of the file is the same in every place. */
static bool try_given(const tool_finder *finder, const char *value) {
  if (strcmp(value, "none") == 0)
    return false;
  if (finder->tool->is_file && is_folder(value))
    return try_path(finder, kdl_text_of(value), strrchr(finder->tool->places[0], '/'));
  return finder->tool->is_file || strchr(value, '/') ? try_path(finder, kdl_text_of(value), "")
                                                     : try_on_path(finder, value);
}

/* ------------------------------------------------------------------------------------------ */
/* Searches                                                                                     */

bool kdl_tool_find_watched(const kdl_tool_search *tool, const kdl_tool_watch *watch,
                           char out_path[PATH_MAX]) {
  tool_finder finder = {tool, watch, out_path};
  const char *value = kdl_environment(tool->variable);
  if (value)
    return try_given(&finder, value);
  for (const char *const *place = tool->places; *place; ++place) {
    if (try_place(&finder, *place))
      return true;
  }
  return false;
}

bool kdl_tool_find(const kdl_tool_search *tool, char out_path[PATH_MAX]) {
  return kdl_tool_find_watched(tool, &(kdl_tool_watch){.tried = NULL}, out_path);
}

bool kdl_program_find(const char *name, char out_path[PATH_MAX]) {
  const kdl_tool_search program = {.name = name};
  tool_finder finder = {&program, &(kdl_tool_watch){.tried = NULL}, out_path};
  return strchr(name, '/') ? try_path(&finder, kdl_text_of(name), "") : try_on_path(&finder, name);
}

/* ------------------------------------------------------------------------------------------ */
/* Messages                                                                                     */

static bool is_on_path(const char *place) {
  return !strchr(place, '/');
}

/* The folder of a place. */
static void format_place(const kdl_tool_search *tool, const char *place, kdl_out *out) {
  if (is_on_path(place))
    kdl_out_format(out, "PATH");
  else if (strncmp(place, "../", 3) == 0)
    kdl_out_format(out, "the toolkit of %s", tool->neighbour->name);
  else
    kdl_out_format(out, "%.*s", (int)(strrchr(place, '/') - place), place);
}

/* Of several names on PATH, PATH is written once. */
static void format_places(const kdl_tool_search *tool, kdl_out *out) {
  for (const char *const *place = tool->places, *const *next; *place; place = next) {
    for (next = place + 1; *next && is_on_path(*place) && is_on_path(*next);)
      ++next;
    kdl_out_format(out, "%s", *next ? ", " : " or ");
    format_place(tool, *place, out);
  }
}

const char *kdl_tool_format_missing(const kdl_tool_search *tool, char *text, size_t size) {
  kdl_out out = {text, size, 0};
  const char *value = kdl_environment(tool->variable);
  kdl_out_format(&out, "found no %s in %s", tool->name, kdl_variable_name(tool->variable));
  if (value) {
    kdl_out_format(&out, "=%s", value);
    return text;
  }
  format_places(tool, &out);
  kdl_out_format(&out, " (Debian: %s)", tool->package);
  return text;
}
