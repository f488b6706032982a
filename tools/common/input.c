/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/input.h"

#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_LIMIT ((size_t)4 << 30)

static bool stdin_used;

static bool is_stdin(const char *path) {
  return strcmp(path, "-") == 0;
}

static const char *display_name(const char *path) {
  return is_stdin(path) ? "<stdin>" : path;
}

static kdl_status fail_input(const char *path, const char *step) {
  return kdl_fail(kdl_status_from_errno(errno), "%s: cannot %s: %s", display_name(path), step,
                  strerror(errno));
}

static kdl_status read_pipe(const char *path, int fd, cli_bytes *out) {
  size_t capacity = 1 << 16;
  size_t size = 0;
  char *data = xmalloc(capacity);
  kdl_status status = KDL_OK;
  for (;;) {
    ssize_t got = read(fd, data + size, capacity - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      status = fail_input(path, "read");
    if (got <= 0)
      break;
    size += (size_t)got;
    if (size == PIPE_LIMIT) {
      status = kdl_fail(KDL_NO_MEMORY,
                        "%s: found %zu GiB and no end, expected less: a pipe is read into memory; "
                        "use a file",
                        display_name(path), PIPE_LIMIT >> 30);
      break;
    }
    if (size == capacity)
      data = xrealloc(data, capacity *= 2);
  }
  if (status == KDL_OK)
    *out = (cli_bytes){.data = data, .size = size, .owned = data};
  else
    free(data);
  return status;
}

static kdl_status map_input(const char *path, int fd, off_t size, cli_bytes *out) {
  *out = (cli_bytes){.data = "", .size = (size_t)size};
  if (size == 0)
    return KDL_OK;
  void *mapping = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapping == MAP_FAILED)
    return fail_input(path, "map");
  out->data = out->owned = mapping;
  out->mapped = true;
  return KDL_OK;
}

kdl_status cli_bytes_read_open(const char *path, int fd, cli_bytes *out_bytes) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return fail_input(path, "look at it");
  return S_ISREG(info.st_mode) && !is_stdin(path) ? map_input(path, fd, info.st_size, out_bytes)
                                                  : read_pipe(path, fd, out_bytes);
}

kdl_status cli_bytes_read(const char *path, cli_bytes *out_bytes) {
  if (is_stdin(path)) {
    if (stdin_used)
      return kdl_fail(KDL_BAD_CALL, "'-' is given twice: standard input can be read once");
    stdin_used = true;
  }
  int fd = STDIN_FILENO;
  KDL_TRY(is_stdin(path) ? kdl_input_check(fd, display_name(path)) : kdl_input_open(path, &fd));
  kdl_status status = cli_bytes_read_open(path, fd, out_bytes);
  if (!is_stdin(path))
    close(fd);
  return status;
}

kdl_status cli_bytes_read_file(const char *path, cli_bytes *out_bytes) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return fail_input(path, "open");
  kdl_status status;
  if (fstat(fd, &info) != 0)
    status = fail_input(path, "look at it");
  else if (S_ISREG(info.st_mode))
    status = map_input(path, fd, info.st_size, out_bytes);
  else
    status =
        kdl_fail(KDL_BAD_FILE,
                 "%s: found a directory, device, pipe or socket, expected a regular file", path);
  close(fd);
  return status;
}

void cli_bytes_free(cli_bytes *bytes) {
  if (bytes->mapped)
    munmap(bytes->owned, bytes->size);
  else
    free(bytes->owned);
}

/* Whether a path must be read sequentially. kdl_open reports the error of a path that stat fails
 * for. */
static bool is_pipe(const char *path) {
  struct stat info;
  return is_stdin(path) ||
         (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

kdl_status cli_input_take(const char *path, cli_bytes *bytes, cli_input *out_input) {
  *out_input = (cli_input){.name = display_name(path)};
  kdl_open_opts opts = {.size = sizeof opts, .name = out_input->name};
  KDL_TRY(kdl_open_memory(bytes->data, bytes->size, &opts, &out_input->lib));
  out_input->bytes = *bytes;
  *bytes = (cli_bytes){.data = NULL};
  return KDL_OK;
}

kdl_status cli_input_open(const char *path, cli_input *out_input) {
  *out_input = (cli_input){.name = display_name(path)};
  kdl_open_opts as_it_stands = {.size = sizeof as_it_stands, .flags = KDL_OPEN_FILE};
  if (!is_pipe(path))
    return kdl_open(path, &as_it_stands, &out_input->lib);
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_status status = cli_input_take(path, &bytes, out_input);
  if (status != KDL_OK)
    cli_bytes_free(&bytes);
  return status;
}

void cli_input_close(cli_input *input) {
  kdl_close(input->lib);
  cli_bytes_free(&input->bytes);
}

kdl_status cli_kernel_check(const cli_input *input, const char *kernel) {
  kdl_catalog *catalog;
  kdl_status status = kdl_library_catalog(input->lib, &catalog);
  if (status == KDL_OK)
    status = kdl_catalog_require_kernel(catalog, kdl_text_of(kernel));
  if (status != KDL_OK)
    kdl_error_prefix("%s", input->name);
  return status;
}
