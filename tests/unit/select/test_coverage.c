/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The coverage of a library on a device: how modules, relocatable code and kernels count. */
#include "library_builder.h"

#include "elf_builder.h"
#include "lib/inspect/selection.h"
#include "lib/library/selection.h"
#include "support/base/bytes.h"

enum { progbits = 1, alloc = 2 };

static kdl_coverage cover(kdl_library *lib, const char *device) {
  kdl_catalog *catalog;
  kdl_inventory *inventory;
  kdl_coverage coverage;
  size_t route;
  assert_ok(kdl_library_catalog(lib, &catalog));
  assert_ok(kdl_inventory_create(catalog, &inventory));
  assert_ok(kdl_device_cover(device_named(device), inventory, &coverage, &route));
  kdl_inventory_destroy(inventory);
  return coverage;
}

/* "1/2 modules, 3/4 kernels" */
static void assert_cover(kdl_library *lib, const char *device, const char *expected) {
  kdl_coverage found = cover(lib, device);
  char text[128];
  snprintf(text, sizeof text, "%zu/%zu modules, %zu/%zu kernels%s", found.modules_run,
           found.modules, found.kernels_run, found.kernels, found.is_complete ? ", complete" : "");
  assert_string_equal(text, expected);
}

static void kernels_count_once_and_run_by_any_image(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.a=rev=1|kdl.kernel.b=rev=1"},
      {3, NV_TRIPLE, "sm_80", "kdl.kernel.a=rev=1"},
      {1, AMD_TRIPLE, "gfx942", "kdl.kernel.a=rev=1|kdl.kernel.c=rev=1"},
  };
  built_library built = build_library(rows, 3);
  assert_cover(built.lib, "h200", "1/1 modules, 2/3 kernels");
  assert_cover(built.lib, "a100", "1/1 modules, 1/3 kernels");
  assert_cover(built.lib, "mi300x", "1/1 modules, 2/3 kernels");
  assert_cover(built.lib, "t4", "0/1 modules, 0/3 kernels");
  free_library(&built);
}

/* Kernels with code for another vendor or for one other architecture alone are told apart. */
static void kernels_for_others_are_counted(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90a", "kdl.kernel.a=rev=1|kdl.kernel.b=rev=1"},
      {3, NV_TRIPLE, "sm_100f", "kdl.kernel.b=rev=1|kdl.kernel.d=rev=1"},
      {3, NV_TRIPLE, "sm_80", "kdl.kernel.a=rev=1"},
      {1, AMD_TRIPLE, "gfx942", "kdl.kernel.c=rev=1"},
  };
  built_library built = build_library(rows, 4);
  assert_int_equal(cover(built.lib, "a100").kernels_other, 3);
  assert_int_equal(cover(built.lib, "t4").kernels_other, 3);
  assert_int_equal(cover(built.lib, "h200").kernels_other, 2);
  assert_int_equal(cover(built.lib, "b200").kernels_other, 1);
  assert_int_equal(cover(built.lib, "t4").kernels_foreign, 1);
  assert_int_equal(cover(built.lib, "mi300x").kernels_other, 3);
  free_library(&built);
}

/* "a:0 b:1* c:2!": the nearest image, '*' where all are for others, '!' for another vendor */
typedef struct {
  char text[256];
  size_t used;
} shortfalls;

static int note_shortfall(void *user, const kdl_shortfall *found) {
  shortfalls *to = user;
  if (found->is_idle)
    return 0;
  to->used += (size_t)snprintf(to->text + to->used, sizeof to->text - to->used, "%s%.*s:%zu%s",
                               to->used ? " " : "", (int)found->kernel.length,
                               found->kernel.data ? found->kernel.data : "", found->image,
                               found->reasons & KDL_REASON(WRONG_VENDOR) ? "!"
                               : found->is_other                         ? "*"
                                                                         : "");
  return 0;
}

static void assert_shortfalls(kdl_library *lib, const char *device, const char *expected) {
  kdl_catalog *catalog;
  kdl_inventory *inventory;
  shortfalls found = {.used = 0};
  assert_ok(kdl_library_catalog(lib, &catalog));
  assert_ok(kdl_inventory_create(catalog, &inventory));
  assert_ok(kdl_inventory_shortfalls(inventory, kdl_device_route(device_named(device), 0),
                                     note_shortfall, &found));
  kdl_inventory_destroy(inventory);
  assert_string_equal(found.text, expected);
}

