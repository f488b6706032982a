/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/named_devices.h"

#include "lib/device/spec.h"
#include "support/base/error.h"
#include "support/system/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { largest_file = 1 << 20 };

/* NVIDIA's OpenCL takes no newer PTX than the driver's CUDA version, which is what users
 * specify. */
static void limit_ptx(kdl_device_routes *routes) {
  kdl_device_rule rule;
  for (size_t i = 1; i < routes->count; ++i) {
    if (kdl_device_spec_family(&routes->specs[i]) == KDL_FAMILY_NVPTX && !routes->specs[i].ptx &&
        kdl_device_spec_compile(&routes->specs[0], &rule) == KDL_OK)
      routes->specs[i].ptx = rule.ptx;
  }
}

static kdl_status resolve_name(const char *text, size_t length, kdl_device_routes *out_routes) {
  const kdl_named_device *named;
  KDL_TRY(kdl_named_device_find((kdl_string){text, length}, &named));
  kdl_named_device_describe(named, out_routes);
  KDL_TRY(kdl_device_routes_parse_keys(text, length, out_routes));
  limit_ptx(out_routes);
  return KDL_OK;
}

/* A name may contain blanks; it ends before the first KEY=VALUE, or '|'. */
static size_t name_length(const char *text) {
  size_t end = 0;
  for (size_t at = 0; text[at];) {
    size_t length = strcspn(text + at, " \t");
    kdl_string word = {text + at, length};
    if (memchr(word.data, '=', length) || kdl_text_is(word, "|"))
      break;
    end = at + length;
    at = end + strspn(text + end, " \t");
  }
  return end;
}

/* Splits "FILE#INDEX"; a '#' that no number follows belongs to the name. */
static size_t split_index(char *path) {
  char *mark = strrchr(path, '#');
  if (!mark || !kdl_is_digit(mark[1]))
    return 0;
  char *end;
  unsigned long index = strtoul(mark + 1, &end, 10);
  if (*end)
    return 0;
  *mark = '\0';
  return index;
}

static kdl_status read_small_file(const char *path, char **out_data, size_t *out_size) {
  int fd = -1;
  kdl_status status = kdl_input_open(path, &fd);
  if (status != KDL_OK)
    return status;
  FILE *file = fdopen(fd, "rb");
  if (!file) {
    close(fd);
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", path);
  }
  char *data = malloc(largest_file + 1);
  size_t size = data ? fread(data, 1, largest_file + 1, file) : 0;
  if (!data)
    status = kdl_fail(KDL_NO_MEMORY, "%s: out of memory", path);
  else if (ferror(file))
    status = kdl_fail(kdl_status_from_errno(errno), "%s: cannot read: %s", path, strerror(errno));
  else if (size > largest_file)
    status = kdl_fail(KDL_BAD_FILE, "%s: found more than %d bytes, expected device specs in JSON",
                      path, largest_file);
  fclose(file);
  if (status != KDL_OK) {
    free(data);
    return status;
  }
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

static kdl_status resolve_file(const char *name, kdl_device_routes *out_routes) {
  char path[4096];
  if (strlen(name) >= sizeof path)
    return kdl_fail(KDL_BAD_CALL, "found a file name of %zu bytes, expected less than %zu",
                    strlen(name), sizeof path);
  memcpy(path, name, strlen(name) + 1);
  size_t index = split_index(path);
  char *data;
  size_t size;
  size_t count;
  KDL_TRY(read_small_file(path, &data, &size));
  kdl_status status = kdl_device_routes_read_json(path, data, size, index, out_routes, &count);
  free(data);
  return status;
}

static kdl_status resolve_arch(const char *text, kdl_backend backend,
                               kdl_device_routes *out_routes) {
  char line[KDL_SPEC_LINE];
  int length = snprintf(line, sizeof line, "%s:%s", kdl_backend_name(backend), text);
  if (length < 0 || (size_t)length >= sizeof line)
    return kdl_fail(KDL_BAD_CALL, "device spec: found %zu bytes, expected less than %zu",
                    strlen(text), sizeof line);
  return kdl_device_routes_parse(line, out_routes);
}

kdl_status kdl_device_routes_resolve(const char *text, kdl_device_routes *out_routes) {
  text += strspn(text, " \t");
  if (*text == '@')
    return resolve_file(text + 1, out_routes);
  kdl_string word = {text, strcspn(text, " \t")};
  kdl_backend backend;
  if (kdl_backend_of_arch(word, &backend))
    return resolve_arch(text, backend, out_routes);
  size_t length = name_length(text);
  if (length == 0 || memchr(word.data, ':', word.length))
    return kdl_device_routes_parse(text, out_routes);
  return resolve_name(text, length, out_routes);
}

kdl_status kdl_device_spec_resolve(const char *text, kdl_device_spec *out_spec) {
  kdl_device_routes routes;
  KDL_TRY(kdl_device_routes_resolve(text, &routes));
  *out_spec = routes.specs[0];
  return KDL_OK;
}
