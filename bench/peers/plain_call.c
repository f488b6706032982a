/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The host without any runtime: the image is a shared object, opened as one, and its function is
 * called once per group. */
#include "peer.h"

#include <kdl/host_abi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  peer_head head;
  const char *path;
  char temporary[PEER_PATH];
  void *library;
  kdl_host_function *function;
} plain_state;
_Static_assert(sizeof(plain_state) <= PEER_STATE_LIMIT, "fits");

/* A program that calls its own shared object has it in a file. */
static bool plain_write_image(plain_state *at, const peer_job *job) {
  peer_temporary("plain", at->temporary);
  int file = mkstemp(at->temporary);
  if (file < 0)
    return peer_fail("%s: cannot be made", at->temporary);
  ssize_t written = write(file, job->image, job->image_size);
  close(file);
  at->path = at->temporary;
  return written == (ssize_t)job->image_size || peer_fail("%s: cannot be written", at->temporary);
}

static bool plain_open(void *state, const peer_job *job) {
  plain_state *at = state;
  at->path = job->image_path;
  return peer_open_head(state, job) && (at->path || plain_write_image(at, job));
}

static bool plain_make_buffer(void *state) {
  plain_state *at = state;
  void *buffer = calloc(1, at->head.job->buffer_size + 1);
  if (!buffer)
    return peer_fail("out of memory");
  if (at->head.job->buffer_data)
    memcpy(buffer, at->head.job->buffer_data, at->head.job->buffer_size);
  at->head.buffer = (uintptr_t)buffer;
  return true;
}

static bool plain_load(void *state) {
  plain_state *at = state;
  at->library = dlopen(at->path, RTLD_NOW | RTLD_LOCAL);
  return at->library || peer_fail("%s", dlerror());
}

static bool plain_find_function(void *state) {
  plain_state *at = state;
  void *symbol = dlsym(at->library, at->head.job->kernel);
  memcpy(&at->function, &symbol, sizeof symbol);
  return symbol || peer_fail("%s", dlerror());
}

static bool plain_unload(void *state) {
  plain_state *at = state;
  return dlclose(at->library) == 0 || peer_fail("%s", dlerror());
}

static bool plain_launch(void *state) {
  plain_state *at = state;
  kdl_host_group group = {.size = sizeof group};
  const uint32_t *grid = at->head.job->grid;
  memcpy(group.group_count, grid, sizeof group.group_count);
  memcpy(group.block, at->head.job->block, sizeof group.block);
  memcpy(group.tile, at->head.job->block, sizeof group.tile);
  for (group.group[2] = 0; group.group[2] < grid[2]; ++group.group[2]) {
    for (group.group[1] = 0; group.group[1] < grid[1]; ++group.group[1]) {
      for (group.group[0] = 0; group.group[0] < grid[0]; ++group.group[0])
        at->function(&group, (const void *const *)at->head.args.pointers);
    }
  }
  return true;
}

static bool plain_no_op(void *state) {
  (void)state;
  return true;
}

static void plain_close(void *state) {
  plain_state *at = state;
  if (at->temporary[0])
    unlink(at->temporary);
  free((void *)(uintptr_t)at->head.buffer);
}

const peer peer_plain = {
    .name = "plain",
    .what = "a plain call of the host image's function",
    .backend = "host",
    .open = plain_open,
    .close = plain_close,
    .start = {{KDL_TRACE_PHASE_CONTEXT, plain_make_buffer}},
    .load = {{KDL_TRACE_PHASE_LOAD, plain_load}, {KDL_TRACE_PHASE_RESOLVE, plain_find_function}},
    .unload = plain_unload,
    .arguments = peer_fill_arguments,
    .launch = plain_launch,
    .sync = plain_no_op,
};
