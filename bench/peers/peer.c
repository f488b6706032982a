/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "peer.h"

#include "lib/backends/common/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const peer *const peers[] = {
    &peer_kdl,    &peer_driver, &peer_driver_library, &peer_liboffload,
    &peer_cudart, &peer_mlir,   &peer_opencl,         &peer_plain,
};

const peer *peer_find(const char *name) {
  for (size_t i = 0; i < sizeof peers / sizeof *peers; ++i) {
    if (strcmp(peers[i]->name, name) == 0)
      return peers[i];
  }
  return NULL;
}

static char error_text[1024];

bool peer_fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error_text, sizeof error_text, format, args);
  va_end(args);
  return false;
}

const char *peer_error(void) {
  return error_text;
}

void *peer_symbol(const char *path, const char *name) {
  /* NOLINTBEGIN(clang-analyzer-optin.taint.GenericTaint): a file in the folder of the program is as
   * good as the program. */
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  /* NOLINTEND(clang-analyzer-optin.taint.GenericTaint) */
  void *symbol = object ? dlsym(object, name) : NULL;
  if (!symbol) {
    const char *why = dlerror();
    peer_fail("%s", why ? why : path);
  }
  return symbol;
}

const peer *peer_open(const char *path) {
  void *symbol = peer_symbol(path, PEER_SYMBOL);
  if (!symbol)
    return NULL;
  peer_function *function;
  memcpy(&function, &symbol, sizeof function);
  return function(peer_fail);
}

bool peer_load_library(const char *const *libraries, const kdl_driver_symbol *symbols, size_t count,
                       void *table) {
  kdl_driver_report report;
  kdl_driver driver = {
      .libraries = libraries, .symbols = symbols, .symbol_count = count, .table = table};
  return (kdl_driver_open(&driver, NULL, &report) && kdl_driver_complete(&driver, &report)) ||
         peer_fail("%s: %s", report.library, report.words);
}

void peer_temporary(const char *name, char out_path[PEER_PATH]) {
  const char *folder = getenv("TMPDIR");
  bool usable = folder && *folder && strlen(folder) + strlen(name) + 16 < PEER_PATH;
  snprintf(out_path, PEER_PATH, "%s/kdl-%s-XXXXXX", usable ? folder : "/tmp", name);
}

unsigned peer_ordinal(const char *device) {
  const char *colon = strchr(device, ':');
  return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

bool peer_args_fit(const peer_job *job) {
  if (job->args_size > PEER_ARGS_BYTES || job->arg_count > PEER_ARGS_LIMIT)
    return peer_fail("found %u arguments of %zu bytes, expected at most %d of %d", job->arg_count,
                     job->args_size, PEER_ARGS_LIMIT, PEER_ARGS_BYTES);
  return true;
}

bool peer_open_head(void *state, const peer_job *job) {
  peer_head *head = state;
  head->job = job;
  return peer_args_fit(job);
}

bool peer_fill_arguments(void *state) {
  peer_head *head = state;
  const peer_job *job = head->job;
  memcpy(head->args.values, job->args, job->args_size);
  for (uint32_t i = 0; i < job->arg_count; ++i) {
    char *value = head->args.values + job->arg_offsets[i];
    head->args.pointers[i] = value;
    if (job->arg_is_buffer[i]) {
      uint64_t address;
      memcpy(&address, value, sizeof address);
      address += head->buffer;
      memcpy(value, &address, sizeof address);
    }
  }
  return true;
}
