/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences that are saved and opened again: what the file contains, what is bound again, what is
 * refused. */
#include "launch_support.h"
#include "lib/inspect/sequences.h"
#include "lib/sequence/sequence.h"

/* Variants with other tiles, of which the second fits better. */
static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
static const host_row other_rows[] = {{"mark2", 0, NULL, NULL, NULL, NULL}};
static host_library made, other;
static kdl_queue *queue;

static int open_it(void **state) {
  (void)state;
  made = open_rows(rows, 1);
  other = open_rows(other_rows, 1);
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  return 0;
}

static int close_it(void **state) {
  (void)state;
  kdl_queue_destroy(queue);
  free_rows(&made);
  free_rows(&other);
  return 0;
}

typedef struct {
  void *data;
  size_t size;
  kdl_library *lib;
} saved_file;

static saved_file saved_with(const kdl_sequence *sequence, uint32_t flags) {
  saved_file file = {0};
  kdl_sequence_save_opts opts = {.size = sizeof opts, .name = "s", .flags = flags};
  kdl_open_opts named = {.size = sizeof named, .name = "f"};
  assert_ok(kdl_sequence_save_memory(sequence, &opts, &file.data, &file.size));
  assert_ok(kdl_open_memory(file.data, file.size, &named, &file.lib));
  return file;
}

static saved_file saved(const kdl_sequence *sequence) {
  return saved_with(sequence, 0);
}

static void forget(saved_file *file) {
  kdl_close(file->lib);
  free(file->data);
}

static kdl_sequence *opened(const saved_file *file) {
  kdl_sequence *sequence;
  assert_ok(kdl_sequence_open(file->lib, the_host(), NULL, &sequence));
  return sequence;
}

enum { n = 1000 };

/* Everything that is carried: both kinds of memory, a scalar, items, values, fills, copies, marks.
 */
static kdl_sequence *recorded(void) {
  kdl_sequence *sequence = created_sequence();
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  const uint32_t count = n, pattern = 7;
  kdl_slot out, copy, from, scalar, items;
  assert_ok(kdl_sequence_add_buffer(sequence, "out", 3 * n * 4, &out));
  assert_ok(kdl_sequence_add_buffer(sequence, "copy", n * 4, &copy));
  assert_ok(kdl_sequence_add_host(sequence, "host", 0, &from));
  assert_ok(kdl_sequence_add_scalar(sequence, "n", 4, &scalar));
  assert_ok(kdl_sequence_add_items(sequence, NULL, &items));
  kdl_operand first[] = {kdl_operand_slot(out), KDL_VALUE(&count)};
  kdl_operand second[] = {kdl_operand_slot_offset(out, n * 4), kdl_operand_slot(scalar)};
  assert_ok(kdl_sequence_copy(sequence, kdl_operand_slot(copy), kdl_operand_slot(from), n * 4));
  assert_ok(kdl_sequence_fork(sequence));
  assert_ok(kdl_sequence_launch_items(sequence, mark, kdl_operand_items(kdl_extent1(n)), first, 2));
  assert_ok(kdl_sequence_branch(sequence));
  assert_ok(kdl_sequence_launch_items(sequence, mark, kdl_operand_slot(items), second, 2));
  assert_ok(kdl_sequence_branch(sequence));
  assert_ok(
      kdl_sequence_fill(sequence, kdl_operand_slot_offset(out, 2 * n * 4), n * 4, &pattern, 4));
  assert_ok(kdl_sequence_join(sequence));
  assert_ok(kdl_sequence_copy(sequence, kdl_operand_slot(copy),
                              kdl_operand_slot_offset(out, n * 4 * 2), 8));
  assert_ok(kdl_sequence_finish(sequence));
  return sequence;
}

