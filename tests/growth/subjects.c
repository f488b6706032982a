/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* subjects NAME N: what growth.py counts the instructions of that no command does. */
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
  uint32_t word = 0;
  for (uint64_t run = 1; run <= 3; ++run) {
    const kdl_buffer buffer = {.address = (uintptr_t)&word, .size = sizeof word, .device = device};
    const kdl_binding bindings[] = {kdl_bind_items(items, kdl_extent1(run)),
                                    kdl_bind_buffer(x, buffer)};
    need(kdl_sequence_run(sequence, NULL, bindings, 2));
  }
  kdl_sequence_destroy(sequence);
  kdl_close(lib);
}

int main(int argc, char **argv) {
  unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
  if (count && strcmp(argv[1], "devices") == 0)
    devices(count);
  else if (count && strcmp(argv[1], "level") == 0)
    level(count);
  else
    return 2;
  return 0;
}
