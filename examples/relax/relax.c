/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Repeats a recorded sequence on the device until the result stands still: no step returns to the
 * host. Two steps are recorded, saved and opened again, as another program would; the loop nests
 * them. `relax FILE -v` prints which images libkdl chooses. */
#include <kdl/sequence.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 1024, group = 256 };
static const uint64_t bytes = n * sizeof(float);
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

/* Two steps, there and back, as a file in memory. The slot is the rod, before and after a step. */
static void save_steps(kdl_device *dev, kdl_kernel *step, void **out_file, size_t *out_size) {
  kdl_sequence *seq;
  kdl_slot rods;
  const uint32_t count = n;
  must(kdl_sequence_create(dev, &seq));
  must(kdl_sequence_add_buffer(seq, "rods", 2 * bytes, &rods));
  kdl_operand items = kdl_operand_items(kdl_extent1(n));
  kdl_operand a = kdl_operand_slot(rods), b = kdl_operand_slot_offset(rods, bytes);
  kdl_operand there[] = {a, b, KDL_VALUE(&count)}, back[] = {b, a, KDL_VALUE(&count)};
  must(kdl_sequence_launch_items(seq, step, items, there, 3));
  must(kdl_sequence_launch_items(seq, step, items, back, 3));
  must(kdl_sequence_finish(seq));
  must(kdl_sequence_save_memory(seq, NULL, out_file, out_size));
  kdl_sequence_destroy(seq);
}

static kdl_sequence *record_start(kdl_device *dev, float *start, kdl_buffer rods,
                                  kdl_event *is_set) {
  kdl_sequence *seq;
  must(kdl_sequence_create(dev, &seq));
  for (uint64_t at = 0; at < rods.size; at += bytes)
    must(kdl_sequence_copy(seq, kdl_operand_buffer_offset(rods, at), kdl_operand_host(start),
                           bytes));
  must(kdl_sequence_event_record(seq, is_set));
  must(kdl_sequence_finish(seq));
  return seq;
}

/* while (moves) { two steps; moves = whether they moved the rod }, then the rod to the host. */
static kdl_sequence *record_loop(kdl_device *dev, const kdl_sequence *steps, kdl_kernel *moves,
                                 kdl_buffer rods, kdl_buffer flag, kdl_event *is_set,
                                 kdl_slot *out_result) {
  const uint32_t yes = 1, no = 0, count = n;
  const kdl_launch_desc grid = kdl_grid(n / group, 1, 1);
  kdl_operand rod = kdl_operand_buffer(rods), on = kdl_operand_buffer(flag);
  kdl_operand args[] = {kdl_operand_buffer_offset(rods, bytes), rod, on, KDL_VALUE(&least),
                        KDL_VALUE(&count)};
  kdl_sequence *seq;
  must(kdl_sequence_create(dev, &seq));
  must(kdl_sequence_add_host(seq, "result", bytes, out_result));
  must(kdl_sequence_event_wait(seq, is_set));
  must(kdl_sequence_fill(seq, on, sizeof yes, &yes, sizeof yes));
  must(kdl_sequence_while(seq, on));
  must(kdl_sequence_nest(seq, steps, &rod, 1));
  must(kdl_sequence_fill(seq, on, sizeof no, &no, sizeof no));
  must(kdl_sequence_launch(seq, moves, &grid, args, 5));
  must(kdl_sequence_end_while(seq));
  must(kdl_sequence_copy(seq, kdl_operand_slot(*out_result), rod, bytes));
  must(kdl_sequence_finish(seq));
  return seq;
}

/* The same on the CPU; returns the number of steps. */
static unsigned relax_plainly(float *a) {
  static float b[n];
  unsigned steps = 0;
  b[n - 1] = a[n - 1];
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
  static float start[n], expected[n]; /* both ends of the rod: 0 and 1 degrees */
  kdl_library *lib, *saved;
  kdl_device *dev;
  kdl_queue *q, *other;
  kdl_kernel *step, *moves;
  kdl_event *is_set;
  kdl_buffer rods, flag;
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
  must(kdl_alloc(dev, 2 * bytes, &rods));
  must(kdl_alloc(dev, sizeof(uint32_t), &flag));
  must(kdl_alloc_host(dev, bytes, &result));

  save_steps(dev, step, &file, &size);
  must(kdl_open_memory(file, size, NULL, &saved));
  must(kdl_sequence_open(saved, dev, NULL, &steps));
  start[n - 1] = expected[n - 1] = 1;
  kdl_sequence *first = record_start(dev, start, rods, is_set);
  kdl_sequence *loop = record_loop(dev, steps, moves, rods, flag, is_set, &slot);
  kdl_binding binding = kdl_bind_host(slot, result, bytes);
  must(kdl_sequence_run(first, other, NULL, 0));
  must(kdl_sequence_run(loop, q, &binding, 1));
  must(kdl_sync(q));

  unsigned count = relax_plainly(expected);
  int is_same = memcmp(result, expected, sizeof expected) == 0;
  printf("after %u steps: %s\n", count, is_same ? "as on the CPU" : "not as on the CPU");
  kdl_sequence_destroy(loop);
  kdl_sequence_destroy(first);
  kdl_sequence_destroy(steps);
  kdl_close(saved);
  free(file);
  must(kdl_free_host(dev, result));
  kdl_free(&flag);
  kdl_free(&rods);
  kdl_event_destroy(is_set);
  kdl_queue_destroy(other);
  kdl_queue_destroy(q);
  kdl_close(lib);
  return is_same ? 0 : 1;
}
