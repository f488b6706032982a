/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cache/settings.h"

#include "base/error.h"
#include "base/size.h"
#include "system/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kdl_status read_mode(kdl_cache_mode *out_mode) {
  static const struct {
    const char *name;
    kdl_cache_mode mode;
  } modes[] = {{"on", KDL_CACHE_ON}, {"ro", KDL_CACHE_READ_ONLY}, {"off", KDL_CACHE_OFF}};
  const char *name = kdl_environment("KDL_CACHE");
  *out_mode = KDL_CACHE_ON;
  if (!name)
    return KDL_OK;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    if (strcmp(name, modes[i].name) == 0) {
      *out_mode = modes[i].mode;
      return KDL_OK;
    }
  }
  return kdl_fail(KDL_BAD_CALL, "KDL_CACHE: found \"%s\", expected on, ro or off", name);
}

/* A path that is not absolute would mean another folder whenever the program changes its own. */
static bool take_dir(const char *root, const char *below, char *out_dir) {
  return root && root[0] == '/' && snprintf(out_dir, PATH_MAX, "%s%s", root, below) < PATH_MAX;
}

static kdl_status read_dir(char *out_dir) {
  const char *own = kdl_environment("KDL_CACHE_DIR");
  if (own && !take_dir(own, "", out_dir))
    return kdl_fail(KDL_BAD_CALL, "KDL_CACHE_DIR: found \"%.200s\", expected an absolute path",
                    own);
  if (own || take_dir(secure_getenv("XDG_CACHE_HOME"), "/kdl", out_dir) ||
      take_dir(secure_getenv("HOME"), "/.cache/kdl", out_dir))
    return KDL_OK;
  return kdl_fail(KDL_NO_MATCH,
                  "found none of KDL_CACHE_DIR, XDG_CACHE_HOME and HOME, expected one to say where "
                  "the cache lies");
}

kdl_status kdl_cache_settings_read(kdl_cache_settings *out_settings) {
  kdl_cache_settings made = {.mode = KDL_CACHE_OFF, .limit = KDL_CACHE_DEFAULT_LIMIT};
  kdl_status status = KDL_OK;
  if (!kdl_is_privileged()) {
    const char *size = kdl_environment("KDL_CACHE_SIZE");
    status = read_mode(&made.mode);
    if (status == KDL_OK && size) {
      status = kdl_size_parse(size, &made.limit);
      if (status != KDL_OK)
        kdl_error_prefix("KDL_CACHE_SIZE");
    }
    if (status == KDL_OK)
      status = read_dir(made.dir);
  }
  if (status == KDL_OK)
    *out_settings = made;
  return status;
}
