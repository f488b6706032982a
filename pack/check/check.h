/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data of `kdl check`: every library with device code below some paths, and how each runs on
 * the devices.
 *
 * One thread walks the folders; others read the files it finds. After a file was read, only counts
 * and a few names of it are kept: memory does not grow with the size of the files.
 */
#ifndef KDL_PACK_CHECK_CHECK_H
#define KDL_PACK_CHECK_CHECK_H

#include "lib/inspect/selection.h"
#include "tools/common/demangle.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kernel_list.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"
#include "tools/common/text.h"

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum {
  CHECK_SHOWN_KERNELS = 4,      /* kernels named per reason, unless all are wanted */
  CHECK_LIMIT_DEPENDENCIES = 8, /* runtimes of one library */
  CHECK_LIMIT_GAPS = 64,        /* different reasons of one library on one device */
  CHECK_LIMIT_WORKERS = 16,     /* at most */
  CHECK_FD_PATH_SIZE = 32,
};

/* How well a library runs on a device. */
typedef enum check_outcome {
  CHECK_NATIVE,       /* all of it, as machine code */
  CHECK_JIT,          /* all of it, some compiled by the driver or kdl-ld */
  CHECK_PARTIAL,      /* some kernels run */
  CHECK_NONE,         /* nothing runs, or it has no kernels */
  CHECK_OTHER_VENDOR, /* nothing runs: it targets other vendors' devices */
} check_outcome;

/* Kernels that do not run, for one reason. */
typedef struct check_gap {
  kdl_image_kind kind; /* of the image that comes nearest to running */
  const char *arch;
  uint64_t reasons;
  uint64_t distance; /* of the nearest of these images */
  const char *code, *words, *fix;
  bool needs_source; /* the driver takes OpenCL C, and no SPIR-V */
  bool is_other;     /* of kernels that are for others */
  size_t kernels;
  size_t modules; /* modules whose kernels cannot be listed */
  kdl_string *names;
  size_t name_count, name_capacity;
} check_gap;

typedef enum check_runtime { CHECK_CUDA, CHECK_HIP, CHECK_SYCL } check_runtime;

/* A runtime that a library is linked against. */
typedef struct check_dependency {
  const char *library; /* "libcudart.so.13" */
  check_runtime runtime;
  uint32_t version; /* of the runtime, major << 16 | minor; for CUDA also the oldest driver's; 0:
                       unknown */
} check_dependency;

/* Whether the driver of a device is new enough for a library's runtime. */
typedef enum check_runtime_compat {
  CHECK_COMPAT_NO_RUNTIME, /* the library has no runtime of that driver */
  CHECK_COMPAT_UNKNOWN,    /* the driver's or the runtime's version is unknown */
  CHECK_COMPATIBLE,
  CHECK_COMPAT_RUNTIME_TOO_NEW, /* nothing runs */
} check_runtime_compat;

typedef struct check_verdict {
  check_outcome outcome;
  check_runtime_compat runtime;
  kdl_coverage coverage; /* without the name of a kernel */
  size_t best;           /* kernels that the vendor's best-served device runs, or modules where no
                            kernel can be listed */
  size_t middle;         /* of those of the vendor that run something, what the middle one runs */
  check_gap *gaps;
  size_t gap_count, gap_capacity;
  size_t unlisted_kernels;    /* kernels with reasons beyond CHECK_LIMIT_GAPS */
  bool is_covered_by_sibling; /* siblings run: this one is for other devices */
  size_t kernels_apart;       /* then: its kernels that no sibling runs */
  bool counts_idle;           /* kernels that only end for every device count as hollow */
  bool package_runs;          /* at least in part: check_mark_running_packages */
  bool is_for_other_host; /* its CPU code is not for the processors that the device comes with */
  bool has_better_alternative; /* check_choose_alternatives */
  const char *condition;       /* "with CUDA 12.8 or later": where it answers for alternatives of
                                  which only these run; or NULL */
  const char *conflict;        /* "CUDA": no version of it serves all of the package; or NULL */
} check_verdict;

