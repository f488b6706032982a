/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/confine/confine.h"

#include "compiler/toolchain/toolchain.h"
#include "ld/confine/worker.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/trust.h"
#include "support/base/error.h"
#include "support/system/environment.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Limits                                                                                       */

/* Damaged bitcode makes LLVM loop, allocate without end, or crash. Keeps lower limits that were set
 * before. Sets the hard limit too, so that no code in this process can raise it. */
static void limit(int resource, rlim_t most) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) != 0)
    return;
  if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
    now.rlim_max = most;
  if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > now.rlim_max)
    now.rlim_cur = now.rlim_max;
  setrlimit((__rlimit_resource_t)resource, &now);
}

void ld_confine_limits(void) {
  enum { seconds = 120 };
  limit(RLIMIT_CPU, seconds);
  limit(RLIMIT_CORE, 0);
#ifndef LD_SANITIZED /* a sanitizer's shadow memory is larger */
  limit(RLIMIT_AS, (rlim_t)16 << 30);
#endif
}

/* From Linux 5.14 on, the processes of a user namespace are counted separately. Before, or without
 * a namespace, all processes of the user count, and no limit is right. Threads count too: ld.lld
 * has at most 16. */
static bool limit_processes(void) {
  enum { processes = 64 };
  struct utsname system;
  unsigned major, minor;
  if (!ld_worker_here().has_users || uname(&system) != 0 ||
      sscanf(system.release, "%u.%u", &major, &minor) != 2 || major < 5 ||
      (major == 5 && minor < 14))
    return false;
  limit(RLIMIT_NPROC, processes);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Environment and capabilities                                                                 */

/* Keeps the variables that linkers and loaders read, and those of the link key. Others may be
 * secrets: their values are overwritten in memory. */
static void scrub_environment(void) {
  static const char *const kept[] = {
      "KDL_",  "PATH=", "LD_",    "LANG=", "LC_", "GLIBC_TUNABLES=",
#ifdef LD_SANITIZED
      "ASAN_", "LSAN_", "UBSAN_",
#endif
  };
  char **to = environ;
  for (char **at = environ; at && *at; ++at) {
    kdl_variable which = kdl_variable_find(*at, strcspn(*at, "="));
    bool is_kept =
        which != KDL_VARIABLE_COUNT && kdl_variable_rule_of(which) == KDL_VARIABLE_RULE_LINK_KEY;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i)
      is_kept |= strncmp(*at, kept[i], strlen(kept[i])) == 0;
    if (is_kept)
      *to++ = *at;
    else
      explicit_bzero(*at, strlen(*at));
  }
  if (to)
    *to = NULL;
}

/* Root keeps the capabilities to open files: Landlock decides which. */
static void drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
  if (syscall(SYS_capget, &header, sets) != 0)
    return;
  const uint32_t files =
      ld_worker_here().has_users ? 0 : 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
  for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    sets[i].permitted &= i == 0 ? files : 0;
    sets[i].effective &= sets[i].permitted;
    sets[i].inheritable = 0;
  }
  syscall(SYS_capset, &header, sets);
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

/* A file and its detached signature. */
static void allow_signed(ld_landlock *landlock, const char *path) {
  char signature[PATH_MAX];
  ld_landlock_allow(landlock, path, LD_LANDLOCK_READ);
  if (snprintf(signature, sizeof signature, "%s.minisig", path) < (int)sizeof signature)
    ld_landlock_allow(landlock, signature, LD_LANDLOCK_READ);
}

/* A library, or a folder of them, with the targets of its symbolic links. */
static void allow_library(ld_landlock *landlock, const char *path) {
  char **files;
  size_t count;
  allow_signed(landlock, path);
  if (kdl_search_folder(path, &files, &count) != KDL_OK || !files)
    return;
  for (size_t i = 0; i < count; ++i)
    allow_signed(landlock, files[i]);
  free(files);
}

/* A program and the libraries that were installed with it. */
static void allow_program(ld_landlock *landlock, const char *path) {
  char real[PATH_MAX], libraries[PATH_MAX];
  static const char *const below[] = {"../lib", "../lib64"};
  if (!realpath(path, real))
    return;
  ld_landlock_allow(landlock, real, LD_LANDLOCK_RUN);
  for (size_t i = 0; i < sizeof below / sizeof *below; ++i) {
    int folder = (int)(strrchr(real, '/') - real);
    if (snprintf(libraries, sizeof libraries, "%.*s/%s", folder, real, below[i]) <
        (int)sizeof libraries)
      ld_landlock_allow(landlock, libraries, LD_LANDLOCK_RUN);
  }
}