/* What does not run comes with the nearest image that holds it, and how the rest runs is counted.
 */
static void shortfalls_name_the_nearest_image(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.a=rev=1|kdl.kernel.b=rev=1"},
      {3, NV_TRIPLE, "sm_80", "kdl.kernel.a=rev=1"},
      {1, AMD_TRIPLE, "gfx942", "kdl.kernel.a=rev=1|kdl.kernel.c=rev=1"},
      {5, NV_TRIPLE, "sm_80", "kdl.kernel.d=rev=1|kdl.version=7.0"},
  };
  built_library built = build_library(rows, 4);
  assert_shortfalls(built.lib, "h200", "c:2!");
  assert_shortfalls(built.lib, "a100", "b:0 c:2!");
  assert_shortfalls(built.lib, "t4", "a:1 b:0 c:2! d:3");
  kdl_coverage found = cover(built.lib, "h200");
  assert_int_equal(found.kernels_native, 2);
  assert_int_equal(found.kernels_run, 3);
  assert_false(found.is_foreign);
  assert_true(cover(built.lib, "pvc").is_foreign);
  free_library(&built);
}

/* Code of one other architecture is the nearest only where there is no other code. */
static void shortfalls_for_others_are_told_apart(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90a", "kdl.kernel.a=rev=1|kdl.kernel.b=rev=1"},
      {3, NV_TRIPLE, "sm_75", "kdl.kernel.a=rev=1"},
      {1, AMD_TRIPLE, "gfx942", "kdl.kernel.b=rev=1|kdl.kernel.c=rev=1"},
  };
  built_library built = build_library(rows, 3);
  assert_shortfalls(built.lib, "b200", "a:1 b:0* c:2!");
  assert_shortfalls(built.lib, "v100", "a:1 b:0* c:2!");
  assert_shortfalls(built.lib, "h200", "c:2!");
  free_library(&built);
}

/* In a copy of a cubin, `empty` stores: its EXIT becomes STG. */
static uint8_t *make_empty_store(const char *file, size_t *out_size) {
  enum { operation_exit = 0x94d, operation_store = 0x986, first_code_of_empty = 0x7b82 };
  uint8_t *data = read_golden(file, out_size);
  for (size_t at = 0; at + 32 <= *out_size; at += 16) {
    bool begins = kdl_load_u16(data + at) == first_code_of_empty;
    if (begins && (kdl_load_u16(data + at + 16) & 0xfff) == operation_exit)
      kdl_store_u16(data + at + 16, 0x7000 | operation_store);
  }
  return data;
}

/* A fatbin of two cubins. */
static uint8_t *make_fatbin(uint8_t *const images[2], const size_t sizes[2],
                            const uint32_t archs[2], size_t *out_size) {
  enum { header = 16, entry = 64, cubin = 2 };
  size_t body = 0;
  for (size_t i = 0; i < 2; ++i)
    body += entry + sizes[i];
  uint8_t *data = calloc(1, header + body), *at = data + header;
  kdl_store_u32(data, 0xba55ed50);
  kdl_store_u16(data + 4, 1);
  kdl_store_u16(data + 6, header);
  kdl_store_u64(data + 8, body);
  for (size_t i = 0; i < 2; at += entry + sizes[i++]) {
    kdl_store_u16(at, cubin);
    kdl_store_u32(at + 4, entry);
    kdl_store_u64(at + 8, sizes[i]);
    kdl_store_u32(at + 28, archs[i]);
    memcpy(at + entry, images[i], sizes[i]);
  }
  *out_size = header + body;
  return data;
}

