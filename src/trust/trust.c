/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "trust/trust.h"

#include "base/error.h"
#include "system/environment.h"
#include "system/file.h"
#include "trust/remembered.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_keys = 64, largest_file = 4096 };

static struct {
  kdl_trust_policy policy;
  bool is_bad; /* KDL_TRUST is no such word */
  char bad[64];
  char folder[PATH_MAX]; /* of the keys */
  kdl_public_key keys[most_keys];
  size_t key_count;
} trust;

/* ------------------------------------------------------------------------------------------ */
/* What the system and the user say                                                             */

static bool read_text(const char *path, char text[largest_file], kdl_string *out_text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  size_t size = 0;
  bool is_read = fd >= 0 && kdl_fd_read(fd, text, largest_file, &size) && size < largest_file;
  if (fd >= 0)
    close(fd);
  *out_text = (kdl_string){text, size};
  return is_read;
}

static bool parse_policy(kdl_string word, kdl_trust_policy *out_policy) {
  static const struct {
    const char *name;
    kdl_trust_policy policy;
  } names[] = {{"off", KDL_TRUST_OFF}, {"warn", KDL_TRUST_WARN}, {"require", KDL_TRUST_REQUIRE}};
  while (word.length && strchr(" \t\r\n", word.data[word.length - 1]))
    --word.length;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (kdl_text_is(word, names[i].name)) {
      *out_policy = names[i].policy;
      return true;
    }
  }
  return false;
}

static void note_bad(kdl_string word) {
  trust.is_bad = true;
  snprintf(trust.bad, sizeof trust.bad, "%.*s", (int)(word.length < 60 ? word.length : 60),
           word.data);
  kdl_plain(trust.bad, sizeof trust.bad);
}

/* A folder in the place of /etc/kdl is for tests and for users' own keys. */
static void read_system(char text[largest_file]) {
  const char *folder = kdl_environment("KDL_TRUST_DIR");
  char path[PATH_MAX];
  kdl_string word;
  if (!folder)
    folder = "/etc/kdl";
  snprintf(trust.folder, sizeof trust.folder, "%.*s/keys.d", PATH_MAX - 16, folder);
  snprintf(path, sizeof path, "%.*s/trust", PATH_MAX - 16, folder);
  if (read_text(path, text, &word) && !parse_policy(word, &trust.policy))
    note_bad(word);
}

kdl_trust_policy kdl_trust_decide(kdl_trust_policy of_system, kdl_trust_policy of_user,
                                  bool is_privileged) {
  if (is_privileged && of_user < of_system)
    return of_system;
  return of_user;
}

static void read_user(void) {
  const char *text = getenv("KDL_TRUST");
  kdl_trust_policy policy = KDL_TRUST_OFF;
  if (!text || !*text)
    return;
  if (!parse_policy(kdl_text_of(text), &policy))
    note_bad(kdl_text_of(text));
  else
    trust.policy = kdl_trust_decide(trust.policy, policy, kdl_is_privileged());
}

/* A file that is no key is left out: of what others signed, none is then trusted more. */
static void read_keys(char text[largest_file]) {
  DIR *folder = opendir(trust.folder);
  const struct dirent *entry;
  while (folder && trust.key_count < most_keys && (entry = readdir(folder))) {
    char path[PATH_MAX + 256];
    kdl_string content;
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 4, ".pub") != 0)
      continue;
    snprintf(path, sizeof path, "%s/%s", trust.folder, entry->d_name);
    if (read_text(path, text, &content) &&
        kdl_public_key_read(path, content, &trust.keys[trust.key_count]) == KDL_OK)
      ++trust.key_count;
    else
      fprintf(stderr, "kdl: warning: %s: found no public key of minisign's\n", path);
  }
  if (folder)
    closedir(folder);
}

static void read_all(void) {
  char text[largest_file];
  read_system(text);
  read_user();
  if (trust.policy != KDL_TRUST_OFF)
    read_keys(text);
}

kdl_status kdl_trust_read_policy(kdl_trust_policy *out_policy) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_all);
  *out_policy = trust.policy;
  return trust.is_bad
             ? kdl_fail(KDL_BAD_CALL, "KDL_TRUST: found \"%s\", expected require, warn or off",
                        trust.bad)
             : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Checking                                                                                     */

kdl_status kdl_trust_check_by(const kdl_signature *signature, kdl_string message,
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
  kdl_status status = kdl_signed_message(images, count, &message);
  if (status != KDL_OK)
    return status;
  snprintf(where, sizeof where, "in %s", trust.folder);
  status = kdl_trust_check_by(signature, message, trust.keys, trust.key_count, where);
  free((char *)message.data);
  return status;
}

static kdl_status check_signature(const kdl_signed_image *image) {
  kdl_signature signature;
  const kdl_string *line = NULL;
  for (size_t i = 0; i < image->pair_count; ++i) {
    if (kdl_text_is(image->pairs[i].key, KDL_SIGNATURE_KEY))
      line = &image->pairs[i].value;
  }
  kdl_status status = kdl_signature_read_line(line ? *line : (kdl_string){"", 0}, &signature);
  return status == KDL_OK ? check_message(&signature, image, 1) : status;
}

static kdl_status judge(kdl_status status, kdl_trust_policy policy, const char *file,
                        uint32_t index) {
  if (status == KDL_OK || policy == KDL_TRUST_REQUIRE)
    return status;
  fprintf(stderr, "kdl: warning: %s: image %u: %s\n", file, index, kdl_error_message());
  return KDL_OK;
}

kdl_status kdl_trust_check(const char *file, uint32_t index, const kdl_signed_image *image) {
  const kdl_string none = {"", 0};
  kdl_trust_policy policy;
  kdl_status status = kdl_trust_read_policy(&policy);
  if (status != KDL_OK || policy == KDL_TRUST_OFF || kdl_remembered_has(none, image, 1))
    return status;
  status = check_signature(image);
  if (status == KDL_OK)
    kdl_remembered_add(none, image, 1);
  return judge(status, policy, file, index);
}

/* The file is read again each time: it may be another one by now. */
static kdl_status check_beside(const char *path, kdl_string text, const kdl_signed_image *images,
                               size_t count) {
  kdl_signature signature;
  if (kdl_remembered_has(text, images, count))
    return KDL_OK;
  kdl_status status = kdl_signature_read_file(path, text, &signature);
  if (status == KDL_OK)
    status = check_message(&signature, images, count);
  if (status == KDL_OK)
    kdl_remembered_add(text, images, count);
  return status;
}

kdl_status kdl_trust_check_beside(const char *file, uint32_t index, const kdl_signed_image *images,
                                  size_t count) {
  char path[PATH_MAX], content[largest_file];
  kdl_string text;
  kdl_trust_policy policy;
  kdl_status status = kdl_trust_read_policy(&policy);
  if (status != KDL_OK || policy == KDL_TRUST_OFF)
    return status;
  snprintf(path, sizeof path, "%.*s.minisig", PATH_MAX - 16, file);
  status = read_text(path, content, &text)
               ? check_beside(path, text, images, count)
               : kdl_fail(KDL_BAD_FILE,
                          "kdl.signature: found none, nor %s; expected one of a key in %s: `kdl "
                          "sign %s --key=SECRET` signs it, KDL_TRUST=off loads it as it is",
                          path, trust.folder, file);
  return judge(status, policy, file, index);
}