static void run_it(kdl_sequence *sequence, uint32_t *out, uint32_t *copy, uint32_t *host) {
  const uint32_t half = n / 2;
  kdl_binding bindings[] = {
      kdl_bind_buffer(1, kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, 3 * n * 4)),
      kdl_bind_buffer(2, kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)copy, n * 4)),
      kdl_bind_host(3, host, n * 4),
      KDL_BIND_SCALAR(4, &half),
      kdl_bind_items(5, kdl_extent1(half)),
  };
  memset(out, 0xff, 3 * n * 4);
  for (uint32_t i = 0; i < n; ++i)
    host[i] = i + 5;
  assert_ok(kdl_sequence_run(sequence, queue, bindings, 5));
  assert_ok(kdl_sync(queue));
}

/* With the variant that ran. */
static void check(const uint32_t *out, const uint32_t *copy, uint32_t variant) {
  for (uint32_t i = 0; i < n; ++i) {
    assert_int_equal(out[i], variant * 1000000 + i);
    assert_int_equal(out[n + i], i < n / 2 ? variant * 1000000 + i : UINT32_MAX);
    assert_int_equal(out[2 * n + i], 7);
    assert_int_equal(copy[i], i < 2 ? 7 : i + 5);
  }
}

static void run_and_check(kdl_sequence *sequence, uint32_t variant) {
  static uint32_t out[3 * n], copy[n], host[n];
  run_it(sequence, out, copy, host);
  check(out, copy, variant);
}

