/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Feeds files, or every file of a folder, to a fuzz target: the corpus as a regression test. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int give_up(const char *path) {
  fprintf(stderr, "%s: %s\n", path, strerror(errno));
  return -1;
}

/* Each input gets an allocation of exactly its size, so that a sanitizer sees the first byte read
 * beyond it. */
static int replay_file(const char *path, size_t size) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(size ? size : 1);
  int result = -1;
  if (file && data && fread(data, 1, size, file) == size)
    result = LLVMFuzzerTestOneInput(data, size);
  else
    give_up(path);
  free(data);
  if (file)
    fclose(file);
  return result;
}

static int replay(const char *path, size_t *count);

static int replay_folder(const char *path, size_t *count) {
  struct dirent **entries;
  int found = scandir(path, &entries, NULL, alphasort);
  if (found < 0)
    return give_up(path);
  int result = 0;
  for (int i = 0; i < found; ++i) {
    char inner[4096];
    int length = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof inner && result == 0)
      result = replay(inner, count);
    free(entries[i]);
  }
  free(entries);
  return result;
}

static int replay(const char *path, size_t *count) {
  struct stat info;
  if (stat(path, &info) != 0)
    return give_up(path);
  if (S_ISDIR(info.st_mode))
    return replay_folder(path, count);
  ++*count;
  return replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    if (replay(argv[i], &count) != 0)
      return 1;
  }
  printf("replayed %zu inputs\n", count);
  return count ? 0 : 1;
}