static void hollow_kernels_do_not_run(void **state) {
  (void)state;
  static const uint32_t archs[2] = {80, 120};
  size_t sizes[2], size;
  uint8_t *images[2] = {read_golden("images/hollow_sm_80.cubin", &sizes[0]),
                        make_empty_store("images/hollow_sm_120.cubin", &sizes[1])};
  kdl_library *lib;
  /* A kernel that is empty everywhere is meant to be. */
  assert_ok(try_open(images[0], sizes[0], &lib));
  assert_cover(lib, "a100", "1/1 modules, 3/6 kernels");
  assert_int_equal(cover(lib, "a100").kernels_hollow, 3);
  assert_int_equal(cover(lib, "a100").kernels_idle, 1);
  assert_int_equal(cover(lib, "a100").kernels_native, 3);
  assert_shortfalls(lib, "a100", "traps:0 prints:0 asserts:0");
  kdl_close(lib);
  uint8_t *both = make_fatbin(images, sizes, archs, &size);
  assert_ok(try_open(both, size, &lib));
  assert_cover(lib, "a100", "1/1 modules, 2/6 kernels");
  assert_int_equal(cover(lib, "a100").kernels_hollow, 4);
  assert_int_equal(cover(lib, "a100").kernels_idle, 0);
  assert_int_equal(cover(lib, "a100").kernels_void, 3);
  assert_cover(lib, "cuda:sm_120", "1/1 modules, 3/6 kernels");
  assert_int_equal(cover(lib, "cuda:sm_120").kernels_hollow, 3);
  assert_int_equal(cover(lib, "h200").kernels_hollow, 0);
  kdl_close(lib);
  free(both);
  free(images[0]);
  free(images[1]);
}

static void shortfalls_of_modules_without_readable_kernels(void **state) {
  (void)state;
  static const image_row rows[] = {{3, NV_TRIPLE, "sm_90", NULL}, {3, NV_TRIPLE, "sm_80", NULL}};
  built_library built = build_library(rows, 2);
  assert_shortfalls(built.lib, "t4", ":1");
  assert_shortfalls(built.lib, "h200", "");
  free_library(&built);
}

/* A kernel's own limits; of a key that is there twice the last counts. */
static void a_kernel_that_does_not_fit_does_not_run(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90",
       "kdl.kernel.a=block=2048x1x1; rev=1|kdl.kernel.b=rev=1|kdl.kernel.b=block=4096x1x1; rev=1|"
       "kdl.kernel.c=block=4096x1x1; rev=1|kdl.kernel.c=rev=1|kdl.kernel.d=no such field"},
  };
  built_library built = build_library(rows, 1);
  assert_cover(built.lib, "h200", "1/1 modules, 1/4 kernels");
  free_library(&built);
}

/* If kernels cannot be read, modules count. */
static void unreadable_modules_must_run_themselves(void **state) {
  (void)state;
  static const image_row rows[] = {{3, NV_TRIPLE, "sm_90", NULL}, {3, NV_TRIPLE, "sm_80", NULL}};
  built_library built = build_library(rows, 2);
  assert_cover(built.lib, "h200", "1/1 modules, 0/0 kernels, complete");
  assert_cover(built.lib, "t4", "0/1 modules, 0/0 kernels");
  assert_int_equal(cover(built.lib, "t4").unreadable, 2);
  free_library(&built);
}

static void nothing_is_not_complete(void **state) {
  (void)state;
  kdl_library *lib = open_golden("offload/v2_none.offload");
  assert_cover(lib, "h200", "0/0 modules, 0/0 kernels");
  kdl_close(lib);
}

static void many_names_take_little_time(void **state) {
  (void)state;
  enum { images = 40, names = 2000 };
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  kdl_pair *pairs = calloc(names + 2, sizeof *pairs);
  char (*keys)[32] = calloc(names, sizeof *keys);
  pairs[0] = (kdl_pair){{"triple", 6}, {NV_TRIPLE, strlen(NV_TRIPLE)}};
  pairs[1] = (kdl_pair){{"arch", 4}, {"sm_90", 5}};
  for (size_t i = 0; i < images; ++i) {
    for (size_t k = 0; k < names; ++k) {
      int length = snprintf(keys[k], sizeof keys[k], "kdl.kernel.k%zu", i / 2 * names + k);
      pairs[k + 2] = (kdl_pair){{keys[k], (size_t)length}, {"rev=1", 5}};
    }
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = 3,
                              .pairs = pairs,
                              .pair_count = names + 2,
                              .data = "no image",
                              .data_size = 8};
    assert_ok(kdl_writer_add(writer, &image));
  }
  built_library built = {0};
  assert_ok(kdl_writer_finish(writer, &built.data, &built.size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_open_memory(built.data, built.size, NULL, &built.lib));
  assert_cover(built.lib, "h200", "1/1 modules, 40000/40000 kernels, complete");
  free_library(&built);
  free(keys);
  free(pairs);
}