static void assert_same(kdl_sequence *a, kdl_sequence *b) {
  const kdl_recording *left = &a->recording, *right = &b->recording;
  assert_int_equal(left->node_count, right->node_count);
  assert_int_equal(left->slot_count, right->slot_count);
  assert_int_equal(left->mark_count, right->mark_count);
  for (size_t i = 0; i < left->node_count; ++i) {
    assert_int_equal(left->nodes[i].kind, right->nodes[i].kind);
    assert_int_equal(left->nodes[i].after, right->nodes[i].after);
    if (left->nodes[i].kind == KDL_NODE_JOIN)
      assert_int_equal(left->nodes[i].of.join.joined_count, right->nodes[i].of.join.joined_count);
  }
  for (size_t i = 0; i < left->slot_count; ++i) {
    assert_string_equal(left->slots[i].name, right->slots[i].name);
    assert_int_equal(left->slots[i].kind, right->slots[i].kind);
    assert_int_equal(left->slots[i].bytes, right->slots[i].bytes);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Saving and opening                                                                           */

static void what_is_opened_is_what_was_saved(void **state) {
  (void)state;
  kdl_sequence *sequence = recorded();
  saved_file file = saved(sequence);
  assert_int_equal(kdl_image_count(file.lib), 2);
  kdl_image_info image = {.size = sizeof image};
  assert_ok(kdl_image_get(file.lib, 0, &image));
  assert_int_equal(image.kind, KDL_IMAGE_SEQUENCE);
  kdl_sequence *again = opened(&file);
  assert_same(sequence, again);
  kdl_sequence_destroy(sequence);
  saved_file second = saved(again);
  assert_int_equal(file.size, second.size);
  run_and_check(again, 1);
  run_and_check(again, 1);
  kdl_sequence_destroy(again);
  forget(&second);
  forget(&file);
}

static void slots_are_found_by_name(void **state) {
  (void)state;
  kdl_sequence *sequence = recorded();
  kdl_slot slot;
  kdl_slot_desc desc = {.size = sizeof desc, .kind = KDL_SLOT_BUFFER};
  assert_ok(kdl_sequence_slot_find(sequence, "n", &slot));
  assert_int_equal(slot, 4);
  assert_ok(kdl_sequence_slot_get(sequence, 1, &desc));
  assert_string_equal(desc.name, "out");
  assert_int_equal(desc.bytes, 3 * n * 4);
  assert_ok(kdl_sequence_slot_get(sequence, 5, &desc));
  assert_string_equal(desc.name, "");
  assert_int_equal(desc.kind, KDL_SLOT_ITEMS);
  assert_refused(kdl_sequence_slot_get(sequence, 6, &desc), KDL_BAD_CALL,
                 "kdl_sequence_slot_get: found slot 6, expected one of the sequence's 5");
  assert_refused(kdl_sequence_slot_find(sequence, "", &slot), KDL_NO_MATCH, "found no slot");
  assert_refused(kdl_sequence_slot_find(sequence, "N", &slot), KDL_NO_MATCH, "found no slot \"N\"");
  kdl_sequence_destroy(sequence);
}

/* The types are those of the image that was bound, in a file as in what was recorded. */
static void slots_have_the_types_of_their_parameters(void **state) {
  (void)state;
  const host_row typed[] = {{"mark1", 0, NULL, NULL, "kdl.kernel.mark", "sig=ptr<u32> u32"}};
  host_library library = open_rows(typed, 1);
  kdl_library *plain = made.lib;
  made.lib = library.lib;
  kdl_sequence *sequence = recorded();
  made.lib = plain;
  saved_file file = saved(sequence);
  kdl_sequence *again = opened(&file);
  const kdl_sequence *both[] = {sequence, again};
  kdl_string type;
  for (int i = 0; i < 2; ++i) {
    static const struct {
      kdl_slot slot;
      const char *type;
      int count;
    } expected[] = {{1, "ptr<u32>", 2}, {2, "", 0}, {3, "", 0}, {4, "u32", 1}, {5, "", 0}};
    for (size_t j = 0; j < 5; ++j) {
      uint64_t at = 0;
      for (int k = 0; k < expected[j].count; ++k) {
        assert_ok(kdl_sequence_slot_type(both[i], expected[j].slot, &at, &type));
        assert_int_equal(type.length, strlen(expected[j].type));
        assert_memory_equal(type.data, expected[j].type, type.length);
      }
      assert_ok(kdl_sequence_slot_type(both[i], expected[j].slot, &at, &type));
      assert_int_equal(type.length, 0);
    }
  }
  uint64_t at = 0;
  assert_refused(kdl_sequence_slot_type(sequence, 6, &at, &type), KDL_BAD_CALL,
                 "kdl_sequence_slot_type: found slot 6, expected one of the sequence's 5");
  kdl_sequence_destroy(again);
  kdl_sequence_destroy(sequence);
  forget(&file);
  sequence = recorded(); /* without a signature */
  assert_ok(kdl_sequence_slot_type(sequence, 1, &(uint64_t){0}, &type));
  assert_int_equal(type.length, 0);
  kdl_sequence_destroy(sequence);
  free_rows(&library);
}

/* The kernel comes from a library with another variant, and a group of that covers other items. */
static void another_tile_covers_the_same_items(void **state) {
  (void)state;
  kdl_sequence *sequence = recorded(), *again;
  saved_file file = saved_with(sequence, KDL_SEQUENCE_NO_IMAGES);
  kdl_sequence_destroy(sequence);
  assert_int_equal(kdl_image_count(file.lib), 1);
  assert_refused(kdl_sequence_open(file.lib, the_host(), NULL, &again), KDL_NO_MATCH,
                 "kdl_sequence_open: f: kernel mark (of t): found in none of 1 libraries");
  kdl_library *libraries[] = {other.lib, made.lib};
  kdl_sequence_open_opts opts = {.size = sizeof opts, .libraries = libraries, .library_count = 2};
  assert_ok(kdl_sequence_open(file.lib, the_host(), &opts, &again));
  uint32_t tile = info_of(again->recording.nodes[1].of.launch.kernel).tile[0];
  assert_int_not_equal(tile, info_of(kernel_named(made.lib, "mark")).tile[0]);
  run_and_check(again, 2);
  kdl_sequence_destroy(again);
  assert_ok(kdl_sequence_open(file.lib, NULL, &opts, &again));
  kdl_sequence_destroy(again);
  libraries[0] = NULL;
  assert_refused(kdl_sequence_open(file.lib, the_host(), &opts, &again), KDL_BAD_CALL,
                 "opts.libraries[0] is NULL");
  forget(&file);
}

static void a_file_is_opened_by_its_path(void **state) {
  (void)state;
  char folder[] = "/tmp/kdl-sequence-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/s.offload", folder);
  kdl_sequence *sequence = recorded();
  assert_ok(kdl_sequence_save(sequence, path, NULL));
  kdl_sequence_destroy(sequence);
  kdl_library *lib;
  assert_ok(kdl_open(path, NULL, &lib));
  const kdl_string *name = kdl_image_value(lib, 0, KDL_SEQUENCE_KEY);
  assert_non_null(name);
  assert_string_equal(name->data, "sequence");
  assert_ok(kdl_sequence_open(lib, NULL, NULL, &sequence));
  kdl_close(lib); /* the kernels keep it */
  run_and_check(sequence, 1);
  kdl_sequence_destroy(sequence);
  unlink(path);
  rmdir(folder);
}

static void one_of_several_is_asked_for_by_name(void **state) {
  (void)state;
  kdl_sequence *sequence = created_sequence(), *again;
  kdl_sequence_save_opts opts = {.size = sizeof opts, .name = "a"};
  void *data[2], *both;
  size_t size[2];
  kdl_library *lib;
  assert_ok(kdl_sequence_finish(sequence));
  assert_ok(kdl_sequence_save_memory(sequence, &opts, &data[0], &size[0]));
  opts.name = "b";
  assert_ok(kdl_sequence_save_memory(sequence, &opts, &data[1], &size[1]));
  kdl_sequence_destroy(sequence);
  both = malloc(size[0] + size[1]);
  memcpy(both, data[0], size[0]);
  memcpy((char *)both + size[0], data[1], size[1]);
  assert_ok(kdl_open_memory(both, size[0] + size[1], NULL, &lib));
  kdl_sequence_open_opts which = {.size = sizeof which};
  assert_refused(kdl_sequence_open(lib, the_host(), &which, &again), KDL_BAD_CALL,
                 "found 2 sequences, expected the name of one: \"a\", \"b\"");
  which.name = "c";
  assert_refused(kdl_sequence_open(lib, the_host(), &which, &again), KDL_NO_MATCH,
                 "found 0 sequences called \"c\" among \"a\", \"b\", expected one");
  which.name = "b";
  assert_ok(kdl_sequence_open(lib, the_host(), &which, &again));
  assert_ok(kdl_sequence_run(again, NULL, NULL, 0));
  kdl_sequence_destroy(again);
  assert_refused(kdl_sequence_open(made.lib, the_host(), NULL, &again), KDL_NO_MATCH,
                 "kdl_sequence_open: t: found no recorded sequence, expected one");
  kdl_close(lib);
  free(both);
  free(data[0]);
  free(data[1]);
}

static void nested_marks_and_loops_are_carried(void **state) {
  (void)state;
  kdl_sequence *inner = recorded(), *outer = created_sequence(), *again;
  kdl_slot slots[5];
  static const kdl_slot_kind kinds[] = {KDL_SLOT_BUFFER, KDL_SLOT_BUFFER, KDL_SLOT_HOST,
                                        KDL_SLOT_SCALAR, KDL_SLOT_ITEMS};
  kdl_operand given[5];
  for (int i = 0; i < 5; ++i) {
    const kdl_slot_desc desc = {.size = sizeof desc, .kind = kinds[i], .bytes = i == 3 ? 4 : 0};
    assert_ok(kdl_sequence_add_slot(outer, &desc, &slots[i]));
    given[i] = kdl_operand_slot(slots[i]);
  }
  const uint32_t zero = 0;
  assert_ok(kdl_sequence_fork(outer));
  assert_ok(kdl_sequence_nest(outer, inner, given, 5));
  assert_ok(kdl_sequence_branch(outer));
  assert_ok(kdl_sequence_branch(outer));
  assert_ok(kdl_sequence_join(outer));
  assert_ok(kdl_sequence_while(outer, kdl_operand_slot(slots[1])));
  assert_ok(kdl_sequence_nest(outer, inner, given, 5));
  assert_ok(kdl_sequence_fill(outer, kdl_operand_slot(slots[1]), 4, &zero, 4));
  assert_ok(kdl_sequence_end_while(outer));
  assert_ok(kdl_sequence_finish(outer));
  saved_file file = saved(outer);
  again = opened(&file);
  assert_same(outer, again);
  static uint32_t out[3 * n], copy[n], host[n];
  run_it(again, out, copy, host);
  assert_int_equal(copy[0], 0);
  copy[0] = 7;
  check(out, copy, 1);
  kdl_sequence_destroy(again);
  kdl_sequence_destroy(outer);
  kdl_sequence_destroy(inner);
  forget(&file);
}

/* ------------------------------------------------------------------------------------------ */
/* What is refused                                                                              */

static void refuse_to_save(kdl_sequence *sequence, const char *words) {
  void *data;
  size_t size;
  assert_ok(kdl_sequence_finish(sequence));
  assert_refused(kdl_sequence_save_memory(sequence, NULL, &data, &size), KDL_UNSUPPORTED, words);
  kdl_sequence_destroy(sequence);
}

static void what_a_file_cannot_carry_is_named(void **state) {
  (void)state;
  static uint32_t memory[4];
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)memory, sizeof memory);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  const uint32_t one = 1;
  kdl_slot slot;
  void *data;
  size_t size;
  kdl_sequence *sequence = created_sequence();
  kdl_operand args[] = {kdl_operand_buffer(buffer), KDL_VALUE(&one)};
  assert_refused(kdl_sequence_save_memory(sequence, NULL, &data, &size), KDL_BAD_CALL,
                 "kdl_sequence_save_memory: found a sequence that is not finished");
  assert_ok(kdl_sequence_launch_items(sequence, mark, kdl_operand_items(kdl_extent1(1)), args, 2));
  refuse_to_save(sequence,
                 "node 0: launch of mark: argument 0: found a buffer, which a file cannot "
                 "carry, expected a slot");
  sequence = created_sequence();
  assert_ok(kdl_sequence_add_buffer(sequence, "x", 16, &slot));
  assert_ok(kdl_sequence_fill(sequence, kdl_operand_slot(slot), 4, &one, 4));
  assert_ok(kdl_sequence_copy(sequence, kdl_operand_slot(slot), kdl_operand_host(memory), 4));
  refuse_to_save(sequence, "node 1: copy: found memory of the host, which a file cannot carry");
  sequence = created_sequence();
  assert_ok(kdl_sequence_fill(sequence, kdl_operand_buffer(buffer), 4, &one, 4));
  refuse_to_save(sequence, "node 0: fill: found a buffer");
  sequence = created_sequence();
  assert_ok(kdl_sequence_while(sequence, kdl_operand_buffer(buffer)));
  assert_ok(kdl_sequence_end_while(sequence));
  refuse_to_save(sequence, "node 0: loop: found a buffer");
  kdl_launch_desc grid = kdl_grid(1, 1, 1);
  grid.flags = KDL_LAUNCH_EARLY; /* a sequence orders its launches itself */
  sequence = created_sequence();
  assert_ok(kdl_sequence_add_buffer(sequence, "x", 4, &slot));
  args[0] = kdl_operand_slot(slot);
  assert_ok(kdl_sequence_launch(sequence, mark, &grid, args, 2));
  assert_int_equal(sequence->recording.nodes[0].of.launch.desc.flags, 0);
  sequence->recording.nodes[0].of.launch.desc.flags = 8; /* of which no reader knows */
  sequence->is_finished = true;
  assert_refused(kdl_sequence_save_memory(sequence, NULL, &data, &size), KDL_UNSUPPORTED,
                 "found what a file cannot carry: offset 0x");
  kdl_sequence_destroy(sequence);
  kdl_event *event;
  assert_ok(kdl_event_create(the_host(), &event));
  sequence = created_sequence();
  assert_ok(kdl_sequence_event_record(sequence, event));
  refuse_to_save(sequence, "node 0: found an event, which a file cannot carry");
  kdl_event_destroy(event);
}

