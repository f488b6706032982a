/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What `kdl check` finds: every library with device code below some paths, and of each what runs on
 * the devices.
 *
 * One thread walks the folders, others take the files it finds. Of a file that was read only the
 * counts stay, and a few names: the memory does not grow with what the files hold.
 */
#ifndef KDL_TOOL_CHECK_H
#define KDL_TOOL_CHECK_H

#include "lib/inspect/ranking.h"
#include "tools/common/demangle.h"
#include "tools/common/images/device_options.h"
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
  CHECK_SHOWN_KERNELS = 4,      /* kernels that are named for each reason, unless all are wanted */
  CHECK_LIMIT_DEPENDENCIES = 8, /* runtimes of one library */
  CHECK_LIMIT_GAPS = 64,        /* reasons of one library on one device that are told apart */
  CHECK_LIMIT_WORKERS = 16,     /* at most */
  CHECK_FD_PATH_SIZE = 32,
};

/* How a library runs on a device. */
typedef enum check_outcome {
  CHECK_NATIVE,       /* all of it, as machine code */
  CHECK_JIT,          /* all of it, some through a compiler in the driver or kdl-ld */
  CHECK_PARTIAL,      /* some kernels run */
  CHECK_NONE,         /* nothing runs, or it has no kernels */
  CHECK_OTHER_VENDOR, /* nothing runs: it is for other vendors' devices */
} check_outcome;

/* Kernels that do not run for one reason. */
typedef struct check_gap {
  kdl_image_kind kind; /* of the image that is nearest to running */
  const char *arch;
  uint64_t reasons;
  const char *code, *words, *fix;
  size_t kernels;
  size_t modules; /* whose kernels cannot be told */
  kdl_string *names;
  size_t name_count, name_capacity;
} check_gap;

typedef enum check_runtime { CHECK_CUDA, CHECK_HIP, CHECK_SYCL } check_runtime;

/* A runtime that a library is linked against. */
typedef struct check_dependency {
  const char *library; /* "libcudart.so.13" */
  check_runtime runtime;
  uint32_t version; /* of the runtime, major << 16 | minor; for CUDA also the oldest driver's; 0
                     * where it is not known */
} check_dependency;

/* Whether the driver of a device has what a library's runtime takes. */
typedef enum check_runtime_compat {
  CHECK_COMPAT_NO_RUNTIME, /* it names no runtime of that driver */
  CHECK_COMPAT_UNKNOWN,    /* the version of the driver, or of the runtime, is not known */
  CHECK_COMPATIBLE,
  CHECK_COMPAT_RUNTIME_TOO_NEW, /* then nothing runs */
} check_runtime_compat;

typedef struct check_verdict {
  check_outcome outcome;
  check_runtime_compat runtime;
  kdl_coverage coverage; /* without the name of a kernel */
  check_gap *gaps;
  size_t gap_count, gap_capacity;
  size_t unlisted_kernels;    /* kernels with reasons beyond CHECK_LIMIT_GAPS */
  bool is_covered_by_sibling; /* code objects beside it run: it is there for other devices */
  bool is_for_other_host; /* its CPU code is not for the processors that the device comes with */
} check_verdict;

typedef struct check_library {
  const char *path;    /* of the file, as the user would write it */
  const char *member;  /* of the archive at that path; NULL: the file itself */
  const char *package; /* "torch 2.11.0"; NULL where none is known */
  const char *group; /* what it is listed under: its package, or the archive or folder it lies in */
  const char *set;   /* what its images for other architectures have too; NULL: by its place */
  size_t operand;
  bool is_bare_device_code; /* device code by itself, without a host program around it */
  bool is_x86_64;           /* the host program is */
  bool has_sibling;         /* its package or archive has a library for one of the devices */
  size_t images;
  check_dependency dependencies[CHECK_LIMIT_DEPENDENCIES];
  size_t dependency_count;
  check_verdict *verdicts; /* one for each device */
} check_library;

/* A file or folder that could not be read. */
typedef struct check_error {
  const char *path, *message;
} check_error;

/* A path that was given. */
typedef struct check_operand {
  const char *display_path;
  const char *real_path; /* without links; NULL where it cannot be told */
} check_operand;

