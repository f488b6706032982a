/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "job.h"

#include "support/base/error.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Written and read by the same program, so as it lies in memory. */
typedef struct {
  char device[256];
  char library[PATH_MAX];
  char kernel[512];
  uint32_t grid[3], block[3];
  uint32_t arg_count;
  uint32_t arg_sizes[PEER_ARGS_LIMIT], arg_offsets[PEER_ARGS_LIMIT];
  bool arg_is_buffer[PEER_ARGS_LIMIT];
  size_t args_size, buffer_size;
  bool has_buffer_data;
  bool was_in_memory;
  char args[PEER_ARGS_BYTES];
} saved_job;

static const char *const job_file_names[] = {"job", "image", "library.offload", "buffer"};
enum { job_file, image_file, library_file, buffer_file, file_count };

static void job_file_path(const job_folder *folder, int file, char path[PATH_MAX]) {
  snprintf(path, PATH_MAX, "%s/%s", folder->path, job_file_names[file]);
}

static kdl_status save_job_file(const job_folder *folder, int file, const void *data, size_t size) {
  char path[PATH_MAX];
  job_file_path(folder, file, path);
  return kdl_file_save(path, data, size);
}

kdl_status job_save(const peer_job *job, job_folder *out_folder) {
  if (!peer_args_fit(job))
    return kdl_fail(KDL_BAD_CALL, "%s", peer_error());
  peer_temporary("bench", out_folder->path);
  if (!mkdtemp(out_folder->path))
    return kdl_fail(KDL_IO, "%s: cannot be made: %s", out_folder->path, strerror(errno));
  static saved_job saved;
  memset(&saved, 0, sizeof saved);
  snprintf(saved.device, sizeof saved.device, "%s", job->device);
  snprintf(saved.kernel, sizeof saved.kernel, "%s", job->kernel);
  kdl_status status = KDL_OK;
  if (job->library) {
    if (!realpath(job->library, saved.library))
      status = kdl_fail(KDL_IO, "%s: %s", job->library, strerror(errno));
  } else {
    saved.was_in_memory = true;
    job_file_path(out_folder, library_file, saved.library);
    status = save_job_file(out_folder, library_file, job->data, job->data_size);
  }
  memcpy(saved.grid, job->grid, sizeof saved.grid);
  memcpy(saved.block, job->block, sizeof saved.block);
  saved.arg_count = job->arg_count;
  for (uint32_t i = 0; i < job->arg_count; ++i) {
    saved.arg_sizes[i] = job->arg_sizes[i];
    saved.arg_offsets[i] = job->arg_offsets[i];
    saved.arg_is_buffer[i] = job->arg_is_buffer[i];
  }
  saved.args_size = job->args_size;
  saved.buffer_size = job->buffer_size;
  saved.has_buffer_data = job->buffer_data != NULL;
  memcpy(saved.args, job->args, job->args_size);
  if (status == KDL_OK)
    status = save_job_file(out_folder, job_file, &saved, sizeof saved);
  if (status == KDL_OK)
    status = save_job_file(out_folder, image_file, job->image, job->image_size);
  if (status == KDL_OK && job->buffer_data)
    status = save_job_file(out_folder, buffer_file, job->buffer_data, job->buffer_size);
  if (status != KDL_OK)
    job_remove(out_folder);
  return status;
}

void job_remove(const job_folder *folder) {
  for (int i = 0; i < file_count; ++i) {
    char path[PATH_MAX];
    job_file_path(folder, i, path);
    unlink(path);
  }
  rmdir(folder->path);
}

/* ------------------------------------------------------------------------------------------ */
/* In the process                                                                               */

static bool read_exactly(int file, char *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t more = read(file, data + done, size - done);
    if (more <= 0)
      return false;
    done += (size_t)more;
  }
  data[size] = '\0'; /* PTX must end in one */
  return true;
}

static void *read_job_file(const char *path, size_t *out_size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file < 0)
    return NULL;
  char *data = fstat(file, &info) == 0 ? malloc((size_t)info.st_size + 1) : NULL;
  *out_size = data ? (size_t)info.st_size : 0;
  if (data && !read_exactly(file, data, *out_size)) {
    free(data);
    data = NULL;
  }
  close(file);
  return data;
}

bool job_load(const char *folder_path, job_library_source place, peer_job *out_job) {
  job_folder folder;
  char path[PATH_MAX];
  size_t size = 0;
  snprintf(folder.path, sizeof folder.path, "%s", folder_path);
  job_file_path(&folder, job_file, path);
  static saved_job saved;
  void *bytes = read_job_file(path, &size);
  if (!bytes || size != sizeof saved) {
    free(bytes);
    return peer_fail("%s: cannot be read", path);
  }
  memcpy(&saved, bytes, sizeof saved);
  free(bytes);
  *out_job = (peer_job){.device = NULL};
  job_file_path(&folder, image_file, path);
  out_job->image = read_job_file(path, &out_job->image_size);
  if (!out_job->image)
    return peer_fail("%s: cannot be read", path);
  static char image_path[PATH_MAX];
  memcpy(image_path, path, sizeof image_path);
  out_job->image_path = image_path;
  out_job->device = saved.device;
  out_job->library = saved.library;
  if (saved.was_in_memory && place == JOB_LIBRARY_AS_GIVEN) {
    out_job->data = read_job_file(saved.library, &out_job->data_size);
    out_job->library = NULL;
    if (!out_job->data)
      return peer_fail("%s: cannot be read", saved.library);
  }
  out_job->kernel = saved.kernel;
  memcpy(out_job->grid, saved.grid, sizeof out_job->grid);
  memcpy(out_job->block, saved.block, sizeof out_job->block);
  out_job->arg_count = saved.arg_count;
  out_job->arg_sizes = saved.arg_sizes;
  out_job->arg_offsets = saved.arg_offsets;
  out_job->arg_is_buffer = saved.arg_is_buffer;
  out_job->args = saved.args;
  out_job->args_size = saved.args_size;
  out_job->buffer_size = saved.buffer_size;
  job_file_path(&folder, buffer_file, path);
  if (!saved.has_buffer_data)
    return true;
  out_job->buffer_data = read_job_file(path, &size);
  return out_job->buffer_data || peer_fail("%s: cannot be read", path);
}

void job_unload(const peer_job *job) {
  free((void *)(uintptr_t)job->image);
  free((void *)(uintptr_t)job->data);
  free((void *)(uintptr_t)job->buffer_data);
}
