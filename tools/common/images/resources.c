/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/resources.h"

#include "support/base/error.h"
#include "tools/common/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *key;
  size_t offset;
} fields[] = {
#define FIELD(name) {#name, offsetof(kdl_kernel_resources, name)}
    FIELD(vector_registers),
    FIELD(scalar_registers),
    FIELD(accumulator_registers),
    FIELD(vector_spills),
    FIELD(scalar_spills),
    FIELD(spill_bytes),
    FIELD(stack),
    FIELD(local),
    FIELD(shared),
    FIELD(constant),
    FIELD(max_block),
    FIELD(subgroup),
    FIELD(params),
    FIELD(param_bytes),
    FIELD(code_bytes),
    FIELD(barriers),
#undef FIELD
};
enum { field_count = sizeof fields / sizeof *fields, largest_block = 1024 };

static uint32_t field_value(const kdl_kernel_resources *uses, size_t field) {
  uint32_t value;
  memcpy(&value, (const char *)uses + fields[field].offset, sizeof value);
  return value;
}

/* ------------------------------------------------------------------------------------------ */
/* Options                                                                                      */

kdl_status cli_resources_options(const cli_args *args, cli_resources *out_resources) {
  *out_resources = (cli_resources){.block = 0};
  const char *block = cli_args_value(args, "block");
  if (block) {
    char *end;
    unsigned long number = strtoul(block, &end, 10);
    if (*block < '0' || *block > '9' || *end || number == 0 || number > largest_block)
      return kdl_fail(KDL_BAD_CALL, "--block=%s: expected a number from 1 to %d", block,
                      largest_block);
    out_resources->block = (uint32_t)number;
  }
  const char *text = cli_args_value(args, "device");
  if (!text)
    return block ? kdl_fail(KDL_BAD_CALL, "--block needs --device") : KDL_OK;
  return cli_devices_parse(text, &out_resources->devices);
}

void cli_resources_free(cli_resources *resources) {
  cli_devices_free(&resources->devices);
  free(resources->runs);
}

static int note_image(void *user, const kdl_verdict *verdict) {
  bool *runs = user;
  runs[verdict->image] = verdict->eligible;
  return 0;
}

kdl_status cli_resources_begin_file(cli_resources *resources, kdl_library *lib) {
  if (!resources->devices.count)
    return KDL_OK;
  free(resources->runs);
  resources->runs = xcalloc(kdl_image_count(lib), sizeof *resources->runs);
  return kdl_explain(lib, resources->devices.items[0].device, NULL, NULL, note_image,
                     resources->runs);
}

/* ------------------------------------------------------------------------------------------ */
/* Occupancy                                                                                    */

static const char *limit_name(kdl_occupancy_limit limit) {
  static const char *const names[] = {
      [KDL_LIMIT_BY_GROUPS] = "groups",
      [KDL_LIMIT_BY_SUBGROUPS] = "subgroups",
      [KDL_LIMIT_BY_REGISTERS] = "registers",
      [KDL_LIMIT_BY_SHARED] = "shared",
  };
  return names[limit];
}

/* AMD's compilers write the largest block there is where the source says nothing; NVIDIA's write
 * nothing, and their code has no scalar registers. */
static bool has_block_bound(const kdl_kernel_resources *uses) {
  return uses->max_block < largest_block ||
         (uses->max_block == largest_block && uses->scalar_registers == KDL_NO_RESOURCE);
}

uint32_t cli_occupancy_block(const kdl_kernel_resources *uses, uint32_t given) {
  enum { usual_block = 256 };
  uint64_t own = (uint64_t)uses->block[0] * uses->block[1] % UINT32_MAX * uses->block[2];
  if (given)
    return given;
  if (own)
    return own < UINT32_MAX ? (uint32_t)own : UINT32_MAX;
  return has_block_bound(uses) ? uses->max_block : usual_block;
}

static bool find_occupancy(const cli_resources *resources, size_t image,
                           const kdl_kernel_resources *uses, uint32_t *out_block,
                           kdl_occupancy *out) {
  *out_block = cli_occupancy_block(uses, resources->block);
  return resources->runs && resources->runs[image] &&
         kdl_device_occupancy(resources->devices.items[0].device, uses, *out_block, 0, out) ==
             KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Output                                                                                       */

enum { block_room = 40 };

static const char *const effect_names[] = {
    [KDL_EFFECT_UNKNOWN] = "unknown",
    [KDL_EFFECT_SOME] = "some",
    [KDL_EFFECT_NOTHING] = "nothing",
    [KDL_EFFECT_STOPS] = "stops",
};

static void print_block(const uint32_t block[3], char room[block_room]) {
  snprintf(room, block_room, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, block[0], block[1], block[2]);
}

char *cli_resources_text(const cli_resources *resources, size_t image,
                         const kdl_kernel_resources *uses) {
  char *text;
  size_t length;
  FILE *stream = xtext_stream(&text, &length);
  const char *separator = "";
  for (size_t i = 0; i < field_count; ++i) {
    uint32_t value = field_value(uses, i);
    if (value == KDL_NO_RESOURCE)
      continue;
    fprintf(stream, "%s%s=%" PRIu32, separator, fields[i].key, value);
    separator = " ";
  }
  if (uses->block[0]) {
    char room[block_room];
    print_block(uses->block, room);
    fprintf(stream, "%sblock=%s", separator, room);
  }
  if (uses->effect == KDL_EFFECT_NOTHING || uses->effect == KDL_EFFECT_STOPS)
    fprintf(stream, " effect=%s", effect_names[uses->effect]);
  kdl_occupancy occupancy = {.size = sizeof occupancy};
  uint32_t block;
  if (find_occupancy(resources, image, uses, &block, &occupancy))
    fprintf(stream,
            " occupancy=%" PRIu32 "/%" PRIu32 " (%" PRIu32 " groups of %" PRIu32 ", limited by %s)",
            occupancy.subgroups, occupancy.most_subgroups, occupancy.groups, block,
            limit_name(occupancy.limit));
  xtext_close(stream);
  return text;
}

void cli_resources_json(cli_json *json, const cli_resources *resources, size_t image,
                        const kdl_kernel_resources *uses) {
  for (size_t i = 0; i < field_count; ++i) {
    uint32_t value = field_value(uses, i);
    cli_json_put_known(json, fields[i].key, value != KDL_NO_RESOURCE, value);
  }
  if (uses->block[0]) {
    char room[block_room];
    print_block(uses->block, room);
    cli_json_put_text(json, "block", room);
  }
  cli_json_put_text(json, "effect", effect_names[uses->effect]);
  kdl_occupancy occupancy = {.size = sizeof occupancy};
  uint32_t block;
  if (!find_occupancy(resources, image, uses, &block, &occupancy))
    return;
  cli_json_put_object(json, "occupancy");
  cli_json_put_number(json, "block", block);
  cli_json_put_number(json, "groups", occupancy.groups);
  cli_json_put_number(json, "subgroups", occupancy.subgroups);
  cli_json_put_number(json, "most_subgroups", occupancy.most_subgroups);
  cli_json_put_text(json, "limit", limit_name(occupancy.limit));
  cli_json_end_object(json);
}
