/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/named.h"

#include "base/error.h"
#include "base/nearest.h"
#include "device/spec_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const kdl_named_device devices[] = {
#define KDL_NAMED_DEVICE(name, line) {name, line},
#include "device/named.def"
#undef KDL_NAMED_DEVICE
};
enum { device_count = sizeof devices / sizeof *devices };

enum { largest_file = 1 << 20 };

const kdl_named_device *kdl_named_device_at(size_t index) {
  return index < device_count ? &devices[index] : NULL;
}

const kdl_named_device *kdl_named_device_find(kdl_string name) {
  for (size_t i = 0; i < device_count; ++i) {
    if (strlen(devices[i].name) == name.length &&
        strncasecmp(devices[i].name, name.data, name.length) == 0)
      return &devices[i];
  }
  return NULL;
}

static kdl_status unknown_name(kdl_string name) {
  kdl_nearest nearest = kdl_nearest_to(name);
  char known[1024];
  kdl_out out = {known, sizeof known, 0};
  for (size_t i = 0; i < device_count; ++i) {
    kdl_nearest_offer(&nearest, devices[i].name);
    kdl_out_format(&out, " %s", devices[i].name);
  }
  return kdl_fail(
      KDL_BAD_CALL,
      "device '%.*s': offset 0: found no device of that name%s%s%s, expected one of:%s, "
      "an architecture as sm_90, a spec BACKEND:ARCH [KEY=VALUE]..., or @FILE",
      (int)(name.length < 64 ? name.length : 64), name.data, nearest.best ? " (did you mean '" : "",
      nearest.best ? nearest.best : "", nearest.best ? "'?)" : "", known);
}

static kdl_status resolve_name(const char *text, kdl_string name, size_t end,
                               kdl_device_spec *out_spec) {
  const kdl_named_device *named = kdl_named_device_find(name);
  if (!named)
    return unknown_name(name);
  kdl_device_spec spec;
  kdl_status status = kdl_device_spec_parse(named->line, &spec);
  if (status == KDL_OK)
    status = kdl_device_spec_parse_keys(text, end, &spec);
  if (status == KDL_OK)
    *out_spec = spec;
  return status;
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
  FILE *file = fopen(path, "rbe");
  if (!file)
    return kdl_fail(kdl_status_of(errno), "%s: cannot open: %s", path, strerror(errno));
  char *data = malloc(largest_file + 1);
  size_t size = data ? fread(data, 1, largest_file + 1, file) : 0;
  kdl_status status = KDL_OK;
  if (!data)
    status = kdl_fail(KDL_NO_MEMORY, "%s: out of memory", path);
  else if (ferror(file))
    status = kdl_fail(kdl_status_of(errno), "%s: cannot read: %s", path, strerror(errno));
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

static kdl_status resolve_file(const char *name, kdl_device_spec *out_spec) {
  char path[4096];
  if (strlen(name) >= sizeof path)
    return kdl_fail(KDL_BAD_CALL, "found a file name of %zu bytes, expected less than %zu",
                    strlen(name), sizeof path);
  memcpy(path, name, strlen(name) + 1);
  size_t index = split_index(path);
  char *data;
  size_t size;
  size_t count;
  kdl_status status = read_small_file(path, &data, &size);
  if (status != KDL_OK)
    return status;
  status = kdl_device_spec_read_json(path, data, size, index, out_spec, &count);
  free(data);
  return status;
}

/* Architectures that one backend alone has, so that they name a device without it. */
static bool backend_of_arch(kdl_string arch, kdl_backend *out_backend) {
  static const struct {
    const char *start;
    kdl_backend backend;
  } starts[] = {{"sm_", KDL_BACKEND_CUDA},    {"gfx", KDL_BACKEND_HIP},
                {"x86-64", KDL_BACKEND_HOST}, {"armv8", KDL_BACKEND_HOST},
                {"armv9", KDL_BACKEND_HOST},  {"rv64", KDL_BACKEND_HOST}};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; ++i) {
    if (kdl_text_starts(arch, starts[i].start)) {
      *out_backend = starts[i].backend;
      return true;
    }
  }
  return false;
}

static kdl_status resolve_arch(const char *text, kdl_backend backend, kdl_device_spec *out_spec) {
  char line[KDL_SPEC_LINE];
  int length = snprintf(line, sizeof line, "%s:%s", kdl_backend_name(backend), text);
  if (length < 0 || (size_t)length >= sizeof line)
    return kdl_fail(KDL_BAD_CALL, "device spec: found %zu bytes, expected less than %zu",
                    strlen(text), sizeof line);
  return kdl_device_spec_parse(line, out_spec);
}

kdl_status kdl_device_spec_resolve(const char *text, kdl_device_spec *out_spec) {
  text += strspn(text, " \t");
  if (*text == '@')
    return resolve_file(text + 1, out_spec);
  kdl_string name = {text, strcspn(text, " \t")};
  kdl_backend backend;
  if (backend_of_arch(name, &backend))
    return resolve_arch(text, backend, out_spec);
  if (name.length == 0 || memchr(name.data, ':', name.length))
    return kdl_device_spec_parse(text, out_spec);
  return resolve_name(text, name, name.length, out_spec);
}
