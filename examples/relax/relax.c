/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Repeats a recorded sequence on the device until the result stands still: no step returns to the
 * host. Two steps are recorded, saved and opened again, as another program would; the loop nests
 * them. `relax FILE -v` prints which images libkdl chooses. */
#include <kdl/sequence.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 1000 };
static const float least = 1e-4F;

static void must(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "relax: %s\n", kdl_error_message());
    exit(1);
  }
}

static void print_line(void *user, const char *topic, const char *line) {
  (void)user;
  printf("%s: %s\n", topic, line);
}

/* Two steps, there and back: a file in memory. */
static void save_steps(kdl_device *dev, kdl_kernel *step, void **out_file, size_t *out_size) {
  kdl_sequence *seq;
  kdl_slot a, b;
  const uint32_t count = n;
  must(kdl_sequence_create(dev, &seq));
  must(kdl_sequence_add_buffer(seq, "a", n * sizeof(float), &a));
  must(kdl_sequence_add_buffer(seq, "b", n * sizeof(float), &b));
  kdl_operand items = kdl_operand_items(kdl_extent1(n));
  kdl_operand there[] = {kdl_operand_slot(a), kdl_operand_slot(b), KDL_VALUE(&count)};
  kdl_operand back[] = {kdl_operand_slot(b), kdl_operand_slot(a), KDL_VALUE(&count)};
  must(kdl_sequence_launch_items(seq, step, items, there, 3));
  must(kdl_sequence_launch_items(seq, step, items, back, 3));
  must(kdl_sequence_finish(seq));
  must(kdl_sequence_save_memory(seq, NULL, out_file, out_size));
  kdl_sequence_destroy(seq);
}

/* Both ends of the rod: 0 and 1 degrees. */
static kdl_sequence *record_start(kdl_device *dev, kdl_buffer a, kdl_buffer b, kdl_event *is_set) {
  const float cold = 0, warm = 1;
  const kdl_buffer rods[] = {a, b};
  kdl_sequence *seq;
  must(kdl_sequence_create(dev, &seq));
  for (size_t i = 0; i < 2; ++i) {
    uint64_t end = (n - 1) * sizeof(float);
    must(kdl_sequence_fill(seq, kdl_operand_buffer(rods[i]), end, &cold, sizeof cold));
    must(kdl_sequence_fill(seq, kdl_operand_buffer_offset(rods[i], end), sizeof warm, &warm,
                           sizeof warm));
  }
  must(kdl_sequence_event_record(seq, is_set));
  must(kdl_sequence_finish(seq));
  return seq;
}

/* while (moves) { two steps; moves = whether they moved the rod }, then the rod to the host. */
static kdl_sequence *record_loop(kdl_device *dev, const kdl_sequence *steps, kdl_kernel *moves,
                                 kdl_buffer a, kdl_buffer b, kdl_buffer flag, kdl_event *is_set,
                                 kdl_slot *out_result) {
  const uint32_t yes = 1, no = 0, count = n;
  kdl_operand rods[] = {kdl_operand_buffer(a), kdl_operand_buffer(b)};
  kdl_operand args[] = {rods[1], rods[0], kdl_operand_buffer(flag), KDL_VALUE(&least),
                        KDL_VALUE(&count)};
  kdl_operand items = kdl_operand_items(kdl_extent1(n));
  kdl_sequence *seq;
  must(kdl_sequence_create(dev, &seq));
  must(kdl_sequence_add_host(seq, "result", n * sizeof(float), out_result));
  must(kdl_sequence_event_wait(seq, is_set));
  must(kdl_sequence_fill(seq, kdl_operand_buffer(flag), sizeof yes, &yes, sizeof yes));
  must(kdl_sequence_while(seq, kdl_operand_buffer(flag)));
  must(kdl_sequence_nest(seq, steps, rods, 2));
  must(kdl_sequence_fill(seq, kdl_operand_buffer(flag), sizeof no, &no, sizeof no));
  must(kdl_sequence_launch_items(seq, moves, items, args, 5));
  must(kdl_sequence_end_while(seq));
  must(kdl_sequence_copy(seq, kdl_operand_slot(*out_result), rods[0], n * sizeof(float)));
  must(kdl_sequence_finish(seq));
  return seq;
}

/* The same on the CPU; returns the number of steps. */
static unsigned relax_plainly(float *a) {
  static float b[n];
  unsigned steps = 0;
  a[n - 1] = b[n - 1] = 1;
  for (int is_moving = 1; is_moving; steps += 2) {
    is_moving = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      b[i] = (a[i - 1] + a[i + 1]) / 2;
    for (size_t i = 1; i + 1 < n; ++i)
      a[i] = (b[i - 1] + b[i + 1]) / 2;
    for (size_t i = 0; i < n; ++i)
      is_moving |= a[i] - b[i] > least || b[i] - a[i] > least;
  }
  return steps;
}

int main(int argc, char **argv) {
  static float expected[n];
  kdl_library *lib, *saved;
  kdl_device *dev;
  kdl_queue *q, *other;
  kdl_kernel *step, *moves;
  kdl_event *is_set;
  kdl_buffer a, b, flag;
  kdl_sequence *steps;
  kdl_slot slot;
  void *result, *file;
  size_t size;
  if (argc > 2 && strcmp(argv[2], "-v") == 0)
    kdl_set_log("select", print_line, NULL);
  must(kdl_open(argc > 1 ? argv[1] : "./relax.offload", NULL, &lib));
  must(kdl_device_for(lib, "step", NULL, &dev));
  must(kdl_queue_create(dev, NULL, &q));
  must(kdl_queue_create(dev, NULL, &other));
  must(kdl_event_create(dev, &is_set));
  must(kdl_sym(lib, dev, "step", NULL, &step));
  must(kdl_sym(lib, dev, "moves", NULL, &moves));
  must(kdl_alloc(dev, n * sizeof(float), &a));
  must(kdl_alloc(dev, n * sizeof(float), &b));
  must(kdl_alloc(dev, sizeof(uint32_t), &flag));
  must(kdl_alloc_host(dev, n * sizeof(float), &result));

  save_steps(dev, step, &file, &size);
  must(kdl_open_memory(file, size, NULL, &saved));
  must(kdl_sequence_open(saved, dev, NULL, &steps));
  kdl_sequence *start = record_start(dev, a, b, is_set);
  kdl_sequence *loop = record_loop(dev, steps, moves, a, b, flag, is_set, &slot);
  kdl_binding binding = kdl_bind_host(slot, result, n * sizeof(float));
  must(kdl_sequence_run(start, other, NULL, 0));
  must(kdl_sequence_run(loop, q, &binding, 1));
  must(kdl_sync(q));

  unsigned count = relax_plainly(expected);
  int is_same = memcmp(result, expected, sizeof expected) == 0;
  printf("after %u steps: %s\n", count, is_same ? "as on the CPU" : "not as on the CPU");
  kdl_sequence_destroy(loop);
  kdl_sequence_destroy(start);
  kdl_sequence_destroy(steps);
  kdl_close(saved);
  free(file);
  must(kdl_free_host(dev, result));
  kdl_free(&flag);
  kdl_free(&b);
  kdl_free(&a);
  kdl_event_destroy(is_set);
  kdl_queue_destroy(other);
  kdl_queue_destroy(q);
  kdl_close(lib);
  return is_same ? 0 : 1;
}
