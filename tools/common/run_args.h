/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The arguments of `kdl run`: parsing, printing and comparing. */
#ifndef KDL_TOOLS_COMMON_RUN_ARGS_H
#define KDL_TOOLS_COMMON_RUN_ARGS_H

#include <kdl/kdl.h>

#include <stdbool.h>

struct cli_run_type; /* i32, f64, ... */

typedef struct cli_run_arg {
  const struct cli_run_type *type;
  bool is_buffer;
  size_t count;      /* elements; 1 for a value */
  void *host;        /* the elements */
  kdl_buffer buffer; /* on the device, for buffers */
} cli_run_arg;

/* "i32:5", "f32:1.5", "buf:f32[1024]=iota". The caller frees *out_arg, also after a failure. */
kdl_status cli_run_arg_parse(const char *words, cli_run_arg *out_arg);

/* The same, or "bytes:@FILE": a structure passed by value. */
kdl_status cli_run_arg_parse_bytes(const char *words, cli_run_arg *out_arg);
bool cli_run_arg_is_bytes(const cli_run_arg *arg);

void cli_run_arg_free(cli_run_arg *arg);

size_t cli_run_arg_size(const cli_run_arg *arg);

/* "f32": the type of a value or of a buffer's elements. */
const char *cli_run_arg_type(const cli_run_arg *arg);

/* Whether it is a negative value of a signed integer type. */
bool cli_run_arg_is_negative(const cli_run_arg *arg);

/* Prints every element on one line, "arg2 = 0 1 2"; `name` is "arg2". */
void cli_run_arg_print(const cli_run_arg *arg, const char *name);

/* The largest difference of floating-point numbers: |found - expected| is at most absolute +
 * relative * |expected|. */
typedef struct cli_tolerance {
  double relative, absolute;
} cli_tolerance;

/* "1e-3" or "1e-3,1e-6". */
kdl_status cli_tolerance_parse(const char *words, cli_tolerance *out_tolerance);

/* Compares the elements with a file of raw elements. `tolerance` is NULL for the type's default. */
kdl_status cli_run_arg_check(const cli_run_arg *arg, const char *name, const char *path,
                             const cli_tolerance *tolerance);

#endif