static void a_name_of_two_libraries_is_refused_inside(void **state) {
  (void)state;
  kdl_sequence *sequence = created_sequence();
  kdl_kernel *kernels[] = {kernel_named(made.lib, "mark"), kernel_named(other.lib, "mark")};
  const uint32_t one = 1;
  kdl_slot slot;
  assert_ok(kdl_sequence_add_buffer(sequence, "x", 4, &slot));
  kdl_operand args[] = {kdl_operand_slot(slot), KDL_VALUE(&one)};
  for (int i = 0; i < 2; ++i)
    assert_ok(kdl_sequence_launch_items(sequence, kernels[i], kdl_operand_items(kdl_extent1(1)),
                                        args, 2));
  refuse_to_save(sequence, "found the kernel mark in t and in t, of which one file can carry one; "
                           "save it with KDL_SEQUENCE_NO_IMAGES");
}

/* ------------------------------------------------------------------------------------------ */
/* Faults                                                                                       */

/* A sequence of one launch, saved without its library. */
static saved_file saved_of(kdl_library *lib) {
  kdl_sequence *sequence = created_sequence();
  kdl_slot slot;
  const uint32_t one = 1;
  assert_ok(kdl_sequence_add_buffer(sequence, "x", 4, &slot));
  kdl_operand args[] = {kdl_operand_slot(slot), KDL_VALUE(&one)};
  assert_ok(kdl_sequence_launch_items(sequence, kernel_named(lib, "mark"),
                                      kdl_operand_items(kdl_extent1(1)), args, 2));
  assert_ok(kdl_sequence_finish(sequence));
  saved_file file = saved_with(sequence, KDL_SEQUENCE_NO_IMAGES);
  kdl_sequence_destroy(sequence);
  return file;
}

