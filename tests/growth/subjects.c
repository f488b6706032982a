/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* subjects NAME N: what growth.py counts the instructions of that no command does. */
#include "ext/adaptive/choices.h"

#include <kdl/kdl.h>
#include <kdl/sequence.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(kdl_status status) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "%s\n", kdl_error_message());
  exit(1);
}

/* As many devices are described, and each is asked for twice. */
static void devices(unsigned count) {
  for (unsigned i = 0; i < 2 * count; ++i) {
    char text[64];
    kdl_device *device;
    snprintf(text, sizeof text, "cuda:sm_90 name=%u", i / 2);
    need(kdl_device_find(text, &device));
  }
}

/* A sequence with as many launches that do not wait for each other, whose items change. */
static void level(unsigned count) {
  kdl_device *device;
  kdl_library *lib;
  kdl_kernel *kernel;
  kdl_sequence *sequence;
  kdl_slot items, x;
  need(kdl_device_find("host", &device));
  need(kdl_open(KDL_TEST_IMAGES "/mark1.so", NULL, &lib));
  need(kdl_sym(lib, device, "count", NULL, &kernel));
  need(kdl_sequence_create(device, &sequence));
  need(kdl_sequence_add_items(sequence, "items", &items));
  need(kdl_sequence_add_buffer(sequence, "x", 4, &x));
  const kdl_operand argument = kdl_operand_slot(x);
  need(kdl_sequence_fork(sequence));
  for (unsigned i = 0; i < count; ++i) {
    need(kdl_sequence_branch(sequence));
    need(kdl_sequence_launch_items(sequence, kernel, kdl_operand_slot(items), &argument, 1));
  }
  need(kdl_sequence_join(sequence));
  need(kdl_sequence_finish(sequence));
  uint32_t words[3] = {0}; /* one for each item */
  for (uint64_t run = 1; run <= 3; ++run) {
    const kdl_buffer buffer = {.address = (uintptr_t)words, .size = sizeof words, .device = device};
    const kdl_binding bindings[] = {kdl_bind_items(items, kdl_extent1(run)),
                                    kdl_bind_buffer(x, buffer)};
    need(kdl_sequence_run(sequence, NULL, bindings, 2));
  }
  kdl_sequence_destroy(sequence);
  kdl_close(lib);
}

#ifdef KDL_WITH_ADAPTIVE
/* Opens a kernel of two variants with the lines that a library carries; as many classes have
 * trials, or as many variants that are not there have them in one class. */
static void open_tuned(unsigned count, bool has_classes) {
  static const char identity[] = "kernel=k device=d";
  enum { room = 96 };
  char content[room];
  char *text = malloc(((size_t)count + 1) * room), *at = text;
  if (!text)
    exit(1);
  snprintf(content, sizeof content, "h 1 %s", identity);
  at += kdl_table_seal(content, at, room);
  for (unsigned i = 0; i < count; ++i) {
    snprintf(content, sizeof content, "c %x 0 1 1000 9 9000 100 %016x:1.5000/1.6000",
             has_classes ? i : 7, has_classes ? 2 : i + 3);
    at += kdl_table_seal(content, at, room);
  }
  kdl_adaptive_variant variants[] = {{.id = 1, .tag = ""}, {.id = 2, .tag = ""}};
  const kdl_adaptive_subject subject = {.kernel = "k",
                                        .library = "l",
                                        .device = "d",
                                        .identity = {identity, sizeof identity - 1},
                                        .tuned = {text, (size_t)(at - text)},
                                        .is_host = true,
                                        .variants = variants,
                                        .variant_count = 2};
  kdl_adaptive *made = kdl_adaptive_choice->open(&subject);
  if (!made)
    exit(1);
  kdl_adaptive_choice->close(made, true);
  free(text);
}

static void tuned_classes(unsigned count) {
  open_tuned(count, true);
}

static void tuned_variants(unsigned count) {
  open_tuned(count, false);
}

#endif

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(unsigned count);
  } subjects[] = {{"devices", devices},
#ifdef KDL_WITH_ADAPTIVE
                  {"tuned_classes", tuned_classes},
                  {"tuned_variants", tuned_variants},
#endif
                  {"level", level}};
  unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
  for (size_t i = 0; count && i < sizeof subjects / sizeof *subjects; ++i) {
    if (strcmp(argv[1], subjects[i].name) == 0) {
      subjects[i].run(count);
      return 0;
    }
  }
  return 2;
}
