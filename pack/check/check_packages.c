/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the package of each file in Python's dist-info folders and dpkg's file lists. Both list
 * every file of a package; each line is looked up among the libraries that were found. */
#include "pack/check/check.h"
#include "support/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A library by its real path. */
typedef struct {
  char *real_path;
  check_library *library;
} library_path;

typedef struct {
  check *c;
  library_path *paths; /* in order */
  size_t count;
} library_paths;

static int compare_library_paths(const void *left, const void *right) {
  const library_path *a = left;
  const library_path *b = right;
  return strcmp(a->real_path, b->real_path);
}

/* The part below an operand is appended to the operand's real path. */
static char *real_path(const check *c, const check_library *library) {
  const check_operand *operand = &c->operands[library->operand];
  const char *rest = library->path + strlen(operand->display_path);
  while (*rest == '/')
    ++rest;
  const char *base = operand->real_path ? operand->real_path : operand->display_path;
  bool is_root = strcmp(base, "/") == 0;
  return xasprintf("%s%s%s", is_root ? "" : base, *rest ? "/" : "", rest);
}

static library_paths sort_library_paths(check *c) {
  library_paths known = {.c = c, .paths = xcalloc(c->library_count, sizeof(library_path))};
  for (size_t i = 0; i < c->library_count; ++i) {
    if (!c->libraries[i].package)
      known.paths[known.count++] = (library_path){real_path(c, &c->libraries[i]), &c->libraries[i]};
  }
  qsort(known.paths, known.count, sizeof(library_path), compare_library_paths);
  return known;
}

/* Several libraries may be members of one file. */
static void assign_package(const library_paths *known, const char *path, const char *package) {
  size_t low = 0, high = known->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(known->paths[middle].real_path, path) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < known->count && strcmp(known->paths[low].real_path, path) == 0; ++low) {
    check_library *library = known->paths[low].library;
    if (!library->package)
      library->package = check_copy_string(known->c, package);
  }
}

/* Calls `visit` for each line of a regular file: reading a pipe might block, and a device may never
 * end. A missing list is empty. */
typedef void visit_line(const library_paths *known, const char *folder, char *line,
                        const char *package);

static void read_lines(const library_paths *known, const char *path, visit_line *visit,
                       const char *folder, const char *package) {
  struct stat info;
  char *line = NULL;
  size_t capacity = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    FILE *list = cli_check_alloc(fdopen(fd, "r"));
    while (errno = 0, getline(&line, &capacity, list) > 0)
      visit(known, folder, line, package);
    if (errno == ENOMEM)
      cli_out_of_memory();
    free(line);
    fclose(list);
  } else {
    close(fd);
  }
}

/* Calls `visit` for each name in a folder with that ending. */
typedef void visit_name(const library_paths *known, const char *folder, const char *name);

static void visit_folder_entries(const library_paths *known, const char *path, const char *end,
                                 visit_name *visit) {
  DIR *folder = opendir(path);
  const struct dirent *entry;
  if (!folder && errno == ENOMEM)
    cli_out_of_memory();
  while (folder && (entry = readdir(folder))) {
    if (kdl_text_has_suffix(kdl_text_of(entry->d_name), kdl_text_of(end)))
      visit(known, path, entry->d_name);
  }
  if (folder)
    closedir(folder);
}

/* ------------------------------------------------------------------------------------------ */
/* Python                                                                                       */

/* The path at the start of a line of RECORD, which is CSV: quoted where it has a comma or a quote.
 * Modifies the line. */
static char *record_path(char *line) {
  if (*line != '"') {
    line[strcspn(line, ",\r\n")] = '\0';
    return line;
  }
  char *to = line;
  for (const char *from = line + 1; *from && (*from != '"' || from[1] == '"'); ++from) {
    *to++ = *from;
    from += *from == '"';
  }
  *to = '\0';
  return line;
}

/* Joins `folder` and a path that may begin with "../"; neither has other dot components. */
static bool resolve(const char *folder, const char *path, char out[PATH_MAX]) {
  size_t length = strlen(folder);
  while (strncmp(path, "../", 3) == 0) {
    path += 3;
    while (length && folder[length - 1] != '/')
      --length;
    length -= length != 0;
  }
  int made = snprintf(out, PATH_MAX, "%.*s/%s", (int)length, folder, path);
  return made > 0 && made < PATH_MAX;
}