/* ------------------------------------------------------------------------------------------ */
/* Relocatable code                                                                             */

typedef struct {
  elf_image elf;
  uint8_t *first, *second;
  kdl_library *lib;
} object;

/* A host object with one fatbin in each of two sections; the second may be NULL. */
static object make_object(const char *first_section, const char *first, const char *second_section,
                          const char *second) {
  object made = {0};
  elf_section sections[2] = {{first_section, progbits, alloc, NULL, 0},
                             {second_section, progbits, alloc, NULL, 0}};
  made.first = read_golden(first, &sections[0].size);
  sections[0].data = made.first;
  if (second)
    made.second = read_golden(second, &sections[1].size);
  sections[1].data = made.second;
  made.elf = build_elf(62, sections, second ? 2 : 1);
  assert_ok(try_open(made.elf.data, made.elf.size, &made.lib));
  return made;
}

static void free_object(object *made) {
  kdl_close(made->lib);
  free(made->elf.data);
  free(made->first);
  free(made->second);
}

static int select_image(kdl_library *lib, const char *device, const char *kernel) {
  built_library built = {.lib = lib};
  return chosen(&built, device, kernel, KDL_POLICY_BEST);
}

/* As in libnccl: the input of nvlink lies before what it made. */
static void the_linked_image_is_chosen(void **state) {
  (void)state;
  object made =
      make_object("__nv_relfatbin", "fatbin/rdc.fatbin", ".nv_fatbin", "fatbin/stored.fatbin");
  assert_int_equal(select_image(made.lib, "h200", "k"), 2);
  assert_int_equal(select_image(made.lib, "b200", "k"), 3); /* its PTX */
  assert_int_equal(select_image(made.lib, "h200", NULL), 2);
  assert_cover(made.lib, "h200", "1/1 modules, 1/1 kernels, complete");
  free_object(&made);
}

/* LTO-IR is linked at run time, if at all. The golden file's PTX is made LTO-IR too. */
static void link_time_code_does_not_count_beside_other_code(void **state) {
  (void)state;
  enum { first_kind = 16, ltoir = 8 };
  size_t lto_size, stored_size;
  uint8_t *lto = read_golden("fatbin/lto.fatbin", &lto_size);
  uint8_t *stored = read_golden("fatbin/stored.fatbin", &stored_size);
  uint8_t *both = malloc(lto_size + stored_size);
  memcpy(both, lto, lto_size);
  memcpy(both + lto_size, stored, stored_size);
  both[first_kind] = ltoir;
  kdl_library *lib;
  assert_ok(try_open(both, lto_size, &lib));
  assert_cover(lib, "h200", "0/1 modules, 0/0 kernels");
  kdl_close(lib);
  assert_ok(try_open(both, lto_size + stored_size, &lib));
  assert_cover(lib, "h200", "1/1 modules, 1/1 kernels, complete");
  kdl_close(lib);
  free(both);
  free(stored);
  free(lto);
}

/* What another module has for this device runs. */
static void a_module_may_be_for_other_devices(void **state) {
  (void)state;
  size_t stored_size, archs_size;
  uint8_t *stored = read_golden("fatbin/stored.fatbin", &stored_size);
  uint8_t *archs = read_golden("fatbin/archs.fatbin", &archs_size);
  uint8_t *both = malloc(stored_size + archs_size);
  memcpy(both, stored, stored_size);
  memcpy(both + stored_size, archs, archs_size);
  kdl_library *lib;
  assert_ok(try_open(both, stored_size + archs_size, &lib));
  assert_cover(lib, "gb10", "1/2 modules, 1/1 kernels, complete");
  assert_cover(lib, "h200", "2/2 modules, 1/1 kernels, complete");
  assert_cover(lib, "a100", "0/2 modules, 0/1 kernels");
  kdl_close(lib);
  free(both);
  free(archs);
  free(stored);
}

