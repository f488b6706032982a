/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl ls: lists the images of a file. */
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/demangle.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/ls_json.h"
#include "tools/common/images/resources.h"
#include "tools/common/images/sequences.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  bool kernels;
  bool wide;
  bool archs;
  bool headings;
  bool printed;             /* a blank line goes before the next output */
  cli_json *json;           /* NULL: tables */
  cli_demangler *demangler; /* or NULL */
  cli_resources *resources; /* or NULL */
} listing;

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static const struct {
  bool wide; /* only with --long */
  cli_column column;
} all_columns[] = {
    {false, {.title = "#", .right = true}},
    {false, {.title = "KIND", .tint = "32"}},
    {false, {.title = "OFFLOAD"}},
    {false, {.title = "TRIPLE", .shrinks = 2}},
    {false, {.title = "ARCH", .shrinks = 1, .tint = "36"}},
    {false, {.title = "SIZE", .right = true}},
    {true, {.title = "STORED", .right = true}},
    {true, {.title = "OFFSET", .right = true}},
    {true, {.title = "CONTAINER", .shrinks = 3}},
    {false, {.title = "KEYS", .shrinks = 4}},
};
enum { column_count = sizeof all_columns / sizeof *all_columns };

static int nesting(const kdl_library *lib, const kdl_image_info *image) {
  int depth = 0;
  for (size_t parent = image->parent; parent != KDL_NO_PARENT; ++depth)
    parent = cli_image_at(lib, parent).parent;
  return depth;
}

/* All pairs except triple and arch, and except the digest without --long, as "key=value
 * key=value". */
static void add_pairs(cli_table *table, const kdl_image_info *image, bool wide) {
  char *joined;
  size_t length;
  FILE *stream = xtext_stream(&joined, &length);
  const char *separator = "";
  for (size_t i = 0; i < image->pair_count; ++i) {
    const kdl_pair *pair = &image->pairs[i];
    if (kdl_text_is(pair->key, "triple") || kdl_text_is(pair->key, "arch") ||
        (!wide && kdl_text_is(pair->key, KDL_DIGEST_KEY)))
      continue;
    const char *quote = memchr(pair->value.data, ' ', pair->value.length) ? "\"" : "";
    fputs(separator, stream);
    fwrite(pair->key.data, 1, pair->key.length, stream);
    fprintf(stream, "=%s", quote);
    fwrite(pair->value.data, 1, pair->value.length, stream);
    fputs(quote, stream);
    separator = " ";
  }
  xtext_close(stream);
  cli_table_add(table, (kdl_string){joined, length});
  free(joined);
}

typedef struct {
  kdl_library *lib;
  cli_table *table;
  bool kernels; /* --kernels */
  cli_demangler *demangler;
  const cli_resources *resources;
  size_t image;
  kdl_status status;
} detail_printer;

static int print_kernel(void *user, const kdl_string *name) {
  detail_printer *printer = user;
  printer->status =
      cli_table_print_line(printer->table, "kernel", cli_demangle(printer->demangler, *name));
  return printer->status != KDL_OK;
}

static int print_kernel_resources(void *user, const kdl_string *kernel,
                                  const kdl_kernel_resources *uses) {
  detail_printer *printer = user;
  if (print_kernel(user, kernel))
    return 1;
  char *text = cli_resources_text(printer->resources, printer->image, uses);
  printer->status = cli_table_print_line(printer->table, "  uses", kdl_text_of(text));
  free(text);
  return printer->status != KDL_OK;
}

/* Names of kernels follow where nothing is declared of them. */
static kdl_status print_resources(detail_printer *printer, size_t index, bool *out_done) {
  printer->image = index;
  kdl_status status = kdl_image_resources(printer->lib, index, print_kernel_resources, printer);
  *out_done = status == KDL_OK || status == KDL_NO_MEMORY;
  if (*out_done)
    return status == KDL_OK ? printer->status : status;
  return cli_table_print_line(printer->table, "no resources:", kdl_text_of(kdl_error_message()));
}

