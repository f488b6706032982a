/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* several LIBRARY BACKEND COUNT: the backend shows COUNT devices, each of which launches, also all
 * at the same time; memory is copied between every two of them in both directions, with an event
 * before it; and asking the driver again changes nothing for those who use them. Returns 77 where
 * this machine has no such device. */
#include "vendor.h"

#include <pthread.h>
#include <stdlib.h>

enum { most_devices = 16, rounds = 3, words = 5000 };

static vendor devices[most_devices];
static size_t device_count;
static int failures;

static void expect(bool holds, const char *what, const char *name) {
  printf("%-6s %s: %s%s%s\n", holds ? "ok" : "FAIL", name, what, holds ? "" : ": ",
         holds ? "" : kdl_error_message());
  failures += !holds;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

static void open_devices(const char *library, const char *backend) {
  static char names[most_devices][32];
  for (; device_count < most_devices; ++device_count) {
    kdl_device *found;
    char *name = names[device_count];
    snprintf(name, sizeof names[0], "%s:%zu", backend, device_count);
    if (kdl_device_find(name, &found) != KDL_OK)
      return;
    devices[device_count].name = name;
    if (!open_vendor(&devices[device_count], library)) {
      expect(false, "opens", name);
      return;
    }
  }
}

static void *work(void *user) {
  vendor *v = user;
  v->status = KDL_OK;
  for (int i = 0; i < rounds && v->status == KDL_OK; ++i)
    v->status = scale(v, (float)(i + 2));
  return NULL;
}

static void launch_at_once(const char *what) {
  pthread_t threads[most_devices];
  for (size_t i = 0; i < device_count; ++i)
    pthread_create(&threads[i], NULL, work, &devices[i]);
  for (size_t i = 0; i < device_count; ++i)
    pthread_join(threads[i], NULL);
  for (size_t i = 0; i < device_count; ++i) {
    printf("%-6s %s: %s%s%s\n", devices[i].status == KDL_OK ? "ok" : "FAIL", devices[i].name, what,
           devices[i].status == KDL_OK ? "" : ": ", devices[i].message);
    failures += devices[i].status != KDL_OK;
  }
}

/* Devices are what they were, and so are their queues. */
static void ask_again(const char *backend) {
  size_t added = 1;
  expect(kdl_devices_refresh(backend, &added) == KDL_OK && added == 0, "shows nothing new",
         backend);
  for (size_t i = 0; i < device_count; ++i) {
    kdl_device *found = NULL;
    expect(kdl_device_find(devices[i].name, &found) == KDL_OK && found == devices[i].device,
           "is what it was when asked again", devices[i].name);
  }
  launch_at_once("launches after that");
}

/* ------------------------------------------------------------------------------------------ */
/* From one to another                                                                          */

/* A stretch in the middle, on the second's queue, which waits for the first's fill. */
static kdl_status copy_between(vendor *from, vendor *to, uint32_t number) {
  static uint32_t host[words];
  enum { first = 100, behind = 4321, shift = 77 };
  kdl_buffer source = {0}, target = {0};
  kdl_event *filled = NULL;
  kdl_status status = kdl_alloc(from->device, sizeof host, &source);
  if (status == KDL_OK)
    status = kdl_alloc(to->device, sizeof host, &target);
  if (status == KDL_OK)
    status = kdl_event_create(from->device, &filled);
  if (status == KDL_OK)
    status = kdl_fill(from->queue, &source, 0, sizeof host, &number, sizeof number);
  if (status == KDL_OK)
    status = kdl_event_record(filled, from->queue);
  if (status == KDL_OK)
    status = kdl_fill(to->queue, &target, 0, sizeof host, "\0\0\0\0", 4);
  if (status == KDL_OK)
    status = kdl_event_wait(filled, to->queue);
  if (status == KDL_OK)
    status = kdl_copy(to->queue, &target, sizeof *host * (first + shift), &source,
                      sizeof *host * first, sizeof *host * (behind - first));
  if (status == KDL_OK)
    status = kdl_read(to->queue, host, &target, 0, sizeof host);
  if (status == KDL_OK)
    status = kdl_sync(to->queue);
  for (size_t i = 0; i < words && status == KDL_OK; ++i) {
    bool inside = i >= first + shift && i < behind + shift;
    if (host[i] != (inside ? number : 0)) {
      printf("FAIL   word %zu: found %u, expected %u\n", i, host[i], inside ? number : 0);
      status = KDL_DEVICE;
    }
  }
  kdl_event_destroy(filled);
  (void)kdl_free(&source);
  (void)kdl_free(&target);
  return status;
}

static void copy_to_each_other(void) {
  for (size_t i = 0; i < device_count; ++i) {
    for (size_t k = 0; k < device_count; ++k) {
      char names[80];
      snprintf(names, sizeof names, "%s to %s", devices[i].name, devices[k].name);
      if (i != k)
        expect(copy_between(&devices[i], &devices[k], (uint32_t)(i * 100 + k + 7)) == KDL_OK,
               "copied", names);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: several LIBRARY BACKEND COUNT\n");
    return 2;
  }
  size_t expected = strtoul(argv[3], NULL, 10);
  open_devices(argv[1], argv[2]);
  if (!device_count) {
    printf("skipped: %s\n", kdl_error_message());
    return 77;
  }
  if (device_count != expected) {
    printf("FAIL   found %zu devices, expected %zu\n", device_count, expected);
    ++failures;
  }
  launch_at_once("launches while the others do");
  copy_to_each_other();
  ask_again(argv[2]);
  for (size_t i = 0; i < device_count; ++i)
    close_vendor(&devices[i]);
  return failures ? 1 : 0;
}