static kdl_status open_with(const saved_file *file, kdl_library *lib, kdl_sequence **out) {
  kdl_sequence_open_opts opts = {.size = sizeof opts, .libraries = &lib, .library_count = 1};
  return kdl_sequence_open(file->lib, the_host(), &opts, out);
}

static void another_signature_or_revision_is_refused(void **state) {
  (void)state;
  static const host_row as_recorded[] = {
      {"mark1", 0, NULL, NULL, "kdl.kernel.mark", "sig=ptr<u32> u32; rev=1"}};
  static const host_row others[][1] = {
      {{"mark1", 0, NULL, NULL, "kdl.kernel.mark", "sig=ptr<f32> u32; rev=1"}},
      {{"mark1", 0, NULL, NULL, "kdl.kernel.mark", "sig=ptr<u32> u32; rev=2"}},
  };
  static const char *const words[] = {
      "kernel mark (of t): image 0 of t: found the signature (ptr<f32> u32) of revision 1, "
      "expected "
      "(ptr<u32> u32) of revision 1, with which it was recorded",
      "found the signature (ptr<u32> u32) of revision 2, expected (ptr<u32> u32) of revision 1",
  };
  host_library first = open_rows(as_recorded, 1);
  saved_file file = saved_of(first.lib);
  kdl_sequence *sequence;
  for (int i = 0; i < 2; ++i) {
    host_library lib = open_rows(others[i], 1);
    assert_refused(open_with(&file, lib.lib, &sequence), KDL_NO_MATCH, words[i]);
    free_rows(&lib);
  }
  assert_ok(open_with(&file, made.lib, &sequence)); /* which does not tell */
  kdl_sequence_destroy(sequence);
  forget(&file);
  free_rows(&first);
}

