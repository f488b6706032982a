/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* make_sequence SAXPY OUT: records every kind of step with the kernel of examples/saxpy, and saves
 * it without its images. tests/golden/sequence/steps.offload was made so. */
#include <kdl/sequence.h>

#include <stdio.h>
#include <stdlib.h>

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "make_sequence: %s\n", kdl_error_message());
    exit(1);
  }
}

int main(int argc, char **argv) {
  enum { n = 8, bytes = n * sizeof(float) };
  const uint32_t count = n, zero = 0;
  const float one = 1;
  kdl_library *lib;
  kdl_device *device;
  kdl_kernel *saxpy;
  kdl_sequence *seq;
  kdl_slot x, y, a, items, from, copy, go;
  if (argc != 3)
    return 2;
  must(kdl_open(argv[1], NULL, &lib));
  must(kdl_device_find("host", &device));
  must(kdl_sym(lib, device, "saxpy", NULL, &saxpy));
  must(kdl_sequence_create(device, &seq));
  must(kdl_sequence_add_buffer(seq, "x", bytes, &x));
  must(kdl_sequence_add_buffer(seq, "y", bytes, &y));
  must(kdl_sequence_add_scalar(seq, "a", sizeof one, &a));
  must(kdl_sequence_add_items(seq, "items", &items));
  must(kdl_sequence_add_host(seq, "from", bytes, &from));
  must(kdl_sequence_add_buffer(seq, "a copy", bytes, &copy)); /* with a blank in its name */
  must(kdl_sequence_add_buffer(seq, NULL, 4, &go));
  kdl_operand first[] = {kdl_operand_slot(a), kdl_operand_slot(x), kdl_operand_slot(y),
                         KDL_VALUE(&count)};
  kdl_operand again[] = {KDL_VALUE(&one), kdl_operand_slot(x), kdl_operand_slot(y),
                         KDL_VALUE(&count)};
  must(kdl_sequence_copy(seq, kdl_operand_slot(x), kdl_operand_slot(from), bytes));
  must(kdl_sequence_fork(seq));
  must(kdl_sequence_fill(seq, kdl_operand_slot(y), bytes, &one, sizeof one));
  must(kdl_sequence_launch_items(seq, saxpy, kdl_operand_slot(items), first, 4));
  must(kdl_sequence_branch(seq));
  must(kdl_sequence_copy(seq, kdl_operand_slot_offset(copy, 16), kdl_operand_slot(x), 16));
  must(kdl_sequence_join(seq));
  must(kdl_sequence_while(seq, kdl_operand_slot(go)));
  must(kdl_sequence_launch_items(seq, saxpy, kdl_operand_items(kdl_extent1(n)), again, 4));
  must(kdl_sequence_fill(seq, kdl_operand_slot(go), 4, &zero, 4));
  must(kdl_sequence_end_while(seq));
  must(kdl_sequence_finish(seq));
  kdl_sequence_save_opts opts = {sizeof opts, "steps", KDL_SEQUENCE_NO_IMAGES, 0};
  must(kdl_sequence_save(seq, argv[2], &opts));
  kdl_sequence_destroy(seq);
  kdl_close(lib);
  return 0;
}
