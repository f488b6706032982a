/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "runtime.h"
#include "support/system/variables.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*handler)(void *user, const char *message);
static void *handler_user;

static _Thread_local char error_message[1024];

void kdl_mlir_set_error_handler(void (*wanted)(void *user, const char *message), void *user) {
  pthread_mutex_lock(&handler_lock);
  handler = wanted;
  handler_user = user;
  pthread_mutex_unlock(&handler_lock);
}

kdl_status kdl_mlir_set_error(kdl_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error_message, sizeof error_message, format, args);
  va_end(args);
  return status;
}

void kdl_mlir_report_error(const char *what) {
  char message[4096];
  snprintf(message, sizeof message, "%s: %s", what,
           *error_message ? error_message : kdl_error_message());
  error_message[0] = 0;
  pthread_mutex_lock(&handler_lock);
  void (*called)(void *, const char *) = handler;
  void *user = handler_user;
  pthread_mutex_unlock(&handler_lock);
  if (called) {
    called(user, message);
    return;
  }
  fprintf(stderr, "kdl_mlir: %s\n", message);
  const char *request = kdl_environment(KDL_VARIABLE_MLIR_ERRORS);
  if (request && strcmp(request, "report") == 0)
    return;
  if (!request || strcmp(request, "exit") != 0)
    abort();
  /* Compiled code is on the stack, and other threads may run it: skips exit handlers. */
  fflush(NULL);
  _Exit(EXIT_FAILURE);
}
