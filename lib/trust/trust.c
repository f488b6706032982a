/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/trust/trust.h"

#include "lib/hooks.h"
#include "lib/trust/settings.h"
#include "lib/trust/verified_cache.h"
#include "support/base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

kdl_status kdl_trust_read_policy(kdl_trust_policy *out_policy) {
  const kdl_trust_settings *settings = kdl_trust_settings_read();
  *out_policy = settings->policy;
  return *settings->problem ? kdl_fail(settings->is_out_of_memory ? KDL_NO_MEMORY : KDL_BAD_CALL,
                                       "%s", settings->problem)
                            : KDL_OK;
}

void kdl_trust_identify(char out_text[KDL_DIGEST_TEXT]) {
  const kdl_trust_settings *settings = kdl_trust_settings_read();
  kdl_digest keys = kdl_digest_of(settings->keys, settings->key_count * sizeof *settings->keys);
  if (settings->policy == KDL_TRUST_REQUIRE)
    kdl_digest_print(&keys, out_text);
  else
    snprintf(out_text, KDL_DIGEST_TEXT, "%s", kdl_trust_policy_name(settings->policy));
}

void kdl_trust_prepare(bool is_checked) {
  if (is_checked)
    kdl_trust_disable();
  if (kdl_trust_settings_read()->policy != KDL_TRUST_OFF)
    (void)kdl_sodium_open();
}

kdl_status kdl_trust_check_with_keys(const kdl_signature *signature, kdl_string message,
                                     const kdl_public_key *keys, size_t count, const char *where) {
  char id[KDL_KEY_ID_TEXT];
  bool is_known = false;
  for (size_t i = 0; i < count; ++i) {
    bool fits = false;
    if (memcmp(keys[i].id, signature->id, KDL_KEY_ID) != 0)
      continue;
    is_known = true;
    kdl_status status = kdl_signature_check(signature, &keys[i], message, &fits);
    if (status != KDL_OK || fits)
      return status;
  }
  kdl_key_id_print(signature->id, id);
  if (is_known)
    return kdl_fail(KDL_BAD_FILE,
                    "kdl.signature: is not what key %s signed: the image's metadata, its digest or "
                    "the signature was changed",
                    id);
  return kdl_fail(KDL_BAD_FILE, "kdl.signature: found one of key %s, expected one of %zu key%s %s",
                  id, count, count == 1 ? "" : "s", where);
}

static kdl_status check_message(const kdl_signature *signature, const kdl_signed_image *images,
                                size_t count) {
  kdl_string message = {"", 0};
  char where[PATH_MAX + 8];
  const kdl_trust_settings *settings = kdl_trust_settings_read();
  KDL_TRY(kdl_signed_message(images, count, &message));
  snprintf(where, sizeof where, "in %s", settings->folder);
  kdl_status status =
      kdl_trust_check_with_keys(signature, message, settings->keys, settings->key_count, where);
  free((char *)message.data);
  return status;
}

static kdl_status check_embedded(const kdl_signed_image *image) {
  kdl_signature signature;
  const kdl_string *line = NULL;
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (kdl_text_is(image->pairs[i].key, KDL_SIGNATURE_KEY))
      line = &image->pairs[i].value;
  }
  kdl_status status = kdl_signature_read_line(line ? *line : (kdl_string){"", 0}, &signature);
  return status == KDL_OK ? check_message(&signature, image, 1) : status;
}

kdl_status kdl_trust_apply_policy(kdl_status status, const char *file, uint32_t index) {
  char line[PATH_MAX + 1024];
  if (status == KDL_OK || kdl_trust_settings_read()->policy == KDL_TRUST_REQUIRE)
    return status;
  snprintf(line, sizeof line, "kdl: warning: %s: image %u: %s", file, (unsigned)index,
           kdl_error_message());
  kdl_text_escape_controls(line, sizeof line);
  fprintf(stderr, "%s\n", line);
  return KDL_OK;
}

kdl_status kdl_trust_check(const char *file, uint32_t index, const kdl_signed_image *image) {
  const kdl_string none = {"", 0};
  kdl_trust_policy policy;
  kdl_status status = kdl_trust_read_policy(&policy);
  if (status != KDL_OK || policy == KDL_TRUST_OFF || kdl_verified_cache_has(none, image, 1))
    return status;
  status = check_embedded(image);
  if (status == KDL_OK)
    kdl_verified_cache_add(none, image, 1);
  return kdl_trust_apply_policy(status, file, index);
}

static bool read_signature_file(const char *path, char text[KDL_TRUST_LIMIT_FILE],
                                kdl_string *out_text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool is_read = fd >= 0 && kdl_trust_read_file(fd, text, out_text);
  if (fd >= 0)
    close(fd);
  return is_read;
}

static kdl_status check_detached(const char *path, kdl_string text, const kdl_signed_image *images,
                                 size_t count) {
  kdl_signature signature;
  if (kdl_verified_cache_has(text, images, count))
    return KDL_OK;
  KDL_TRY(kdl_signature_read_file(path, text, &signature));
  KDL_TRY(check_message(&signature, images, count));
  kdl_verified_cache_add(text, images, count);
  return KDL_OK;
}

kdl_status kdl_trust_check_detached(const char *file, const kdl_signed_image *images,
                                    size_t count) {
  char path[PATH_MAX], content[KDL_TRUST_LIMIT_FILE];
  kdl_string text;
  snprintf(path, sizeof path, "%.*s.minisig", PATH_MAX - 16, file);
  return read_signature_file(path, content, &text)
             ? check_detached(path, text, images, count)
             : kdl_fail(KDL_BAD_FILE,
                        "kdl.signature: found none, nor %s; expected one of a key in %s: `kdl "
                        "sign %s --key=SECRET` signs it, KDL_TRUST=off loads it as it is",
                        path, kdl_trust_settings_read()->folder, file);
}
