/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* comgr_agrees FILE...: reads AMD code objects by AMD's own code object manager and by libkdl, and
 * compares: where they are in one of Clang's bundles; target, kernels, group memory, the largest
 * and the required block, parameters. comgr also disassembles the code, where it knows the
 * processor: an older one reads the metadata of newer code objects all the same. */
#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/image/readers.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

#include <amd_comgr.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *path;
  uint8_t *data;
  size_t size;
  unsigned wrong;
  unsigned kernels;
  unsigned params;
} file;

__attribute__((format(printf, 2, 3))) static void differ(file *f, const char *format, ...) {
  va_list args;
  printf("FAIL: %s: ", f->path);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
  ++f->wrong;
}

static void must(amd_comgr_status_t status, const char *call) {
  const char *words = "?";
  if (status == AMD_COMGR_STATUS_SUCCESS)
    return;
  amd_comgr_status_string(status, &words);
  printf("FAIL: %s: %s\n", call, words);
  exit(1);
}
#define MUST(call) must(amd_comgr_##call, #call)

static bool read_file(file *f) {
  FILE *stream = fopen(f->path, "rb");
  if (!stream)
    return false;
  size_t room = 1u << 24;
  f->data = malloc(room);
  f->size = f->data ? fread(f->data, 1, room, stream) : 0;
  fclose(stream);
  return f->size != 0;
}

/* ------------------------------------------------------------------------------------------ */
/* comgr's metadata                                                                             */

static bool find(amd_comgr_metadata_node_t map, const char *key, amd_comgr_metadata_node_t *value) {
  return amd_comgr_metadata_lookup(map, key, value) == AMD_COMGR_STATUS_SUCCESS;
}

static void text_of(amd_comgr_metadata_node_t node, char *text, size_t room) {
  size_t size = 0;
  MUST(get_metadata_string(node, &size, NULL));
  if (size > room)
    exit(1);
  MUST(get_metadata_string(node, &size, text));
}

static void text_at(amd_comgr_metadata_node_t map, const char *key, char *text, size_t room) {
  amd_comgr_metadata_node_t node;
  *text = '\0';
  if (!find(map, key, &node))
    return;
  text_of(node, text, room);
  MUST(destroy_metadata(node));
}

static uint32_t number_at(amd_comgr_metadata_node_t map, const char *key) {
  char text[64];
  text_at(map, key, text, sizeof text);
  return (uint32_t)strtoul(text, NULL, 0);
}

static size_t list_size(amd_comgr_metadata_node_t map, const char *key,
                        amd_comgr_metadata_node_t *list) {
  size_t count = 0;
  if (!find(map, key, list))
    return 0;
  MUST(get_metadata_list_size(*list, &count));
  return count;
}

/* ------------------------------------------------------------------------------------------ */
/* Both                                                                                         */

typedef struct {
  kdl_image_param items[64];
  size_t count;
} param_list;

static int add_param(void *user, const kdl_image_param *param) {
  param_list *list = user;
  if (list->count < sizeof list->items / sizeof *list->items)
    list->items[list->count] = *param;
  ++list->count;
  return 0;
}

static void compare_params(file *f, const char *name, amd_comgr_metadata_node_t kernel) {
  param_list ours = {.count = 0};
  kdl_string text = {name, strlen(name)};
  if (kdl_image_read_params(KDL_IMAGE_HSACO, f->data, f->size, text, add_param, &ours) != KDL_OK)
    differ(f, "%s: libkdl: %s", name, kdl_error_message());
  amd_comgr_metadata_node_t list, arg;
  size_t count = list_size(kernel, ".args", &list), shown = 0;
  uint32_t end = 0;
  for (size_t i = 0; i < count; ++i) {
    char kind[64];
    MUST(index_list_metadata(list, i, &arg));
    text_at(arg, ".value_kind", kind, sizeof kind);
    uint32_t size = number_at(arg, ".size"), offset = number_at(arg, ".offset");
    MUST(destroy_metadata(arg));
    end = offset + size > end ? offset + size : end;
    if (strncmp(kind, "hidden_", 7) == 0)
      continue;
    bool is_pointer = strcmp(kind, "global_buffer") == 0;
    const kdl_image_param *our = &ours.items[shown];
    if (shown >= ours.count || our->size != size || our->offset != offset ||
        is_pointer != (our->kind == KDL_IMAGE_PARAM_POINTER))
      differ(f, "%s: parameter %zu: comgr has %s of %u bytes at %u", name, shown, kind, size,
             offset);
    ++shown;
  }
  if (shown != ours.count)
    differ(f, "%s: comgr has %zu parameters, libkdl %zu", name, shown, ours.count);
  if (number_at(kernel, ".kernarg_segment_size") < end)
    differ(f, "%s: arguments of %u bytes, of which comgr has %u", name, end,
           number_at(kernel, ".kernarg_segment_size"));
  f->params += (unsigned)shown;
}

