/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiles a rule for every known architecture, as for an image of that kind, and matches it. */
#include "tools/kdl/commands.h"

#include "lib/inspect/devices.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An architecture, by its name in images, and how an image for it runs on a device. */
typedef struct {
  char arch[32];
  uint32_t version; /* of SPIR-V, as KDL_VERSION_OF; 0: not printed */
  kdl_image_claim claim;
  const char *backend;   /* of the route that admits it; NULL: none */
  kdl_claim_match match; /* through that route; where none admits it, through the first */
} known;

enum { known_room = 512 };

typedef struct {
  known items[known_room];
  size_t count;
} known_list;

/* ------------------------------------------------------------------------------------------ */
/* Known architectures                                                                          */

static void known_list_add(known_list *list, kdl_image_kind kind, const char *triple,
                           const char *arch, uint32_t version) {
  if (list->count == known_room)
    return;
  known *item = &list->items[list->count++];
  snprintf(item->arch, sizeof item->arch, "%s", arch);
  item->claim = (kdl_image_claim){.kind = kind, .triple = kdl_text_of(triple), .version = version};
  item->version = kind == KDL_IMAGE_SPIRV ? version : 0;
}

static void add_nvidia_names(known_list *list, unsigned number, const char *suffix, unsigned ptx) {
  char arch[16];
  if (!ptx)
    return;
  snprintf(arch, sizeof arch, "sm_%u%s", number, suffix);
  known_list_add(list, KDL_IMAGE_CUBIN, "nvptx64-nvidia-cuda", arch, 0);
  snprintf(arch, sizeof arch, "compute_%u%s", number, suffix);
  known_list_add(list, KDL_IMAGE_PTX, "nvptx64-nvidia-cuda", arch,
                 KDL_VERSION_OF(ptx / 10, ptx % 10));
}

static void add_nvidia(known_list *list) {
  for (size_t i = 0; i < KDL_NVPTX_COUNT; ++i) {
    const kdl_nvptx_processor *processor = &kdl_nvptx_processors[i];
    add_nvidia_names(list, processor->number, "a", processor->ptx_a);
    add_nvidia_names(list, processor->number, "f", processor->ptx_f);
    add_nvidia_names(list, processor->number, "", processor->ptx);
  }
}

static void add_listed(known_list *list, kdl_image_kind kind, const char *triple,
                       kdl_target_family family, const char *prefix) {
  const char *name;
  for (size_t i = 0; (name = kdl_arch_at(family, i)); ++i) {
    if (strncmp(name, prefix, strlen(prefix)) == 0)
      known_list_add(list, kind, triple, name, 0);
  }
}

static void add_other_gpus(known_list *list) {
  add_listed(list, KDL_IMAGE_HSACO, "amdgcn-amd-amdhsa", KDL_FAMILY_AMDGCN, "");
  known_list_add(list, KDL_IMAGE_SPIRV, "spirv64-amd-amdhsa", "amdgcnspirv", 0);
  add_listed(list, KDL_IMAGE_ZEBIN, "spir64-unknown-unknown", KDL_FAMILY_INTEL, "");
  for (uint32_t minor = 0; minor <= 6; ++minor)
    known_list_add(list, KDL_IMAGE_SPIRV, "spirv64-unknown-unknown", "spirv64",
                   KDL_VERSION_OF(1, minor));
  known_list_add(list, KDL_IMAGE_CL, "spirv64-unknown-unknown", "", 0);
}

