/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where two files differ: for builds that should be equal. */
#include "lib/inspect/libraries.h"
#include "pack/diff/diff.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { most_lines = 10000, longest_value = 120 };

static void add_line(diff *d, char *line) {
  diff_bytes *bytes = &d->bytes;
  if (bytes->line_count < most_lines) {
    bytes->lines =
        xgrow(bytes->lines, bytes->line_count, &bytes->line_capacity, 16, sizeof *bytes->lines);
    bytes->lines[bytes->line_count++] = check_copy_string(&d->walk, line);
  }
  free(line);
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

typedef struct {
  diff *d;
  kdl_library *libs[DIFF_SIDES];
  size_t image;
  char name[256];
} image_pair;

static int shown(kdl_string text) {
  return text.length < longest_value ? (int)text.length : longest_value;
}

static const kdl_pair *find_pair(const kdl_image_info *image, kdl_string key) {
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (kdl_text_equal(image->pairs[i].key, key))
      return &image->pairs[i];
  }
  return NULL;
}

static void compare_keys(const image_pair *pair, const kdl_image_info *old,
                         const kdl_image_info *new) {
  for (size_t i = 0; i < old->pair_count; ++i) {
    kdl_string key = old->pairs[i].key, value = old->pairs[i].value;
    const kdl_pair *found = find_pair(new, key);
    if (!found)
      add_line(pair->d, xasprintf("%s: key %.*s is gone", pair->name, shown(key), key.data));
    else if (!kdl_text_equal(found->value, value))
      add_line(pair->d,
               xasprintf("%s: key %.*s: \"%.*s\" -> \"%.*s\"", pair->name, shown(key), key.data,
                         shown(value), value.data, shown(found->value), found->value.data));
  }
  for (size_t i = 0; i < new->pair_count; ++i) {
    kdl_string key = new->pairs[i].key;
    if (!find_pair(old, key))
      add_line(pair->d, xasprintf("%s: key %.*s is new", pair->name, shown(key), key.data));
  }
}

/* Sections at the same place in the table that differ, by name. Files of different tables differ as
 * a whole. */
static char *differing_sections(const void *const data[DIFF_SIDES], const size_t size[DIFF_SIDES]) {
  kdl_elf elf[DIFF_SIDES];
  char *text;
  size_t length;
  for (int side = 0; side < DIFF_SIDES; ++side) {
    if (size[side] < 4 || memcmp(data[side], ELFMAG, SELFMAG) != 0 ||
        kdl_elf_open(data[side], size[side], &elf[side]) != KDL_OK)
      return NULL;
  }
  if (elf[DIFF_OLD].section_count != elf[DIFF_NEW].section_count)
    return NULL;
  FILE *stream = xtext_stream(&text, &length);
  const char *separator = "";
  for (uint64_t i = 1; i < elf[DIFF_OLD].section_count; ++i) {
    kdl_elf_section sections[DIFF_SIDES];
    const char *name;
    size_t name_length;
    bool is_readable = true;
    for (int side = 0; side < DIFF_SIDES; ++side)
      is_readable = is_readable && kdl_elf_read_section(&elf[side], i, &sections[side]) == KDL_OK &&
                    (sections[side].type == SHT_NOBITS ||
                     kdl_in_range(sections[side].offset, sections[side].size, size[side]));
    const kdl_elf_section *old = &sections[DIFF_OLD], *new = &sections[DIFF_NEW];
    if (!is_readable || (old->size == new->size && old->type == SHT_NOBITS) ||
        (old->size == new->size && new->type != SHT_NOBITS &&
         memcmp(elf[DIFF_OLD].data + old->offset, elf[DIFF_NEW].data + new->offset,
                (size_t)old->size) == 0))
      continue;
    if (kdl_elf_section_name(&elf[DIFF_NEW], new, &name, &name_length) != KDL_OK)
      continue;
    fprintf(stream, "%s%.*s", separator, shown((kdl_string){name, name_length}), name);
    separator = ", ";
  }
  xtext_close(stream);
  return text;
}