static void compare_limits(file *f, const char *name, amd_comgr_metadata_node_t kernel) {
  kdl_image_limits ours;
  kdl_string text = {name, strlen(name)};
  if (kdl_amdgpu_read_limits(f->data, f->size, text, &ours) != KDL_OK) {
    differ(f, "%s: libkdl: %s", name, kdl_error_message());
    return;
  }
  uint32_t group = number_at(kernel, ".group_segment_fixed_size");
  uint32_t block = number_at(kernel, ".max_flat_workgroup_size");
  if (ours.shared != group || ours.max_block != block)
    differ(f, "%s: comgr has %u bytes of group memory and blocks of %u, libkdl %u and %u", name,
           group, block, ours.shared, ours.max_block);
  amd_comgr_metadata_node_t list, item;
  size_t count = list_size(kernel, ".reqd_workgroup_size", &list);
  for (size_t i = 0; i < 3; ++i) {
    char number[32] = "0";
    if (i < count) {
      MUST(index_list_metadata(list, i, &item));
      text_of(item, number, sizeof number);
      MUST(destroy_metadata(item));
    }
    if (strtoul(number, NULL, 0) != ours.block[i])
      differ(f, "%s: comgr requires %s work-items in dimension %zu, libkdl %u", name, number, i,
             ours.block[i]);
  }
}

typedef struct {
  const char *wanted;
  unsigned seen;
  unsigned count;
} name_search;

static int see_name(void *user, const char *name, size_t length) {
  name_search *search = user;
  ++search->count;
  search->seen += strlen(search->wanted) == length && memcmp(search->wanted, name, length) == 0;
  return 0;
}

/* gfx10 and later have waves of 32 work-items where nothing else was asked for, and nothing is. */
static void compare_wavefront(file *f, const char *name, const char *arch,
                              amd_comgr_metadata_node_t kernel) {
  uint32_t expected = strncmp(arch, "gfx9", 4) == 0 ? 64 : 32;
  uint32_t found = number_at(kernel, ".wavefront_size");
  if (found != expected)
    differ(f, "%s: comgr has waves of %u for %s", name, found, arch);
}

static void compare_kernels(file *f, amd_comgr_data_t object, const char *arch) {
  amd_comgr_metadata_node_t root, list, kernel;
  MUST(get_data_metadata(object, &root));
  size_t count = list_size(root, "amdhsa.kernels", &list);
  name_search search = {.wanted = ""};
  for (size_t i = 0; i < count; ++i) {
    char name[512];
    MUST(index_list_metadata(list, i, &kernel));
    text_at(kernel, ".name", name, sizeof name);
    search = (name_search){.wanted = name};
    if (kdl_image_read_kernels(KDL_IMAGE_HSACO, f->data, f->size, see_name, &search) != KDL_OK ||
        search.seen != 1)
      differ(f, "libkdl finds the kernel %s %u times", name, search.seen);
    compare_params(f, name, kernel);
    compare_limits(f, name, kernel);
    compare_wavefront(f, name, arch, kernel);
    MUST(destroy_metadata(kernel));
    ++f->kernels;
  }
  if (search.count != count || !count)
    differ(f, "comgr finds %zu kernels, libkdl %u", count, search.count);
  MUST(destroy_metadata(root));
}

/* "amdgcn-amd-amdhsa--gfx90a:xnack+". True where comgr tells, which it does up to the version of
 * code objects that it knows. */
static bool compare_target(file *f, amd_comgr_data_t object, kdl_image_target *target,
                           char ours[256]) {
  char isa[256];
  size_t size = sizeof isa;
  if (kdl_image_read_target(KDL_IMAGE_HSACO, f->data, f->size, target) != KDL_OK) {
    differ(f, "libkdl: %s", kdl_error_message());
    return false;
  }
  snprintf(ours, 256, "%s--%.180s", target->triple, target->arch);
  if (amd_comgr_get_data_isa_name(object, &size, isa) != AMD_COMGR_STATUS_SUCCESS)
    return false;
  if (strcmp(isa, ours) != 0)
    differ(f, "comgr reads %s, libkdl %s", isa, ours);
  return true;
}

