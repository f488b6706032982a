/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bitcode comes from anywhere, and LLVM is large. Before any of it is read, this process gives up
 * what it does not need, for itself and for the programs it starts:
 *
 *   limits              CPU time, memory, processes, no core files
 *   no new privileges   what it starts gains no rights, whatever its mode bits say
 *   capabilities        none, but of root's those that open files
 *   environment         no variable that no linker goes by
 *   namespace           no process but those it starts (ld/confine/worker.h)
 *   Landlock            no files but those of its command line and the system's; no TCP
 *   seccomp             no system call but those that a compiler needs
 *
 * Where a kernel has no Landlock or no seccomp, or lets no namespace be made, the others hold.
 * KDL_LD_CONFINE=require refuses to work without the first two; KDL_LD_CONFINE=off leaves out all
 * but limits and new privileges, for programs that need more than that.
 */
#ifndef KDL_LD_CONFINE_H
#define KDL_LD_CONFINE_H

#include "ld/linker/request.h"

/* What came of it. */
typedef struct ld_confinement {
  bool has_no_new_privileges;
  bool limits_processes;
  int landlock;         /* the version of its interface; 0: not in force */
  int landlock_problem; /* errno */
  bool has_seccomp;
  int seccomp_problem; /* errno */
  bool is_off;         /* by KDL_LD_CONFINE */
} ld_confinement;

/* Whether KDL_LD_CONFINE is not "off". Fails for a bad one. */
kdl_status ld_confine_wanted(bool *out_wanted);

/* Sets the limits that are not set already. */
void ld_confine_limits(void);

/* For the work of a request, in a process of ld_worker_run; `builtin` is the file of built-in
 * microkernels or NULL. Fails for a bad KDL_LD_CONFINE, and where it requires what is not there. */
kdl_status ld_confine(const ld_request *request, const char *builtin,
                      ld_confinement *out_confinement);

/* Confines this program as for a request without files, tries what it then may not do, and prints
 * what holds, one "KEY VALUE" a line. `planted` is a file in /tmp that it may write to before. */
kdl_status ld_confine_print(const char *planted);

#endif
