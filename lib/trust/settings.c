/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/trust/settings.h"

#include "support/base/cancel.h"
#include "support/system/environment.h"
#include "support/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kdl_trust_settings settings;

static const char *const policy_names[] = {
    [KDL_TRUST_OFF] = "off", [KDL_TRUST_WARN] = "warn", [KDL_TRUST_REQUIRE] = "require"};

const char *kdl_trust_policy_name(kdl_trust_policy policy) {
  return policy_names[policy];
}

static void record_problem(const char *where, const char *found, const char *expected) {
  if (!*settings.problem)
    snprintf(settings.problem, sizeof settings.problem, "%s: found %s, expected %s", where, found,
             expected);
  kdl_text_escape_controls(settings.problem, sizeof settings.problem);
}

/* Records an error of the operating system. */
static void record_errno(const char *where, const char *expected) {
  settings.is_out_of_memory |= !*settings.problem && errno == ENOMEM;
  record_problem(where, strerror(errno), expected);
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

bool kdl_trust_read_file(int fd, char text[KDL_TRUST_LIMIT_FILE], kdl_string *out_text) {
  size_t size = 0;
  bool is_read = kdl_fd_read(fd, text, KDL_TRUST_LIMIT_FILE, &size) && size < KDL_TRUST_LIMIT_FILE;
  *out_text = (kdl_string){text, size};
  return is_read;
}

/* Whether only root and this user can write to the open file, after all symbolic links; else what
 * was found. */
static bool is_owned_safely(int fd, char out_found[64]) {
  struct stat info;
  if (fstat(fd, &info) != 0) {
    snprintf(out_found, 64, "that it cannot be looked at");
    return false;
  }
  if (info.st_uid != 0 && info.st_uid != geteuid())
    snprintf(out_found, 64, "that it is of user %u", (unsigned)info.st_uid);
  else
    snprintf(out_found, 64, "mode %04o", (unsigned)info.st_mode & 07777);
  return (info.st_uid == 0 || info.st_uid == geteuid()) && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static const char safe_owner_text[] =
    "that it is of root or this user, and that no other may write to it (chmod go-w)";

/* Opens a folder or file of the settings; -1 where it does not exist, or must be ignored. */
static int open_owned(int folder, const char *name, int flags, const char *path) {
  char found[64];
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
  if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
    record_errno(path, "to read it");
  if (fd >= 0 && !is_owned_safely(fd, found)) {
    record_problem(path, found, safe_owner_text);
    close(fd);
    fd = -1;
  }
  return fd;
}

/* ------------------------------------------------------------------------------------------ */
/* The policy                                                                                   */

static bool parse_policy(kdl_string word, kdl_trust_policy *out_policy) {
  while (word.length && strchr(" \t\r\n", word.data[word.length - 1]))
    --word.length;
  for (size_t i = 0; i < sizeof policy_names / sizeof *policy_names; ++i) {
    if (kdl_text_is(word, policy_names[i])) {
      *out_policy = (kdl_trust_policy)i;
      return true;
    }
  }
  return false;
}

static void record_bad_policy(const char *where, kdl_string word) {
  char found[72];
  snprintf(found, sizeof found, "\"%.*s\"", (int)(word.length < 60 ? word.length : 60), word.data);
  record_problem(where, found, "require, warn or off");
}

/* No file means no policy. A file that cannot be read is an error, because it may require
 * signatures. */
static void read_system_policy(int folder, char text[KDL_TRUST_LIMIT_FILE]) {
  char path[PATH_MAX + 16];
  kdl_string word;
  snprintf(path, sizeof path, "%s/trust", settings.folder);
  int fd = open_owned(folder, "trust", 0, path);
  if (fd < 0)
    return;
  if (!kdl_trust_read_file(fd, text, &word))
    record_problem(path, "what cannot be read", "require, warn or off");
  else if (!parse_policy(word, &settings.policy))
    record_bad_policy(path, word);
  close(fd);
}

kdl_trust_policy kdl_trust_effective_policy(kdl_trust_policy of_system, kdl_trust_policy of_user,
                                            bool is_privileged) {
  if (is_privileged && of_user < of_system)
    return of_system;
  return of_user;
}

static void read_user_policy(void) {
  const char *text = kdl_environment(KDL_VARIABLE_TRUST);
  kdl_trust_policy policy = KDL_TRUST_OFF;
  if (!text || !*text)
    return;
  if (!kdl_is_privileged())
    *settings.problem = '\0',
    settings.is_out_of_memory = false; /* the user's policy overrides the system's */
  if (!parse_policy(kdl_text_of(text), &policy))
    record_bad_policy("KDL_TRUST", kdl_text_of(text));
  else
    settings.policy = kdl_trust_effective_policy(settings.policy, policy, kdl_is_privileged());
}

/* ------------------------------------------------------------------------------------------ */
/* Keys                                                                                         */

static int compare_public_keys(const void *left, const void *right) {
  return memcmp(left, right, sizeof(kdl_public_key));
}

/* Ignores a file that is not a key: that trusts fewer images, never more. */
static void read_public_key(int folder, const char *name, char text[KDL_TRUST_LIMIT_FILE]) {
  char path[PATH_MAX + 256], found[64] = "no public key of minisign's";
  kdl_string content;
  kdl_public_key key;
  snprintf(path, sizeof path, "%s/%s", settings.folder, name);
  kdl_text_escape_controls(path, sizeof path);
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (settings.key_count >= KDL_TRUST_LIMIT_KEYS)
    fprintf(stderr, "kdl: warning: %s: is left out: found more than %d keys\n", path,
            KDL_TRUST_LIMIT_KEYS);
  else if (fd >= 0 && !is_owned_safely(fd, found))
    fprintf(stderr, "kdl: warning: %s: is left out: found %s, expected %s\n", path, found,
            safe_owner_text);
  else if (fd < 0 || !kdl_trust_read_file(fd, text, &content) ||
           kdl_public_key_read(path, content, &key) != KDL_OK)
    fprintf(stderr, "kdl: warning: %s: found no public key of minisign's\n", path);
  else
    settings.keys[settings.key_count++] = key;
  if (fd >= 0)
    close(fd);
}

static void read_public_keys(int folder, char text[KDL_TRUST_LIMIT_FILE]) {
  const struct dirent *entry;
  int fd = open_owned(folder, "keys.d", O_DIRECTORY, settings.folder);
  DIR *keys = fd >= 0 ? fdopendir(fd) : NULL;
  if (!keys && fd >= 0) {
    record_errno(settings.folder, "to list it");
    close(fd);
  }
  while (keys && (entry = readdir(keys))) {
    size_t length = strlen(entry->d_name);
    if (length > 4 && strcmp(entry->d_name + length - 4, ".pub") == 0)
      read_public_key(fd, entry->d_name, text);
  }
  if (keys)
    closedir(keys);
  qsort(settings.keys, settings.key_count, sizeof *settings.keys, compare_public_keys);
}

/* ------------------------------------------------------------------------------------------ */

static int open_settings_folder(void) {
  return open_owned(AT_FDCWD, settings.folder, O_DIRECTORY, settings.folder);
}

/* KDL_TRUST_DIR replaces /etc/kdl, for tests and for users' own keys. */
static void read_settings(void) {
  KDL_NOT_CANCELLED;
  char text[KDL_TRUST_LIMIT_FILE];
  const char *base_folder = kdl_environment(KDL_VARIABLE_TRUST_DIR);
  const int length = PATH_MAX - 16;
  base_folder = base_folder ? base_folder : "/etc/kdl";
  snprintf(settings.folder, sizeof settings.folder, "%.*s", length, base_folder);
  int folder = open_settings_folder();
  if (folder >= 0)
    read_system_policy(folder, text);
  read_user_policy();
  if (settings.policy != KDL_TRUST_OFF && folder < 0)
    folder = open_settings_folder(); /* records why there are no keys */
  snprintf(settings.folder, sizeof settings.folder, "%.*s/keys.d", length, base_folder);
  if (settings.policy != KDL_TRUST_OFF && folder >= 0)
    read_public_keys(folder, text);
  if (folder >= 0)
    close(folder);
}

static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static void use_defaults(void) {}

void kdl_trust_disable(void) {
  pthread_once(&settings_once, use_defaults);
}

const kdl_trust_settings *kdl_trust_settings_read(void) {
  pthread_once(&settings_once, read_settings);
  return &settings;
}