/* The saved sequence with something else in it, as the file that would have been written. */
static saved_file changed(const saved_file *file, void (*change)(kdl_seqfile *saved)) {
  saved_file made_file = {0};
  const void *data;
  void *again;
  size_t size, again_size;
  kdl_seqfile it;
  kdl_writer *writer;
  assert_ok(kdl_image_bytes(file->lib, 0, &data, &size));
  assert_ok(kdl_seqfile_read(data, size, &it));
  change(&it);
  assert_ok(kdl_seqfile_write(&it, &again, &again_size));
  kdl_seqfile_free(&it);
  kdl_writer_image image = {.size = sizeof image, .data = again, .data_size = again_size};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &made_file.data, &made_file.size));
  kdl_writer_destroy(writer);
  free(again);
  kdl_open_opts named = {.size = sizeof named, .name = "f"};
  assert_ok(kdl_open_memory(made_file.data, made_file.size, &named, &made_file.lib));
  return made_file;
}

static void name_nothing(kdl_seqfile *saved) {
  saved->kernels[0].name = text_of("\x01\xff\"%s\n");
}
static void take_less(kdl_seqfile *saved) {
  saved->kernels[0].param_count = 1;
  saved->steps[0].of.launch->arg_count = 1;
}
static void take_wide(kdl_seqfile *saved) {
  static const uint32_t sizes[] = {8, 8};
  static const uint64_t value = 1;
  saved->kernels[0].param_sizes = sizes;
  saved->steps[0].of.launch->args[1] = KDL_VALUE(&value);
}
static void take_grid(kdl_seqfile *saved) {
  saved->steps[0].of.launch->items.kind = 0;
  saved->steps[0].of.launch->desc = kdl_grid(1, 1, 1);
}
static void take_too_many(kdl_seqfile *saved) {
  saved->steps[0].of.launch->items.of.items.x = UINT64_MAX;
}
static void say_later(kdl_seqfile *saved) {
  saved->slots[0].name = text_of("x");
}

