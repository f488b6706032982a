/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program to be traced; trace_test.py says how, and looks at what comes out.
 *
 *     traced MODE DEVICE LIBRARY KERNEL COUNT
 *
 * Launches a kernel of one argument COUNT times, with a write of 64 bytes before and a read of 32
 * behind, and waits. MODE is how the process goes on from there.
 */
#define KDL_CHECK_ARGUMENTS 0
#include <kdl/sequence.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { thread_count = 8 };

static const char *device_text, *library_path, *kernel_name;
static unsigned count;

static void must(kdl_status status) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "traced: %s\n", kdl_error_message());
  exit(1);
}

static void launch_all(kdl_kernel *kernel, kdl_queue *queue, kdl_device *device) {
  char data[64] = {0};
  kdl_buffer buffer;
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  desc.block[0] = desc.block[1] = desc.block[2] = 1;
  must(kdl_alloc(device, sizeof data, &buffer));
  must(kdl_write(queue, &buffer, 0, data, sizeof data));
  for (unsigned i = 0; i < count; ++i)
    must(kdl_launch(kernel, queue, &desc, KDL_ARGS(&buffer)));
  must(kdl_read(queue, data, &buffer, 0, 32));
  must(kdl_sync(queue));
  must(kdl_free(&buffer));
}

/* As many launches as a sequence, which runs twice. */
static void run_sequence(kdl_kernel *kernel, kdl_queue *queue, kdl_device *device) {
  kdl_sequence *sequence;
  kdl_slot slot;
  kdl_buffer buffer;
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  desc.block[0] = desc.block[1] = desc.block[2] = 1;
  must(kdl_alloc(device, 64, &buffer));
  must(kdl_sequence_create(device, &sequence));
  must(kdl_sequence_add_buffer(sequence, "x", 64, &slot));
  /* The host's takes a number. */
  const uint32_t number = 0;
  kdl_kernel_info info = {.size = sizeof info};
  must(kdl_kernel_get(kernel, &info));
  bool is_number = info.params && info.params[0].size == sizeof number;
  const kdl_operand arg = is_number ? KDL_VALUE(&number) : kdl_operand_slot(slot);
  for (unsigned i = 0; i < count; ++i)
    must(kdl_sequence_launch(sequence, kernel, &desc, &arg, 1));
  must(kdl_sequence_finish(sequence));
  const kdl_binding binding = kdl_bind_buffer(slot, buffer);
  for (int i = 0; i < 2; ++i)
    must(kdl_sequence_run(sequence, queue, &binding, 1));
  must(kdl_sync(queue));
  kdl_sequence_destroy(sequence);
  must(kdl_free(&buffer));
}

static bool as_sequence;

typedef struct {
  kdl_library *lib;
  kdl_queue *queue;
} used;

static used use(void) {
  used of;
  kdl_device *device;
  kdl_kernel *kernel;
  must(kdl_open(library_path, NULL, &of.lib));
  must(kdl_device_find(device_text, &device));
  must(kdl_queue_create(device, NULL, &of.queue));
  must(kdl_sym(of.lib, device, kernel_name, NULL, &kernel));
  if (as_sequence)
    run_sequence(kernel, of.queue, device);
  else
    launch_all(kernel, of.queue, device);
  return of;
}

static void give_back(used of) {
  kdl_queue_destroy(of.queue);
  kdl_close(of.lib);
}

static void work(void) {
  give_back(use());
}

/* Handlers that were registered before any device was opened run behind libkdl's own. */
static used left;

static void give_back_late(void) {
  give_back(left);
}

/* And between the two, where its driver is still there. */
static void find_first(void) {
  kdl_device *device;
  must(kdl_device_find(device_text, &device));
  atexit(give_back_late);
}

static void launch_late(void) {
  kdl_device *device;
  kdl_kernel *kernel;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  void *none = NULL;
  must(kdl_device_find(device_text, &device));
  kdl_status status = kdl_sym(left.lib, device, kernel_name, NULL, &kernel);
  if (status == KDL_OK)
    status = kdl_launch(kernel, left.queue, &desc, KDL_ARGS(&none));
  fprintf(stderr, "late: %s\n", status == KDL_OK ? "worked" : kdl_error_message());
}

static void ask_late(void) {
  kdl_device *device;
  kdl_buffer buffer;
  must(kdl_device_find(device_text, &device));
  fprintf(stderr, "late: %s\n",
          kdl_alloc(device, 64, &buffer) == KDL_OK ? "worked" : kdl_error_message());
}

static void *work_in_thread(void *name) {
  pthread_setname_np(pthread_self(), name);
  work();
  return NULL;
}

static void work_in_threads(void) {
  static char names[thread_count][16];
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i) {
    snprintf(names[i], sizeof names[i], "worker \"%d\"", i);
    pthread_create(&threads[i], NULL, work_in_thread, names[i]);
  }
  for (int i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
}

/* One after the other: each finds the buffer of the one before. */
static void work_in_turn(void) {
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, work_in_thread, "turn");
    pthread_join(thread, NULL);
  }
}

static int wait_for_child(void) {
  int status = 0;
  wait(&status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  const char *mode = argv[1];
  device_text = argv[2], library_path = argv[3], kernel_name = argv[4];
  count = (unsigned)strtoul(argv[5], NULL, 10);
  as_sequence = strcmp(mode, "sequence") == 0;
  if (strcmp(mode, "nothing") == 0)
    return 0;
  if (strcmp(mode, "late") == 0)
    atexit(give_back_late);
  if (strcmp(mode, "between") == 0)
    find_first();
  if (strcmp(mode, "ask_late") == 0)
    atexit(ask_late);
  if (strcmp(mode, "launch_late") == 0)
    atexit(launch_late);
  static const char *const holding[] = {"leave", "late", "between", "launch_late"};
  bool holds = false;
  for (size_t i = 0; i < sizeof holding / sizeof *holding; ++i)
    holds |= strcmp(mode, holding[i]) == 0;
  if (holds)
    left = use();
  else if (strcmp(mode, "threads") == 0)
    work_in_threads();
  else if (strcmp(mode, "turns") == 0)
    work_in_turn();
  else
    work();
  if (strcmp(mode, "fork") == 0) {
    if (fork() == 0) {
      count = 3;
      work();
      exit(7);
    }
    return wait_for_child();
  }
  if (strcmp(mode, "exec") == 0) {
    if (fork() == 0) {
      execl("/proc/self/exe", "traced", "launch", device_text, library_path, kernel_name, "4",
            (char *)NULL);
      _exit(127);
    }
    return wait_for_child();
  }
  if (strcmp(mode, "_exit") == 0)
    _exit(5);
  if (strcmp(mode, "abort") == 0)
    abort();
  return strcmp(mode, "three") == 0 ? 3 : 0;
}