typedef struct check_library {
  const char *path;    /* of the file, in the user's spelling */
  const char *member;  /* of the archive at `path`; NULL: the file itself */
  const char *package; /* "torch 2.11.0"; NULL: unknown */
  const char *group;   /* its heading in the report: a package, archive or folder */
  const char *set;     /* shared with its images for other architectures; NULL: by its location */
  size_t operand;
  bool is_named;         /* itself an operand */
  bool is_code_object;   /* machine code for one architecture, without a host program */
  bool names_its_arch;   /* so does its file name: a_gfx90a.co */
  bool is_shared_object; /* of a host program */
  bool is_foreign;       /* other runtimes than libkdl load it */
  bool is_x86_64;        /* the host program is for x86-64 */
  uint64_t *kernels;     /* sorted hashes of the names, where its siblings are looked at */
  size_t kernel_count;
  size_t images;
  check_dependency dependencies[CHECK_LIMIT_DEPENDENCIES];
  size_t dependency_count;
  check_verdict *verdicts; /* one per device */
} check_library;

/* A file or folder that could not be read. */
typedef struct check_error {
  const char *path, *message;
} check_error;

/* A path that the user named. */
typedef struct check_operand {
  const char *display_path;
  const char *real_path; /* without links; NULL: unknown */
} check_operand;

/* A file that a process has mapped. */
typedef struct check_mapped {
  const char *path;                /* as the process sees it */
  uint64_t map_device, map_number; /* as listed by the kernel */
  struct stat info;
  int fd;        /* open where its path no longer leads to it; else -1 */
  int reason;    /* errno of finding or opening it, or 0 */
  bool runs;     /* mapped executable */
  bool is_other; /* a device file */
} check_mapped;

struct check_file;

/* Called by several threads at a time; the library is closed afterwards. */
typedef kdl_status check_visit_library(void *user, kdl_library *lib, const struct check_file *file,
                                       const char *member);

typedef struct check {
  cli_devices devices;
  cli_devices typical; /* of every vendor: how well a library serves the best of them */
  cli_devices foreign_devices, foreign_typical; /* the same without libkdl's tools */
  kdl_select_opts opts;
  bool all_names, as_json, allows_partly, is_verbose;
  cli_kernel_list *only;    /* or NULL */
  cli_demangler *demangler; /* or NULL */
  check_operand *operands;
  size_t operand_count;
  check_visit_library *visit; /* gets each library with device code, instead of an evaluation, and
                                 files of several operands once for each; or NULL */
  void *visit_user;

  check_mapped *mapped; /* by the inspected processes */
  size_t mapped_count, mapped_capacity, kept_count;
  bool has_other_root;     /* a process has another root than this one */
  bool is_denied;          /* one of the processes may not be inspected */
  const char *mapped_root; /* root folder of the processes; "" for this one's */

  pthread_mutex_t lock; /* protects all that follows */
  kdl_arena arena;
  check_library *libraries;
  size_t library_count, library_capacity;
  check_error *errors;
  size_t error_count, error_capacity;
  const char **dist_infos; /* folders named *.dist-info */
  size_t dist_info_count, dist_info_capacity;
  bool *is_targeted;      /* by device: a library is for its vendor */
  size_t files;           /* files read */
  size_t files_with_code; /* of those, with device code; archives have several libraries */
  uint64_t bytes_found, bytes_done; /* of files */
  bool is_walked;                   /* all files were found */
  bool is_incomplete; /* a file changed while it was read, memory or disk space ran out for it, or a
                         damaged operand */
} check;

/* ------------------------------------------------------------------------------------------ */
/* Results; any thread                                                                          */

/* Memory that lives as long as the check. */
void *check_alloc(check *c, size_t size);
const char *check_copy_string(check *c, const char *text);
const char *check_copy_substring(check *c, const char *text, size_t length);