static void a_file_that_does_not_fit_is_refused_before_anything_runs(void **state) {
  (void)state;
  static const struct {
    void (*change)(kdl_seqfile *saved);
    kdl_status status;
    const char *words;
  } cases[] = {
      {name_nothing, KDL_NO_MATCH, "found in none of 2 libraries"},
      {take_less, KDL_NO_MATCH, "found 2 parameters, expected 1, with which it was recorded"},
      {take_wide, KDL_NO_MATCH, "found 4 bytes of parameter 1, expected 8, with which"},
      {take_grid, KDL_NO_MATCH,
       "step 0: mark: image 0 of t: found block=64x1x1 tile=64x1x1, expected block=256x1x1 "
       "tile=256x1x1, for which the grid was recorded"},
      {take_too_many, KDL_BAD_CALL, "step 0: kdl_sequence_launch_items: mark: "},
  };
  saved_file file = saved_of(made.lib);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    saved_file wrong = changed(&file, cases[i].change);
    kdl_sequence *sequence = NULL;
    assert_refused(open_with(&wrong, other.lib, &sequence), cases[i].status, cases[i].words);
    assert_null(sequence);
    assert_non_null(strstr(kdl_error_message(), "kdl_sequence_open: f: "));
    forget(&wrong);
  }
  saved_file same = changed(&file, say_later);
  kdl_sequence *sequence;
  assert_ok(open_with(&same, other.lib, &sequence));
  kdl_sequence_destroy(sequence);
  forget(&same);
  forget(&file);
}