/* A file that a process has mapped. */
typedef struct check_mapped {
  const char *path;                /* as the process sees it */
  uint64_t map_device, map_number; /* as the kernel lists it */
  struct stat info;
  int fd;        /* where its path does not lead to it; otherwise -1 */
  int reason;    /* why it can neither be found nor opened, or 0 */
  bool runs;     /* code is run from it */
  bool is_other; /* a device */
} check_mapped;

typedef struct check {
  cli_devices devices;
  kdl_select_opts opts;
  bool all_names, as_json, is_strict, is_verbose;
  cli_demangler *demangler; /* or NULL */
  check_operand *operands;
  size_t operand_count;

  check_mapped *mapped; /* by the processes that are looked at */
  size_t mapped_count, mapped_capacity, kept_count;
  bool has_other_root;     /* a process sees other files than this one under the same paths */
  bool is_denied;          /* one of its processes must not be looked at */
  const char *mapped_root; /* where the files of the processes lie; "" for here */

  pthread_mutex_t lock; /* of all that follows */
  kdl_arena arena;
  check_library *libraries;
  size_t library_count, library_capacity;
  check_error *errors;
  size_t error_count, error_capacity;
  const char **dist_infos; /* folders that end in .dist-info */
  size_t dist_info_count, dist_info_capacity;
  size_t files;                     /* that were looked at */
  uint64_t bytes_found, bytes_done; /* of files */
  bool is_walked;                   /* all files are found */
  uint64_t next_drawn;              /* when the progress is drawn next, in ms; 0: never */
  bool is_drawn;
  bool is_incomplete; /* a file changed while it was read, memory or room on a disk was short for
                       * it, or it is damaged and an operand */
} check;

/* ------------------------------------------------------------------------------------------ */
/* What was found; any thread                                                                   */

/* Memory and copies that live as long as the check. */
void *check_alloc(check *c, size_t size);
const char *check_copy_string(check *c, const char *text);
const char *check_copy_substring(check *c, const char *text, size_t length);

/* The message is the thread's last failure where it is NULL. */
void check_add_error(check *c, const char *path, const char *message);

/* The same for a number of errno's. */
void check_add_errno(check *c, const char *path, int reason);
void check_add_dist_info(check *c, const char *path);
void check_add_library(check *c, const check_library *library);

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* A regular file among many. */
typedef struct check_file {
  const char *path;
  size_t operand;
  bool is_operand; /* the user named it: archives are told by their bytes, not by their name */
  const char *open_path; /* where it is opened; NULL: at its path */
  dev_t device;          /* with `number`: the file that must be found there; number 0: any */
  ino_t number;
  const char *set;                 /* of the library that is read, or NULL */
  struct stat info;                /* when it was found; while it is read, when it was opened */
  int fd;                          /* while it is read */
  uint64_t part_offset, part_size; /* of the member that is read; size 0: the file itself */
  bool is_bare_device_code;        /* it, or the member that is read, is device code by itself */
} check_file;

/* Whether the file was written to or shrank since it was opened: what was read of it is of no use.
 */
bool check_was_changed(const check_file *file);

/* A path that opens the file that `fd` is of, whatever lies at its own path by now. */
const char *check_fd_path(const check_file *file, char room[CHECK_FD_PATH_SIZE]);

/* Looks into a file; what is found is added. */
void check_read_file(check *c, const check_file *file);

/* Judges an open library, adds it unless it holds no device code, and closes it. `member` and
 * `package` may be NULL. */
kdl_status check_evaluate(check *c, kdl_library *lib, const check_file *file, const char *member,
                          const char *package);

/* The runtimes that a library is linked against, and the CPU it is for. */
void check_find_dependencies(check *c, const check_file *file, check_library *library);

/* Whether the device's driver suits them; where it does not, the first that it is too old for, and
 * its version. */
check_runtime_compat check_runtime_compatibility(const check_library *library, kdl_device *device,
                                                 const check_dependency **out_need,
                                                 uint32_t *out_driver);

/* Whether the device comes with AArch64 processors alone and the library is for x86-64. */
bool check_is_for_other_host(const check_library *library, kdl_device *device);

const char *check_runtime_name(check_runtime runtime);
const char *check_runtime_compat_name(check_runtime_compat fit);

/* Whether first bytes are those of device code by itself. */
bool check_is_bare_device_code(const void *head, size_t size);