/* Folders in which the loader finds libraries; for other than the system's programs they may be
 * anywhere. */
static void allow_listed(ld_landlock *landlock, const char *list) {
  for (const char *at = list; at && *at;) {
    char folder[PATH_MAX];
    size_t length = strcspn(at, ":");
    if (length && length < sizeof folder) {
      snprintf(folder, sizeof folder, "%.*s", (int)length, at);
      ld_landlock_allow(landlock, folder, LD_LANDLOCK_RUN);
    }
    at += length + (at[length] == ':');
  }
}

#ifdef LD_SANITIZED
/* The files that a sanitizer reads when the program ends. */
static void allow_sanitizer(ld_landlock *landlock) {
  static const char key[] = "suppressions=";
  const char *options = kdl_environment(KDL_VARIABLE_LSAN_OPTIONS);
  const char *found = options ? strstr(options, key) : NULL;
  char path[PATH_MAX];
  ld_landlock_allow(landlock, "/proc/self", LD_LANDLOCK_READ);
  if (!found)
    return;
  found += sizeof key - 1;
  size_t length = strcspn(found, ": ");
  if (length >= sizeof path)
    return;
  memcpy(path, found, length);
  path[length] = 0;
  ld_landlock_allow(landlock, path, LD_LANDLOCK_READ);
}
#endif

static void allow_system(ld_landlock *landlock) {
  static const char *const folders[] = {"/usr",
                                        "/bin",
                                        "/lib",
                                        "/lib64",
                                        "/lib32",
                                        "/nix/store",
                                        "/gnu/store",
                                        "/etc/ld.so.cache",
                                        "/etc/ld.so.preload"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i)
    ld_landlock_allow(landlock, folders[i], LD_LANDLOCK_RUN);
  ld_landlock_allow(landlock, "/dev/null", LD_LANDLOCK_WRITE);
  ld_landlock_allow(landlock, "/dev/null", LD_LANDLOCK_READ);
  allow_listed(landlock, kdl_environment(KDL_VARIABLE_LD_LIBRARY_PATH));
#ifdef LD_SANITIZED
  allow_sanitizer(landlock);
#endif
}

static bool restrict_files(const ir_request *request, const char *builtin, const char *portable,
                           int *out_problem, int *out_version) {
  ld_landlock landlock = ld_landlock_begin();
  static const kdl_tool tools[] = {KDL_TOOL_LLD, KDL_TOOL_PTXAS, KDL_TOOL_LLVM_SPIRV};
  allow_system(&landlock);
  for (size_t i = 0; i < sizeof tools / sizeof *tools; ++i) {
    char program[PATH_MAX];
    if (kdl_toolchain_find(tools[i], program))
      allow_program(&landlock, program);
  }
  if (request) {
    ld_landlock_allow(&landlock, request->path, LD_LANDLOCK_READ);
    for (size_t i = 0; i < request->libraries.count; ++i)
      allow_library(&landlock, request->libraries.items[i]);
  }
  if (builtin)
    ld_landlock_allow(&landlock, builtin, LD_LANDLOCK_READ);
  if (portable)
    ld_landlock_allow(&landlock, portable, LD_LANDLOCK_READ);
  bool is_done = ld_landlock_end(&landlock);
  *out_problem = landlock.problem;
  *out_version = landlock.version;
  return is_done;
}

/* ------------------------------------------------------------------------------------------ */
/* Everything                                                                                   */

static kdl_status read_setting(bool *out_off, bool *out_required) {
  const char *word = kdl_environment(KDL_VARIABLE_LD_CONFINE);
  *out_off = word && strcmp(word, "off") == 0;
  *out_required = word && strcmp(word, "require") == 0;
  if (!word || *out_off || *out_required || strcmp(word, "on") == 0)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "KDL_LD_CONFINE: bad value '%s': use on, off or require", word);
}

kdl_status ld_confine_wanted(bool *out_wanted) {
  bool is_off, is_required;
  kdl_status status = read_setting(&is_off, &is_required);
  *out_wanted = !is_off;
  return status;
}