/* The kernels that a sequence launches; it does not contain them. */
static kdl_status print_sequence(const detail_printer *printer, cli_table *table, size_t index) {
  cli_sequence sequence;
  kdl_status status = cli_sequence_read(printer->lib, index, &sequence);
  if (status != KDL_OK)
    return status == KDL_NO_MEMORY
               ? status
               : cli_table_print_line(table, "damaged:", kdl_text_of(kdl_error_message()));
  for (uint32_t i = 0; i < sequence.saved.kernel_count && status == KDL_OK; ++i)
    status = cli_table_print_line(table, "launches",
                                  cli_demangle(printer->demangler, sequence.saved.kernels[i].name));
  cli_sequence_free(&sequence);
  return status;
}

/* Running out of memory ends the listing; it is not the file's fault. */
static kdl_status print_details(void *user, cli_table *table, size_t index) {
  detail_printer *printer = user;
  printer->table = table;
  kdl_image_info image = cli_image_at(printer->lib, index);
  if (image.problem.length)
    return cli_table_print_line(table, "damaged:", image.problem);
  if (!printer->kernels)
    return KDL_OK;
  if (image.kind == KDL_IMAGE_SEQUENCE)
    return print_sequence(printer, table, index);
  if (printer->resources && !cli_image_kind_is_container(image.kind)) {
    bool done;
    kdl_status shown = print_resources(printer, index, &done);
    if (done || shown != KDL_OK)
      return shown;
  }
  kdl_status status = kdl_image_kernels(printer->lib, index, print_kernel, printer);
  if (status == KDL_OK || status == KDL_NO_MEMORY)
    return status == KDL_OK ? printer->status : status;
  return cli_image_kind_is_container(image.kind)
             ? KDL_OK
             : cli_table_print_line(table, "no kernel names:", kdl_text_of(kdl_error_message()));
}

/* Machine code for a CPU without an arch is marked: no device admits it. */
static void add_arch(cli_table *table, const kdl_image_info *image, bool wide) {
  char room[KDL_TEXT_SHORT + 1];
  bool is_unknown = image->kind == KDL_IMAGE_OBJECT && image->arch.length == 0;
  cli_table_add(table, is_unknown ? KDL_TEXT("unknown")
                       : wide     ? image->arch
                                  : kdl_text_short(image->arch, room));
}

static void add_image_row(cli_table *table, const listing *what, kdl_library *lib,
                          const kdl_image_info *image) {
  char room[CLI_KIND_ROOM], kind[64], kind_room[CLI_IMAGE_KIND_ROOM];
  snprintf(kind, sizeof kind, "%*s%s", nesting(lib, image) * 2, "",
           cli_image_kind_name(image, kind_room));
  cli_table_add_number(table, image->index);
  cli_table_add(table, kdl_text_of(kind));
  cli_table_add(table, kdl_text_of(cli_offload_kind_name(image->offload_kind, room)));
  cli_table_add(table, image->triple);
  add_arch(table, image, what->wide);
  cli_table_add_number(table, image->byte_count);
  if (what->wide) {
    char offset[24];
    snprintf(offset, sizeof offset, "0x%" PRIx64, image->header_offset);
    cli_table_add_number(table, image->stored_count);
    cli_table_add(table, kdl_text_of(offset));
    cli_table_add(table, image->container);
  }
  add_pairs(table, image, what->wide);
}

static kdl_status print_image_table(const listing *what, kdl_library *lib) {
  cli_column columns[column_count];
  size_t count = 0;
  for (size_t i = 0; i < column_count; ++i) {
    if (what->wide || !all_columns[i].wide)
      columns[count++] = all_columns[i].column;
  }
  cli_table *table = cli_table_create(columns, count);
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info image = cli_image_at(lib, i);
    add_image_row(table, what, lib, &image);
  }
  kdl_status status = KDL_OK;
  detail_printer details = {.lib = lib,
                            .kernels = what->kernels,
                            .demangler = what->demangler,
                            .resources = what->resources};
  if (kdl_image_count(lib))
    status = cli_table_print_with(table, print_details, &details);
  else
    puts("no images");
  cli_table_destroy(table);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Architectures                                                                                */