/* Whether first bytes are those of something that may hold device code. */
bool check_may_have_device_code(const void *head, size_t size);

/* Whether the thread's last failure, of this status, says that there is none in it after all. */
bool check_is_no_device_code_error(kdl_status status);

/* Archives. */
void check_read_zip(check *c, const check_file *file);
void check_read_tar(check *c, const check_file *file);
void check_read_compressed_tar(check *c, const check_file *file, const char *program);
void check_read_kpack(check *c, const check_file *file);

/* The program that unpacks a stream with these first bytes; NULL where they are of none. */
const char *check_decompressor_for(const void *head, size_t size);

/* A file without a name, on a disk: what is unpacked may be larger than memory. -1 on failure. */
int check_create_temp_file(void);

/* A member of an archive that lies in the file as it is, if it begins like device code. */
void check_read_member(check *c, const check_file *file, const char *name, const char *package,
                       uint64_t offset, uint64_t size);

/* The same whatever it begins with. */
void check_read_part(check *c, const check_file *file, const char *member, const char *package,
                     uint64_t offset, uint64_t size);

/* Walks the operands and reads all files, on several threads. *out_failed says whether an operand
 * itself could not be read. */
void check_walk(check *c, bool *out_failed);

/* ------------------------------------------------------------------------------------------ */
/* Processes                                                                                    */

/* Remembers the files that a process has mapped. Returns the lines there are; *out_error is the
 * number of an error, or 0. */
size_t check_read_maps(check *c, pid_t process, int *out_error);

/* The same for a process that the user names. */
kdl_status check_read_process(check *c, const char *number);

/* Runs a program and remembers what it and its children map, looking every few milliseconds until
 * it ends. *out_code is the exit code that a shell would have of it, also where it cannot be run.
 */
kdl_status check_run_program(check *c, const char *const *words, int *out_code);

/* Calls `take` for each file that was mapped. */
typedef void check_visit_file(void *user, const check_file *file);
void check_visit_mapped(check *c, check_visit_file *take, void *user);

void check_free_mapped(check *c);

/* ------------------------------------------------------------------------------------------ */

/* Finds the packages that the libraries belong to. */
void check_find_packages(check *c);

/* ------------------------------------------------------------------------------------------ */
/* How far it is                                                                                */

/* A line on standard error where that is a terminal, unless JSON is printed. */
void check_progress_begin(check *c);
void check_progress_step(check *c); /* a file was read; under the lock */
void check_progress_end(const check *c);

/* ------------------------------------------------------------------------------------------ */
/* Telling                                                                                      */

/* Whether the library counts as one that does not run on that device.
 *
 * One that is for other vendors' devices does not where it is for another of the devices that were
 * asked for, or where its package has others for them: packages bring builds for several vendors.
 * Nor does a code object that lies beside others which run, nor a library without any kernel.
 *
 * One that runs in part does not where some of it is machine code that runs: then it was built for
 * the device, and chooses among its kernels by the device, as NVIDIA's libraries do. Where nothing
 * is, it was not, and what does not run is missed. */
bool check_fails(const check *c, const check_library *library, size_t device);

/* Whether one does on one of the devices. */
bool check_any_fails(const check *c);

/* Whether it holds a kernel, or images whose kernels cannot be read. */
bool check_has_kernels(const check_verdict *verdict);

/* Whether some of it is machine code that runs. */
bool check_has_native_code(const check_verdict *verdict);

/* Whether it is of no concern on that device, which does not fail it. */
bool check_is_not_applicable(const check *c, const check_library *library, size_t device);

/* Whether it is for one of the devices, whether it runs there or not. */
bool check_targets_a_device(const check *c, const check_library *library);

const char *check_outcome_name(check_outcome outcome);

/* "path" or "path!member"; in the room of the check. */
const char *check_display_path(check *c, const check_library *library);

/* Gives each library its group. */
void check_assign_groups(check *c);

/* What can be done about it, below the row of a table: a build to look for (try), or a step (fix).
 */
void check_add_advice(check *c, cli_table *table, const check_gap *gap, size_t device);

/* A line for each package and device. */
kdl_status check_print_summary(check *c);

kdl_status check_print_text(check *c);
kdl_status check_print_json(check *c);

#endif
