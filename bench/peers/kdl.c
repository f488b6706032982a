/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libkdl, as a program built for release calls it. What lies inside kdl_device_find and
 * kdl_prefetch is told apart by libkdl itself where it is asked to. */
#define KDL_CHECK_ARGUMENTS 0
#include "peer.h"

#include <kdl/kdl.h>

#include <string.h>

typedef struct {
  peer_head head;
  kdl_device *device;
  kdl_library *lib;
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_buffer buffer;
  kdl_launch_desc desc;
} kdl_state;
_Static_assert(sizeof(kdl_state) <= PEER_STATE_LIMIT, "fits");

static bool kdl_peer_check(kdl_status status, const char *call) {
  return status == KDL_OK || peer_fail("%s: %s", call, kdl_error_message());
}

static bool kdl_peer_open(void *state, const peer_job *job) {
  kdl_state *at = state;
  at->desc = kdl_grid(job->grid[0], job->grid[1], job->grid[2]);
  memcpy(at->desc.block, job->block, sizeof at->desc.block);
  return peer_open_head(state, job);
}

static bool kdl_peer_find_device(void *state) {
  kdl_state *at = state;
  return kdl_peer_check(kdl_device_find(at->head.job->device, &at->device), "kdl_device_find");
}

static bool kdl_peer_make_queue(void *state) {
  kdl_state *at = state;
  const peer_job *job = at->head.job;
  if (!kdl_peer_check(kdl_queue_create(at->device, NULL, &at->queue), "kdl_queue_create") ||
      !kdl_peer_check(kdl_alloc(at->device, job->buffer_size, &at->buffer), "kdl_alloc"))
    return false;
  at->head.buffer = at->buffer.address;
  return !job->buffer_data ||
         kdl_peer_check(kdl_write(at->queue, &at->buffer, 0, job->buffer_data, job->buffer_size),
                        "kdl_write");
}

static bool kdl_peer_open_library(void *state) {
  kdl_state *at = state;
  const peer_job *job = at->head.job;
  const kdl_open_opts as_it_stands = {.size = sizeof as_it_stands, .flags = KDL_OPEN_FILE};
  return kdl_peer_check(job->library ? kdl_open(job->library, &as_it_stands, &at->lib)
                                     : kdl_open_memory(job->data, job->data_size, NULL, &at->lib),
                        "kdl_open");
}

static bool kdl_peer_find_kernel(void *state) {
  kdl_state *at = state;
  return kdl_peer_check(kdl_sym(at->lib, at->device, at->head.job->kernel, NULL, &at->kernel),
                        "kdl_sym");
}

static bool kdl_peer_load(void *state) {
  kdl_state *at = state;
  return kdl_peer_check(kdl_prefetch(at->kernel), "kdl_prefetch");
}

static bool kdl_peer_unload(void *state) {
  kdl_state *at = state;
  kdl_close(at->lib);
  at->lib = NULL;
  return true;
}

static void kdl_peer_close(void *state) {
  kdl_state *at = state;
  kdl_free(&at->buffer);
  kdl_queue_destroy(at->queue);
  if (at->lib)
    kdl_close(at->lib);
}

static bool kdl_peer_launch(void *state) {
  kdl_state *at = state;
  kdl_args args = {at->head.job->arg_count, (const void *const *)at->head.args.pointers, NULL};
  return kdl_peer_check(kdl_launch(at->kernel, at->queue, &at->desc, args), "kdl_launch");
}

static bool kdl_peer_sync(void *state) {
  kdl_state *at = state;
  return kdl_peer_check(kdl_sync(at->queue), "kdl_sync");
}

static bool kdl_peer_read_back(void *state, void *byte) {
  kdl_state *at = state;
  return kdl_peer_check(kdl_read(at->queue, byte, &at->buffer, 0, 1), "kdl_read");
}

const peer peer_kdl = {
    .name = "kdl",
    .what = "libkdl",
    .open = kdl_peer_open,
    .close = kdl_peer_close,
    .start = {{KDL_TRACE_PHASE_ENUMERATE, kdl_peer_find_device},
              {KDL_TRACE_PHASE_CONTEXT, kdl_peer_make_queue}},
    .load = {{KDL_TRACE_PHASE_OPEN, kdl_peer_open_library},
             {KDL_TRACE_PHASE_SELECT, kdl_peer_find_kernel},
             {KDL_TRACE_PHASE_LOAD, kdl_peer_load}},
    .unload = kdl_peer_unload,
    .arguments = peer_fill_arguments,
    .launch = kdl_peer_launch,
    .sync = kdl_peer_sync,
    .read = kdl_peer_read_back,
};
