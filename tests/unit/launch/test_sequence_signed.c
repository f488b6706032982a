/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sequence's file contains the images of its kernels with their signatures. */
#include "trust_support.h"

static void carried_images_keep_their_signatures(void **state) {
  (void)state;
  /* Neither the kind nor the flags are libkdl's defaults. */
  static const kdl_pair pairs[] = {{{"triple", 6}, {HOST_TRIPLE, sizeof HOST_TRIPLE - 1}},
                                   {{"arch", 4}, {HOST_ARCH, sizeof HOST_ARCH - 1}}};
  const struct {
    uint16_t declared_kind;
    uint32_t flags;
  } cases[] = {{1, 0}, {1, 0x100}, {0, 0}, {0, 0x102}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    kdl_writer *writer;
    kdl_library *lib, *saved;
    kdl_sequence *sequence;
    const uint32_t count = 10;
    void *data, *file;
    size_t size, image_size;
    uint8_t *bytes = read_file(KDL_TEST_IMAGES "/mark1.so", &image_size);
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = cases[i].declared_kind,
                              .flags = cases[i].flags,
                              .pairs = pairs,
                              .pair_count = 2,
                              .data = bytes,
                              .data_size = image_size};
    assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
    trust_add(writer, &image, TRUST_SIGNED);
    assert_ok(kdl_writer_finish(writer, &data, &size));
    kdl_writer_destroy(writer);
    assert_ok(kdl_open_memory(data, size, NULL, &lib));
    kdl_slot out;
    assert_ok(kdl_sequence_create(the_host(), &sequence));
    assert_ok(kdl_sequence_add_buffer(sequence, "out", count * sizeof count, &out));
    kdl_operand args[] = {kdl_operand_slot(out), KDL_VALUE(&count)};
    assert_ok(kdl_sequence_launch_items(sequence, kernel_named(lib, "mark"),
                                        kdl_operand_items(kdl_extent1(count)), args, 2));
    assert_ok(kdl_sequence_finish(sequence));
    assert_ok(kdl_sequence_save_memory(sequence, NULL, &file, &size));
    assert_ok(kdl_open_memory(file, size, NULL, &saved));
    kdl_selection choice = {.size = sizeof choice};
    assert_ok(kdl_select(saved, the_host(), "mark", NULL, &choice));
    kdl_close(saved);
    kdl_sequence_destroy(sequence);
    kdl_close(lib);
    free(file);
    free(data);
    free(bytes);
  }
}

static int begin(void **state) {
  (void)state;
  trust_begin("require");
  return 0;
}

static int end(void **state) {
  (void)state;
  trust_end();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(carried_images_keep_their_signatures),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
