/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/capture.h"

#include "support/system/lock.h"

_Atomic(kdl_capture *) kdl_captures;
static pthread_mutex_t captures_lock = PTHREAD_MUTEX_INITIALIZER;

kdl_capture *kdl_capture_find(const kdl_runtime *runtime, const void *queue) {
  kdl_lock(&captures_lock);
  kdl_capture *found = kdl_captures;
  while (found && (found->runtime != runtime || (queue && found->queue != queue)))
    found = found->next;
  kdl_unlock(&captures_lock);
  return found;
}

void kdl_capture_add(kdl_capture *added) {
  kdl_lock(&captures_lock);
  added->next = kdl_captures;
  kdl_captures = added;
  kdl_unlock(&captures_lock);
  kdl_entry_update_all(added->runtime);
}

void kdl_capture_remove(kdl_capture *removed) {
  kdl_lock(&captures_lock);
  kdl_capture *before = kdl_captures;
  while (before != removed && before->next != removed)
    before = before->next;
  if (before == removed)
    kdl_captures = removed->next;
  else
    before->next = removed->next;
  kdl_unlock(&captures_lock);
  kdl_entry_update_all(removed->runtime);
}

kdl_status kdl_capture_launch(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                              const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  kdl_capture *capture = kdl_capture_lookup(kernel->runtime, queue);
  return capture ? capture->functions->launch(capture, kernel, desc, args)
                 : kdl_launch_next(KDL_INTERCEPT_CAPTURE, head, desc, args, queue);
}

kdl_status kdl_capture_launch_items(kdl_kernel *kernel, kdl_queue *queue, const kdl_extent *items,
                                    const kdl_args *args) {
  kdl_capture *capture = kdl_capture_lookup(kernel->runtime, kdl_kernel_queue(kernel, queue));
  return capture ? capture->functions->launch_items(capture, kernel, items, args)
                 : kdl_items_next(KDL_INTERCEPT_CAPTURE, kernel, queue, items, args);
}