kdl_status ld_confine(const ir_request *request, const char *builtin, const char *portable,
                      ld_confinement *out_confinement) {
  ld_confinement made = {.landlock = 0};
  bool is_required;
  KDL_TRY(read_setting(&made.is_off, &is_required));
  kdl_debug_on(KDL_DEBUG_LINK); /* opens its file while that is still allowed */
  kdl_trust_prepare(request && request->is_checked); /* the same for keys and libsodium */
  made.has_no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (!made.is_off) {
    int version;
    scrub_environment();
    drop_capabilities();
    made.limits_processes = limit_processes();
    if (restrict_files(request, builtin, portable, &made.landlock_problem, &version))
      made.landlock = version;
    /* Signals cannot reach other programs: because of the namespace, or from Landlock version 6
     * on. */
    made.seccomp_problem =
        ld_filter_install(ld_worker_here().has_pids || made.landlock >= 6 ? LD_FILTER_SIGNALS_SCOPED
                                                                          : LD_FILTER_SIGNALS_OWN);
    made.has_seccomp = made.seccomp_problem == 0;
  }
  *out_confinement = made;
  if (is_required && !made.landlock)
    return kdl_fail(KDL_UNSUPPORTED, "KDL_LD_CONFINE=require: Landlock is not in force here: %s",
                    strerror(made.landlock_problem));
  if (is_required && !made.has_seccomp)
    return kdl_fail(KDL_UNSUPPORTED, "KDL_LD_CONFINE=require: seccomp is not in force here: %s",
                    strerror(made.seccomp_problem));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Printing the confinement                                                                     */

/* Whether a descriptor was opened; closes it. */
static bool was_given(int fd) {
  if (fd >= 0)
    close(fd);
  return fd >= 0;
}

static void print_limit(const char *key, int resource) {
  struct rlimit now;
  if (getrlimit((__rlimit_resource_t)resource, &now) != 0 || now.rlim_cur == RLIM_INFINITY)
    printf("%s none\n", key);
  else
    printf("%s %" PRIu64 "\n", key, (uint64_t)now.rlim_cur);
}

static void print_part(const char *key, bool is_in_force, bool is_off, int problem) {
  printf("%s %s%s\n", key, is_in_force ? "yes" : "no: ",
         is_in_force ? ""
         : is_off    ? "KDL_LD_CONFINE=off"
                     : strerror(problem));
}

static void print_tried(const char *key, bool is_allowed) {
  printf("%s %s\n", key, is_allowed ? "allowed" : "refused");
}

/* Prints what is refused when tried. */
kdl_status ld_confine_print(const char *planted) {
  static const struct timespec as_they_are[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
  ld_confinement made;
  struct rlimit more = {.rlim_max = 0};
  KDL_TRY(ld_confine(NULL, NULL, NULL, &made));
  print_limit("cpu_seconds", RLIMIT_CPU);
  print_limit("memory", RLIMIT_AS);
  if (made.limits_processes)
    print_limit("processes", RLIMIT_NPROC);
  else
    printf("processes not limited\n");
  printf("no_new_privileges %s\n", made.has_no_new_privileges ? "yes" : "no");
  print_part("pid_namespace", ld_worker_here().has_pids, made.is_off, ld_worker_here().problem);
  if (made.landlock)
    printf("landlock %d\n", made.landlock);
  else
    print_part("landlock", false, made.is_off, made.landlock_problem);
  print_part("seccomp", made.has_seccomp, made.is_off, made.seccomp_problem);
  print_tried("read_etc_passwd", was_given(open("/etc/passwd", O_RDONLY | O_CLOEXEC)));
  print_tried("write_tmp", was_given(open(planted, O_WRONLY | O_CLOEXEC)));
  print_tried("socket", was_given(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  print_tried("change_file", utimensat(AT_FDCWD, "/usr", as_they_are, 0) == 0);
  int watches = inotify_init1(IN_CLOEXEC);
  print_tried("watch_file", watches >= 0 && inotify_add_watch(watches, "/usr", IN_OPEN) >= 0);
  was_given(watches);
  bool has_limit = getrlimit(RLIMIT_CPU, &more) == 0;
  ++more.rlim_max;
  print_tried("raise_limits", has_limit && setrlimit(RLIMIT_CPU, &more) == 0);
  return KDL_OK;
}