static void an_object_of_link_inputs_runs_nowhere(void **state) {
  (void)state;
  object made = make_object("__nv_relfatbin", "fatbin/rdc.fatbin", NULL, NULL);
  assert_int_equal(select_image(made.lib, "h200", "k"), nothing);
  assert_string_equal(kdl_error_message(),
                      "k: none of 2 images fits cuda:sm_90 (NVIDIA H200); the nearest is image 0 "
                      "(cubin sm_90): it is relocatable code that something else must be linked "
                      "to; fix: link it with nvlink (nvcc -dlink), and take what comes out");
  assert_cover(made.lib, "h200", "0/1 modules, 0/1 kernels");
  free_object(&made);
}

/* If no section shows it, the image does: it uses a function that it does not define. */
static void code_that_lacks_a_function_is_refused(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/extern.fatbin");
  assert_int_equal(select_image(lib, "h200", "k"), nothing);
  assert_int_equal(select_image(lib, "b200", "k"), nothing); /* the PTX lacks it too */
  assert_int_equal(select_image(lib, "h200", NULL), nothing);
  assert_cover(lib, "h200", "0/1 modules, 0/1 kernels");
  kdl_close(lib);
}

/* As cuBLASLt's own kernels, it loads. */
static void relocatable_code_that_lacks_nothing_runs(void **state) {
  (void)state;
  kdl_library *lib = open_golden("fatbin/rdc.fatbin");
  assert_int_equal(select_image(lib, "h200", "k"), 0);
  assert_cover(lib, "h200", "1/1 modules, 1/1 kernels, complete");
  kdl_close(lib);
}

/* ------------------------------------------------------------------------------------------ */
/* Several modules                                                                              */

static int count_chosen(void *user, const kdl_verdict *verdict) {
  *(size_t *)user += verdict->chosen != 0;
  return 0;
}

static void each_module_has_its_own_choice(void **state) {
  (void)state;
  object made =
      make_object(".nv_fatbin", "fatbin/stored.fatbin", "__nv_relfatbin", "fatbin/rdc.fatbin");
  size_t count = 0;
  assert_ok(kdl_explain(made.lib, device_named("h200"), NULL, NULL, count_chosen, &count));
  assert_int_equal(count, 1);
  free_object(&made);
  size_t size;
  uint8_t *one = read_golden("fatbin/stored.fatbin", &size);
  uint8_t *both = calloc(2, size);
  memcpy(both, one, size);
  memcpy(both + size, one, size);
  kdl_library *lib;
  assert_ok(try_open(both, 2 * size, &lib));
  count = 0;
  assert_ok(kdl_explain(lib, device_named("h200"), NULL, NULL, count_chosen, &count));
  assert_int_equal(count, 2);
  count = 0;
  assert_ok(kdl_explain(lib, device_named("h200"), "k", NULL, count_chosen, &count));
  assert_int_equal(count, 1);
  kdl_selection choice = {.size = sizeof choice};
  assert_fails(kdl_select(lib, device_named("h200"), NULL, NULL, &choice), KDL_BAD_CALL,
               "kdl_select: found no kernel, and images of several modules that fit; expected a "
               "kernel, since no image stands for the others");
  assert_int_equal(select_image(lib, "h200", "k"), 0);
  assert_int_equal(select_image(lib, "v100", NULL), nothing);
  kdl_close(lib);
  free(both);
  free(one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_count_once_and_run_by_any_image),
      cmocka_unit_test(kernels_for_others_are_counted),
      cmocka_unit_test(hollow_kernels_do_not_run),
      cmocka_unit_test(shortfalls_name_the_nearest_image),
      cmocka_unit_test(shortfalls_for_others_are_told_apart),
      cmocka_unit_test(shortfalls_of_modules_without_readable_kernels),
      cmocka_unit_test(a_kernel_that_does_not_fit_does_not_run),
      cmocka_unit_test(unreadable_modules_must_run_themselves),
      cmocka_unit_test(a_module_may_be_for_other_devices),
      cmocka_unit_test(link_time_code_does_not_count_beside_other_code),
      cmocka_unit_test(nothing_is_not_complete),
      cmocka_unit_test(many_names_take_little_time),
      cmocka_unit_test(the_linked_image_is_chosen),
      cmocka_unit_test(an_object_of_link_inputs_runs_nowhere),
      cmocka_unit_test(code_that_lacks_a_function_is_refused),
      cmocka_unit_test(relocatable_code_that_lacks_nothing_runs),
      cmocka_unit_test(each_module_has_its_own_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
