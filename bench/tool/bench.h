/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of `kdl bench`: what is launched, and the forms that results are told in. */
#ifndef KDL_BENCH_TOOL_BENCH_H
#define KDL_BENCH_TOOL_BENCH_H

#include "suites/suite.h"
#include "tools/common/options.h"
#include "tools/common/text.h"

#include <limits.h>
#include <stdio.h>

/* What is launched, with everything that the job points to. */
typedef struct cli_bench_subject {
  peer_job job;
  kdl_library *lib;
  kdl_device *device;
  void *built_in; /* the library, where no file was given */
  char device_name[64];
  kdl_device_info about; /* the device */
  uint32_t arg_sizes[PEER_ARGS_LIMIT];
  uint32_t arg_offsets[PEER_ARGS_LIMIT];
  bool arg_is_buffer[PEER_ARGS_LIMIT];
  char args[PEER_ARGS_BYTES];
  void *buffer_data;
} cli_bench_subject;

/* The library that is built in, for the host and GPUs; its kernel takes a pointer and does nothing.
 * The caller frees *out_data. */
kdl_status cli_bench_built_in(void **out_data, size_t *out_size);
extern const char cli_bench_built_in_kernel[];

/* FILE and KERNEL, or the kernel that does nothing, on --device or the best device that there is;
 * with --grid, --block and --arg. Notes what it is in the results. The caller frees *out_subject,
 * also after a failure. */
kdl_status cli_bench_subject_open(const cli_args *args, cli_bench_subject *out_subject,
                                  bench_results *results);
void cli_bench_subject_free(cli_bench_subject *subject);

/* As a table for people. */
kdl_status cli_bench_print(const bench_results *results);

/* Other forms. `command` is the line that was typed. */
void cli_bench_write_json(const bench_results *results, const char *command, FILE *file);
void cli_bench_write_folded(const bench_results *results, const char *command, FILE *file);
void cli_bench_write_trace(const bench_results *results, const char *command, FILE *file);
void cli_bench_write_lnt(const bench_results *results, const char *command, FILE *file);

/* The figures of a file that cli_bench_write_json wrote. The caller frees *out_results. */
kdl_status cli_bench_read_json(const char *path, bench_results *out_results);

/* A page around JSON that cli_bench_write_json wrote. */
kdl_status cli_bench_save_page(const char *path, const char *json, size_t size);

/* kdl bench matmul [FILE], with --types, --shapes, --threads, --weights, --peers; its tables. */
kdl_status cli_bench_matmul(const cli_args *args, size_t blocks, int pin, bench_results *results);
kdl_status cli_bench_print_matmul(const bench_results *results);

/* kdl bench kernels [FOLDER], with --device, --kernels, --sizes, --threads, --peers; its tables. */
kdl_status cli_bench_kernels(const cli_args *args, size_t blocks, int pin, bench_results *results);
kdl_status cli_bench_print_kernels(const bench_results *results);

/* kdl bench scale [FOLDER] --threads, with the options of kernels; its tables. */
kdl_status cli_bench_scale_threads(const cli_args *args, size_t blocks, int pin,
                                   bench_results *results);
kdl_status cli_bench_print_scale_threads(const bench_results *results);

/* Tables of figures called SUITE/.../ROW/WHO: a row for each, our time, and what peers take. */
typedef struct cli_bench_ratios {
  const char *row;       /* the title of the first column */
  size_t table_parts;    /* of a name that all of a table's rows share */
  const cli_column *own; /* further columns of ours, which add_own fills */
  size_t own_count;
  void (*add_own)(cli_table *table, const bench_results *results, const bench_figure *ours,
                  const char *row);
  const char *const *peers; /* in the order of their columns, where a table has them */
  size_t peer_count;
} cli_bench_ratios;
kdl_status cli_bench_print_ratios(const bench_results *results, const cli_bench_ratios *form);

/* The comparison of `who` with what a figure of ours is of, or NULL. */
const bench_comparison *cli_bench_ratio_to(const bench_results *results, const bench_figure *ours,
                                           const char *who);

/* The next word of a list with commas; false after the last. */
bool cli_bench_next_word(const char **list, char *word, size_t size);

/* "1,all", by default that; "powers" is 1, 2, 4, ... and all. */
kdl_status cli_bench_parse_threads(const char *list, unsigned cpus, uint32_t *threads, size_t limit,
                                   size_t *out_count);

/* kdl bench page RESULTS... --html=F; returns the exit code. */
int cli_bench_make_page(const cli_args *args, const char *const *paths, size_t count);

/* kdl bench compare OLD NEW; returns the exit code. */
int cli_bench_compare(const cli_args *args, const char *old_path, const char *new_path);

/* "1.23 us": a time with a unit that keeps it short. */
void cli_bench_format_time(double ns, char *out, size_t size);

/* The next cell of a table. */
void cli_bench_add_cell(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_bench_add_time_cell(cli_table *table, double ns);

#endif