static void compare_image_bytes(image_pair *pair) {
  const void *data[DIFF_SIDES];
  size_t size[DIFF_SIDES];
  if (kdl_library_acquire_bytes(pair->libs[DIFF_OLD], pair->image, &data[DIFF_OLD],
                                &size[DIFF_OLD]) != KDL_OK)
    return;
  if (kdl_library_acquire_bytes(pair->libs[DIFF_NEW], pair->image, &data[DIFF_NEW],
                                &size[DIFF_NEW]) == KDL_OK) {
    size_t least = size[DIFF_OLD] < size[DIFF_NEW] ? size[DIFF_OLD] : size[DIFF_NEW], at = 0;
    while (at < least &&
           ((const uint8_t *)data[DIFF_OLD])[at] == ((const uint8_t *)data[DIFF_NEW])[at])
      ++at;
    if (at < least || size[DIFF_OLD] != size[DIFF_NEW]) {
      char *sections = differing_sections(data, size);
      if (sections && *sections)
        add_line(pair->d, xasprintf("%s: sections differ: %s", pair->name, sections));
      else
        add_line(pair->d, xasprintf("%s: %zu and %zu bytes, which differ from byte 0x%zx on",
                                    pair->name, size[DIFF_OLD], size[DIFF_NEW], at));
      free(sections);
    }
    kdl_library_release_bytes(pair->libs[DIFF_NEW], pair->image);
  }
  kdl_library_release_bytes(pair->libs[DIFF_OLD], pair->image);
}

static void compare_images(image_pair *pair) {
  size_t counts[DIFF_SIDES];
  for (int side = 0; side < DIFF_SIDES; ++side)
    counts[side] = kdl_image_count(pair->libs[side]);
  if (counts[DIFF_OLD] != counts[DIFF_NEW])
    add_line(pair->d, xasprintf("%zu and %zu images", counts[DIFF_OLD], counts[DIFF_NEW]));
  for (; pair->image < counts[DIFF_OLD] && pair->image < counts[DIFF_NEW]; ++pair->image) {
    kdl_image_info old = cli_image_at(pair->libs[DIFF_OLD], pair->image);
    kdl_image_info new = cli_image_at(pair->libs[DIFF_NEW], pair->image);
    kdl_image_name(pair->libs[DIFF_OLD], (uint32_t)pair->image, pair->name, sizeof pair->name);
    if (old.kind != new.kind || !kdl_text_equal(old.arch, new.arch)) {
      char name[256];
      kdl_image_name(pair->libs[DIFF_NEW], (uint32_t)pair->image, name, sizeof name);
      add_line(pair->d, xasprintf("%s is %s in the new file", pair->name, name));
      continue;
    }
    compare_keys(pair, &old, &new);
    if (!cli_image_kind_is_container(old.kind))
      compare_image_bytes(pair);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static void find_difference(diff_bytes *bytes, const cli_bytes files[DIFF_SIDES]) {
  enum { step = 1 << 16 };
  const uint8_t *old = files[DIFF_OLD].data, *new = files[DIFF_NEW].data;
  size_t least =
      files[DIFF_OLD].size < files[DIFF_NEW].size ? files[DIFF_OLD].size : files[DIFF_NEW].size;
  size_t at = 0;
  while (least - at > step && memcmp(old + at, new + at, step) == 0)
    at += step;
  while (at < least && old[at] == new[at])
    ++at;
  bytes->offset = at;
  bytes->is_equal = files[DIFF_OLD].size == files[DIFF_NEW].size && at == least;
}

/* False where one of them is no library, but an archive. */
static bool compare_libraries(diff *d) {
  image_pair pair = {.d = d};
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE};
  bool is_open = true;
  for (int side = 0; side < DIFF_SIDES; ++side)
    is_open = is_open && kdl_open(d->sides[side].path, &opts, &pair.libs[side]) == KDL_OK;
  if (is_open)
    compare_images(&pair);
  for (int side = 0; side < DIFF_SIDES; ++side) {
    if (pair.libs[side])
      kdl_close(pair.libs[side]);
  }
  return is_open;
}

void diff_compare_bytes(diff *d) {
  cli_bytes files[DIFF_SIDES];
  if (!is_file(d->sides[DIFF_OLD].path) || !is_file(d->sides[DIFF_NEW].path) ||
      cli_bytes_read_file(d->sides[DIFF_OLD].path, &files[DIFF_OLD]) != KDL_OK)
    return;
  if (cli_bytes_read_file(d->sides[DIFF_NEW].path, &files[DIFF_NEW]) == KDL_OK) {
    find_difference(&d->bytes, files);
    cli_bytes_free(&files[DIFF_NEW]);
    d->bytes.is_compared = d->bytes.is_equal || compare_libraries(d);
  }
  cli_bytes_free(&files[DIFF_OLD]);
}
