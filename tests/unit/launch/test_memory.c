/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory of the host and of devices, and queries of events without a wait, through the public
 * API. */
#include "launch_support.h"

#include <sys/mman.h>

static void the_machine_has_memory(void **state) {
  (void)state;
  uint64_t available = 0, total = 0;
  assert_ok(kdl_memory_info(the_host(), &available, &total));
  assert_true(available > 0);
  assert_true(available <= total);
  uint64_t alone = 0;
  assert_ok(kdl_memory_info(the_host(), NULL, &alone));
  assert_int_equal(alone, total);
  assert_int_equal(total, (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
  kdl_device *described;
  assert_ok(kdl_device_find("h100", &described));
  assert_int_equal(kdl_memory_info(described, &available, &total), KDL_BAD_CALL);
}

static void host_memory_is_aligned_and_given_back(void **state) {
  (void)state;
  kdl_queue *queue;
  kdl_buffer buffer;
  void *data[64];
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_ok(kdl_alloc(the_host(), 4096, &buffer));
  for (size_t i = 0; i < 64; ++i) {
    assert_ok(kdl_alloc_host(the_host(), i * 61 + 1, &data[i]));
    assert_int_equal((uintptr_t)data[i] % 64, 0);
    memset(data[i], (int)i, i * 61 + 1);
  }
  assert_ok(kdl_write(queue, &buffer, 0, data[63], 3844));
  assert_ok(kdl_read(queue, data[62], &buffer, 0, 3783));
  assert_ok(kdl_sync(queue));
  assert_int_equal(((unsigned char *)data[62])[3782], 63);
  for (size_t i = 0; i < 64; ++i)
    assert_ok(kdl_free_host(the_host(), data[i]));
  assert_ok(kdl_free(&buffer));
  kdl_queue_destroy(queue);
}

/* So that a launch that fills it places its pages where its threads run. */
static void memory_is_first_touched_by_its_user(void **state) {
  (void)state;
  enum { pages = 4096, most_touched = 16 }; /* what an allocator writes at the ends */
  size_t page = (size_t)sysconf(_SC_PAGESIZE), resident = 0;
  unsigned char is_resident[pages];
  kdl_buffer buffer;
  assert_ok(kdl_alloc(the_host(), (pages + 1) * page, &buffer));
  uintptr_t first = (buffer.address + page - 1) / page * page;
  assert_int_equal(mincore((void *)first, pages * page, is_resident), 0);
  for (size_t i = 0; i < pages; ++i)
    resident += is_resident[i] & 1;
  assert_in_range(resident, 0, most_touched);
  assert_ok(kdl_free(&buffer));
}

static void sizes_at_the_ends(void **state) {
  (void)state;
  void *data = &data;
  assert_ok(kdl_alloc_host(the_host(), 0, &data));
  assert_null(data);
  assert_ok(kdl_free_host(the_host(), data));
  data = &data;
  assert_fails(kdl_alloc_host(the_host(), UINT64_MAX, &data), KDL_NO_MEMORY,
               "kdl_alloc_host: 18446744073709551615 bytes: out of memory");
  assert_ptr_equal(data, &data); /* as it was */
}

/* On the host work is done when it was given. */
static void events_are_done(void **state) {
  (void)state;
  kdl_event *event;
  kdl_queue *queue;
  int done = 0;
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_ok(kdl_event_create(the_host(), &event));
  assert_ok(kdl_event_query(event, &done));
  assert_int_equal(done, 1);
  assert_ok(kdl_event_record(event, queue));
  done = 0;
  assert_ok(kdl_event_query(event, &done));
  assert_int_equal(done, 1);
  kdl_event_destroy(event);
  kdl_queue_destroy(queue);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_machine_has_memory),
      cmocka_unit_test(host_memory_is_aligned_and_given_back),
      cmocka_unit_test(memory_is_first_touched_by_its_user),
      cmocka_unit_test(sizes_at_the_ends),
      cmocka_unit_test(events_are_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
