/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "registry/fork.h"

#include "base/error.h"
#include "registry/backend.h"
#include "system/lock.h"

#include <stddef.h>

static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_fork_link *links;

/* No other thread is here, and none was inside a lock: the list is whole. */
static void in_child(void) {
  for (kdl_fork_link *link = links; link; link = link->next)
    link->disable(link);
  kdl_backend_after_fork();
}

void kdl_fork_watch(void) {
  kdl_fork_tell(in_child);
}

void kdl_fork_add(kdl_fork_link *link) {
  kdl_lock(&links_lock);
  if (!link->is_added) {
    link->is_added = true;
    link->previous = NULL;
    link->next = links;
    if (links)
      links->previous = link;
    links = link;
  }
  kdl_unlock(&links_lock);
}

void kdl_fork_remove(kdl_fork_link *link) {
  kdl_lock(&links_lock);
  if (link->is_added) {
    if (link->previous)
      link->previous->next = link->next;
    else
      links = link->next;
    if (link->next)
      link->next->previous = link->previous;
    link->is_added = false;
  }
  kdl_unlock(&links_lock);
}

kdl_status kdl_fail_forked(const char *device, const char *what) {
  return kdl_fail(KDL_DEVICE,
                  "%s was %s before this process forked, and its driver does not survive a fork: "
                  "use it first in the child, or start the child with exec",
                  device, what);
}
