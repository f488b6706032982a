/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kdl trace -- PROGRAM of CUDA or HIP: what the recordings of its processes
 * (ext/inject/recording.h) contain. They are read while the program runs:
 *
 *     modules_read.c    lines of the logs to the structs below
 *     modules_match.c   the file and the image that a module comes from
 *     module_files.c    these files, and their images by offset and by bytes
 *     modules_print.c   a line per event, the sums, JSON, the list of launched kernels
 */
#ifndef KDL_TOOLS_KDL_TRACE_MODULES_H
#define KDL_TOOLS_KDL_TRACE_MODULES_H

#include "tools/common/demangle.h"
#include "tools/common/memory.h"
#include "tools/kdl/trace/number_index.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdint.h>

/* A call that loads code: a fatbin, a bundle, a file. */
typedef struct cli_load {
  uint32_t number;
  const char *function; /* of the driver */
  int result;
  uint64_t ns;
  uint32_t device;
  uint64_t offset;  /* of the code in the file */
  const char *path; /* "": from memory */
  bool is_counted;  /* its time is in that of a module */
} cli_load;

/* How a module's bytes came to be. */
typedef enum cli_module_origin {
  CLI_MODULE_UNKNOWN,  /* from memory, and in no file that is known */
  CLI_MODULE_IMAGE,    /* the bytes of an image */
  CLI_MODULE_COMPILED, /* of the driver's compiler, from an image of PTX */
  CLI_MODULE_RULES,    /* the image that libkdl's rules select: HIP does not report it */
} cli_module_origin;

typedef struct cli_module {
  uint32_t number, load;
  uint64_t bytes, hash;
  const char *arch; /* of the loaded code */
  uint64_t ns;      /* of loading, with the load call where that was separate */
  uint32_t device;
  const char *function; /* within which it was loaded */
  bool is_unloaded;
  bool is_listed; /* was printed: not before its load call has ended */

  cli_module_origin origin;
  const char *path; /* "" where unknown */
  size_t image;
  const char *kind, *image_arch, *fit; /* of the image */
  size_t choices;                      /* images of the same container */
} cli_module;

typedef struct cli_launched {
  const char *name;
  uint32_t slot, load;
  uint64_t count;
} cli_launched;

typedef struct cli_failure {
  int result;
  uint32_t load, device;
  const char *function, *kernel, *path;
} cli_failure;

typedef struct cli_traced_device {
  uint32_t number;
  const char *spec;
} cli_traced_device;

/* A process. The texts are in the recording's arena. */
typedef struct cli_recorded {
  char *stem; /* FOLDER/PID-N */
  long position;
  bool is_damaged; /* nothing more is read */
  int process;
  const char *program, *cupti;
  cli_load *loads;
  size_t load_count, load_room;
  cli_module *modules;
  size_t module_count, module_room;
  cli_launched *kernels;
  size_t kernel_count, kernel_room;
  cli_failure *failures;
  size_t failure_count, failure_room;
  cli_traced_device *devices;
  size_t device_count, device_room;
  const char **notes;
  size_t note_count, note_room;
  uint64_t graph_launches, other_launches;
  uint64_t lost_lines; /* of the recording */
  cli_index loads_by_number, modules_by_number, modules_by_load, kernels_by_name, failures_by_key;
  cli_index loads_by_code; /* of module_files.c */
} cli_recorded;

typedef struct cli_opened_file cli_opened_file;
typedef struct cli_module_fits cli_module_fits;

typedef struct cli_recordings {
  const char *folder;
  cli_recorded **items;
  size_t count, room;
  cli_opened_file *files; /* that modules come from */
  size_t file_count, file_room;
  cli_module_fits *fits; /* of the modules of these files */
  size_t fit_room;
  cli_index by_stem, files_by_path, fits_by_module;
  kdl_arena arena;
} cli_recordings;

/* Reads what was added to the logs since the last call, and prints it. */
void cli_recordings_follow(cli_recordings *all);

/* Reads the numbers of launches, and prints what waits for the end of a call; after the program has
 * ended. */
void cli_recordings_count(cli_recordings *all);
void cli_recordings_free(cli_recordings *all);

const cli_load *cli_find_load(const cli_recorded *recorded, uint32_t number);

/* "cuda:sm_90 driver=13.0"; "" where it is unknown. */
const char *cli_traced_device_spec(const cli_recorded *recorded, uint32_t device);

/* Finds the file and the image of a module. */
void cli_module_match(cli_recordings *all, cli_recorded *recorded, cli_module *module);
void cli_module_fits_free(cli_recordings *all);
void cli_modules_close_files(cli_recordings *all);

/* As the events are read. */
void cli_module_print(const cli_recorded *recorded, const cli_module *module);
void cli_failure_print(const cli_recorded *recorded, const cli_failure *failure);
void cli_trace_note_print(const cli_recorded *recorded, const char *note);

/* At the end. */
void cli_recordings_print(const cli_recordings *recordings, cli_demangler *demangler);
kdl_status cli_recordings_save_json(const cli_recordings *recordings, const char *path);
kdl_status cli_recordings_save_launched(const cli_recordings *recordings, const char *path);

#endif