/* A NULL message stands for the thread's last failure. */
void check_add_error(check *c, const char *path, const char *message);

/* The same for an errno. */
void check_add_errno(check *c, const char *path, int reason);
void check_add_dist_info(check *c, const char *path);
void check_add_library(check *c, const check_library *library);

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* A regular file to read. */
typedef struct check_file {
  const char *path;
  size_t operand;
  bool
      is_operand; /* named by the user: archives are recognised by their bytes, not by their name */
  const char *open_path; /* NULL: open `path` */
  dev_t device;          /* with `number`: the file expected there; number 0: any */
  ino_t number;
  const char *set;                 /* for the library in it, or NULL */
  struct stat info;                /* when it was found; once open, when it was opened */
  int fd;                          /* once it is open */
  uint64_t part_offset, part_size; /* of the current member; size 0: the file itself */
  bool is_bare_device_code;        /* the file or current member is bare device code */
  bool is_shared_object;           /* or a library for a CPU */
} check_file;

/* Whether the file was written to or truncated since it was opened, so that the result is
 * invalid. */
bool check_was_changed(const check_file *file);

/* A path that opens the same file as `fd`, even if its own path now leads elsewhere. */
const char *check_fd_path(const check_file *file, char room[CHECK_FD_PATH_SIZE]);

/* Reads a file and adds its libraries. */
void check_read_file(check *c, const check_file *file);

/* What the thread reads next of its file, and how much of that is read: for the line that shows how
 * far the check is. */
void check_begin_part(uint64_t from, uint64_t size);
void check_within_part(check *c, size_t done, size_t count);

/* Evaluates an open library, adds it if it has device code, and closes it. `member` and `package`
 * may be NULL. */
kdl_status check_evaluate(check *c, kdl_library *lib, const check_file *file, const char *member,
                          const char *package);

/* Whether libkdl loads the library's code, which it links and translates: an OffloadBinary, or what
 * `kdl embed` wrote. Others are loaded by runtimes of their own. */
bool check_is_loaded_by_libkdl(const kdl_library *lib);

/* Finds the runtimes that a library is linked against, and the CPU it is for. */
void check_find_dependencies(check *c, const check_file *file, check_library *library);

/* Whether the device's driver is new enough for them; if not, the first runtime that it is too old
 * for, and the driver's version. */
check_runtime_compat check_runtime_compatibility(const check_library *library, kdl_device *device,
                                                 const check_dependency **out_need,
                                                 uint32_t *out_driver);

/* Whether the device only comes with AArch64 processors and the library is for x86-64. */
bool check_is_for_other_host(const check_library *library, kdl_device *device);

const char *check_runtime_name(check_runtime runtime);
const char *check_runtime_compat_name(check_runtime_compat fit);

/* Sets what the first bytes say of the file or its current member. */
void check_note_kind(check_file *file, const void *head, size_t size);

/* Whether the first bytes are those of a file that may contain device code. */
bool check_may_have_device_code(const void *head, size_t size);

/* Whether the thread's last failure, with this status, means that there is no device code. */
bool check_is_no_device_code_error(kdl_status status);

/* Archives. */
void check_read_zip(check *c, const check_file *file);
void check_read_tar(check *c, const check_file *file);
void check_read_compressed_tar(check *c, const check_file *file, const char *program);
void check_read_kpack(check *c, const check_file *file);

/* The program that decompresses a stream with these first bytes; NULL for none. */
const char *check_decompressor_for(const void *head, size_t size);

/* An unnamed file on disk: decompressed data may exceed memory. -1 on failure. */
int check_create_temp_file(void);

/* Reads an uncompressed member of an archive, if it begins like device code. */
void check_read_member(check *c, const check_file *file, const char *name, const char *package,
                       uint64_t offset, uint64_t size);

