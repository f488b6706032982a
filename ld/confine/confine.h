/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bitcode may come from anywhere, and LLVM is large. Before this process reads any bitcode, it
 * gives up what it does not need, for itself and for the programs it starts:
 *
 *   limits              CPU time, memory, processes, no core files
 *   no new privileges   started programs gain no rights, whatever their mode bits are
 *   capabilities        none; root keeps those to open files
 *   environment         only the variables that linkers and loaders read
 *   namespace           only the processes that it starts (ld/confine/worker.h)
 *   Landlock            only the files of its command line and the system's; no TCP
 *   seccomp             only the system calls that a compiler needs
 *
 * Where a kernel lacks Landlock or seccomp, or does not allow a namespace, the others hold.
 * KDL_LD_CONFINE=require refuses to work without Landlock and seccomp. KDL_LD_CONFINE=off keeps
 * only limits and no new privileges, for programs that need more access.
 */
#ifndef KDL_LD_CONFINE_CONFINE_H
#define KDL_LD_CONFINE_CONFINE_H

#include "compiler/ir/linker/request.h"

#include <stdbool.h>

/* The confinement that is in force. */
typedef struct ld_confinement {
  bool has_no_new_privileges;
  bool limits_processes;
  int landlock;         /* version of its interface; 0: not in force */
  int landlock_problem; /* errno */
  bool has_seccomp;
  int seccomp_problem; /* errno */
  bool is_off;         /* by KDL_LD_CONFINE */
} ld_confinement;

/* Whether KDL_LD_CONFINE is not "off". Fails for a bad one. */
kdl_status ld_confine_wanted(bool *out_wanted);

/* Sets limits, and keeps lower ones that were set before. */
void ld_confine_limits(void);

/* Confines the process of ld_worker_run for a request; `builtin` is the file of built-in
 * microkernels or NULL. Fails for a bad KDL_LD_CONFINE, and where it requires what the kernel
 * lacks. */
kdl_status ld_confine(const ir_request *request, const char *builtin, const char *portable,
                      ld_confinement *out_confinement);

/* Confines this process as for a request without files, tries forbidden operations, and prints the
 * results, one "KEY VALUE" per line. `planted` is a file in /tmp that it could write to before. */
kdl_status ld_confine_print(const char *planted);

/* ------------------------------------------------------------------------------------------ */
/* System calls (filter.c)                                                                      */

/* Restricts the system calls of this process and all that it starts, by seccomp: an allow-list.
 * Other calls fail with EPERM. */

typedef enum ld_filter_signals {
  LD_FILTER_SIGNALS_OWN,    /* to the process that installs it; its children send none */
  LD_FILTER_SIGNALS_SCOPED, /* to any: a namespace or Landlock protects other processes */
} ld_filter_signals;

/* Needs "no new privileges". 0, or an errno. */
int ld_filter_install(ld_filter_signals signals);

/* ------------------------------------------------------------------------------------------ */
/* Files (landlock.c)                                                                           */

/* Restricts the files that this process may use: Landlock (Linux 5.13) by its system calls. */

typedef struct ld_landlock {
  int rules;   /* a descriptor; -1: none */
  int version; /* of the interface; 0: none */
  int problem; /* errno of the call that failed */
} ld_landlock;

typedef enum ld_landlock_right {
  LD_LANDLOCK_READ,  /* read the file, or all files in a folder */
  LD_LANDLOCK_RUN,   /* read and execute */
  LD_LANDLOCK_WRITE, /* write the file */
} ld_landlock_right;

ld_landlock ld_landlock_begin(void);

/* Adds a rule. A path that does not exist needs none. */
void ld_landlock_allow(ld_landlock *landlock, const char *path, ld_landlock_right right);

/* Puts the rules in force and frees them. False with `problem` where that fails. */
bool ld_landlock_end(ld_landlock *landlock);

#endif