static void assign_recorded_package(const library_paths *known, const char *folder, char *line,
                                    const char *package) {
  char path[PATH_MAX];
  if (resolve(folder, record_path(line), path))
    assign_package(known, path, package);
}

static void read_dist_info(const library_paths *known, const char *shown) {
  char folder[PATH_MAX], path[PATH_MAX], package[NAME_MAX + 1];
  if (!realpath(shown, folder) || snprintf(path, sizeof path, "%s/RECORD", folder) >= PATH_MAX)
    return;
  char *name = strrchr(folder, '/');
  snprintf(package, sizeof package, "%.*s", (int)(strlen(name + 1) - strlen(".dist-info")),
           name + 1);
  *name = '\0';
  char *dash = strchr(package, '-');
  if (dash)
    *dash = ' ';
  read_lines(known, path, assign_recorded_package, folder, package);
}

static void read_dist_info_in(const library_paths *known, const char *folder, const char *name) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_MAX)
    read_dist_info(known, path);
}

/* For a library that was named itself, the package's record is further up. */
static void read_site_packages(const library_paths *known) {
  static const char *const names[] = {"/site-packages/", "/dist-packages/"};
  char done[PATH_MAX] = "";
  for (size_t i = 0; i < known->count; ++i) {
    const char *found = NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names && !found; ++k)
      found = strstr(known->paths[i].real_path, names[k]);
    if (known->paths[i].library->package || !found)
      continue;
    size_t length = (size_t)(strchr(found + 1, '/') - known->paths[i].real_path);
    /* Sorted by path: those of one folder are adjacent. */
    if (length >= sizeof done ||
        (strncmp(done, known->paths[i].real_path, length) == 0 && !done[length]))
      continue;
    snprintf(done, sizeof done, "%.*s", (int)length, known->paths[i].real_path);
    visit_folder_entries(known, done, ".dist-info", read_dist_info_in);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Debian                                                                                       */

/* Since /lib is a link to /usr/lib, a list may have a file under either. */
static void assign_dpkg_package(const library_paths *known, const char *root, char *line,
                                const char *package) {
  char path[PATH_MAX];
  line[strcspn(line, "\n")] = '\0';
  if (snprintf(path, sizeof path, "%s%s", root, line) < PATH_MAX)
    assign_package(known, path, package);
  if (kdl_starts_with(line, "/lib") &&
      snprintf(path, sizeof path, "%s/usr%s", root, line) < PATH_MAX)
    assign_package(known, path, package);
}

static const char dpkg_info_folder[] = "/var/lib/dpkg/info";

static void read_dpkg_list(const library_paths *known, const char *folder, const char *name) {
  char path[PATH_MAX], root[PATH_MAX], package[NAME_MAX + 1];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MAX)
    return;
  snprintf(root, sizeof root, "%.*s", (int)(strlen(folder) - strlen(dpkg_info_folder)), folder);
  size_t length = strlen(name) - strlen(".list"), colon = strcspn(name, ":");
  snprintf(package, sizeof package, "%.*s", (int)(colon < length ? colon : length), name);
  read_lines(known, path, assign_dpkg_package, root, package);
}

/* `root` is "" or the root folder of another system. */
static void read_dpkg_lists(const library_paths *known, const char *root) {
  char folder[PATH_MAX];
  if (snprintf(folder, sizeof folder, "%s%s", root, dpkg_info_folder) < PATH_MAX)
    visit_folder_entries(known, folder, ".list", read_dpkg_list);
}

/* ------------------------------------------------------------------------------------------ */

static bool all_have_packages(const library_paths *known) {
  for (size_t i = 0; i < known->count; ++i) {
    if (!known->paths[i].library->package)
      return false;
  }
  return true;
}

void check_find_packages(check *c) {
  library_paths known = sort_library_paths(c);
  for (size_t i = 0; i < c->dist_info_count && known.count; ++i)
    read_dist_info(&known, c->dist_infos[i]);
  read_site_packages(&known);
  for (size_t i = 0; i < c->operand_count && !all_have_packages(&known); ++i) {
    if (c->operands[i].real_path && strcmp(c->operands[i].real_path, "/") != 0)
      read_dpkg_lists(&known, c->operands[i].real_path);
  }
  if (c->has_other_root)
    read_dpkg_lists(&known, c->mapped_root);
  if (!all_have_packages(&known))
    read_dpkg_lists(&known, "");
  for (size_t i = 0; i < known.count; ++i)
    free(known.paths[i].real_path);
  free(known.paths);
}
