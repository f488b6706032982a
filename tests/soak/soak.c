/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Opens every file below the folders given, good and damaged, over and over from several threads,
 * while the same threads read libraries they share. What a file gives must be the same each time;
 * at the end no file descriptor may be left open and memory may not have grown.
 */
#include <kdl/kdl.h>

#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
  THREADS = 4,
  MAX_FILES = 4096,
  MAX_SHARED = 64,
  TOUCHED_BYTES = 4096,
  ALLOWED_GROWTH_KIB = 8 * 1024,
};

typedef struct soak_file {
  char *path;
  uint64_t digest;      /* of what the first look gave */
  kdl_library *library; /* kept open and read by all threads, for some */
} soak_file;

static soak_file files[MAX_FILES];
static size_t file_count;
static atomic_bool stop;
static atomic_size_t opened, differed;

static uint64_t mix(uint64_t digest, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; ++i)
    digest = (digest ^ bytes[i]) * 0x100000001b3;
  return digest;
}

static uint64_t mix_number(uint64_t digest, uint64_t value) {
  return mix(digest, &value, sizeof value);
}

static int mix_name(void *user, const kdl_string *name) {
  uint64_t *digest = user;
  *digest = mix(*digest, name->data, name->length);
  return 0;
}

static uint64_t digest_image(kdl_library *lib, size_t index, uint64_t digest) {
  kdl_image_info info = {.size = sizeof info};
  digest = mix_number(digest, kdl_image_get(lib, index, &info));
  digest = mix(digest, info.triple.data, info.triple.length);
  digest = mix(digest, info.arch.data, info.arch.length);
  digest = mix_number(digest, info.byte_count);
  for (size_t i = 0; i < info.pair_count; ++i) {
    digest = mix(digest, info.pairs[i].key.data, info.pairs[i].key.length);
    digest = mix(digest, info.pairs[i].value.data, info.pairs[i].value.length);
  }
  kdl_status status = kdl_image_kernels(lib, index, mix_name, &digest);
  digest = mix_number(digest, status);
  const void *data;
  size_t size;
  status = kdl_image_bytes(lib, index, &data, &size);
  digest = mix_number(digest, status);
  if (status == KDL_OK)
    digest = mix(digest, data, size < TOUCHED_BYTES ? size : TOUCHED_BYTES);
  return digest;
}

static uint64_t digest_library(kdl_library *lib) {
  uint64_t digest = mix_number(0xcbf29ce484222325, kdl_image_count(lib));
  for (size_t i = 0; i < kdl_image_count(lib); ++i)
    digest = digest_image(lib, i, digest);
  return digest;
}

/* A refused file gives its status and its message. */
static uint64_t digest_file(const char *path) {
  kdl_library *lib;
  kdl_status status = kdl_open(path, NULL, &lib);
  if (status != KDL_OK)
    return mix(mix_number(0, status), kdl_error_message(), strlen(kdl_error_message()));
  uint64_t digest = digest_library(lib);
  kdl_close(lib);
  return digest;
}

static int collect(const char *path, const struct stat *info, int type, struct FTW *place) {
  (void)info;
  (void)place;
  if (type != FTW_F || file_count == MAX_FILES)
    return 0;
  files[file_count].path = strdup(path);
  return files[file_count++].path ? 0 : -1;
}

static void *soak(void *seed) {
  uint64_t state = (uint64_t)(size_t)seed + 1;
  while (!atomic_load(&stop)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    soak_file *file = &files[(state >> 33) % file_count];
    uint64_t digest = file->library && (state >> 32) % 2 ? digest_library(file->library)
                                                         : digest_file(file->path);
    atomic_fetch_add(&opened, 1);
    if (digest != file->digest && atomic_fetch_add(&differed, 1) == 0)
      fprintf(stderr, "%s: gave something else than at first: %s\n", file->path,
              kdl_error_message());
  }
  return NULL;
}

static size_t open_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  size_t count = 0;
  while (folder && readdir(folder))
    ++count;
  if (folder)
    closedir(folder);
  return count;
}

static long resident_kib(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "VmRSS:", 6) == 0)
      kib = strtol(line + 6, NULL, 10);
  }
  if (file)
    fclose(file);
  return kib;
}

static void run_threads(unsigned seconds) {
  pthread_t threads[THREADS];
  atomic_store(&stop, false);
  for (size_t i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, soak, (void *)i) != 0)
      abort();
  }
  struct timespec pause = {.tv_sec = seconds};
  nanosleep(&pause, NULL);
  atomic_store(&stop, true);
  for (size_t i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
  const char *request = getenv("KDL_SOAK_SECONDS");
  unsigned seconds = request ? (unsigned)strtoul(request, NULL, 10) : 60;
  for (int i = 1; i < argc; ++i)
    nftw(argv[i], collect, 16, FTW_PHYS);
  if (file_count == 0) {
    fprintf(stderr, "usage: soak FOLDER...; found no file\n");
    return 2;
  }
  size_t shared = 0;
  for (size_t i = 0; i < file_count; ++i) {
    files[i].digest = digest_file(files[i].path);
    if (shared < MAX_SHARED && kdl_open(files[i].path, NULL, &files[i].library) == KDL_OK)
      ++shared;
  }

  /* The first second fills allocator caches, one per thread; growth counts from there. */
  run_threads(1);
  size_t descriptors = open_descriptors();
  long memory = resident_kib();
  run_threads(seconds);
  size_t descriptors_left = open_descriptors() - descriptors;
  long growth = resident_kib() - memory;

  for (size_t i = 0; i < file_count; ++i) {
    kdl_close(files[i].library);
    free(files[i].path);
  }
  printf("%zu files, %zu of them shared: looked at %zu times by %d threads in %u s; %zu differed, "
         "%zu descriptors left open, %ld KiB grown\n",
         file_count, shared, atomic_load(&opened), THREADS, seconds, atomic_load(&differed),
         descriptors_left, growth);
  bool grown = KDL_SOAK_CHECK_MEMORY && growth > ALLOWED_GROWTH_KIB;
  return atomic_load(&differed) || descriptors_left || grown ? 1 : 0;
}