/* The same for any first bytes. */
void check_read_part(check *c, const check_file *file, const char *member, const char *package,
                     uint64_t offset, uint64_t size);

/* Walks the operands and reads all files, on several threads. *out_failed is set where an operand
 * itself could not be read. */
void check_walk(check *c, bool *out_failed);

/* ------------------------------------------------------------------------------------------ */
/* Processes                                                                                    */

/* Records the files that a process has mapped. Returns the number of lines; *out_error is an errno,
 * or 0. */
size_t check_read_maps(check *c, pid_t process, int *out_error);

/* The same for a process ID from the command line. */
kdl_status check_read_process(check *c, const char *number);

/* Runs a program and records what it and its children map, polling every few milliseconds until it
 * ends. *out_code is its exit code as a shell reports it, also where it cannot be run. */
kdl_status check_run_program(check *c, const char *const *words, int *out_code);

/* Calls `visit` for each mapped file. */
typedef void check_visit_file(void *user, const check_file *file);
void check_visit_mapped(check *c, check_visit_file *take, void *user);

void check_free_mapped(check *c);

/* ------------------------------------------------------------------------------------------ */

/* Finds the packages of the libraries. */
void check_find_packages(check *c);

/* ------------------------------------------------------------------------------------------ */
/* Reporting                                                                                    */

/* Whether a library runs on a device. The last two do not count. */
typedef enum check_answer {
  CHECK_YES,    /* check_runs_what_is_expected, and half of what the vendor's best-served device
                   runs; with --only all listed kernels run */
  CHECK_PARTLY, /* less */
  CHECK_NO,     /* nothing */
  CHECK_OTHER,  /* it is for other vendors' devices, and another library is for this one's; or it
                   is a code object whose siblings run, or an alternative of a library that runs
                   better */
  CHECK_EMPTY,  /* it has no kernels */
} check_answer;

check_answer check_answer_of(const check *c, const check_library *library, size_t device);

/* "yes", "partly", "no", "other", "empty" */
const char *check_answer_name(check_answer answer);

/* Whether the library's answer is one for exit code 3. */
bool check_fails(const check *c, const check_library *library, size_t device);

/* Whether any library fails on one of the devices. */
bool check_any_fails(const check *c);

/* Kernels of a library on a device, or modules where no kernel can be listed. */
typedef struct check_counts {
  size_t run;
  size_t missing; /* of those that do not run: hollow ones, and those with an image that is neither
                     for another vendor nor for one other architecture */
  size_t other;   /* the others */
} check_counts;

check_counts check_count(const check_verdict *verdict);

/* Whether the device runs 0.8 of what is for it, or of what the vendor's best-served device runs;
 * of a library with kernels for each generation, of what the middle device runs. */
bool check_runs_what_is_expected(const check_verdict *verdict);

const char *check_outcome_name(check_outcome outcome);

/* "path" or "path!member", allocated with the check. */
const char *check_display_path(check *c, const check_library *library);

/* Code for other architectures beside code that runs. Libraries are sorted. */
void check_mark_covered_by_siblings(check *c);

/* Sets the group of each library. */
void check_assign_groups(check *c);

/* Of libraries of a group that are alternatives of each other, lets one answer for all. */
void check_choose_alternatives(check *c);

/* Finds the libraries of packages that run, at least in part. */
void check_mark_running_packages(check *c);

/* Whether the file name says for which version of a runtime it is built. */
bool check_names_a_version(const char *file);

int check_compare_hashes(const void *left, const void *right);

/* Advice below a row of a table: a build to look for (try), or a step (fix). `near`, which may be
 * NULL: the nearest code for another architecture. */
void check_add_advice(check *c, cli_table *table, const check_gap *gap, const check_gap *near,
                      size_t device);

/* A line per package and device. */
kdl_status check_print_summary(check *c);

kdl_status check_print_text(check *c);
kdl_status check_print_json(check *c);

#endif