static unsigned count_instructions(file *f, amd_comgr_action_info_t info, amd_comgr_data_set_t in,
                                   amd_comgr_data_set_t out) {
  amd_comgr_data_t text;
  MUST(do_action(AMD_COMGR_ACTION_DISASSEMBLE_EXECUTABLE_TO_SOURCE, info, in, out));
  MUST(action_data_get_data(out, AMD_COMGR_DATA_KIND_SOURCE, 0, &text));
  size_t size = 0;
  MUST(get_data(text, &size, NULL));
  char *words = calloc(1, size + 1);
  if (!words)
    exit(1);
  MUST(get_data(text, &size, words));
  unsigned ends = 0, instructions = 0;
  char *rest;
  for (char *line = strtok_r(words, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    ends += strstr(line, "s_endpgm") != NULL;
    instructions += *line == '\t';
  }
  if (ends < f->kernels)
    differ(f, "comgr's disassembly ends %u programs, of %u kernels", ends, f->kernels);
  free(words);
  MUST(release_data(text));
  return instructions;
}

/* 0 where comgr does not know the processor. */
static unsigned disassemble(file *f, amd_comgr_data_t object, const char *isa) {
  amd_comgr_data_set_t in, out;
  amd_comgr_action_info_t info;
  unsigned instructions = 0;
  MUST(create_data_set(&in));
  MUST(create_data_set(&out));
  MUST(set_data_name(object, "object"));
  MUST(data_set_add(in, object));
  MUST(create_action_info(&info));
  if (amd_comgr_action_info_set_isa_name(info, isa) == AMD_COMGR_STATUS_SUCCESS)
    instructions = count_instructions(f, info, in, out);
  MUST(destroy_action_info(info));
  MUST(destroy_data_set(out));
  MUST(destroy_data_set(in));
  return instructions;
}

/* ------------------------------------------------------------------------------------------ */
/* Bundles                                                                                      */

static const char bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

/* The bytes that HIP would load for each target of the bundle. */
static void compare_bundle(file *f, amd_comgr_data_t bundle) {
  kdl_library *lib;
  if (kdl_open_memory(f->data, f->size, NULL, &lib) != KDL_OK) {
    differ(f, "libkdl: %s", kdl_error_message());
    return;
  }
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info info = {.size = sizeof info};
    const void *bytes;
    size_t size;
    char isa[256];
    amd_comgr_code_object_info_t theirs = {.isa = isa};
    if (kdl_image_get(lib, i, &info) != KDL_OK ||
        kdl_image_bytes(lib, i, &bytes, &size) != KDL_OK) {
      differ(f, "libkdl: %s", kdl_error_message());
      continue;
    }
    snprintf(isa, sizeof isa, "%s--%s", info.triple.data, info.arch.data);
    MUST(lookup_code_object(bundle, &theirs, 1));
    if (theirs.size != size || theirs.offset > f->size || size > f->size - theirs.offset ||
        memcmp(f->data + theirs.offset, bytes, size) != 0)
      differ(f, "%s: comgr has %zu bytes at %llu, libkdl %zu others", isa, theirs.size,
             (unsigned long long)theirs.offset, size);
    ++f->kernels;
  }
  printf("%s bundle: %u code objects\n", f->wrong ? "FAIL" : "ok", f->kernels);
  kdl_close(lib);
}

static bool is_bundle(const file *f) {
  return f->size > sizeof bundle_magic &&
         memcmp(f->data, bundle_magic, sizeof bundle_magic - 1) == 0;
}

int main(int argc, char **argv) {
  unsigned wrong = 0, told = 0, disassembled = 0;
  size_t major, minor;
  amd_comgr_get_version(&major, &minor);
  printf("comgr %zu.%zu\n", major, minor);
  for (int i = 1; i < argc; ++i) {
    file f = {.path = argv[i]};
    amd_comgr_data_t object;
    kdl_image_target target = {0};
    char isa[256] = "";
    if (!read_file(&f)) {
      printf("FAIL: %s cannot be read\n", f.path);
      return 1;
    }
    MUST(create_data(is_bundle(&f) ? AMD_COMGR_DATA_KIND_FATBIN : AMD_COMGR_DATA_KIND_EXECUTABLE,
                     &object));
    MUST(set_data(object, f.size, (const char *)f.data));
    if (is_bundle(&f)) {
      compare_bundle(&f, object);
      MUST(release_data(object));
      free(f.data);
      wrong += f.wrong;
      continue;
    }
    bool tells = compare_target(&f, object, &target, isa);
    compare_kernels(&f, object, target.arch);
    unsigned instructions = disassemble(&f, object, isa);
    printf("%s %s, code object version %u: %u kernels, %u parameters%s", f.wrong ? "FAIL" : "ok",
           target.arch, target.version_major, f.kernels, f.params, tells ? ", the target" : "");
    if (instructions)
      printf(", %u instructions\n", instructions);
    else
      puts("; comgr does not know the processor");
    MUST(release_data(object));
    free(f.data);
    wrong += f.wrong;
    told += tells;
    disassembled += instructions != 0;
  }
  printf("%d files; comgr told the target of %u and disassembled %u; %u differences\n", argc - 1,
         told, disassembled, wrong);
  return wrong || argc < 2 ? 1 : 0;
}