static int compare_archs(const void *left, const void *right) {
  const kdl_image_info *a = left;
  const kdl_image_info *b = right;
  int order = strcmp(a->arch.data, b->arch.data);
  return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int compare_indices(const void *left, const void *right) {
  const kdl_image_info *a = left;
  const kdl_image_info *b = right;
  return (a->index > b->index) - (a->index < b->index);
}

/* Each architecture once, in file order. */
static void print_archs(const kdl_library *lib) {
  size_t count = kdl_image_count(lib);
  kdl_image_info *images = xcalloc(count, sizeof *images);
  for (size_t i = 0; i < count; ++i)
    images[i] = cli_image_at(lib, i);
  qsort(images, count, sizeof *images, compare_archs);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (images[i].arch.length &&
        (kept == 0 || !kdl_text_equal(images[kept - 1].arch, images[i].arch)))
      images[kept++] = images[i];
  }
  qsort(images, kept, sizeof *images, compare_indices);
  for (size_t i = 0; i < kept; ++i)
    cli_text_print(images[i].arch, "\n");
  free(images);
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status list_open(listing *what, const char *path, kdl_library *lib) {
  if (what->resources)
    KDL_TRY(cli_resources_begin_file(what->resources, lib));
  if (what->json)
    return cli_ls_json_file(what->json, path, lib,
                            &(cli_ls_details){what->kernels, what->demangler, what->resources});
  if (what->printed)
    putchar('\n');
  what->printed = true;
  if (what->headings)
    cli_text_print(kdl_text_of(path), ":\n");
  if (!what->archs)
    return print_image_table(what, lib);
  print_archs(lib);
  return KDL_OK;
}

static int list_file(listing *what, const char *path) {
  cli_input input;
  kdl_status status = cli_input_open(path, &input);
  if (status != KDL_OK) {
    if (what->json)
      cli_ls_json_error(what->json, path, kdl_error_message());
    return cli_report_status(status);
  }
  int code = cli_report_status(list_open(what, path, input.lib));
  cli_input_close(&input);
  return code;
}

int cli_run_ls(const cli_args *args) {
  cli_json json = {.file = stdout};
  bool several = args->operand_count > 1;
  listing what = {
      .kernels = cli_args_has(args, "kernels"),
      .wide = cli_args_has(args, "long"),
      .archs = cli_args_has(args, "archs"),
      .json = cli_args_has(args, "json") ? &json : NULL,
      .headings = several,
  };
  if (what.archs && (what.json || what.kernels || what.wide))
    return cli_report_status(
        kdl_fail(KDL_BAD_CALL, "--archs excludes --json, --kernels and --long: use it alone"));
  if (cli_args_has(args, "demangle")) {
    kdl_status status = what.kernels ? cli_demangler_start(&what.demangler)
                                     : kdl_fail(KDL_BAD_CALL, "--demangle needs --kernels");
    if (status != KDL_OK)
      return cli_report_status(status);
  }
  cli_resources resources = {.block = 0};
  if (cli_args_has(args, "resources")) {
    what.resources = &resources;
    kdl_status status = what.kernels ? cli_resources_options(args, &resources)
                                     : kdl_fail(KDL_BAD_CALL, "--resources needs --kernels");
    if (status != KDL_OK) {
      cli_resources_free(&resources);
      cli_demangler_stop(what.demangler);
      return cli_report_status(status);
    }
  } else if (cli_args_has(args, "device") || cli_args_has(args, "block")) {
    cli_demangler_stop(what.demangler);
    return cli_report_status(
        kdl_fail(KDL_BAD_CALL, "--device and --block need --kernels --resources"));
  }
  int worst = CLI_EXIT_SUCCESS;
  if (what.json && several)
    cli_json_begin_array(&json);
  for (size_t i = 0; i < args->operand_count; ++i) {
    int code = list_file(&what, args->operands[i]);
    worst = code > worst ? code : worst;
  }
  if (what.json && several)
    cli_json_end_array(&json);
  cli_demangler_stop(what.demangler);
  cli_resources_free(&resources);
  return worst;
}