static void damage_is_seen_by_the_digest(void **state) {
  (void)state;
  saved_file file = saved_of(made.lib);
  kdl_sequence *sequence;
  kdl_close(file.lib);
  ((uint8_t *)file.data)[file.size - 20] ^= 1;
  kdl_open_opts named = {.size = sizeof named, .name = "f"};
  assert_ok(kdl_open_memory(file.data, file.size, &named, &file.lib));
  assert_refused(kdl_sequence_open(file.lib, the_host(), NULL, &sequence), KDL_BAD_FILE,
                 "kdl_sequence_open: f: image 0: kdl.digest: found blake2b-256:");
  forget(&file);
}

static void bindings_of_what_was_opened_are_checked(void **state) {
  (void)state;
  saved_file file = saved_of(made.lib);
  kdl_sequence *sequence;
  uint32_t word = 5;
  kdl_device *elsewhere;
  assert_ok(open_with(&file, made.lib, &sequence));
  assert_ok(kdl_device_find("h100", &elsewhere));
  kdl_binding binding =
      kdl_bind_buffer(1, (kdl_buffer){(uint64_t)(uintptr_t)&word, sizeof word, elsewhere});
  assert_refused(kdl_sequence_run(sequence, queue, NULL, 0), KDL_BAD_CALL, "slot 1 (\"x\")");
  assert_refused(kdl_sequence_run(sequence, queue, &binding, 1), KDL_BAD_CALL, "slot 1 (\"x\")");
  binding.to.buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)&word, 3);
  assert_refused(kdl_sequence_run(sequence, queue, &binding, 1), KDL_BAD_CALL,
                 "slot 1 (\"x\"): found 3 bytes");
  assert_int_equal(word, 5);
  binding.to.buffer.size = 4;
  assert_ok(kdl_sequence_run(sequence, queue, &binding, 1));
  assert_ok(kdl_sync(queue));
  assert_int_equal(word, 1000000);
  kdl_sequence_destroy(sequence);
  forget(&file);
}

static void many_launches_are_carried(void **state) {
  (void)state;
  enum { launches = 100000 };
  kdl_sequence *sequence = created_sequence(), *again;
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  kdl_slot slot;
  assert_ok(kdl_sequence_add_buffer(sequence, "x", launches * 4, &slot));
  for (uint32_t i = 0; i < launches; ++i) {
    const uint32_t one = 1;
    kdl_operand args[] = {kdl_operand_slot_offset(slot, i * 4), KDL_VALUE(&one)};
    assert_ok(
        kdl_sequence_launch_items(sequence, mark, kdl_operand_items(kdl_extent1(1)), args, 2));
  }
  assert_ok(kdl_sequence_finish(sequence));
  saved_file file = saved(sequence);
  assert_ok(kdl_sequence_open(file.lib, the_host(), NULL, &again));
  assert_int_equal(again->recording.launch_count, launches);
  kdl_sequence_destroy(again);
  kdl_sequence_destroy(sequence);
  forget(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_opened_is_what_was_saved),
      cmocka_unit_test(slots_are_found_by_name),
      cmocka_unit_test(slots_have_the_types_of_their_parameters),
      cmocka_unit_test(another_tile_covers_the_same_items),
      cmocka_unit_test(a_file_is_opened_by_its_path),
      cmocka_unit_test(one_of_several_is_asked_for_by_name),
      cmocka_unit_test(nested_marks_and_loops_are_carried),
      cmocka_unit_test(what_a_file_cannot_carry_is_named),
      cmocka_unit_test(a_name_of_two_libraries_is_refused_inside),
      cmocka_unit_test(another_signature_or_revision_is_refused),
      cmocka_unit_test(a_file_that_does_not_fit_is_refused_before_anything_runs),
      cmocka_unit_test(damage_is_seen_by_the_digest),
      cmocka_unit_test(bindings_of_what_was_opened_are_checked),
      cmocka_unit_test(many_launches_are_carried),
  };
  return cmocka_run_group_tests(tests, open_it, close_it);
}