static void add_cpus(known_list *list) {
  static const char *const x86[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  static const char *const riscv[] = {"rv64gc", "rv64gcv", "rva20u64", "rva22u64", "rva23u64"};
  for (size_t i = 0; i < sizeof x86 / sizeof *x86; ++i)
    known_list_add(list, KDL_IMAGE_OBJECT, "x86_64-unknown-linux-gnu", x86[i], 0);
  add_listed(list, KDL_IMAGE_OBJECT, "aarch64-unknown-linux-gnu", KDL_FAMILY_AARCH64, "armv");
  for (size_t i = 0; i < sizeof riscv / sizeof *riscv; ++i)
    known_list_add(list, KDL_IMAGE_OBJECT, "riscv64-unknown-linux-gnu", riscv[i], 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Matching                                                                                     */

/* The first route of the device that admits the image counts. */
static kdl_status match(known_list *list, const kdl_device_spec *routes, size_t count) {
  for (size_t i = 0; i < list->count; ++i) {
    known *item = &list->items[i];
    item->claim.arch = kdl_text_of(item->arch); /* items move when the list is sorted */
    item->backend = NULL;
    for (size_t r = 0; r < count && !item->backend; ++r) {
      kdl_claim_match match;
      KDL_TRY(kdl_claim_fit(&item->claim, &routes[r], &match));
      if (match.fit)
        item->backend = kdl_backend_name(routes[r].backend);
      if (match.fit || r == 0)
        item->match = match;
    }
  }
  return KDL_OK;
}

/* By rank, then what does not run. Equal ranks are sorted by name. */
static int by_rank(const void *a, const void *b) {
  const known *x = a, *y = b;
  if (!x->backend != !y->backend)
    return x->backend ? -1 : 1;
  if (x->match.rank != y->match.rank)
    return x->match.rank > y->match.rank ? -1 : 1;
  return strcmp(x->arch, y->arch);
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

typedef struct {
  known_list *list;
  cli_json *json; /* NULL for text */
  cli_table *table;
  bool all;
} printer;

static void print_known_json(cli_json *json, const known *item) {
  char version[16];
  cli_json_begin_object(json);
  cli_json_put_text(json, "arch", item->arch);
  cli_json_put_text(json, "image_kind", kdl_image_kind_name(item->match.kind));
  if (item->version) {
    snprintf(version, sizeof version, "%u.%u", item->version >> 16, item->version & 0xffff);
    cli_json_put_text(json, "version", version);
  }
  cli_json_put_bool(json, "runs", item->backend != NULL);
  if (item->backend) {
    cli_json_put_text(json, "backend", item->backend);
    cli_json_put_text(json, "fit", item->match.fit);
  } else {
    cli_json_put_text(json, "reason", item->match.reason);
  }
  cli_json_end_object(json);
}

static void print_row(cli_table *table, const char *device, const known *item) {
  char arch[48];
  snprintf(arch, sizeof arch, item->version ? "%s %u.%u" : "%s", item->arch, item->version >> 16,
           item->version & 0xffff);
  cli_table_add(table, kdl_text_of(device));
  cli_table_add(table, kdl_text_of(arch));
  cli_table_add(table, kdl_text_of(kdl_image_kind_name(item->match.kind)));
  cli_table_add(table, kdl_text_of(item->backend ? item->backend : ""));
  cli_table_add(table, kdl_text_of(item->backend ? item->match.fit : item->match.reason));
}

static kdl_status print_runs_of_device(const printer *to, const kdl_device_spec *routes,
                                       size_t count) {
  KDL_TRY(match(to->list, routes, count));
  qsort(to->list->items, to->list->count, sizeof *to->list->items, by_rank);
  char label[KDL_SPEC_LINE] = "";
  kdl_device_spec_summary(&routes[0], &(kdl_out){label, sizeof label, 0});
  if (to->json) {
    cli_json_begin_object(to->json);
    cli_json_put_text(to->json, "device", label);
    cli_json_put_text(to->json, "name", routes[0].name);
    cli_json_put_text(to->json, "driver", routes[0].driver);
    cli_json_put_array(to->json, "architectures");
  }
  for (size_t i = 0; i < to->list->count; ++i) {
    const known *item = &to->list->items[i];
    if (!item->backend && !to->all)
      break;
    if (to->json)
      print_known_json(to->json, item);
    else
      print_row(to->table, i == 0 ? label : "", item);
  }
  if (to->json) {
    cli_json_end_array(to->json);
    cli_json_end_object(to->json);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

/* Without a printer only checks the devices, so that nothing is printed if one is wrong. */
static kdl_status print_given(const printer *to, const cli_args *args) {
  size_t cursor = 0;
  const char *device;
  while ((device = cli_args_next(args, "device", &cursor))) {
    kdl_device_routes routes;
    kdl_status status = kdl_device_routes_resolve(device, &routes);
    if (status != KDL_OK)
      kdl_error_prefix("--device");
    KDL_TRY(status);
    if (to)
      KDL_TRY(print_runs_of_device(to, routes.specs, routes.count));
  }
  return KDL_OK;
}

static kdl_status print_here(const printer *to) {
  kdl_discovery *found;
  kdl_status status = KDL_OK;
  KDL_TRY(kdl_discover(NULL, &found));
  for (size_t i = 0; i < found->device_count && status == KDL_OK; ++i)
    status =
        print_runs_of_device(to, &found->routes[found->devices[i].first], found->devices[i].count);
  kdl_discovery_free(found);
  return status;
}

static kdl_status print_runs(const printer *to, const cli_args *args) {
  return cli_args_has(args, "device") ? print_given(to, args) : print_here(to);
}

static kdl_status print_document(known_list *list, const cli_args *args) {
  cli_json json = {.file = stdout};
  printer to = {.list = list, .json = &json, .all = cli_args_has(args, "all")};
  cli_json_begin_object(&json);
  cli_json_put_array(&json, "devices");
  kdl_status status = print_runs(&to, args);
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return status == KDL_OK ? cli_output_flush() : status;
}

static kdl_status print_runs_table(known_list *list, const cli_args *args) {
  static const cli_column columns[] = {
      {.title = "DEVICE", .shrinks = 1},
      {.title = "RUNS", .tint = "36"},
      {.title = "KIND"},
      {.title = "BACKEND"},
      {.title = "FIT"},
  };
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  printer to = {.list = list, .table = table, .all = cli_args_has(args, "all")};
  kdl_status status = print_runs(&to, args);
  if (status != KDL_OK) {
    cli_table_destroy(table);
    return status;
  }
  return cli_table_finish(table);
}

kdl_status cli_devices_runs(const cli_args *args) {
  KDL_TRY(print_given(NULL, args));
  known_list *list = xcalloc(1, sizeof *list);
  add_nvidia(list);
  add_other_gpus(list);
  add_cpus(list);
  kdl_status status =
      cli_args_has(args, "json") ? print_document(list, args) : print_runs_table(list, args);
  free(list);
  return status;
}
